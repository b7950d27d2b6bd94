"""Trees of tensors: nested lists, tuples, named tuples and dicts, by optree.  None is a leaf, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree

from ..arrays.dtypes import FLOATS
from ..core.tensor import Tensor
from ..errors import error


def check_function(who: str, func: Any, call: str = "") -> None:
    """A transform takes the function itself, not its value; `call` is how it is called."""
    if not callable(func):
        raise error(
            TypeError,
            who,
            f"expected a function, got {described(func)}",
            f"pass the function itself: {call or who + '(f)(x)'}",
        )


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


def tensors_only(kind: type[Exception], who: str, what: str, tree: Any, fix: str) -> list:
    """The leaves, all of which have to be tensors.  The error names the first that is not, and where it stands."""
    flat = leaves(tree)
    for i, leaf in enumerate(flat):
        if not isinstance(leaf, Tensor):
            path = optree.tree_paths(tree, none_is_leaf=True)[i]
            at = f" at {'/'.join(map(str, path))}" if path else ""
            raise error(kind, who, f"expected {what} to be tensors, got {type(leaf).__name__}{at}", fix)
    return flat


def results(who: str, result: Any) -> list:
    """The leaves of what the function returned, all tensors.  Raises RuntimeError naming the first that is not."""
    fix = "return tensors, and mark extra results with has_aux=True"
    return tensors_only(RuntimeError, who, "the results of the function", result, fix)


def inputs(who: str, what: str, tree: Any) -> list:
    """The leaves of what is to be differentiated by: float tensors.  Others raise ValueError, integers RuntimeError."""
    fix = "pass minigrad.tensor(3.) for a number to differentiate by; pass what is no tensor by a closure or keyword"
    flat = tensors_only(ValueError, who, what, tree, fix)
    for leaf in flat:
        if leaf._np_dtype not in FLOATS:
            raise error(
                RuntimeError,
                who,
                f"{what} has dtype {leaf.dtype}; only floating-point tensors can be differentiated by",
                "convert it with .float(), or choose other arguments",
            )
    return flat


def split_aux(who: str, result: Any) -> tuple:
    """(result, aux) as a function with has_aux=True has to return them."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise error(
            RuntimeError,
            who,
            f"with has_aux=True the function has to return a pair (output, aux), got {described(result)}",
            "return output, aux",
        )
    return result


def described(x: Any) -> str:
    """A value in a few words."""
    if isinstance(x, Tensor):
        return f"a tensor of shape {tuple(x.shape)} and {x.dtype}"
    if x is None:
        return "None"
    return f"a tuple of {len(x)}" if isinstance(x, tuple) else f"a {type(x).__name__}"


def counted(n: int, what: str) -> str:
    """How many there are, in words."""
    return f"{n} {what}{'s' * (n != 1)}"


def shown(spec: Any) -> str:
    """The structure of a tree, * standing for each leaf: (*, [*, *])."""
    return repr(rebuild(spec, [STAR] * spec.num_leaves))


class Star:
    """A leaf, when a structure is shown."""

    def __repr__(self) -> str:
        return "*"


STAR = Star()


def zeros(like: Tensor) -> Tensor:
    """The derivative by what has no influence."""
    return like.new_zeros(like.shape)
