"""torch.utils._pytree: nested lists, tuples and dictionaries, flattened and rebuilt by optree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree

__all__ = ["tree_flatten", "tree_leaves", "tree_map", "tree_unflatten"]


def tree_flatten(tree: Any) -> tuple[list, Any]:
    """Return the leaves of a tree, None among them, and its structure.

    >>> leaves, form = tree_flatten({"a": [1, 2], "b": (3,)})
    >>> leaves, tree_unflatten([leaf * 10 for leaf in leaves], form)
    ([1, 2, 3], {'a': [10, 20], 'b': (30,)})
    """
    return optree.tree_flatten(tree, none_is_leaf=True)


def tree_unflatten(leaves: list, treespec: Any) -> Any:
    """Return the tree of this structure with these leaves."""
    return optree.tree_unflatten(treespec, leaves)


def tree_leaves(tree: Any) -> list:
    """Return the leaves of a tree."""
    return tree_flatten(tree)[0]


def tree_map(func: Callable, tree: Any, *rests: Any) -> Any:
    """Return a tree with func of each leaf and of the leaves at the same place in other trees."""
    return optree.tree_map(func, tree, *rests, none_is_leaf=True)
