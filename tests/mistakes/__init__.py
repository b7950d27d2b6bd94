"""A collection of common mistakes in autograd code, each with its correct twin.

Each module holds the mistakes of one theme, as subclasses of Mistake.  `wrong` makes the mistake, in the line that ends in
`<-`.  The corrected program differs in the lines that end in `# -`, which it lacks, and in the comments `# + ...`, which are
lines of it; a program that differs in more is the method `right`.  The tests (test_mistakes.py) run both, and
docs/build/mistakes.py writes a page for each theme.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import linecache
import pkgutil
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

COLLECTION: list[type[Mistake]] = []
NAMED = r"  # (- )?<-$"  # minigrad names this line
REMOVED = r"  # -( <-)?$"  # the corrected program lacks this line
ADDED = r"^( *)# \+ ?(.*)$"  # a line of the corrected program
MARK = f"{NAMED}|{REMOVED}"


class Mistake:
    """One mistake.  Its docstring becomes its part of a page: the first line names it, the rest explains it.

    `says` is the type of the error, as PyTorch's `except` clauses would catch it, or the name of minigrad's warning.
    The message has to contain `operation`, all of `numbers` (shapes, dtypes, counts, names) and `remedy`, a part of the
    fix.  `under` is the mode that detects it: "debug", "anomaly" or none.
    """

    says: Any = RuntimeError
    operation = ""
    numbers: tuple = ()
    remedy = ""
    under = ""

    def __init_subclass__(cls):
        COLLECTION.append(cls)

    def wrong():  # type: ignore[misc]  # static, as each mistake's is
        """Make the mistake."""
        raise NotImplementedError

    @classmethod
    def slug(cls) -> str:
        """Return the anchor of its part of the page."""
        return re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=A)(?=[A-Z][a-z])", "-", cls.__name__).lower()

    @classmethod
    def place(cls) -> tuple[str, int]:
        """Return the file and number of the line with the mistake."""
        lines, first = inspect.getsourcelines(cls.wrong)
        marked = [i for i, line in enumerate(lines) if re.search(NAMED, line)]
        assert len(marked) == 1, f"{cls.__name__}.wrong marks {len(marked)} lines with '<-', not one"
        return inspect.getsourcefile(cls.wrong) or "", first + marked[0]

    @classmethod
    def corrected(cls) -> Callable[[], Any]:
        """Return the corrected program: `right`, or `wrong` with its marked lines exchanged."""
        if hasattr(cls, "right"):
            return cls.right
        text = textwrap.dedent(inspect.getsource(cls.wrong))
        lines = [re.sub(ADDED, r"\1\2", line) for line in text.splitlines() if not re.search(REMOVED, line)]
        assert lines != text.splitlines(), f"{cls.__name__}.wrong marks no line with '# -' or '# +'"
        program, file = "\n".join(lines) + "\n", f"<{cls.__name__} corrected>"
        linecache.cache[file] = (len(program), None, program.splitlines(True), file)  # messages and pages quote it
        namespace: dict[str, Any] = {}
        exec(builtins.compile(program, file, "exec"), cls.wrong.__globals__, namespace)  # compile is a theme
        return namespace["wrong"]


def without_marks(program: str) -> str:
    """Return a program as its reader sees it: no marks, and no lines of the corrected program."""
    lines = [line for line in program.splitlines() if not re.match(ADDED, line)]
    return "\n".join(re.sub(MARK, "", line) for line in lines)


def collection() -> list[type[Mistake]]:
    """Return all mistakes, theme by theme."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("test_"):
            importlib.import_module(f"{__name__}.{module.name}")
    return COLLECTION
