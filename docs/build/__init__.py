"""Makes the tree that the site is built from (docs/gen/) out of docs/, the lessons, the code and the changelog.

`python -m docs.build` runs it.  What it leaves behind is plain Markdown with pictures beside it, so that any generator
which reads mkdocs.yml can make the site of it (`make docs`, `make docs-next`).  Whatever fails here fails the build.
"""

from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def assemble(out: Path, only: Collection[str] | None = None) -> None:
    """Fill the missing folder `out`; with `only`, lessons of other names are pages without what their code gives."""
    from lessons import lessons as catalogue

    from . import execute, lessons, mistakes, pages, slides

    notebooks = execute.notebooks(
        [one.path for one in catalogue()], only
    )  # first: they take longest, and fail oftenest
    pages.write(out)
    mistakes.write(out / "mistakes")
    slides.write(out / "slides")
    lessons.write(dict(zip(catalogue(), notebooks)), out / "lessons")
