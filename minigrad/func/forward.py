"""Forward mode as functions of functions: jvp and linearize.  The work is done by the Jvp layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.context import push
from ..core.tensor import Box, Tensor
from ..errors import error
from ..layers.jvp import Jvp
from .reverse import split_aux
from .tree import flatten, leaves, rebuild, tensors_only, tree_map


def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """The value of `func(*primals)` and its derivative in the direction `tangents`, which has the structure of primals.

    With `strict`, a result that does not depend on the primals is an error instead of having a tangent of zeros.

    >>> import minigrad
    >>> minigrad.func.jvp(lambda x: x * x, (minigrad.tensor(3.),), (minigrad.tensor(1.),))
    (tensor(9.), tensor(6.))
    """
    if not isinstance(primals, tuple) or not primals or not isinstance(tangents, tuple):
        raise error(
            RuntimeError,
            "jvp",
            f"expected primals and tangents to be non-empty tuples, got {type(primals).__name__} and "
            f"{type(tangents).__name__}",
            "pass (x,) for a single argument",
        )
    flat, spec = flatten(primals)
    flat_tangents = matching(flat, spec, tangents)
    with push(Jvp()) as layer:
        result = func(*rebuild(spec, [layer.box(p, t) for p, t in zip(flat, flat_tangents)]))
        result, aux = split_aux("jvp", result) if has_aux else (result, None)
        outs = tensors_only("jvp", "the results of the function", result)
    mine = lambda o: isinstance(o, Box) and o._layer is layer
    down = lambda tree: tree_map(lambda o: o._value if mine(o) else o, tree)
    pushed = [o._extra if mine(o) else None for o in outs]
    if strict and any(t is None for t in pushed):
        raise error(
            RuntimeError,
            "jvp",
            f"with strict=True, result {[i for i, t in enumerate(pushed) if t is None][0]} does not depend on the primals",
        )
    value = down(result)
    low, out_spec = flatten(value)
    out = value, rebuild(out_spec, [v.new_zeros(v.shape) if t is None else t for v, t in zip(low, pushed)])
    return (*out, down(aux)) if has_aux else out


def matching(flat: list, spec: Any, tangents: tuple) -> list:
    """The tangents in the order of the primals, checked against them."""
    given, given_spec = flatten(tangents)
    if given_spec != spec:
        raise error(
            RuntimeError,
            "jvp",
            f"expected primals and tangents to have the same structure, got {spec} and {given_spec}",
        )
    for i, (p, t) in enumerate(zip(flat, given)):
        if not isinstance(p, Tensor) or not isinstance(t, Tensor):
            raise error(
                RuntimeError,
                "jvp",
                f"primals and tangents have to be tensors, got {type(p).__name__} and {type(t).__name__} at {i}",
            )
        if tuple(p.shape) != tuple(t.shape):
            raise error(
                RuntimeError,
                "jvp",
                f"tangent {i} has shape {tuple(t.shape)}, but its primal has shape {tuple(p.shape)}",
                "a tangent has its primal's shape",
            )
        if not p.is_floating_point():
            raise error(
                RuntimeError, "jvp", f"primal {i} has dtype {p.dtype}; only floating-point tensors have tangents"
            )
    return given


def linearize(func: Callable, *primals: Any) -> tuple:
    """The value of `func(*primals)`, and the linear function that maps tangents of the primals to tangents of the value.

    The linear function runs func again under jvp for each call, which is right for any func.
    """
    if not leaves(primals):
        raise error(RuntimeError, "linearize", "got no tensors to linearize at", "pass tensors as primals")

    def push_forward(*tangents: Any) -> Any:
        return jvp(func, primals, tangents)[1]

    return func(*primals), push_forward
