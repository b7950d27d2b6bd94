"""Lessons as notebooks: made from the scripts when a learner opens one, and never overwritten."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

from .catalogue import Lesson, lessons

TAB = re.compile(r'^=== "(.+)"\n((?:[ \t]*\n| {4}.*\n?)+)', re.MULTILINE)
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
    """The lesson that a notebook belongs to, by its metadata or its name, and the texts of its code cells.

    Raises ValueError for what is no notebook.
    """
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        code = [cell["source"] for cell in document["cells"] if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise ValueError(f"{path} is not a notebook: {type(e).__name__}: {e}") from None
    name = document.get("metadata", {}).get("minigrad", {}).get("lesson")
    found = next((one for one in lessons() if one.name == name), None)
    found = found or next((one for one in lessons() if one.name in path.stem), None)
    return found, ["".join(text) for text in code]
