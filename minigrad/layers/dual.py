"""Dual numbers: how tangents ride on eager tensors through every operation.  The user's side is autograd/forward_ad.py.

Tangents are pushed by the same formulas that backward uses.  A view's tangent is a view of its base's tangent, so writing
in place keeps all of them in step.
"""

from __future__ import annotations

from typing import Any

from ..arrays.dtypes import FLOATS
from ..core.edges import place_of, producer
from ..core.frames import Frame, current, use
from ..core.inplace import inplace, twin
from ..core.node import Node
from ..core.saved import Saved
from ..core.tensor import Tensor


class Level:
    """One open dual level; compared by identity."""


def tangent_of(a: Any, level: Any) -> Tensor | None:
    """The tangent that a carries at this level; a view has the view of its base's tangent, if the base has got one."""
    if not isinstance(a, Tensor) or a._layer is not None:
        return None
    chain = []
    while (a._tan is None or a._tan[0] is not level) and a._view is not None and a._view.fn is not None:
        chain.append(a)
        a = a._view.parent
    t = a._tan[1] if a._tan is not None and a._tan[0] is level else None
    if t is not None and chain:
        with use(current().but(dual=None)):
            for view in reversed(chain):
                t = view._view.fn.apply(t, *view._view.args)
                view._tan = (level, t)
    return t


def push_tangents(frame: Frame, cls: Any, args: tuple, outs: tuple, ctx: Any = None) -> None:
    """Give the outputs of `cls(*args)` their tangents, if an argument has one."""
    level = frame.dual
    tangents = [tangent_of(a, level) for a in args]
    if any(t is not None for t in tangents):
        with use(frame.but(dual=None)):
            results = cls._tangents(args, tangents, outs, ctx)
            for o, t in zip(outs, results, strict=True):
                if t is not None and o._np_dtype in FLOATS:
                    o._tan = (level, t if cls.primitive and cls.view else laid_out_like(o, t))
                    follow(o)


def laid_out_like(x: Tensor, t: Tensor) -> Tensor:
    """The tangent t of x, which is no view, in memory as x is: a view of x has the view of t as its tangent."""
    from ..ops.copy import laid_out_in, order_in_memory

    return laid_out_in(order_in_memory(x), t)


def follow(o: Tensor) -> None:
    """What o's own node has saved of it, before o had its tangent, gets the tangent as well: backward may be dual, too."""
    node = producer(o._edge)
    if isinstance(node, Node) and type(node._saved) is tuple:
        for s in node._saved:
            if type(s) is Saved and s.index == place_of(o._edge) and s.unpack is None:
                s.tensor._tan = o._tan


def write_tangent(frame: Frame, fn: Any, x: Tensor, others: tuple) -> None:
    """x is about to be written in place by fn: its tangent becomes that of the result."""
    from ..ops.copy import Copy  # operations come after the core

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
        t = (
            laid_out_like(x, x.new_zeros(x.shape))
            if view is None or view.fn is None
            else view.fn.apply(zero_tangent(view.parent, level), *view.args)
        )
        x._tan = (level, t)
    return t
