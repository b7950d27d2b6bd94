"""Forward mode as transforms of functions: jvp uses the Jvp layer; linearize records a jvp to run it again."""

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
    split_aux,
    structure_text,
    tree_map,
    zeros,
)


def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """Return the value of `func(*primals)` and its derivative in the direction `tangents`, a tree like primals.

    With `strict`, a result that does not depend on the primals raises instead of having a tangent of zeros.  With
    `has_aux`, func returns (result, aux), and aux is the third value.  Raises RuntimeError for tangents that do not match
    the primals, and ValueError for tensors that are not floating-point.

    >>> import minigrad
    >>> minigrad.func.jvp(lambda x: x * x, (minigrad.tensor(3.),), (minigrad.tensor(1.),))
    (tensor(9.), tensor(6.))
    """
    check_function("jvp", func, "jvp(f, (x,), (tangent,))")
    if not isinstance(primals, tuple) or not primals:
        what = f"expected primals to be a non-empty tuple, got {described(primals)}"
        raise error(RuntimeError, "jvp", what, "pass (x,) for one, and a tuple with one tangent for each")
    flat, spec = flatten(primals)
    directions = matching("jvp", flat, spec, tangents)
    layer = Jvp()
    duals = [layer.dual(p, t) for p, t in zip(flat, directions)]
    with push(layer):
        result = func(*rebuild(spec, duals))
        result, aux = split_aux("jvp", result) if has_aux else (result, None)
        outs = results("jvp", result)
    pushed = [layer.tangent(o) for o in outs]
    if strict and any(t is None for t in pushed):
        i = next(i for i, t in enumerate(pushed) if t is None)
        what = f"with strict=True, result {i} ({described(outs[i])}) does not depend on the primals"
        raise error(RuntimeError, "jvp", what, "drop strict=True to get a tangent of zeros")
    value = tree_map(layer.inner, result)
    low, out_spec = flatten(value)
    out = value, rebuild(out_spec, [zeros(v) if t is None else t for v, t in zip(low, pushed)])
    return (*out, tree_map(layer.inner, aux)) if has_aux else out


def matching(who: str, flat: list, spec: Any, tangents: Any, strict: bool = False) -> list:
    """Return the tangents in the order of the primals, checked against them; their dtypes are checked only if `strict`."""
    given, given_spec = flatten(tangents)
    if given_spec != spec:
        raise error(
            RuntimeError,
            who,
            f"expected tangents of the same structure as the primals: there are {counted(len(flat), 'primal')}, nested as "
            f"{structure_text(spec)}, and {counted(len(given), 'tangent')}, nested as {structure_text(given_spec)}",
            "pass one tangent for each primal, in a tuple; minigrad.zeros_like(x) for a constant primal",
        )
    for i, (p, t) in enumerate(zip(flat, given)):
        if not isinstance(p, Tensor) or not p.is_floating_point():
            what = f"primal {i} is {described(p)}; only floating-point tensors have tangents"
            fix = "capture constants in a closure instead of passing them"
            raise error(ValueError if isinstance(p, Tensor) else RuntimeError, who, what, fix)
        if not isinstance(t, Tensor) or tuple(p.shape) != tuple(t.shape):
            raise error(
                RuntimeError,
                who,
                f"tangent {i} is {described(t)}, but its primal is {described(p)}",
                f"pass a tangent of shape {tuple(p.shape)}; for several tangents at once, map "
                f"{'the linear function' if strict else who} over them with minigrad.vmap",
            )
        if not t.is_floating_point() or strict and t.dtype != p.dtype:
            what = f"tangent {i} is {described(t)}, but its primal is {described(p)}"
            raise error(RuntimeError if strict else ValueError, who, what, f"convert it: tangent.to({p.dtype})")
    return [t if t.dtype == p.dtype else t.to(p.dtype) for p, t in zip(flat, given)]


def linearize(func: Callable, *primals: Any) -> tuple:
    """Return the value of `func(*primals)`, and the linear function from tangents of the primals to tangents of the value.

    func runs once, so the value and the linear map share its random numbers and side effects.  Its action
    on tangents is recorded at a tangent of zeros; the record keeps the intermediate values.  This linear record is transposed,
    which gives the vector-Jacobian product, and each call transposes it once more.  The linear function raises RuntimeError
    for tangents that do not have their primals' shapes and dtypes.

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
