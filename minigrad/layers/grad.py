"""The Grad layer: reverse mode as a transform.  It records the same nodes as eager mode, for boxes of its own, while the
values are computed one layer down; the one engine runs them.  Also `transpose`, which turns a linear map around.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import engine
from ..core.context import Frame, Layer, apply_at, current, push, use
from ..core.edges import Leaf, Port
from ..core.function import among, as_tuple, check_dirty, describe, is_float, record
from ..core.inplace import inplace_at, link_view, rebase, regraph, twin
from ..core.tensor import Box, Tensor, history
from ..errors import error


class Grad(Layer):
    """One running func.grad or func.vjp."""

    name = "grad"

    def box(self, value: Tensor) -> Box:
        """A value of the layer below as this layer sees it, without a past."""
        return Box(self, value)

    adopt = box

    def handles(self, fn: type, args: tuple) -> bool:
        """All that is computed inside belongs to the layer, so that a buffer made there can be written to."""
        return True

    def variable(self, value: Tensor) -> Box:
        """A box to differentiate by."""
        b = self.box(value)
        b._edge = Leaf(b)
        return b

    def shape(self, t: Box) -> tuple:
        """Boxes have the shape of their values."""
        return t._value.shape

    def detach(self, t: Box) -> Box:
        """A constant of this layer and of those below."""
        return self.box(t._value.detach())

    def item(self, t: Box) -> Any:
        """Control flow on values is fine under grad."""
        return t._value.item()

    def inner(self, a: Any) -> Any:
        """The value one layer down."""
        return a._value if type(a) is Box and a._layer is self else a

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation one layer down; remember it when an argument is tracked here."""
        values = tuple([self.inner(a) for a in args])
        needs = tuple(
            [frame.grad and isinstance(a, Tensor) and a._layer is self and history(a) is not None for a in args]
        )
        if not cls.primitive:
            return self.custom(frame, cls, args, values, needs)
        low = apply_at(frame.parent, cls, values)
        out = tuple([self.box(o) for o in low]) if isinstance(low, tuple) else self.box(low)
        if cls.view and isinstance(args[0], Box) and args[0]._layer is self:
            link_view(frame, cls, args, out)
        if any(needs) and cls.differentiable:
            record(self, cls, args, out)
        return out

    def custom(self, frame: Frame, cls: Any, args: tuple, values: tuple, needs: tuple) -> Any:
        """A user's Function: its methods get plain values of the layer below, so whatever they keep is right there."""
        ctx = cls.Node(self, needs)
        with use(frame.parent):
            low = cls.apply(*values)
            cls.setup_context(ctx, values, low)
        lows = as_tuple(low)
        check_dirty(ctx, values, lows, any(needs))
        before = tuple([twin(a) if among(v, ctx._dirty) else a for a, v in zip(args, values)])
        outs = tuple([self.output(ctx, o, args, values) for o in lows])
        ctx._meta, ctx._given = describe(outs), describe(args)
        if any(needs):
            ctx._edges = tuple([history(a) if need else None for a, need in zip(before, needs)])
            ctx._keep(values, lows, outs, before)
            for i, (r, o) in enumerate(zip(lows, outs)):
                if is_float(o) and not among(r, ctx._nondiff):
                    o._edge = ctx if len(outs) == 1 else Port(ctx, i)
                    if among(r, ctx._dirty):
                        rebase(self, o)
        return type(low)(outs) if isinstance(low, (tuple, list)) else outs[0]

    def output(self, ctx: Any, o: Any, args: tuple, values: tuple) -> Any:
        """One output of a custom Function: the given box if it was changed in place, else a new one."""
        if not isinstance(o, Tensor):
            return o
        if among(o, ctx._dirty):
            return next(a for a, v in zip(args, values) if v is o)
        return self.box(o)

    def inplace(self, frame: Frame, fn: Any, x: Box, others: tuple) -> Tensor:
        """The write happens below; here x gets its new history."""
        if x._layer is not self:
            raise captured(self, fn, x)
        before = twin(x)
        if 0 in fn.keeps:
            with use(frame.parent):
                before._value = x._value.clone()
        inplace_at(frame.parent, fn, x._value, tuple([self.inner(o) for o in others]))
        if frame.grad and fn.differentiable:
            regraph(self, fn, before, x, others)
        return x


def captured(layer: Layer, fn: Any, x: Tensor) -> Exception:
    """The error for writing to a tensor that a transform's function uses but was not given."""
    return error(
        RuntimeError,
        f"{fn.__name__.lower()}_",
        f"an in-place operation on a tensor of shape {tuple(x.shape)} that the "
        f"function under `{layer.name}` only captured from outside: the write would escape from the transform",
        "pass the tensor as an argument, or clone() it inside first",
    )


def transpose(f: Callable, like: tuple, cotangents: tuple) -> tuple:
    """For a linear f of one tensor per member of `like`: its transpose applied to cotangents of its results.

    This is how an operation that states only its pull-back gets its jvp (the transpose of the transpose).
    """
    zeros = [
        o.new_zeros(o.shape) if is_float(o) else None for o in like
    ]  # before the layer is there, which would box them
    with push(Grad()) as layer:
        variables = tuple([None if z is None else layer.variable(z) for z in zeros])
        results = f(*variables)
    pairs = [
        (r._edge, c)
        for r, c in zip(results, cotangents)
        if isinstance(r, Box) and r._layer is layer and r._edge is not None
    ]
    wanted = {(v._edge, 0) for v in variables if v is not None}
    found = (
        engine.run([e for e, _ in pairs], [c for _, c in pairs], wanted, keep=True, create=current().grad)
        if pairs
        else {}
    )
    return tuple([None if v is None else found.get((v._edge, 0), z) for v, z in zip(variables, zeros)])
