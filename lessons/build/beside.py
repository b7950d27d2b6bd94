"""A learner's definitions beside those of minigrad that do the same: in a notebook two columns, in text one after the other."""

import html
import inspect
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import minigrad

from . import ENGINE, source_of

__all__ = ["Beside", "Part", "beside"]

ROOT = Path(minigrad.__file__).parent.parent
COLUMN = "flex:1;min-width:22em;overflow-x:auto"
CODE = "font-size:.8em;line-height:1.35;white-space:pre;margin:.2em 0 .8em"


@dataclass(frozen=True)
class Part:
    """A definition: its place, such as `minigrad/core/graph.py, lines 96 to 104`, and its source."""

    place: str
    source: str


@dataclass(frozen=True)
class Beside:
    """Rows of definitions: a learner's one, and those of minigrad."""

    rows: tuple[tuple[Part, tuple[Part, ...]], ...]

    def __repr__(self) -> str:
        parts = [part for mine, theirs in self.rows for part in (mine, *theirs)]
        return "\n".join(f"# {part.place}\n{part.source}" for part in parts)

    def _repr_html_(self) -> str:
        return "".join(
            f"<div style='display:flex;flex-wrap:wrap;gap:1em'>{column((mine,))}{column(theirs)}</div>"
            for mine, theirs in self.rows
        )


def beside(*rows: tuple[Any, ...]) -> Beside:
    """Return each row's first function or class, a learner's, beside the others, which are minigrad's.

    >>> from minigrad.core import tensor
    >>> def value_of(x):
    ...     return x.value
    >>> print(beside((value_of, tensor.wrap)))
    # engine.py
    def value_of(x):
        return x.value
    <BLANKLINE>
    # minigrad/core/tensor.py, lines ...
    def wrap(array: np.ndarray) -> Tensor:
    ...
    """
    return Beside(tuple((Part(ENGINE, source_of(mine)), tuple(map(part, theirs))) for mine, *theirs in rows))


def part(thing: Any) -> Part:
    """Return a definition of minigrad: a function, a class, a method or a property."""
    plain: Any = inspect.unwrap(getattr(thing, "fget", thing))  # a property's function
    lines, first = inspect.getsourcelines(plain)
    file = Path(inspect.getsourcefile(plain) or "").relative_to(ROOT).as_posix()
    return Part(f"{file}, lines {first} to {first + len(lines) - 1}", textwrap.dedent("".join(lines)))


def column(parts: tuple[Part, ...]) -> str:
    """Return a column of definitions as HTML."""
    shown = (f"<b>{html.escape(one.place)}</b><pre style='{CODE}'>{html.escape(one.source)}</pre>" for one in parts)
    return f"<div style='{COLUMN}'>{''.join(shown)}</div>"
