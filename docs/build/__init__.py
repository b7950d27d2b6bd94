"""Assemble docs/gen/, the source of the site, from docs/, the lessons, the code and the changelog.

`python -m docs.build` runs it.  The result is plain Markdown with pictures beside it, so any generator that reads
mkdocs.yml can build the site from it (`make docs`, `make docs-next`).  Any error here fails the build.
"""

from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def assemble(out: Path, only: Collection[str] | None = None) -> None:
    """Create and fill the folder `out`; with `only`, pages of all other lessons have no output of their code."""
    from lessons import lessons as numbered
    from lessons import steps

    from . import decks, execute, lessons, mistakes, pages, slides, talks

    every = (*numbered(), *steps())
    notebooks = execute.notebooks([one.path for one in every], only)  # first: they take longest and fail most often
    pages.write(out)
    mistakes.write(out / "mistakes")
    slides.write(out / "slides")
    executed = dict(zip(every, notebooks))
    lessons.write(executed, out / "lessons")
    decks.write(executed, out / "slides")
    talks.write(out / "slides")
