"""A collection of the mistakes that people make in autograd code, each with its correct twin.

A module holds the mistakes of one theme, as subclasses of Mistake.  `wrong` makes the mistake, in the line that ends in
`# <-`; `right` is the same program as it should be.  The tests (test_mistakes.py) run both, and the documentation has a
page for each, written by docs/build/mistakes.py.
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
    """One mistake.  Its docstring is its page: a first line that names it, then why it is one.

    `says` is the type of the error that PyTorch's `except` clauses would catch, or the name of minigrad's warning.
    `operation` is who it has to name, `numbers` what else has to stand in the text: shapes, dtypes, counts, names;
    `remedy` is a piece of the advice.  `under` is what has to be on for it to be noticed: "debug" or "anomaly".
    """

    says: Any = RuntimeError
    operation = ""
    numbers: tuple = ()
    remedy = ""
    under = ""

    def __init_subclass__(cls):
        COLLECTION.append(cls)

    def wrong():  # type: ignore[misc]  # static, as each mistake's is
        """The program with the mistake."""
        raise NotImplementedError

    def right():  # type: ignore[misc]
        """The program as it should be."""
        raise NotImplementedError

    @classmethod
    def slug(cls) -> str:
        """The name of its page."""
        return re.sub("(?<=[a-z0-9])(?=[A-Z])|(?<=A)(?=[A-Z][a-z])", "-", cls.__name__).lower()

    @classmethod
    def place(cls) -> tuple[str, int]:
        """File and number of the line with the mistake, marked by `# <-`."""
        lines, first = inspect.getsourcelines(cls.wrong)
        marked = [i for i, line in enumerate(lines) if line.rstrip().endswith("# <-")]
        assert len(marked) == 1, f"{cls.__name__}.wrong marks {len(marked)} lines with '# <-', not one"
        return inspect.getsourcefile(cls.wrong) or "", first + marked[0]


def collection() -> list[type[Mistake]]:
    """All mistakes, theme by theme."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("test_"):
            importlib.import_module(f"{__name__}.{module.name}")
    return COLLECTION
