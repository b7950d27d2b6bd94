"""Makes the pictures in docs/pictures/ that pages show, by the commands that stand on these pages; package.py makes one."""

import shutil
import tempfile
from pathlib import Path

from . import DOCS, package, programs

FOLDER = DOCS / "pictures"


def main() -> None:
    """Run the commands of all pages with pictures; what they draw under the name of a picture is that picture."""
    package.main()
    for page in programs.PAGES:
        if programs.pictures(page):
            with tempfile.TemporaryDirectory() as folder:
                for picture in programs.draw(page, Path(folder).resolve()):
                    shutil.copy(picture, FOLDER)


if __name__ == "__main__":
    main()
