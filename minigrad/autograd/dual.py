"""Dual numbers: eager tensors carry tangents through every operation.  forward_ad.py has the public functions.

Tangents use the same formulas as backward.  A view's tangent is a view of its base's tangent, so in-place writes keep them
all in step.  The open level is in the frame (Frame.dual), and core reports each operation to it.
"""

from __future__ import annotations

from typing import Any

from ..arrays.dtypes import FLOATS
from ..core.context import Ctx, among
from ..core.frames import EAGER, Frame, current, use
from ..core.function import Function
from ..core.graph import Node, output_index, producer
from ..core.inplace import twin
from ..core.saved import Saved
from ..core.tensor import Tensor, is_float
from ..layers.outputs import check_outputs, modified_problem
from ..layers.transform import laid_out_like


class Level:
    """One open dual level; levels are compared by identity."""

    def op_done(self, frame: Frame, cls: Any, args: tuple, outs: tuple, ctx: Ctx | None = None) -> None:
        """Give the outputs of `cls(*args)` their tangents, if an argument has one."""
        tangents = [tangent_of(a, self) for a in args]
        if any(t is not None for t in tangents):
            with use(frame.but(dual=None)):
                results = cls.tangents(args, tangents, outs, ctx)
                for o, t in zip(outs, results, strict=True):
                    if ctx is not None and among(o, args):  # modified in place
                        self.renew(o, t)
                    elif t is not None and o._np_dtype in FLOATS:
                        o._tan = (self, t if cls.primitive and cls.view else laid_out_like(o, t))
                        self.follow(o)

    def renew(self, x: Tensor, t: Tensor | None) -> None:
        """Write t into the tangent of x, in the memory that it shares with the tangents of x's base and views."""
        if is_float(x):
            zero_tangent(x, self).copy_(0.0 if t is None else t)
            self.follow(x)

    def follow(self, o: Tensor) -> None:
        """Give o's tangent also to the copy of o that its node has saved without one: backward may be dual, too."""
        node = producer(o._edge)
        if isinstance(node, Node) and type(node._saved) is tuple:
            for s in node._saved:
                if type(s) is Saved and s.index == output_index(o._edge) and s.unpack is None:
                    s.tensor._tan = o._tan

    def tangent(self, t: Tensor) -> Tensor | None:
        """Return the tangent that t carries at this level."""
        return tangent_of(t, self)

    def write(self, frame: Frame, fn: type[Function], x: Tensor, others: tuple) -> None:
        """Set x's tangent to the result's tangent; fn is about to modify x in place."""
        tangents = [tangent_of(a, self) for a in (x, *others)]
        dual = any([t is not None for t in tangents])
        check_outputs(fn, x, dual, self.tangent)
        if not dual:
            return
        with use(frame.but(dual=None)):
            args = (twin(x), *others)
            (t,) = fn.tangents(args, tangents, (fn.apply(*args),))
            zero_tangent(x, self).copy_(0.0 if t is None else t)

    def copy(self, frame: Frame, x: Tensor) -> tuple | None:
        """Return a copy of x's tangent in its own memory, as tensors carry it."""
        t = tangent_of(x, self)
        with use(frame.but(dual=None)):
            return None if t is None else (self, t.clone())


def tangent_of(a: object, level: Level) -> Tensor | None:
    """Return the tangent that a carries at this level; a view of a base with a tangent has a view of that tangent."""
    if not isinstance(a, Tensor) or a._layer is not None:
        return None
    chain, given = [], a
    while (a._tan is None or a._tan[0] is not level) and a._view is not None and a._view.fn is not None:
        chain.append(a)
        a = a._view.parent
    t = a._tan[1] if a._tan is not None and a._tan[0] is level else None
    if t is not None and chain:
        with use(eager_frame().but(dual=None)):
            for view in reversed(chain):
                t = view._view.fn.apply(t, *view._view.args)
                view._tan = (level, t)
    if given._view is not None:
        refuse_modified(given, t, level)
    return t


def refuse_modified(a: Tensor, t: Tensor | None, level: Level) -> None:
    """Raise if a is an output whose memory was modified, and it or the memory's owner has a tangent."""
    if (problem := modified_problem(a)) and (t is not None or tangent_of(a._base, level) is not None):
        raise problem()


def eager_frame() -> Frame:
    """Return the frame outside all transforms: tensors with tangents live there, whichever transform asks for one."""
    frame = current()
    while frame.layer is not EAGER:
        frame = frame.parent
    return frame


def zero_tangent(x: Tensor, level: Level) -> Tensor:
    """Return the tangent of x; if it has none, one of zeros; for a view, the same view of its base's tangent."""
    t = tangent_of(x, level)
    if t is None:
        view = x._view
        if view is None or view.fn is None:
            t = laid_out_like(x, x.new_zeros(x.shape))
        else:
            t = view.fn.apply(zero_tangent(view.parent, level), *view.args)
        x._tan = (level, t)
    return t
