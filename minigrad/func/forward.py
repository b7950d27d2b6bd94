"""Forward mode as functions of functions: jvp, by the Jvp layer; linearize, which keeps a jvp to run it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.frames import push
from ..core.tensor import Tensor
from ..errors import error
from ..layers.grad import Tape, transpose
from ..layers.jvp import Jvp
from .reverse import pull
from .tree import (
    check_function,
    counted,
    described,
    flatten,
    inputs,
    rebuild,
    results,
    shown,
    split_aux,
    tree_map,
    zeros,
)


def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """The value of `func(*primals)` and its derivative in the direction `tangents`, which has the structure of primals.

    With `strict`, a result that does not depend on the primals is an error instead of having a tangent of zeros.  With
    `has_aux`, func returns (result, aux) and aux is passed through as the third value.  Raises RuntimeError where
    tangents do not match the primals, ValueError for tensors that are not floating-point.

    >>> import minigrad
    >>> minigrad.func.jvp(lambda x: x * x, (minigrad.tensor(3.),), (minigrad.tensor(1.),))
    (tensor(9.), tensor(6.))
    """
    check_function("jvp", func, "jvp(f, (x,), (tangent,))")
    if not isinstance(primals, tuple) or not primals:
        raise error(
            RuntimeError,
            "jvp",
            f"expected primals to be a non-empty tuple, got {described(primals)}",
            "pass (x,) for one, and a tuple of as many tangents",
        )
    flat, spec = flatten(primals)
    directions = matching("jvp", flat, spec, tangents)
    with push(Jvp()) as layer:
        result = func(*rebuild(spec, [layer.dual(p, t) for p, t in zip(flat, directions)]))
        result, aux = split_aux("jvp", result) if has_aux else (result, None)
        outs = results("jvp", result)
    pushed = [layer.tangent(o) for o in outs]
    if strict and any(t is None for t in pushed):
        i = next(i for i, t in enumerate(pushed) if t is None)
        raise error(
            RuntimeError,
            "jvp",
            f"with strict=True, result {i} ({described(outs[i])}) does not depend on the primals",
            "leave strict=True out to get a tangent of zeros",
        )
    value = tree_map(layer.inner, result)
    low, out_spec = flatten(value)
    out = value, rebuild(out_spec, [zeros(v) if t is None else t for v, t in zip(low, pushed)])
    return (*out, tree_map(layer.inner, aux)) if has_aux else out


def matching(who: str, flat: list, spec: Any, tangents: Any, strict: bool = False) -> list:
    """Return the tangents in the order of the primals, checked against them, their dtypes only if `strict`."""
    given, given_spec = flatten(tangents)
    if given_spec != spec:
        raise error(
            RuntimeError,
            who,
            f"expected tangents of the same structure as the primals: there are {counted(len(flat), 'primal')}, nested as "
            f"{shown(spec)}, and {counted(len(given), 'tangent')}, nested as {shown(given_spec)}",
            "pass one tangent for each primal, in a tuple; minigrad.zeros_like(x) for one that does not move",
        )
    for i, (p, t) in enumerate(zip(flat, given)):
        if not isinstance(p, Tensor) or not p.is_floating_point():
            raise error(
                ValueError if isinstance(p, Tensor) else RuntimeError,
                who,
                f"primal {i} is {described(p)}; only floating-point tensors have tangents",
                "pass what is not differentiated by a closure",
            )
        if not isinstance(t, Tensor) or tuple(p.shape) != tuple(t.shape):
            raise error(
                RuntimeError,
                who,
                f"tangent {i} is {described(t)}, but its primal is {described(p)}",
                "a tangent has its primal's shape; for many at once use minigrad.vmap over them",
            )
        if not t.is_floating_point() or strict and t.dtype != p.dtype:
            raise error(
                RuntimeError if strict else ValueError,
                who,
                f"tangent {i} is {described(t)}, but its primal is {described(p)}",
                f"convert it: tangent.to({p.dtype})",
            )
    return [t if t.dtype == p.dtype else t.to(p.dtype) for p, t in zip(flat, given)]


def linearize(func: Callable, *primals: Any) -> tuple:
    """The value of `func(*primals)`, and the linear function that maps tangents of the primals to tangents of the value.

    func runs once, so that its random numbers and side effects belong to the value and the linear map alike.  What it
    does to tangents is recorded, at a tangent of zeros, and holds on to the intermediate values; that linear record is
    turned around (which gives the vector-Jacobian product) and for each call around once more.  The linear function raises
    RuntimeError for tangents that have not their primals' shapes and dtypes.

    >>> import minigrad
    >>> value, push = minigrad.func.linearize(minigrad.exp, minigrad.tensor(0.))
    >>> value, push(minigrad.tensor(2.))
    (tensor(1.), tensor(2.))
    """
    flat, spec = flatten(primals)
    if not flat:
        raise error(RuntimeError, "linearize", "got no tensors to linearize at", "pass tensors as primals")
    inputs("linearize", "the primals", primals)
    start = [zeros(p) for p in flat]
    with push(Tape()) as tape:
        variables = [tape.variable(z) for z in start]
        result, tangent = jvp(func, primals, rebuild(spec, variables))
    value, ends = tree_map(tape.inner, result), flatten(tangent)[0]
    values, out_spec = flatten(value)

    def push_forward(*tangents: Any) -> Any:
        directions = matching("linearize", flat, spec, tangents, strict=True)
        found = transpose(
            lambda *gs: tuple(pull(tape, ends, list(gs), variables, keep=True, create=True)),
            tuple(values),
            tuple(directions),
        )
        return rebuild(out_spec, [zeros(v) if t is None else t for v, t in zip(values, found)])

    return value, push_forward
