"""Lessons as notebooks: made from the scripts when a learner opens one, and never overwritten."""

from __future__ import annotations

import json
import os
import re
import stat
import textwrap
from pathlib import Path

from .catalogue import Lesson, lessons

TAB = re.compile(r'^=== "(.+)"\n((?:[ \t]*\n| {4}.*\n?)+)', re.MULTILINE)
LARGEST = 20_000_000  # bytes of a notebook: as Python's objects they may take forty times as much
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def notebook(one: Lesson) -> str:
    """The notebook of a lesson, as the text of an .ipynb file; its metadata name the lesson.

    >>> notebook(lessons()[0]).count('"cell_type": "code"') > 5
    True
    """
    import jupytext

    made = jupytext.read(one.path, fmt="py:percent")
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = untabbed(cell.source)
    made.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}, "minigrad": {"lesson": one.name}}
    return jupytext.writes(made, fmt="ipynb")


def untabbed(markdown: str) -> str:
    """Markdown with the tabs of the site as headings, since notebooks have none.

    >>> print(untabbed('=== "Python"\\n\\n    x = 1\\n'))
    **Python**
    <BLANKLINE>
    x = 1
    <BLANKLINE>
    """
    return TAB.sub(lambda tab: f"**{tab[1]}**\n{textwrap.dedent(tab[2])}", markdown)


def place(one: Lesson, folder: Path) -> Path:
    """Where a lesson's notebook lies in a learner's folder."""
    return folder / f"{one.name}.ipynb"


def write(one: Lesson, folder: Path) -> bool:
    """Write the notebook of a lesson; False where there is one already, which stays as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with place(one, folder).open("x", encoding="utf-8") as file:
            file.write(notebook(one))
    except FileExistsError:
        return False
    return True


def set_aside(one: Lesson, folder: Path) -> Path | None:
    """Give the notebook of a lesson another name, under which it stays; None where there is none."""
    old = place(one, folder)
    if not old.exists():
        return None
    number = 1
    while (kept := old.with_suffix(f".{number}.ipynb")).exists():
        number += 1
    return old.rename(kept)


def sources(path: Path) -> tuple[Lesson | None, list[str]]:
    """Return the lesson that a notebook belongs to, by its metadata or its name, and the texts of its code cells.

    Raises ValueError for what is no notebook.
    """
    try:
        document = json.loads(whole(path).decode())
    except (OSError, ValueError, RecursionError) as e:
        raise ValueError(f"it is not a notebook: {type(e).__name__}: {e}") from None
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ValueError("it is not a notebook: there is no list of cells in it")
    texts = []
    for number, cell in enumerate(cells, 1):
        if cell.get("cell_type") == "code":
            lines = cell.get("source")
            lines = [lines] if isinstance(lines, str) else lines
            if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
                raise ValueError(f"it is not a notebook: the source of cell {number} is no text")
            texts.append("".join(lines))
    found = document
    for key in ("metadata", "minigrad", "lesson"):
        found = found.get(key) if isinstance(found, dict) else None
    by_name = next((one for one in lessons() if one.name in path.stem), None)
    return next((one for one in lessons() if one.name == found), by_name), texts


def whole(path: Path) -> bytes:
    """Read a notebook that is not too large."""
    found = content(path, LARGEST + 1)
    if len(found) > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} bytes: clear the outputs of its cells")
    return found


def content(path: Path, most: int, link: bool = True) -> bytes:
    """Read at most so many bytes of a file, which must be a regular one: a pipe would have to be waited for.

    A device, or a file of the system's, may have no end, or nothing for now.  With link=False a link is not followed.
    """
    flags = [getattr(os, flag, 0) for flag in ("O_BINARY", "O_NONBLOCK", *["O_NOFOLLOW"] * (not link))]
    with open(path, "rb", opener=lambda name, mode: os.open(name, mode | sum(flags))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no regular file")
        found = file.read(most)
    if found is None:
        raise ValueError("there is nothing to read in it")
    return found
