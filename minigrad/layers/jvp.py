"""The Jvp layer: forward mode as a transform.  A box carries its tangent, one layer down beside its value.

A tangent that could be written to has its own memory, except that a view's tangent is a view of its base's tangent.  So
in-place writes keep values and tangents in step.
"""

from functools import partial
from typing import Any

from ..arrays.dtypes import FLOATS
from ..core.context import contains_identical
from ..core.frames import Frame, apply_at, use
from ..core.function import Function, as_tuple
from ..core.graph import ViewOf
from ..core.inplace import inplace_at
from ..core.saved import version, view_now
from ..core.tensor import Box, Tensor, is_float
from ..events import events, services
from .outputs import check_outputs, modified_problem
from .transform import Transform, captured, laid_out_like, layers_of, recording, same_view, unwritten


class Jvp(Transform):
    """One running func.jvp.  A box's `_extra` is its tangent, or None for zero.  A view's is a view of its base's; `_tan` has
    the frame that the view was made in and its base's tangent: if the base gets another one, it is derived again in there."""

    name = "jvp"

    def dual(self, value: Tensor, tangent: Tensor | None) -> Box:
        """Box a value of the layer below, which is the current one, with its tangent."""
        return Box(self, value, None if tangent is None else laid_out_like(value, tangent))

    def tangent(self, a: object) -> Tensor | None:
        """Return the tangent of a, which is one layer down."""
        if not self.owns(a):
            return None
        if a._view is not None:
            base = self.tangent(view_now(a).parent)
            if base is not None and a._view.fn is not None:
                self.derive(a, base)
            elif (base is not None or a._extra is not None) and (problem := modified_problem(a)):
                raise problem()
        return a._extra

    def follows(self, t: Box) -> bool:
        """Return True if t has a tangent."""
        return self.tangent(t) is not None

    def derive(self, x: Any, base: Tensor) -> None:
        """Make the tangent of a view a view of its base's tangent."""
        frame, seen = x._tan
        if seen is not base:
            x._extra, x._tan = same_view(x._view, base, frame), (frame, base)

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation and its jvp one layer down."""
        if not cls.primitive:
            self.separate(cls)
        values = tuple([a._value if type(a) is Box and a._layer is self else a for a in args])
        low = apply_at(frame.parent, cls, values)
        lows = low if type(low) is tuple else as_tuple(low)
        results, outs = [None] * len(lows), lows
        with use(frame.parent):
            tangents = [self.tangent(a) if type(a) is Box and a._layer is self else None for a in args]
            if tangents.count(None) < len(tangents):
                results = cls.tangents(values, tangents, lows, self.context(cls, values, tangents, low))
            if cls.primitive:
                make = partial(Box, self) if cls.view else self.dual
                outs = tuple([make(o, t if o._np_dtype in FLOATS else None) for o, t in zip(lows, results)])
        if not cls.primitive:
            outs = tuple([self.output(o, contains_identical(o, values), args, values) for o in lows])
            events.attached(cls.__name__, args, outs)
            self.renew(frame, cls, args, outs, results)
        if cls.primitive and cls.view and self.owns(args[0]):
            view: Any = outs[0]
            view._view, view._tan = ViewOf(args[0], cls, args[1:], None, version(view)), (frame.parent, tangents[0])
        return type(low)(outs) if isinstance(low, (tuple, list)) else outs[0]

    def context(self, cls: type[Function], values: tuple, tangents: list, low: object) -> Any:
        """Return the ctx of a user's Function, set up for its jvp."""
        if cls.primitive:
            return None
        ctx = cls.Node(None, tuple([t is not None for t in tangents]))
        services.call_method(cls, "setup_context", ctx, values, low)
        return ctx

    def renew(self, frame: Frame, cls: type[Function], args: tuple, outs: tuple, tangents: list) -> None:
        """Give the outputs of a user's Function their tangents; inputs modified in place are among the outputs."""
        with use(frame.parent):
            for o, t in zip(outs, tangents, strict=True):
                if contains_identical(o, args):
                    self.write_tangent(o, t)
                elif is_float(o) and self.owns(o):
                    o._extra = None if t is None else laid_out_like(o._value, t)

    def inplace(self, frame: Frame, fn: type, x: Tensor, others: tuple) -> Tensor:
        """Write the value and the tangent one layer down."""
        if not self.owns(x):
            raise captured(self, fn, x)
        args = (x, *others)
        values = tuple([self.inner(a) for a in args])
        with use(frame.parent):
            result, tangents = None, [self.tangent(a) for a in args]
            check_outputs(fn, x, any([t is not None for t in tangents]), self.tangent)
            if any([t is not None for t in tangents]):
                # layers below may save them for their backward
                before, pushed = [[unwritten(a, x._value, x._extra) for a in group] for group in (values, tangents)]
                (result,) = fn.tangents(tuple(before), pushed, (fn.apply(*before),))
            inplace_at(frame.parent, fn, values[0], values[1:])
            self.write_tangent(x, result)
        return x

    def write_tangent(self, x: Tensor, t: Tensor | None) -> None:
        """Make t the tangent of x, in the memory that it shares with the tangents of x's base and views."""
        if is_float(x) and (t is not None or self.tangent(x) is not None):
            self.buffer(x, t).copy_(0.0 if t is None else t)

    def buffer(self, x: Any, t: Tensor | None) -> Tensor:
        """Return the memory of x's tangent, with room for one t per example if a vmap below batches t."""
        if x._view is not None and x._view.fn is not None:
            self.derive(x, self.buffer(view_now(x).parent, t))
        elif t is not None and (x._extra is None or not layers_of(t) <= layers_of(x._extra)):
            zeros = laid_out_like(x._value, t.new_zeros(x.shape, dtype=x.dtype))
            with use(recording()):
                x._extra = zeros if x._extra is None else laid_out_like(x._value, zeros + x._extra)
        return x._extra
