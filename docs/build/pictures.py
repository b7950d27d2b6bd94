"""Makes the pictures in docs/pictures/: those that pages show, by the commands on these pages, the package, and the logo."""

import shutil
import tempfile
from pathlib import Path

from . import DOCS, logo, package, programs

FOLDER = DOCS / "pictures"


def main() -> None:
    """Run the commands of all pages with pictures; what they draw under the name of a picture is that picture."""
    package.main()
    logo.main()
    for page in programs.PAGES:
        if programs.pictures(page):
            with tempfile.TemporaryDirectory() as folder:
                for picture in programs.draw(page, Path(folder).resolve()):
                    shutil.copy(picture, FOLDER)


if __name__ == "__main__":
    main()
