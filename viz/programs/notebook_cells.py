"""Read the code of a notebook's cells, and run it as Jupyter does: await outside of functions, `display`, `get_ipython`.

Lines for IPython or the shell alone, such as `%matplotlib inline` or `!pip install`, are left out.
"""

import ast
import asyncio
import contextvars
import inspect
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Usage

MAGIC = re.compile(r"^(\s*)(?=[%!]|\?|[\w.]+\?+\s*$)")  # lines for IPython alone
TIMED = ("%%time", "%%timeit", "%%capture", "%%prun", "%%minigrad")  # the rest of the cell is Python


def cells_of(file: str, text: bytes) -> list[str]:
    """Return the code of a notebook's cells; lines for IPython alone, such as %matplotlib inline, become comments.

    Raises Usage for a file that Jupyter could not open, and for a source that is no text.

    >>> notebook = {"cells": [{"cell_type": "markdown", "source": "hello"}, {"cell_type": "code", "source": "%pylab\\nx = 3"}]}
    >>> cells_of("a.ipynb", json.dumps(notebook).encode())
    ['pass  # %pylab\\nx = 3']
    """
    try:
        found = [cell["source"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    except (ValueError, LookupError, TypeError, RecursionError) as wrong:
        raise Usage(f"{file} is not a notebook in Jupyter's format 4. Open it in Jupyter and save it again.") from wrong
    return [python_of(source_of(file, n, source)) for n, source in enumerate(found, 1)]


def source_of(file: str, n: int, source: Any) -> str:
    """Return the text of code cell n, given as text or as a list of lines."""
    lines = [source] if isinstance(source, str) else source
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        what = f"is {json.dumps(source)[:40]}, neither text nor a list of lines"
    elif half := re.search("[\ud800-\udfff]", "".join(lines)):
        what = f"contains half of a character, {half.group()!a}"
    else:
        return "".join(lines)
    raise Usage(f"the source of code cell {n} in {file} {what}. Write the cell anew in Jupyter.")


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


def run_cells(cells: Sequence[tuple[str, str]], names: dict[str, Any]) -> None:
    """Run cells, given as names and code, in a namespace, on one event loop."""
    shell = Shell(names)
    names |= {"display": display, "get_ipython": lambda: shell}
    with asyncio.Runner() as runner:
        for name, cell in cells:
            done = eval(compile(cell, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
            if inspect.iscoroutine(done):
                within = contextvars.copy_context()
                runner.run(done, context=within)
                for variable, value in within.items():  # modes that the cell has set, such as set_grad_enabled
                    if variable.get(None) is not value:
                        variable.set(value)


def display(*objects: Any, **options: Any) -> None:
    """Print objects, as IPython does where nothing can be shown."""
    for one in objects:
        print(repr(one))


class Shell:
    """Stands in for IPython's shell: %%time and its like run their code, and all other methods do nothing."""

    def __init__(self, names: dict[str, Any]):
        self.user_ns = names

    def run_cell_magic(self, magic: str, line: str, cell: str) -> None:
        """Run the code under a magic that measures; leave out code in another language."""
        exec(python_of(f"%%{magic} {line}\n{cell}"), self.user_ns)

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return lambda *args, **kwargs: None
