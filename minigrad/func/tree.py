"""Trees of tensors, using optree: nested lists, tuples, named tuples and dicts.  None is a leaf, as in PyTorch."""

from collections import deque
from collections.abc import Callable
from typing import Any

import optree
import optree.registry

from ..arrays.dtypes import FLOATS
from ..core.tensor import Box, Tensor
from ..errors import error

LEAF = optree.treespec_leaf(none_is_leaf=True)  # the specification of a single tensor


def check_function(who: str, func: Any, call: str = "") -> None:
    """Check that a transform gets a function, not its value; `call` is the correct call for the error."""
    if not callable(func):
        what = f"expected a function, got {described(func)}"
        raise error(TypeError, who, what, f"pass the function itself: {call or who + '(f)(x)'}")


def flatten(tree: Any) -> tuple[list, Any]:
    """Return the leaves of a tree, and the specification to rebuild it."""
    if type(tree) is Tensor or type(tree) is Box:  # by far the most common tree
        return [tree], LEAF
    return optree.tree_flatten(tree, none_is_leaf=True)


def keys_of(tree: Any) -> tuple:
    """Return the keys of the dicts in a tree, in their order and with their types, which a specification does not hold."""
    if isinstance(tree, dict):
        own = tuple([key if type(key) is str else (type(key), key) for key in tree])
        return own + tuple([found for one in tree.values() if (found := keys_of(one))])
    if isinstance(tree, (tuple, list, deque)):
        return tuple([found for one in tree if (found := keys_of(one))])
    return ()


def rebuild(spec: Any, leaves: Any) -> Any:
    """Return the tree with other leaves."""
    return optree.tree_unflatten(spec, leaves)


def register(cls: type, flatten_fn: Callable, unflatten_fn: Callable, **names: Any) -> None:
    """Make instances of a class trees, for all transforms: torch.utils._pytree.register_pytree_node.

    `flatten_fn` returns a list of parts, and what is needed beside them to rebuild the instance: unflatten_fn(parts, rest).
    `names` are for files of PyTorch's, and have no effect.  Raises ValueError for a class that is registered.
    """
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return  # named tuples are trees already
    whole = optree.registry.__GLOBAL_NAMESPACE
    optree.register_pytree_node(cls, flatten_fn, lambda rest, parts: unflatten_fn(list(parts), rest), namespace=whole)


def tree_map(f: Callable, tree: Any, *others: Any) -> Any:
    """Return the tree with f applied to its leaves."""
    if not others and (type(tree) is Tensor or type(tree) is Box):
        return f(tree)
    return optree.tree_map(f, tree, *others, none_is_leaf=True)


def leaves(tree: Any) -> list:
    """Return only the leaves."""
    return flatten(tree)[0]


def tensors_only(kind: type[Exception], who: str, what: str, tree: Any, fix: str) -> list:
    """Return the leaves, which must all be tensors.  The error names the first other leaf and its position."""
    flat = leaves(tree)
    for i, leaf in enumerate(flat):
        if not isinstance(leaf, Tensor):
            path = optree.tree_paths(tree, none_is_leaf=True)[i]
            at = f" at {'/'.join(map(str, path))}" if path else ""
            raise error(kind, who, f"expected {what} to be tensors, got {type(leaf).__name__}{at}", fix)
    return flat


def results(who: str, result: Any) -> list:
    """Return the leaves of the function's result, all tensors.  Raises RuntimeError naming the first that is not."""
    fix = "return tensors, and mark extra results with has_aux=True"
    return tensors_only(RuntimeError, who, "the results of the function", result, fix)


def inputs(who: str, what: str, tree: Any) -> list:
    """Return the leaves to differentiate with respect to: float tensors.  Others raise ValueError, integers RuntimeError."""
    fix = "pass a number as minigrad.tensor(3.); pass values that are not tensors through a closure or by keyword"
    flat = tensors_only(ValueError, who, what, tree, fix)
    for leaf in flat:
        if leaf._np_dtype not in FLOATS:
            problem = f"{what} has dtype {leaf.dtype}; only floating-point tensors have gradients"
            raise error(RuntimeError, who, problem, "convert it with .float(), or choose other arguments")
    return flat


def split_aux(who: str, result: Any) -> tuple:
    """Return the pair (result, aux) of a function with has_aux=True, checked."""
    if not isinstance(result, tuple) or len(result) != 2:
        what = f"with has_aux=True the function must return a pair (output, aux), got {described(result)}"
        raise error(RuntimeError, who, what, "return output, aux")
    return result


def described(x: Any) -> str:
    """Return a short description of a value."""
    if isinstance(x, Tensor):
        return f"a tensor of shape {tuple(x.shape)} and {x.dtype}"
    if x is None:
        return "None"
    return f"a tuple of {len(x)}" if isinstance(x, tuple) else f"a {type(x).__name__}"


def counted(n: int, what: str) -> str:
    """Return a number and its noun, such as "2 primals"."""
    return f"{n} {what}{'s' * (n != 1)}"


def structure_text(spec: Any) -> str:
    """Return the structure of a tree as text, with * for each leaf: (*, [*, *])."""
    return repr(rebuild(spec, [STAR] * spec.num_leaves))


class Star:
    """A leaf in the text of a structure."""

    def __repr__(self) -> str:
        return "*"


STAR = Star()


def zeros(like: Tensor) -> Tensor:
    """Return the zero derivative with respect to an input without influence."""
    return like.new_zeros(like.shape)
