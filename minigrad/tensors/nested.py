"""Tensors in nested tuples, lists, sets and dicts."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.tensor import Tensor


def tensors_in(tree: object) -> Iterator:
    """Yield all tensors in nested tuples, lists, sets and dicts."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, (list, tuple, set, frozenset, dict)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from tensors_in(part)
