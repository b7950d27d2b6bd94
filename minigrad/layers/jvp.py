"""The Jvp layer: forward mode as a transform.  A box carries its tangent, one layer down beside its value.

A tangent that could be written has memory of its own, except that a view's tangent is a view of its base's tangent: so
writing in place keeps values and tangents in step.
"""

from __future__ import annotations

from typing import Any

from ..core.context import Frame, Layer, apply_at, use
from ..core.edges import ViewOf
from ..core.function import as_tuple, is_float
from ..core.inplace import inplace, inplace_at
from ..core.tensor import Box, Tensor, version
from .grad import captured


class Jvp(Layer):
    """One running func.jvp."""

    name = "jvp"

    def box(self, value: Tensor, tangent: Tensor | None = None) -> Box:
        """A value of the layer below with its tangent; None stands for zero."""
        return Box(self, value, tangent)

    adopt = box

    def handles(self, fn: type, args: tuple) -> bool:
        """All that is computed inside belongs to the layer, so that a buffer made there can be written to."""
        return True

    def shape(self, t: Box) -> tuple:
        """Boxes have the shape of their values."""
        return t._value.shape

    def detach(self, t: Box) -> Box:
        """Without tangent, and a constant of the layers below."""
        return self.box(t._value.detach())

    def item(self, t: Box) -> Any:
        """Control flow on values is fine under jvp."""
        return t._value.item()

    def inner(self, a: Any) -> Any:
        """The value one layer down."""
        return a._value if self.owns(a) else a

    def tangent(self, a: Any) -> Tensor | None:
        """The tangent one layer down."""
        return a._extra if self.owns(a) else None

    def owns(self, a: Any) -> bool:
        """Whether a is a box of this layer."""
        return type(a) is Box and a._layer is self

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation one layer down, and its jvp beside it."""
        values, tangents = tuple([self.inner(a) for a in args]), [self.tangent(a) for a in args]
        low = apply_at(frame.parent, cls, values)
        lows = as_tuple(low)
        results = [None] * len(lows)
        if any(t is not None for t in tangents):
            with use(frame.parent):
                results = cls._tangents(values, tangents, lows, self.context(cls, values, tangents, low))
        outs = tuple([self.output(o, t, args, values) for o, t in zip(lows, results, strict=True)])
        if getattr(cls, "view", False) and self.owns(args[0]):
            outs[0]._view = ViewOf(args[0], cls, args[1:], None, version(outs[0]))
        return type(low)(outs) if isinstance(low, (tuple, list)) else outs[0]

    def context(self, cls: Any, values: tuple, tangents: list, low: Any) -> Any:
        """The ctx of a user's Function, set up for its jvp."""
        if cls.primitive:
            return None
        ctx = cls.Node(None, tuple([t is not None for t in tangents]))
        cls.setup_context(ctx, values, low)
        return ctx

    def output(self, o: Any, t: Tensor | None, args: tuple, values: tuple) -> Any:
        """One output: the given box if its value was changed in place, else a new one."""
        if not isinstance(o, Tensor):
            return o
        for a, v in zip(args, values):
            if v is o and self.owns(a):
                self.write_tangent(a, t)
                return a
        return self.box(o, t)

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        """Write value and tangent below."""
        if not self.owns(x):
            raise captured(self, fn, x)
        args = (x, *others)
        values, tangents = tuple([self.inner(a) for a in args]), [self.tangent(a) for a in args]
        with use(frame.parent):
            result = None
            if any(t is not None for t in tangents):
                (result,) = fn._tangents(values, tangents, (fn.apply(*values),))
            inplace_at(frame.parent, fn, values[0], values[1:])
            self.write_tangent(x, result)
        return x

    def write_tangent(self, x: Box, t: Tensor | None) -> None:
        """x's tangent becomes t, in the memory that the tangents of its base and its views share."""
        if t is not None or x._extra is not None:
            inplace(_copy(), self.zero_tangent(x), 0.0 if t is None else t)

    def zero_tangent(self, x: Box) -> Tensor:
        """x's tangent; made of zeros if it has none, as the same view of its base's tangent if x is a view."""
        if x._extra is None and is_float(x):
            view = x._view
            x._extra = (
                x._value.new_zeros(x.shape)
                if view is None
                else view.fn.apply(self.zero_tangent(view.parent), *view.args)
            )
        return x._extra


def _copy() -> Any:
    from ..ops.memory import Copy

    return Copy
