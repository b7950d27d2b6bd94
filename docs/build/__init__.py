"""Makes the tree that the site is built from (docs/gen/) out of docs/, the lessons, the code and the changelog.

`python -m docs.build` runs it.  What it leaves behind is plain Markdown with pictures beside it, so that any generator
which reads mkdocs.yml can make the site of it (`make docs`, `make docs-next`).  Whatever fails here fails the build.
"""

from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def assemble(out: Path, only: Collection[str] | None = None) -> None:
    """Fill the empty or missing folder `out`; of the lessons with `only` those whose names are in it."""
    from lessons import lessons as catalogue

    from . import lessons, mistakes, pages

    chosen = [lesson for lesson in catalogue() if only is None or lesson.name in only]
    pages.write(out)
    mistakes.write(out / "mistakes")
    lessons.write(chosen, out / "lessons")
