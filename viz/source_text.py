"""Read the text of a user's program, a file or a notebook, or say what else it is."""

from __future__ import annotations

import ast
import json
import re
from importlib.util import decode_source
from pathlib import Path

from .errors import Usage
from .files import nearest

MAGIC = re.compile(r"^(\s*)(?=[%!]|\?|[\w.]+\?+\s*$)")  # lines for IPython alone
TIMED = ("%%time", "%%timeit", "%%capture", "%%prun", "%%minigrad")  # the rest of the cell is Python


def text_of(file: str) -> bytes:
    """Return the bytes of a program's file."""
    place = Path(file)
    try:
        there = place.exists()
    except OSError as refused:  # such as a name that is too long
        raise Usage(f"cannot read {file}: {refused.strerror}.") from refused
    if not there:
        raise Usage(f"the file {file} does not exist.{_did_you_mean(file)}")
    if not place.is_file():  # a pipe can be read only once, and linecache reads the lines again later
        raise Usage(
            f"{file} is {'a folder' if place.is_dir() else 'not a file'}. Name a file, or - for the standard input."
        )
    if place.suffix == ".json":  # it may also be valid Python
        raise Usage(f"{file} is not a Python program, but JSON, such as a record. Name a .py file or a notebook.")
    try:
        return place.read_bytes()
    except OSError as refused:
        raise Usage(f"cannot read {file}: {refused.strerror}.") from refused


def cells_of(file: str, text: bytes) -> list[str]:
    """Return the code of a notebook's cells; lines for IPython alone, such as %matplotlib inline, become comments.

    >>> notebook = {"cells": [{"cell_type": "markdown", "source": "hello"}, {"cell_type": "code", "source": "%pylab\\nx = 3"}]}
    >>> cells_of("a.ipynb", json.dumps(notebook).encode())
    ['pass  # %pylab\\nx = 3']
    """
    try:
        found = [cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    except (ValueError, LookupError, TypeError) as wrong:
        raise Usage(f"{file} is not a notebook in Jupyter's format 4. Open it in Jupyter and save it again.") from wrong
    return [python_of("".join(source)) for source in found]


def python_of(cell: str) -> str:
    """Return a notebook's cell as Python; a cell in another language is a comment."""
    lines = cell.split("\n")
    if cell.startswith("%%") and not cell.startswith(TIMED):
        return "\n".join([f"# {line}" for line in lines])
    for _ in lines:
        try:
            ast.parse("\n".join(lines))
        except (SyntaxError, ValueError) as wrong:  # at a line for IPython, if there is one
            k = min(getattr(wrong, "lineno", None) or len(lines), len(lines)) - 1
            if not MAGIC.match(lines[k]):
                break
            lines[k] = MAGIC.sub(r"\1pass  # ", lines[k])
    return "\n".join(lines)


def python_text(file: str, text: bytes) -> str:
    """Decode a program, as UTF-8 or in the encoding that it declares."""
    if b"\0" in text:
        raise Usage(f"{file} is not a Python program: it contains null bytes.")
    try:
        return decode_source(text)
    except (SyntaxError, ValueError, LookupError) as wrong:  # LookupError: its coding line names no text encoding
        raise Usage(f"{file} is not a Python program: {wrong}. Save it as UTF-8.") from wrong


def _did_you_mean(file: str) -> str:
    """Return the question "Did you mean ...?" if a file in the same folder has nearly this name, else ""."""
    folder = Path(file).parent
    found = [path.name for path in folder.glob("*.py")] if folder.is_dir() else []
    return " " + meant if (meant := nearest(Path(file).name, found)) else ""
