"""Reverse mode as functions of functions: grad, grad_and_value, vjp.  The work is done by the Grad layer and the engine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import engine
from ..core.context import ON, current, push
from ..core.tensor import Box, Tensor, history, wrap
from ..errors import error
from ..layers.grad import Grad
from .tree import described, flatten, inputs, rebuild, results, split_aux, tree_map, zeros


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """The value of `func(*primals)`, and the function that pulls a cotangent of it back to the primals.

    Primals and results may be trees of tensors; the cotangent has the structure of the result.  With `has_aux`, func
    returns (result, aux) and aux is passed through as the third value.  Raises ValueError for primals that are no
    tensors, RuntimeError for integers.

    >>> import minigrad
    >>> y, pull = minigrad.func.vjp(minigrad.sin, minigrad.tensor(0.))
    >>> pull(minigrad.tensor(2.))
    (tensor(2.),)
    """
    flat, spec = flatten(primals)
    if not flat:
        raise error(RuntimeError, "vjp", "got no tensors to differentiate by", "pass tensors as primals")
    for i, primal in enumerate(primals):
        inputs("vjp", f"primal {i}", primal)
    with push(Grad()) as layer:
        boxes = [layer.variable(a) for a in flat]
        result = func(*rebuild(spec, boxes))
        result, aux = split_aux("vjp", result) if has_aux else (result, None)
        outs = results("vjp", result)
        for o in outs:
            check_float("vjp", o)
    value = tree_map(layer.inner, result)
    values, value_spec = flatten(value)

    def pull_back(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple:
        given = check_cotangents(cotangents, values, value_spec)
        found = pull(layer, outs, given, boxes, retain_graph, create_graph)
        return rebuild(spec, [zeros(a) if g is None else g for g, a in zip(found, flat)])

    return (value, pull_back, tree_map(layer.inner, aux)) if has_aux else (value, pull_back)


def pull(layer: Grad, outs: list, cotangents: list, boxes: list, keep: bool, create: bool | None = None) -> list:
    """The gradients at the boxes, pulled back from the outputs of a transform that has ended; None where none arrived."""
    pairs = [(e, g) for o, g in zip(outs, cotangents) if layer.owns(o) and (e := history(o)) is not None]
    if not pairs:
        return [None] * len(boxes)
    edges, grads = zip(*pairs)
    create = current().grad and not settled(layer, outs, cotangents) if create is None else create
    found = engine.run(edges, grads, {(b._edge, 0) for b in boxes}, keep=keep, create=create)
    return [found.get((b._edge, 0)) for b in boxes]


def settled(layer: Grad, outs: list, cotangents: list) -> bool:
    """Whether nobody can differentiate the gradients once more: below the transform nothing is tracked.

    The values of the outputs show it: formulas read what the operations have read, whose results would be tracked as well.
    A user's backward may read anything.
    """
    if current() is not ON or layer.opaque:
        return False
    values = [*[o._value if type(o) is Box else o for o in outs], *cotangents]
    return all([v._layer is None and history(v) is None for v in values])


def check_cotangents(cotangents: Any, values: list, spec: Any) -> list:
    """One cotangent for each result, of its shape."""
    given, given_spec = flatten(cotangents)
    if given_spec != spec:
        raise error(
            RuntimeError,
            "vjp",
            f"expected cotangents of the same structure as the function's output, {spec}, got {given_spec}",
            "pass one argument that is nested like the output",
        )
    for i, (g, v) in enumerate(zip(given, values)):
        if not isinstance(g, Tensor) or tuple(g.shape) != tuple(v.shape):
            raise error(
                RuntimeError, "vjp", f"cotangent {i} is {described(g)}, but the result has shape {tuple(v.shape)}"
            )
    return [g if g.dtype == v.dtype else g.to(v.dtype) for g, v in zip(given, values)]


def grad_and_value(func: Callable, argnums: int | tuple = 0, has_aux: bool = False) -> Callable:
    """Like `grad`, but returning (gradient, value), or (gradient, (value, aux)) with `has_aux`."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple:
        nums = normalize("grad", argnums, len(args))
        flat, spec = flatten(tuple([args[n] for n in nums]))
        if not all([isinstance(a, Tensor) and a._np_dtype.kind == "f" for a in flat]):
            for n in nums:
                inputs("grad", f"argument {n}", args[n])
        with push(Grad()) as layer:
            boxes = [layer.variable(a) for a in flat]
            full = list(args)
            for n, box in zip(nums, rebuild(spec, boxes)):
                full[n] = box
            result = func(*full, **kwargs)
            value, aux = split_aux("grad", result) if has_aux else (result, None)
            check_scalar(value)
        low = layer.inner(value)
        one = wrap(np.array(1.0, low._a.dtype)) if low._layer is None else low.new_ones(())
        found = pull(layer, [value], [one], boxes, keep=False)
        gradients = rebuild(spec, [zeros(a) if g is None else g for g, a in zip(found, flat)])
        return unwrap(gradients, argnums), (low, tree_map(layer.inner, aux)) if has_aux else low

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

    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def normalize(who: str, argnums: Any, n: int) -> tuple:
    """`argnums` as a tuple counted from the front, checked against the number of arguments."""
    nums = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(nums, tuple) or not nums or not all(isinstance(a, int) for a in nums):
        raise error(RuntimeError, who, f"argnums has to be an int or a non-empty tuple of ints, got {argnums!r}")
    for a in nums:
        if not -n <= a < n:
            raise error(RuntimeError, who, f"got argnums={a}, but only {n} positional inputs")
    found = tuple([a % n for a in nums])
    if len(set(found)) != len(found):
        raise error(RuntimeError, who, f"argnums elements must be unique but got {argnums}")
    return found


def unwrap(parts: tuple, argnums: Any) -> Any:
    """One argument's part alone where argnums was an int."""
    return parts[0] if isinstance(argnums, int) else parts


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
    check_float("grad", value)


def check_float(who: str, value: Tensor) -> None:
    """Only floating-point results can be differentiated."""
    if not value.is_floating_point():
        raise error(
            RuntimeError,
            who,
            f"expected the function to return floating-point tensors, got {value.dtype}",
            "mark other results with has_aux=True",
        )
