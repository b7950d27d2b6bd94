"""A collection of common mistakes in autograd code, each with its correct twin.

Each module holds the mistakes of one theme, functions marked with `@mistake`.  The line that minigrad's report is about ends
in `<-`; if the mistake was made at another line, that one ends in `<=`.  The corrected lines stand beside the wrong ones
(tests/marks.py); if most lines differ, the corrected program is the function `<name>_corrected`.  The tests
(test_mistakes.py) run both, and docs/build/mistakes.py writes a page for each theme.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..marks import MADE, NAMED, corrected, run_text

COLLECTION: list[Mistake] = []


@dataclass
class Mistake:
    """One mistake.  Its text becomes its part of a page: the first line names it, the rest explains it.

    `says` is the type of the error, as PyTorch's `except` clauses would catch it, or the name of minigrad's warning.
    The message has to contain `operation`, all of `numbers` (shapes, dtypes, counts, names) and `remedy`, a part of the
    fix.  `under` is the mode that detects it: "debug", "anomaly" or none.  `unlocated` is the reason why the message cannot
    name the line of the mistake itself.
    """

    wrong: Callable[[], Any]
    operation: str
    numbers: tuple[str, ...]
    remedy: str
    says: Any
    under: str
    unlocated: str
    name: str
    text: str

    def __post_init__(self):
        COLLECTION.append(self)

    @property
    def slug(self) -> str:
        """The anchor of its part of the page."""
        return self.name.replace("_", "-")

    def place(self) -> tuple[str, int]:
        """Return the file and number of the line that the report is about."""
        (place,) = self.marked(NAMED)
        return place

    def made(self) -> tuple[str, int]:
        """Return the file and number of the line where the mistake was made."""
        place, *more = self.marked(MADE) or self.marked(NAMED)
        assert not more, f"{self.name} marks several lines with '<='"
        return place

    def marked(self, mark: str) -> list[tuple[str, int]]:
        """Return the files and numbers of the lines with a mark."""
        lines, first = body(self.wrong)
        file = inspect.getsourcefile(self.wrong) or ""
        return [(file, first + i) for i, line in enumerate(lines) if re.search(mark, line)]

    def corrected(self) -> Callable[[], Any]:
        """Return the corrected program."""
        own = f"{self.wrong.__name__}_corrected"
        names = self.wrong.__globals__
        if own in names:
            return names[own]
        lines, _ = body(self.wrong)
        program = "\n".join([f"def {own}():", *corrected(lines), ""])
        return run_text(program, f"<{own}>", {**names})[own]


def mistake(
    operation: str, *numbers: str, remedy: str, says: Any = RuntimeError, under: str = "", unlocated: str = ""
) -> Callable[[Callable[[], Any]], Mistake]:
    """Add the program below to the collection; its docstring is the text."""
    return lambda wrong: Mistake(
        wrong, operation, numbers, remedy, says, under, unlocated, wrong.__name__, inspect.cleandoc(wrong.__doc__ or "")
    )


def body(program: Callable[[], Any]) -> tuple[list[str], int]:
    """Return the lines of a program below its docstring, and the number of the first."""
    lines, first = inspect.getsourcelines(program)
    (tree,) = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(tree, ast.FunctionDef)
    head = tree.body[0].end_lineno if ast.get_docstring(tree) else tree.lineno
    return [line.rstrip() for line in lines[head:]], first + (head or 0)


def collection() -> list[Mistake]:
    """Return all mistakes, theme by theme."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("test_"):
            importlib.import_module(f"{__name__}.{module.name}")
    return COLLECTION
