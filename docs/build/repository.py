"""Hook of MkDocs: link to the repository that minigrad/config.py names, and link each page to its source there."""

from pathlib import Path
from typing import Any

from minigrad import config as settings

ROOT = Path(__file__).resolve().parents[2]
BRANCH = "main"


def on_config(config: Any) -> None:
    """Set the address of the repository, and its name in the header."""
    if settings.REPOSITORY:
        config.repo_url, config.repo_name = settings.REPOSITORY, name()


def on_pre_page(page: Any, config: Any, files: Any) -> Any:
    """Set the address of "Edit this page"."""
    page.edit_url = f"{settings.REPOSITORY}/edit/{BRANCH}/{source(page.file.src_uri)}" if settings.REPOSITORY else None
    return page


def name() -> str:
    """Return the owner and the name of the repository on GitHub, or ""."""
    return settings.REPOSITORY.removeprefix("https://github.com/")


def source(page: str) -> str:
    """Return the file from which a page of the site is made, relative to the root of the repository.

    >>> source("start.md"), source("lessons/15_gradcheck.md"), source("changelog.md")
    ('docs/start.md', 'lessons/15_gradcheck.py', 'CHANGELOG.md')
    """
    stem = page.removesuffix(".md")
    files = f"docs/{page}", f"{stem}.py", f"tests/{stem}.py", f"{stem.upper()}.md"
    return next((file for file in files if (ROOT / file).is_file()), "docs/build/mistakes.py")
