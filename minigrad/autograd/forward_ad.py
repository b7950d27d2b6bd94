"""Forward mode in eager code, with dual numbers: while a dual level is open, a tensor can carry a tangent beside its value.

Operations compute tangents with the same formulas as backward.  A view's tangent is a view of its base's tangent, so in-place
writes keep them all in step.
"""

from __future__ import annotations

from typing import NamedTuple

from ..core.frames import current, enter, use
from ..core.tensor import Tensor, is_float
from ..errors import error, warn
from ..events import events
from ..layers.transform import laid_out_like
from ..ops.public_functions import named_code
from .dual import Level, level_here, tangent_of

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """The value and the tangent of a dual tensor; `tangent` is None if it has none.

    >>> import minigrad
    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     print(fwAD.unpack_dual(fwAD.make_dual(minigrad.tensor(2.), minigrad.tensor(1.))))
    UnpackedDualTensor(primal=tensor(2.), tangent=tensor(1.))
    """

    primal: Tensor
    tangent: Tensor | None


class dual_level:
    """Context in which tensors carry tangents, in all threads.  Levels do not nest.

    >>> import minigrad
    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(minigrad.tensor(3.), minigrad.tensor(1.))
    ...     fwAD.unpack_dual(x * x).tangent
    tensor(6.)
    """

    def __enter__(self) -> int:
        self._before = current()
        self._level = entered()
        return 0

    def __exit__(self, *_: object) -> None:
        try:
            exit_dual_level()
        except BaseException:  # Ctrl-C, before or after
            self._level.close()
            enter(self._before)
            raise


def enter_dual_level() -> int:
    """Open the dual level.  Raises RuntimeError if one is open.

    >>> import minigrad
    >>> import minigrad.autograd.forward_ad as fwAD
    >>> level = fwAD.enter_dual_level()
    >>> fwAD.unpack_dual(fwAD.make_dual(minigrad.tensor(2.), minigrad.tensor(1.)) ** 2).tangent
    tensor(4.)
    >>> fwAD.exit_dual_level()
    """
    entered()
    return 0


def entered() -> Level:
    """Open and return the dual level."""
    frame = current()
    if inside := [layer.name for layer in frame.layers() if not layer.transparent]:
        what = f"dual levels are for eager code, and this code runs under `{inside[-1]}`, which ignores tangents"
        fix = "use minigrad.func.jvp instead, which composes with all transforms"
        raise error(RuntimeError, "enter_dual_level", what, fix)
    if frame.dual is not None:
        what = "nested forward mode AD is not supported: a dual level is already open"
        raise error(RuntimeError, "enter_dual_level", what, "use minigrad.func.jvp inside; it nests")
    level = Level()
    try:
        level.open()
        use(frame.but(dual=level)).__enter__()
    except BaseException:  # Ctrl-C
        level.close()
        raise
    return level


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the dual level and drop its tangents.

    >>> import minigrad
    >>> import minigrad.autograd.forward_ad as fwAD
    >>> level = fwAD.enter_dual_level()
    >>> fwAD.exit_dual_level(level=level)
    """
    frame = current()
    if frame.dual is None:
        what = "trying to exit a dual level, but none was entered"
        raise error(RuntimeError, "exit_dual_level", what, "use `with dual_level():`")
    try:
        frame.dual.close()
    finally:
        enter(frame.but(dual=None))


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of `tensor` that carries `tangent`, of the same shape, until the level ends.

    A tangent of another floating-point dtype is converted, as in func.jvp; in PyTorch it keeps its dtype.

    >>> import minigrad
    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(minigrad.tensor(3.), minigrad.tensor(1.))
    ...     print(fwAD.unpack_dual(x * x).tangent)
    tensor(6.)
    """
    level_open = level_here(tensor)
    if level_open is None:
        raise error(
            RuntimeError,
            "make_dual",
            "trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first",
            "use it inside `with dual_level():`",
        )
    for name, t in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(t, Tensor) or not is_float(t):
            what = f"expected {name} to be floating point, got {t.dtype if isinstance(t, Tensor) else type(t).__name__}"
            fix = f"convert it: {name}.float()" if isinstance(t, Tensor) else "pass a tensor"
            raise error(ValueError, "make_dual", what, fix)
    if tensor.shape != tangent.shape:
        raise error(
            RuntimeError,
            "make_dual",
            f"the tangent has shape {tuple(tangent.shape)}, but the tensor has shape {tuple(tensor.shape)}",
            f"pass a tangent of shape {tuple(tensor.shape)}: tangent.expand_as(tensor) broadcasts it; for several tangents "
            "at once, use minigrad.vmap",
        )
    if tangent_of(tensor, level_open) is not None:
        raise error(
            RuntimeError, "make_dual", "the tensor already carries a tangent at this level", "unpack_dual it first"
        )
    out = tensor.view_as(tensor)
    with use(current().but(dual=None)):
        carried = laid_out_like(tensor, tangent if tangent.dtype == tensor.dtype else tangent.to(tensor.dtype))
    out._tan = (level_open, carried, None)
    events.dual_made(out, carried)
    return out


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value without its tangent, and the tangent (None if it has none or its level has ended).

    >>> import minigrad
    >>> import minigrad.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     value, tangent = fwAD.unpack_dual(fwAD.make_dual(minigrad.tensor(3.), minigrad.tensor(1.)).exp())
    >>> bool(value == tangent)
    True
    """
    if not isinstance(tensor, Tensor):
        what = f"expected a tensor, got a {type(tensor).__name__}"
        fix = "unpack the results one by one: [unpack_dual(t).tangent for t in results]"
        raise error(TypeError, "unpack_dual", what, fix)
    dual = level_here(tensor)
    kept = tensor._tan if tensor._layer is None else None  # a box keeps something else there
    while kept is not None and not kept[0].programs:
        kept = kept[2]
    if kept is not None and kept[0] is not dual and kept[1] is not None:
        warn(
            "level-ended",
            "unpack_dual",
            f"the tensor of shape {tuple(tensor.shape)} has lost its tangent: its dual level has ended",
            "call unpack_dual inside `with dual_level():`, and keep the tangent that it returns",
        )
    if dual is None:
        return UnpackedDualTensor(tensor, None)
    with use(current().but(dual=Level())):  # a level at which no tensor has a tangent
        primal, tangent = tensor.view_as(tensor), tangent_of(tensor, dual)
    primal._tan = (dual, None, None)  # else the view of a dual tensor would get a view of its tangent
    return UnpackedDualTensor(primal, tangent)


# recordings show these by name, not as the views that they are
for _f in (make_dual, unpack_dual):
    named_code(_f.__code__, _f.__name__)
