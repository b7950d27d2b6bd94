"""A collection of common mistakes in autograd code, each with its correct twin.

Each module holds the mistakes of one theme, as subclasses of Mistake.  `wrong` makes the mistake, in the line that ends in
`# <-`; `right` is the corrected program.  The tests (test_mistakes.py) run both, and docs/build/mistakes.py writes a page
for each theme.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from typing import Any

COLLECTION: list[type[Mistake]] = []


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

    def right():  # type: ignore[misc]
        """Run the corrected program."""
        raise NotImplementedError

    @classmethod
    def slug(cls) -> str:
        """Return the anchor of its part of the page."""
        return re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=A)(?=[A-Z][a-z])", "-", cls.__name__).lower()

    @classmethod
    def place(cls) -> tuple[str, int]:
        """Return the file and number of the line with the mistake, marked by `# <-`."""
        lines, first = inspect.getsourcelines(cls.wrong)
        marked = [i for i, line in enumerate(lines) if line.rstrip().endswith("# <-")]
        assert len(marked) == 1, f"{cls.__name__}.wrong marks {len(marked)} lines with '# <-', not one"
        return inspect.getsourcefile(cls.wrong) or "", first + marked[0]


def collection() -> list[type[Mistake]]:
    """Return all mistakes, theme by theme."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("test_"):
            importlib.import_module(f"{__name__}.{module.name}")
    return COLLECTION
