"""Tensors in nested tuples, lists, sets and dicts, and the names of those in a variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

from ..core.tensor import Tensor


def tensors_in(tree: object) -> Iterator:
    """Yield all tensors in nested tuples, lists, sets and dicts."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, (list, tuple, set, frozenset, dict)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from tensors_in(part)


def is_tensor(one: object) -> bool:
    """Return True for a tensor of minigrad; other objects are not asked for their class."""
    return issubclass(type(one), Tensor)


MOST, DEPTH = 200, 4  # elements of a container that have names, and levels


def named_in(name: str, tree: object, is_tensor: Callable[[Any], Any], depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield the tensors in a variable with their names as a record writes them: `ws.0`, `batch["left"]`, `out.logits`.

    >>> list(named_in("b", {"x": 1.0, "ys": [2.0, (3.0,)], "0.weight": 4.0}, lambda t: type(t) is float))
    [('b["x"]', 1.0), ('b["ys"].0', 2.0), ('b["ys"].1.0', 3.0), ('b.0.weight', 4.0)]
    """
    if is_tensor(tree):
        yield name, tree
    for key, part in islice(parts_of(tree), MOST) if depth else ():
        yield from named_in(name + key, part, is_tensor, depth - 1)


def parts_of(tree: Any) -> Iterable[tuple[str, object]]:
    """Return the parts of a container, each with what it adds to the container's name."""
    kind = type(tree)
    if issubclass(kind, dict):
        path = lambda key: f'["{key}"]' if str(key).isidentifier() else f".{key}"
        return ((path(key), part) for key, part in tree.items() if type(key) in (str, int))
    names = [one.name for one in fields(kind)] if is_dataclass(kind) else []
    if names or issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return ((f".{key}", getattr(tree, key, None)) for key in names or kind._fields)
    return ((f".{i}", part) for i, part in enumerate(tree)) if kind in (list, tuple) else ()
