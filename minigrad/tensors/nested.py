"""Tensors in nested tuples, lists, sets and dicts, and the names of those in a variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from itertools import islice

from ..core.tensor import Tensor


def tensors_in(tree: object) -> Iterator:
    """Yield all tensors in nested tuples, lists, sets and dicts."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, (list, tuple, set, frozenset, dict)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from tensors_in(part)


def is_tensor(one: object) -> bool:
    """Return True for a tensor of minigrad."""
    return isinstance(one, Tensor)


MOST, DEPTH = 200, 4  # elements of a container that have names, and levels


def named_in(
    name: str, tree: object, is_tensor: Callable[[object], bool], depth: int = DEPTH
) -> Iterator[tuple[str, object]]:
    """Yield the tensors in a variable with their names as a record writes them: `ws.0`, `batch["left"]`, `out.logits`.

    >>> list(named_in("b", {"x": 1.0, "ys": [2.0, (3.0,)], "0.weight": 4.0}, lambda t: type(t) is float))
    [('b["x"]', 1.0), ('b["ys"].0', 2.0), ('b["ys"].1.0', 3.0), ('b.0.weight', 4.0)]
    """
    if is_tensor(tree):
        yield name, tree
    for key, part in islice(parts_of(tree), MOST) if depth else ():
        yield from named_in(name + key, part, is_tensor, depth - 1)


def parts_of(tree: object) -> Iterable[tuple[str, object]]:
    """Return the parts of a container, each with what it adds to the container's name."""
    if isinstance(tree, dict):
        path = lambda key: f'["{key}"]' if str(key).isidentifier() else f".{key}"
        return ((path(key), part) for key, part in tree.items() if type(key) in (str, int))
    if hasattr(tree, "_fields") and isinstance(tree, tuple) or is_dataclass(tree) and not isinstance(tree, type):
        return ((f".{key}", getattr(tree, key, None)) for key in getattr(tree, "_fields", None) or vars(tree))
    return ((f".{i}", part) for i, part in enumerate(tree)) if type(tree) in (list, tuple) else ()
