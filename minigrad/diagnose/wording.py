"""Phrases that messages share: counts, names of arguments, descriptions of values."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..core.graph import Node
from ..core.tensor import Tensor

if TYPE_CHECKING:
    from ..core.function import Function


def argument_names(cls: type[Function], n: int) -> list[str]:
    """Return the names of forward's first n arguments, without the ctx."""
    found = []
    for p in list(inspect.signature(cls.forward).parameters.values())[cls.combined :]:
        found += [f"{p.name}[{i}]" for i in range(n - len(found))] if p.kind is p.VAR_POSITIONAL else [p.name]
    return found[:n] if len(found) >= n else [f"argument_{i}" for i in range(n)]


def built_in(node: Any) -> str:
    """Return the name of the built-in operation that made a node; "" for a user's Function, a leaf and None."""
    return node._fn.function_name() if isinstance(node, Node) and node._fn.primitive else ""


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: 1 argument, 2 arguments.

    >>> counted(1, "entry"), counted(2, "entry")
    ('1 entry', '2 entries')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun[:-1] + 'ies' if noun.endswith('y') else noun + 's'}"


def row(names: list[str]) -> str:
    """Return names as a list in a sentence.

    >>> row(["a"]), row(["a", "b"]), row(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def described(x: Any) -> str:
    """Return a short description of a value."""
    if isinstance(x, Tensor):
        return f"a tensor of shape {tuple(x.shape)}"
    return "None" if x is None else f"a {type(x).__name__}"
