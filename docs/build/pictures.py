"""Make docs/pictures/: the pictures on pages, with the commands on those pages, the package, and the logo."""

import shutil
import tempfile
from pathlib import Path

from . import DOCS, logo, package, programs

FOLDER = DOCS / "pictures"


def main() -> None:
    """Run the commands of all pages with pictures, and keep the files named like a picture of the page."""
    package.main()
    logo.main()
    for page in programs.PAGES:
        if programs.pictures(page):
            with tempfile.TemporaryDirectory() as folder:
                for picture in programs.draw(page, Path(folder).resolve()):
                    shutil.copy(picture, FOLDER)


if __name__ == "__main__":
    main()
