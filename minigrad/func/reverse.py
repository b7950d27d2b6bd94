"""Reverse mode as functions of functions: grad, grad_and_value, vjp.  The work is done by the Grad layer and the engine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core import engine
from ..core.context import current, push
from ..core.tensor import Box, Tensor
from ..errors import error
from ..layers.grad import Grad
from .tree import flatten, leaves, rebuild, tensors_only, tree_map


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value of `func(*primals)`, and the function that pulls a cotangent of it back to the primals.

    Primals and results may be trees of tensors.  With `has_aux`, func returns (result, aux) and aux is passed through as
    the third value.

    >>> import minigrad
    >>> y, pull = minigrad.func.vjp(minigrad.sin, minigrad.tensor(0.))
    >>> pull(minigrad.tensor(2.))
    (tensor(2.),)
    """
    flat, spec = flatten(primals)
    inputs = [a for a in flat if isinstance(a, Tensor)]
    if not inputs:
        raise error(RuntimeError, "vjp", "got no tensors to differentiate by", "pass tensors as primals")
    with push(Grad()) as layer:
        boxes = [layer.variable(a) if isinstance(a, Tensor) and a.is_floating_point() else a for a in flat]
        result = func(*rebuild(spec, boxes))
        result, aux = split_aux("vjp", result) if has_aux else (result, None)
        outs = tensors_only("vjp", "the results of the function", result)
    roots = [o for o in outs if isinstance(o, Box) and o._layer is layer and o._edge is not None]
    places = [i for i, o in enumerate(outs) if any(o is r for r in roots)]
    down = lambda t: tree_map(functools.partial(lower, layer), t)
    value = down(result)
    _, value_spec = flatten(value)
    value_leaves = leaves(value)

    def pull_back(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple:
        given = leaves(cotangents[0] if len(cotangents) == 1 else cotangents)
        check_cotangents(given, value_leaves, value_spec)
        found = pull(roots, [given[i] for i in places], boxes, retain_graph)
        return rebuild(spec, [zero(a) if g is None and isinstance(a, Tensor) else g for g, a in zip(found, flat)])

    return (value, pull_back, down(aux)) if has_aux else (value, pull_back)


def pull(roots: list, cotangents: list, boxes: list, keep: bool) -> list:
    """The gradients at the boxes; None where nothing arrived."""
    wanted = {(b._edge, 0) for b in boxes if isinstance(b, Box)}
    found = engine.run([r._edge for r in roots], cotangents, wanted, keep=keep, create=current().grad) if roots else {}
    return [found.get((b._edge, 0)) if isinstance(b, Box) else None for b in boxes]


def zero(a: Tensor) -> Tensor:
    """The gradient of what has no influence."""
    return a.new_zeros(a.shape)


def lower(layer: Grad, a: Any) -> Any:
    """A result as the layer below has it."""
    return a._value if isinstance(a, Box) and a._layer is layer else a


def split_aux(who: str, result: Any) -> tuple:
    """(result, aux) as a function with has_aux=True has to return them."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise error(
            RuntimeError,
            who,
            f"with has_aux=True the function has to return a pair (output, aux), got {type(result).__name__}",
            "return output, aux",
        )
    return result


def check_cotangents(given: list, values: list, spec: Any) -> None:
    """One cotangent for each result, of its shape."""
    if len(given) != len(values):
        raise error(
            RuntimeError,
            "vjp",
            f"expected cotangents of the same structure as the function's output: {len(values)} tensors, got {len(given)}",
            f"pass them as {spec}",
        )
    for i, (g, v) in enumerate(zip(given, values)):
        if not isinstance(g, Tensor) or tuple(g.shape) != tuple(v.shape):
            raise error(
                RuntimeError, "vjp", f"cotangent {i} is {describe(g)}, but the result has shape {tuple(v.shape)}"
            )


def describe(x: Any) -> str:
    """A value in a few words."""
    return f"of shape {tuple(x.shape)}" if isinstance(x, Tensor) else f"a {type(x).__name__}"


def grad_and_value(func: Callable, argnums: int | tuple = 0, has_aux: bool = False) -> Callable:
    """Like `grad`, but returning (gradient, value), or (gradient, (value, aux)) with `has_aux`."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple:
        nums = normalize("grad", argnums, len(args))
        chosen = tuple([args[n] for n in nums])
        for n, a in zip(nums, chosen):
            check_differentiable("grad", n, a)
        flat, spec = flatten(chosen)
        with push(Grad()) as layer:
            boxes = [layer.variable(a) for a in flat]
            full = list(args)
            for n, box in zip(nums, rebuild(spec, boxes)):
                full[n] = box
            result = func(*full, **kwargs)
            value, aux = split_aux("grad", result) if has_aux else (result, None)
            check_scalar(value)
        roots = [value] if isinstance(value, Box) and value._layer is layer and value._edge is not None else []
        low = lower(layer, value)
        found = pull(roots, [low.new_ones(low.shape) for _ in roots], boxes, keep=current().grad)
        gradients = rebuild(spec, [zero(a) if g is None else g for g, a in zip(found, flat)])
        down = lambda t: tree_map(functools.partial(lower, layer), t)
        return gradients[0] if isinstance(argnums, int) else gradients, (low, down(aux)) if has_aux else low

    return wrapper


def grad(func: Callable, argnums: int | tuple = 0, has_aux: bool = False) -> Callable:
    """The function that computes the gradient of a scalar-valued `func` by its arguments `argnums`.

    Arguments may be trees of tensors; `argnums` is an int or a tuple of ints (negative ones count from the end).  With
    `has_aux`, func returns (output, aux) and the result is (gradient, aux).  Raises RuntimeError unless func returns a
    scalar tensor, and for integer arguments.

    >>> import minigrad
    >>> minigrad.func.grad(minigrad.func.grad(lambda x: x ** 3))(minigrad.tensor(2.))
    tensor(12.)
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def normalize(who: str, argnums: Any, n: int) -> tuple:
    """`argnums` as a tuple counted from the front, checked against the number of arguments."""
    nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not nums or not all(isinstance(a, int) for a in nums):
        raise error(RuntimeError, who, f"argnums has to be an int or a non-empty tuple of ints, got {argnums!r}")
    for a in nums:
        if not -n <= a < n:
            raise error(RuntimeError, who, f"got argnums={a}, but only {n} positional inputs")
    found = tuple([a % n for a in nums])
    if len(set(found)) != len(found):
        raise error(RuntimeError, who, f"argnums elements must be unique but got {argnums}")
    return found


def check_differentiable(who: str, n: int, a: Any) -> None:
    """Every leaf of the argument has to be a float tensor."""
    for leaf in tensors_only(who, f"argument {n}", a):
        if not leaf.is_floating_point():
            raise error(
                RuntimeError,
                who,
                f"argument {n} has dtype {leaf.dtype}; only floating-point tensors can be differentiated by",
                "convert it with .float(), or choose others with argnums=",
            )


def check_scalar(value: Any) -> None:
    """grad needs a 0-d float tensor."""
    if not isinstance(value, Tensor):
        raise error(
            RuntimeError,
            "grad",
            f"expected the given function to return a tensor, got {type(value).__name__}",
            "return one scalar tensor; with has_aux=True, (scalar, anything)",
        )
    if value.ndim:
        raise error(
            RuntimeError,
            "grad",
            f"expected the function to return a scalar tensor, got shape {tuple(value.shape)}",
            "reduce it, e.g. with .sum(), or use jacrev",
        )
    if not value.is_floating_point():
        raise error(RuntimeError, "grad", f"expected the function to return a floating-point tensor, got {value.dtype}")
