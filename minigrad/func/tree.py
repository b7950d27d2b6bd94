"""Trees of tensors: nested lists, tuples, named tuples and dicts, by optree.  None is a leaf, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree

from ..core.tensor import Tensor
from ..errors import error


def flatten(tree: Any) -> tuple[list, Any]:
    """The leaves of a tree, and what is needed to rebuild it."""
    return optree.tree_flatten(tree, none_is_leaf=True)


def rebuild(spec: Any, leaves: Any) -> Any:
    """The tree with other leaves."""
    return optree.tree_unflatten(spec, leaves)


def tree_map(f: Callable, tree: Any, *others: Any) -> Any:
    """f over the leaves."""
    return optree.tree_map(f, tree, *others, none_is_leaf=True)


def leaves(tree: Any) -> list:
    """Only the leaves."""
    return flatten(tree)[0]


def tensors_only(who: str, what: str, tree: Any) -> list:
    """The leaves, all of which have to be tensors.  Raises RuntimeError naming the first that is not, and where it stands."""
    flat = leaves(tree)
    for path, leaf in zip(optree.tree_paths(tree, none_is_leaf=True), flat, strict=True):
        if not isinstance(leaf, Tensor):
            at = f" at {'/'.join(map(str, path))}" if path else ""
            raise error(
                RuntimeError,
                who,
                f"expected {what} to be tensors, got {type(leaf).__name__}{at}",
                "return tensors, and mark extra results with has_aux=True",
            )
    return flat
