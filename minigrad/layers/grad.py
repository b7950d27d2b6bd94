"""The Grad layer: reverse mode as a transform.  It records the same nodes as eager mode, but for its own boxes, while the
values are computed one layer down; the same engine runs them.  Also `transpose`, which transposes a linear map.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import engine
from ..core.context import attach, contains_identical
from ..core.frames import Frame, apply_at, call_in, current, push, use
from ..core.function import Function, as_returned, as_tuple
from ..core.graph import Leaf, history
from ..core.inplace import inplace_at, link_view, write
from ..core.tensor import Box, Tensor, describe, is_float
from ..events import services
from ..places import user_place
from .transform import Transform, captured


class Grad(Transform):
    """One running func.grad or func.vjp."""

    name = "grad"
    cut: Any = None  # how a tensor was detached from its history here, its shape, and the user's line
    read = False  # Python has read values, and may have branched on them

    def variable(self, value: Tensor) -> Box:
        """Return a box to differentiate with respect to."""
        b = self.box(value)
        b._edge = Leaf(b)
        return b

    def tracks(self, frame: Frame, a: object) -> bool:
        """Return True if results computed from a must be recorded."""
        return frame.grad and self.owns(a) and history(a) is not None

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation one layer down; record it if an argument is tracked here."""
        values, edges = [], []
        for a in args:
            mine = type(a) is Box and a._layer is self
            values.append(a._value if mine else a)
            edges.append((a._edge if a._view is None else history(a)) if mine and frame.grad else None)
        if not cls.primitive:
            return self.custom(self.separate(cls), args, tuple(values), tuple(edges), frame)
        low = apply_at(frame.parent, cls, tuple(values))
        out: Any = tuple([Box(self, o) for o in low]) if isinstance(low, tuple) else Box(self, low)
        if cls.view and self.owns(args[0]):
            link_view(frame, cls, args, out)
        if cls.differentiable and edges.count(None) < len(edges):
            cls.record(self, args, out, tuple(edges))
        elif not frame.grad:
            self.note_cut("no_grad", args)
        return out

    def detach(self, t: Box) -> Box:
        """Do the same, and note it in case the result turns out to depend on no input."""
        self.note_cut("detach()", (t,))
        return super().detach(t)

    def follows(self, t: Box) -> bool:
        """Return True if t is tracked."""
        return history(t) is not None

    def readable(self, t: Box) -> Tensor:
        """Do the same, and note it: other values might lead to another result."""
        self.read = True
        return super().readable(t)

    def note_cut(self, how: str, args: tuple) -> None:
        """Note that a tracked tensor had an untracked result."""
        for a in args:
            if self.owns(a) and history(a) is not None:
                self.cut = how, a._sizes, user_place()

    def custom(self, cls: type[Function], args: tuple, values: tuple, edges: tuple, frame: Frame) -> Any:
        """Run a user's Function.  Its methods get plain values of the layer below, so everything they save is valid there."""
        needs = tuple([e is not None for e in edges])
        ctx, self.opaque = cls.Node(self, needs, edges if True in needs else (), describe(args)), True
        with use(frame.parent):
            low = cls.apply(*values)
            services.call_method(cls, "setup_context", ctx, values, low)
        lows, dirty = as_tuple(low), ctx._dirty
        outs = tuple([self.output(o, contains_identical(o, dirty), args, values) for o in lows])
        ctx._dirty = tuple([next((a for a, v in zip(args, values) if v is d), d) for d in dirty])
        for d in ctx._dirty:
            if contains_identical(d, args) and not self.owns(d):
                raise captured(self, f"{cls.__name__} (mark_dirty)", d)
        return as_returned(low, attach(ctx, args, values, lows, outs))

    def inplace(self, frame: Frame, fn: type, x: Tensor, others: tuple) -> Tensor:
        """Write one layer down, and give x its new history here."""
        if not self.owns(x):
            raise captured(self, fn, x)

        def copy(before: Box) -> None:
            before._value = call_in(frame.parent, x._value.clone)

        def lower(others: tuple) -> None:
            call_in(frame.parent, inplace_at, frame.parent, fn, x._value, tuple([self.inner(o) for o in others]))

        return write(self, frame, fn, x, others, copy, lower)


class Tape(Grad):
    """A Grad layer that records even under no_grad: a linear map of tangents is no derivative, and no_grad must not stop it."""

    def process(self, frame: Frame, cls: type[Function], args: tuple) -> Any:
        """Do the same with gradients on."""
        return super().process(frame.but(grad=True), cls, args)

    def inplace(self, frame: Frame, fn: type, x: Tensor, others: tuple) -> Tensor:
        """Do the same for in-place writes."""
        return super().inplace(frame.but(grad=True), fn, x, others)


def transpose(f: Callable, like: tuple, cotangents: tuple) -> tuple:
    """Apply the transpose of f, linear in one tensor per member of `like`, to cotangents of f's results.

    An operation that defines only its pull-back gets its jvp this way (the transpose of the transpose).
    """
    # before the layer exists, which would box them
    zeros = tuple([o.new_zeros(o.shape) if is_float(o) else None for o in like])
    return tuple([z if d is None else d for d, z in zip(pull_back(f, zeros, cotangents), zeros)])


def pull_back(f: Callable, values: tuple, cotangents: tuple) -> tuple:
    """Return the gradients of f's arguments at these values, given those of its results; None where there is none.

    A value of None marks an argument without a gradient, which f receives as None.
    """
    with push(Grad()) as layer:
        variables = tuple([None if v is None else layer.variable(v) for v in values])
        results = f(*variables)
    pairs = [
        (r._edge, c) for r, c in zip(results, cotangents) if c is not None and layer.owns(r) and r._edge is not None
    ]
    wanted = {(v._edge, 0) for v in variables if v is not None}
    found = {}
    if pairs:
        found = engine.run([e for e, _ in pairs], [c for _, c in pairs], wanted, keep=True, create=current().grad)
    return tuple([None if v is None else found.get((v._edge, 0)) for v in variables])
