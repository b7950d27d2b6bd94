"""Forward mode in eager code: dual numbers.  A tensor carries its tangent beside its value while a dual level is open.

Every operation pushes tangents by the same formulas that backward uses.  A view's tangent is a view of its base's tangent,
so writing in place keeps all of them in step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core.context import Frame, current, enter, use
from ..core.function import is_float
from ..core.inplace import inplace, twin
from ..core.tensor import Tensor
from ..errors import error


class Level:
    """One open dual level; compared by identity."""


class UnpackedDualTensor(NamedTuple):
    """The two halves of a dual tensor; `tangent` is None where there is none."""

    primal: Tensor
    tangent: Tensor | None


class dual_level:
    """The context in which tangents are carried along.  Levels do not nest.

    >>> import minigrad
    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(minigrad.tensor(3.), minigrad.tensor(1.))
    ...     fwAD.unpack_dual(x * x).tangent
    tensor(6.)
    """

    def __enter__(self) -> int:
        enter_dual_level()
        return 0

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


def enter_dual_level() -> int:
    """Open the dual level.  Raises RuntimeError if one is open."""
    frame = current()
    if frame.dual is not None:
        raise error(RuntimeError, "enter_dual_level", "nested forward mode AD is not supported: a dual level is open already",
                    "use minigrad.func.jvp inside, which nests")
    enter(frame.but(dual=Level()))
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the dual level; its tangents are gone."""
    frame = current()
    if frame.dual is None:
        raise error(RuntimeError, "exit_dual_level", "trying to exit a dual level, but none was entered",
                    "use `with dual_level():`")
    enter(frame.but(dual=None))


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent`, of the same shape and dtype, until the level ends."""
    frame = current()
    if frame.dual is None:
        raise error(RuntimeError, "make_dual", "trying to create a dual Tensor for forward AD but no level exists, make sure to "
                    "enter_dual_level() first", "use it inside `with dual_level():`")
    for name, t in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(t, Tensor) or not is_float(t):
            raise error(ValueError, "make_dual", f"expected {name} to be floating point, got {t.dtype if isinstance(t, Tensor) else type(t).__name__}")
    if tensor.shape != tangent.shape:
        raise error(RuntimeError, "make_dual", f"the tangent has shape {tuple(tangent.shape)}, but the tensor has shape {tuple(tensor.shape)}",
                    "a tangent has its tensor's shape")
    if tensor.dtype != tangent.dtype:
        raise error(RuntimeError, "make_dual", f"the tangent has {tangent.dtype}, but the tensor has {tensor.dtype}")
    if tangent_of(tensor, frame.dual) is not None:
        raise error(RuntimeError, "make_dual", "the tensor already carries a tangent at this level", "unpack_dual it first")
    with use(frame.but(dual=None)):
        out = tensor.view_as(tensor)
    out._tan = (frame.dual, tangent)
    return out


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value without its tangent, and the tangent (None if it has none, or its level has ended)."""
    dual = current().dual
    if dual is None:
        return UnpackedDualTensor(tensor, None)
    with use(current().but(dual=None)):
        return UnpackedDualTensor(tensor.view_as(tensor), tangent_of(tensor, dual))


def tangent_of(a: Any, level: Any) -> Tensor | None:
    """The tangent that a carries at this level."""
    return a._tan[1] if isinstance(a, Tensor) and a._layer is None and a._tan is not None and a._tan[0] is level else None


def push(frame: Frame, cls: Any, args: tuple, outs: tuple, ctx: Any = None) -> None:
    """Give the outputs of `cls(*args)` their tangents, if an argument has one."""
    level = frame.dual
    tangents = [tangent_of(a, level) for a in args]
    if any(t is not None for t in tangents):
        with use(frame.but(dual=None)):
            results = cls._tangents(args, tangents, outs, ctx)
        for o, t in zip(outs, results, strict=True):
            if t is not None and is_float(o):
                o._tan = (level, t)


def write(frame: Frame, fn: Any, x: Tensor, others: tuple) -> None:
    """x is about to be written in place by fn: its tangent becomes that of the result."""
    from ..ops.memory import Copy

    level = frame.dual
    tangents = [tangent_of(a, level) for a in (x, *others)]
    if all(t is None for t in tangents):
        return
    with use(frame.but(dual=None)):
        args = (twin(x), *others)
        (t,) = fn._tangents(args, tangents, (fn.apply(*args),))
        if tangents[0] is None:
            tangents[0] = zero_tangent(x, level)
        inplace(Copy, tangents[0], 0.0 if t is None else t)


def zero_tangent(x: Tensor, level: Level) -> Tensor:
    """A tangent of zeros for x; if x is a view, as the same view of its base's tangent."""
    t = tangent_of(x, level)
    if t is None:
        view = x._view
        t = x.new_zeros(x.shape) if view is None or view.fn is None else view.fn.apply(zero_tangent(view.parent, level), *view.args)
        x._tan = (level, t)
    return t
