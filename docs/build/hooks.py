"""Hooks of MkDocs: put the tracks into the navigation, link each page to its source, and weigh it in the search.

A reader who types the name of a function looks for its description. The collection of mistakes, the changelog and the tables
of measurements repeat such names hundreds of times, so they count less.
"""

from pathlib import Path
from typing import Any

from minigrad import config as settings

ROOT = Path(__file__).resolve().parents[2]
BRANCH = "main"
WEIGHTS = {"reference/": 10.0, "howto/": 10.0, "operations": 5.0, "mistakes/": 0.001} | dict.fromkeys(
    ["architecture", "changelog", "exercises", "performance", "programs", "projects", "teachers", "tour"], 0.1
)  # by the beginning of the page's address


def on_config(config: Any) -> None:
    """Set the navigation of the lessons, the address of the site, and the address and name of the repository."""
    config.nav = with_tracks(config.nav)
    config.site_url = config.site_url or settings.SITE
    if settings.REPOSITORY:
        config.repo_url, config.repo_name = settings.REPOSITORY, name()


def with_tracks(nav: list) -> list:
    """Return a navigation with a section for each track below "Lessons", after the first page; a lesson is in one of them.

    >>> _, backprop, *_ = with_tracks([{"Lessons": ["lessons/index.md"]}])[0]["Lessons"]
    >>> backprop["Backprop"][0]
    'lessons/01_numbers_that_remember.md'
    """
    from lessons.tracks import once, tracks  # here: while MkDocs loads this file, "lessons" is the module beside it

    sections = [{track.name: [f"lessons/{one.name}.md" for one in own]} for track, own in once(tracks()).items() if own]
    return [
        {"Lessons": [part["Lessons"][0], *sections, *part["Lessons"][1:]]} if "Lessons" in part else part
        for part in nav
    ]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> None:
    """Set the address of "Edit this page", and the weight of the page in the search."""
    page.meta["search"] = {"boost": weight(page.file.src_uri)}
    page.edit_url = f"{settings.REPOSITORY}/edit/{BRANCH}/{source(page.file.src_uri)}" if settings.REPOSITORY else None


def weight(page: str) -> float:
    """Return the factor of a page's score in the search.

    >>> weight("reference/func.md"), weight("start.md"), weight("mistakes/saving.md")
    (10.0, 1.0, 0.001)
    """
    return next((factor for start, factor in WEIGHTS.items() if page.startswith(start)), 1.0)


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
