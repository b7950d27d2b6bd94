"""Reverse mode as transforms of functions: grad, grad_and_value, vjp.  The Grad layer and the engine do the work."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..arrays import kinds
from ..arrays.dtypes import FLOATS
from ..core import engine
from ..core.engine import reachable
from ..core.frames import ON, current, push
from ..core.graph import history
from ..core.tensor import Box, Tensor, wrap
from ..errors import error, warn
from ..layers.grad import Grad
from ..places import return_of
from .tree import (
    check_function,
    described,
    flatten,
    inputs,
    rebuild,
    results,
    split_aux,
    structure_text,
    tree_map,
    zeros,
)


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """Return the value of `func(*primals)`, and a function that pulls a cotangent of it back to the primals.

    Primals and results may be trees of tensors; the cotangent is a tree like the result.  With `has_aux`, func returns
    (result, aux), and aux is the third value.  Raises ValueError for primals that are not tensors, and RuntimeError for
    integers.

    >>> import minigrad
    >>> y, pull = minigrad.func.vjp(minigrad.sin, minigrad.tensor(0.))
    >>> pull(minigrad.tensor(2.))
    (tensor(2.),)
    """
    return pulled("vjp", func, primals, has_aux)


def pulled(who: str, func: Callable, primals: tuple, has_aux: bool) -> tuple:
    """Compute vjp for the transform `who`, which errors name."""
    check_function(who, func)
    flat, spec = flatten(primals)
    if not flat:
        raise error(RuntimeError, who, "got no tensors to differentiate with respect to", "pass tensors as primals")
    for i, primal in enumerate(primals):
        inputs(who, f"primal {i}", primal)
    with push(Grad()) as layer:
        boxes = [layer.variable(a) for a in flat]
        result = func(*rebuild(spec, boxes))
        result, aux = split_aux(who, result) if has_aux else (result, None)
        outs = results(who, result)
        for o in outs:
            check_float(who, o)
    value = tree_map(layer.inner, result)
    values, value_spec = flatten(value)

    def pull_back(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple:
        given = check_cotangents(cotangents, values, value_spec)
        found = pull(layer, outs, given, boxes, retain_graph, create_graph)
        return rebuild(spec, [zeros(a) if g is None else g for g, a in zip(found, flat)])

    return (value, pull_back, tree_map(layer.inner, aux)) if has_aux else (value, pull_back)


def pull(layer: Grad, outs: list, cotangents: list, boxes: list, keep: bool, create: bool | None = None) -> list:
    """Return the gradients at the boxes, pulled back from the outputs of an ended transform; None where none arrived."""
    pairs = [(e, g) for o, g in zip(outs, cotangents) if layer.owns(o) and (e := history(o)) is not None]
    if not pairs:
        return [None] * len(boxes)
    edges, grads = zip(*pairs)
    create = current().grad and not settled(layer, outs, cotangents) if create is None else create
    found = engine.run(edges, grads, {(b._edge, 0) for b in boxes}, keep=keep, create=create)
    return [found.get((b._edge, 0)) for b in boxes]


def settled(layer: Grad, outs: list, cotangents: list) -> bool:
    """Return True if the gradients cannot be differentiated again, because nothing below the transform is tracked.

    The values of the outputs show it: formulas read the same tensors as the operations, whose results would be tracked, too.
    A user's backward may read anything.
    """
    if current() is not ON or layer.opaque:
        return False
    values = [*[o._value if type(o) is Box else o for o in outs], *cotangents]
    return all([v._layer is None and history(v) is None for v in values])


def check_cotangents(cotangents: Any, values: list, spec: Any) -> list:
    """Return one cotangent for each result, checked, in the result's dtype."""
    given, given_spec = flatten(cotangents)
    if given_spec != spec:
        raise error(
            RuntimeError,
            "vjp",
            f"expected cotangents of the same structure as the function's output, {structure_text(spec)}, "
            f"got {structure_text(given_spec)}",
            "pass one argument nested like the output",
        )
    for i, (g, v) in enumerate(zip(given, values)):
        if not isinstance(g, Tensor) or tuple(g.shape) != tuple(v.shape):
            what = f"cotangent {i} is {described(g)}, but the result has shape {tuple(v.shape)}"
            fix = "pass a tensor of the result's shape; minigrad.ones_like(result) gives the gradient of its sum"
            raise error(RuntimeError, "vjp", what, fix)
    return [g if g.dtype == v.dtype else g.to(v.dtype) for g, v in zip(given, values)]


def grad_and_value(func: Callable, argnums: int | tuple = 0, has_aux: bool = False) -> Callable:
    """Return a function that computes (gradient, value) like `grad`, or (gradient, (value, aux)) with `has_aux`.

    >>> import minigrad
    >>> minigrad.func.grad_and_value(lambda x: x ** 2)(minigrad.tensor(3.))
    (tensor(6.), tensor(9.))
    """
    return both("grad_and_value", func, argnums, has_aux)


def both(who: str, func: Callable, argnums: int | tuple, has_aux: bool) -> Callable:
    """Return the function that computes gradient and value; errors name the transform `who`."""
    check_function(who, func)
    check_argnums(who, argnums)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple:
        nums = (0,) if argnums == 0 and args else normalize(who, argnums, len(args), kwargs)
        flat, spec = flatten(tuple([args[n] for n in nums]))
        if not all([isinstance(a, Tensor) and a._np_dtype in FLOATS for a in flat]):
            for n in nums:
                inputs(who, f"argument {n}", args[n])
        with push(Grad()) as layer:
            boxes = [layer.variable(a) for a in flat]
            result = call(func, args, kwargs, dict(zip(nums, rebuild(spec, boxes))))
            value, aux = split_aux(who, result) if has_aux else (result, None)
            check_scalar(who, value, func)
        low = layer.inner(value)
        one = wrap(kinds.one(low._a)) if low._layer is None else low.new_ones(())
        found = pull(layer, [value], [one], boxes, keep=False)
        if any([g is None for g in found]):
            look_for_captured(who, func, low, [(n, a) for n in nums for a in flatten(args[n])[0]], found)
            look_for_cut(who, layer, found)
        gradients = rebuild(spec, [zeros(a) if g is None else g for g, a in zip(found, flat)])
        return unwrap(gradients, argnums), (low, tree_map(layer.inner, aux)) if has_aux else low

    return wrapper


def grad(func: Callable, argnums: int | tuple = 0, has_aux: bool = False) -> Callable:
    """Return a function that computes the gradient of a scalar-valued `func` with respect to its arguments `argnums`.

    Arguments may be trees of tensors; `argnums` is an int or a tuple of ints (negative ones count from the end).  With
    `has_aux`, func returns (output, aux), and the result is (gradient, aux).  Raises RuntimeError if func does not return a
    scalar tensor, and for integer arguments.

    >>> import minigrad
    >>> minigrad.func.grad(minigrad.func.grad(lambda x: x ** 3))(minigrad.tensor(2.))
    tensor(12.)
    """

    compute = both("grad", func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = compute(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def check_argnums(who: str, argnums: Any) -> tuple:
    """Return `argnums` as a tuple of ints."""
    nums = (argnums,) if isinstance(argnums, int) else argnums
    if isinstance(nums, tuple) and nums and all(isinstance(a, int) for a in nums):
        return nums
    if isinstance(argnums, list):
        given, fix = repr(argnums), f"pass a tuple: argnums={tuple(argnums)!r}"
    else:
        given, fix = described(argnums), f"pass the function's arguments to the returned function: {who}(f)(x)"
    raise error(RuntimeError, who, f"argnums must be an int or a non-empty tuple of ints, got {given}", fix)


def normalize(who: str, argnums: Any, n: int, keywords: Any = ()) -> tuple:
    """Return `argnums` as a tuple counted from the front, checked against the number of arguments."""
    nums = check_argnums(who, argnums)
    for a in nums:
        if not -n <= a < n:
            named = f" ({', '.join(keywords)} by keyword)" if keywords else ""
            raise error(
                RuntimeError,
                who,
                f"got argnums={a}, but only {n} positional inputs{named}",
                f"argnums counts positional arguments from 0: here {', '.join(map(str, range(n)))}"
                if n
                else "pass differentiated arguments by position, not by keyword",
            )
    found = tuple([a % n for a in nums])
    if len(set(found)) != len(found):
        raise error(RuntimeError, who, f"argnums elements must be unique but got {argnums}", "list each argument once")
    return found


def call(func: Callable, args: tuple, kwargs: dict, chosen: dict) -> Any:
    """Call func inside a transform, with `chosen`, the arguments to differentiate with respect to, at their positions.

    The transform adopts the tensors in the other arguments, too, so that func may write to them.
    """
    layer = current().layer
    own = lambda a: layer.adopt(a) if isinstance(a, Tensor) else a
    full = [chosen[n] if n in chosen else tree_map(own, a) for n, a in enumerate(args)]
    return func(*full, **(tree_map(own, kwargs) if kwargs else kwargs))


def unwrap(parts: tuple, argnums: Any) -> Any:
    """Return the single part if argnums was an int, else all parts."""
    return parts[0] if isinstance(argnums, int) else parts


def look_for_captured(who: str, func: Callable, value: Tensor, given: list, found: list) -> None:
    """Warn if the result depends on a tensor passed as an argument, but through a closure instead of the argument.

    `given` has the tensors with their arguments' numbers, `found` their gradients, None for an unused argument.
    """
    edge = history(value) if value._layer is None else None
    leaves = set() if edge is None else reachable([edge])[1]
    for (n, a), g in zip(given, found):
        if g is None and a._layer is None and a._edge in leaves:
            warn(
                "captured-argument",
                who,
                f"the gradient for a tensor of shape {tuple(a.shape)} in argument {n} is zero: the function does not use this "
                "argument, but the same tensor from outside",
                "use the function's own parameter; with a module, functional_call(module, params, (x,)) instead of module(x)",
                notes=return_of(func),
            )
            return


def look_for_cut(who: str, layer: Grad, found: list) -> None:
    """Warn if a gradient is zero because the function took a tensor out of its history.

    If the function read values, it may have chosen a branch that is a constant.
    """
    if layer.cut is not None and not layer.read and not any([g is not None for g in found]):
        how, shape, place = layer.cut
        warn(
            "untracked-result",
            who,
            f"the gradient is zero: the result depends on no argument, because {how} takes a tensor of shape {shape} out "
            "of its history",
            "compute the result without detach() and no_grad(); return values that are only for inspection with has_aux=True",
            place,
        )


def check_scalar(who: str, value: Any, func: Callable) -> None:
    """Check that the result of `func` for grad is a 0-d float tensor."""
    if not isinstance(value, Tensor):
        raise error(
            RuntimeError,
            who,
            f"expected the given function to return a tensor, got {described(value)}",
            "end it with `return loss`, a scalar tensor without .item(); with has_aux=True return (scalar, anything)",
            notes=return_of(func),
        )
    if value.ndim:
        raise error(
            RuntimeError,
            who,
            f"expected the function to return a scalar tensor, got shape {tuple(value.shape)}",
            "reduce it, e.g. with .sum(), or use jacrev; hessian(f) gives second derivatives",
            notes=return_of(func),
        )
    check_float(who, value)


def check_float(who: str, value: Tensor) -> None:
    """Check that a result is floating-point, so that it can be differentiated."""
    if not value.is_floating_point():
        raise error(
            RuntimeError,
            who,
            f"expected the function to return floating-point tensors, got {value.dtype}",
            "return a value that changes smoothly with the inputs, cross_entropy rather than an accuracy; mark other "
            "results with has_aux=True",
        )
