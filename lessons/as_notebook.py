"""Lessons as notebooks: made from the scripts when a learner opens one, and never overwritten.

Submitted notebooks are read here, too: `sources` checks everything in a file, which may be damaged or hostile.
"""

import json
import os
import re
import stat
import textwrap
from pathlib import Path

from minigrad import config

from . import instructor, sheet
from .catalogue import QUESTION, Lesson, lessons, steps
from .sheet import KERNEL, Sheet

TAB = re.compile(r'^=== "(.+)"\n((?:[ \t]*\n| {4}.*\n?)+)', re.MULTILINE)
HIDDEN = {"jupyter": {"source_hidden": True}, "cellView": "form"}  # in JupyterLab, in Colab
LARGEST = 20_000_000  # bytes of a notebook; as Python objects they may take forty times the memory
INSTALL = """# Installs minigrad if it is missing, as on Colab.
import subprocess
import sys
from importlib.util import find_spec

if not all(map(find_spec, ("minigrad", "viz", "lessons"))):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", {requirement!r}], check=True)"""
MISSING = """# Tells how to install minigrad if it is missing.
from importlib.util import find_spec

if not all(map(find_spec, ("minigrad", "viz", "lessons"))):
    raise ModuleNotFoundError({message!r})"""


def installation() -> str:
    """Return the first cell of a notebook to download."""
    if requirement := config.requirement("lessons"):
        return INSTALL.format(requirement=requirement)
    return MISSING.format(message=f"minigrad is not installed: {config.install('lessons')}")


def notebook(one: Lesson, installs: bool = False, solved: bool = False) -> str:
    """Return a lesson's notebook as the text of an .ipynb file; its metadata name the lesson.

    With `installs`, the first cell installs minigrad if it is missing.  With `solved`, the exercises have solutions, and hints
    and common mistakes below them.  A prediction is a separate cell, whose code is folded: it contains the reasons.

    >>> notebook(lessons()[0]).count('"cell_type": "code"') > 5
    True
    """
    import jupytext
    from nbformat.v4 import new_code_cell, new_markdown_cell

    made, known = jupytext.read(one.path, fmt="py:percent"), instructor.solutions(one) if solved else {}
    made.cells[0].source = one.timed(made.cells[0].source)
    cells = [new_code_cell(installation())] if installs else []
    for cell in made.cells:
        if cell.cell_type == "code" and (question := QUESTION.search(cell.source)):
            if program := cell.source[: question.start()].rstrip():
                cells.append(new_code_cell(program))
            cell.source = question[0]
            cell.metadata.update(HIDDEN)
        cells.append(cell)
        if cell.cell_type == "markdown":
            cell.source = untabbed(cell.source)
        elif solved and (asked := instructor.CHECK.search(cell.source)):
            cell.source = "\n".join(instructor.solved(cell.source, known))
            cells.append(new_markdown_cell(instructor.help_below(asked[1])))
    for number, cell in enumerate(cells, 1):
        cell.id = f"cell-{number}"  # not random ones: the same lesson makes the same file
    made.cells = cells
    made.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}, "minigrad": {"lesson": one.name}}
    return jupytext.writes(made, fmt="ipynb")


def untabbed(markdown: str) -> str:
    """Replace the site's tabs in Markdown by headings, since notebooks have no tabs.

    >>> print(untabbed('=== "Python"\\n\\n    x = 1\\n'))
    **Python**
    <BLANKLINE>
    x = 1
    <BLANKLINE>
    """
    return TAB.sub(lambda tab: f"**{tab[1]}**\n{textwrap.dedent(tab[2])}", markdown)


def place(one: Lesson, folder: Path, solved: bool = False) -> Path:
    """Return the path of a lesson's notebook in a learner's folder, or of the one with solutions."""
    return folder / f"{one.name}{'.instructor' * solved}.ipynb"


def write(one: Lesson, folder: Path, solved: bool = False) -> bool:
    """Write the notebook of a lesson; return False if there is one already, and leave it unchanged."""
    if place(one, folder, solved).exists():
        return False
    text = notebook(one, solved=solved)  # first, since it may fail
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with place(one, folder, solved).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def set_aside(one: Lesson, folder: Path) -> Path | None:
    """Rename the notebook of a lesson and return its new path, or None if there is no notebook."""
    old = place(one, folder)
    return aside(old) if old.exists() else None


def aside(old: Path) -> Path:
    """Rename a file to the first free name with a number, and return its new path."""
    number = 1
    while (kept := old.with_suffix(f".{number}{old.suffix}")).exists():
        number += 1
    return old.rename(kept)


def sources(path: Path) -> tuple[Lesson | Sheet | None, list[str]]:
    """Return the lesson or sheet that a notebook belongs to, by its metadata or file name, and the texts of its code cells.

    Raise ValueError if the file is not a notebook, or a sheet that cannot be read.
    """
    try:
        document = json.loads(whole(path).decode())
    except json.JSONDecodeError as e:
        where = f"line {e.lineno}, column {e.colno}"
        raise ValueError(f"it is not a notebook: its JSON ends early, or has a mistake in {where}") from None
    except (OSError, ValueError, RecursionError) as e:
        raise ValueError(f"it is not a notebook: {type(e).__name__}: {e}") from None
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ValueError("it is not a notebook: it has no list of cells")
    texts = []
    for number, cell in enumerate(cells, 1):
        if cell.get("cell_type") == "code":
            lines = cell.get("source")
            lines = [lines] if isinstance(lines, str) else lines
            if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
                raise ValueError(f"it is not a notebook: the source of cell {number} is not text")
            texts.append("".join(lines))
    found = document
    for key in ("metadata", "minigrad"):
        found = found.get(key) if isinstance(found, dict) else None
    found = found if isinstance(found, dict) else {}
    if "sheet" in found:
        return sheet.read(found["sheet"]), texts
    every = (*steps(), *lessons())
    by_name = next((one for one in every if one.name in path.stem), None)
    return next((one for one in every if one.name == found.get("lesson")), by_name), texts


def whole(path: Path) -> bytes:
    """Read a notebook; raise ValueError if it is too large."""
    found = content(path, LARGEST + 1)
    if len(found) > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} bytes: clear the outputs of its cells")
    return found


def content(path: Path, most: int, link: bool = True) -> bytes:
    """Read at most `most` bytes of a regular file; raise ValueError for others.

    Reading a pipe could wait forever, and a device may be endless or have no data yet.  With link=False, follow no link.
    """
    flags = [getattr(os, flag, 0) for flag in ("O_BINARY", "O_NONBLOCK", *["O_NOFOLLOW"] * (not link))]
    with open(path, "rb", opener=lambda name, mode: os.open(name, mode | sum(flags))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is not a regular file")
        found = file.read(most)
    if found is None:
        raise ValueError("it has no data to read")
    return found
