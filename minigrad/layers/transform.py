"""Transform: what the layers of grad, jvp and vmap have in common.  A running transform sees tensors as boxes of its own,
around the values of the layer below; grad.py, jvp.py and batch.py say what it does with an operation on them.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from ..arrays.memory import order_in_memory
from ..core.events import slots
from ..core.frames import Layer
from ..core.function import Function
from ..core.graph import ViewOf
from ..core.inplace import example
from ..core.saved import bottom
from ..core.tensor import Box, Tensor, levels


class Transform(Layer):
    """A running transform of a function."""

    name = "transform"
    transparent = False

    def owns(self, a: object) -> TypeGuard[Box]:
        """Return whether a is a box of this layer."""
        return type(a) is Box and a._layer is self

    def inner(self, a: object) -> Any:
        """Return the value one layer down; what is no box of this layer has been captured from there, or is no tensor."""
        return a._value if type(a) is Box and a._layer is self else a

    def box(self, value: Tensor) -> Box:
        """Box a value of the layer below as this layer sees it."""
        return Box(self, value)

    def adopt(self, value: Tensor) -> Any:
        """Box a tensor made inside: all of them belong to the layer, so that buffers can be written to."""
        return self.box(value)

    def handles(self, fn: type, args: tuple) -> bool:
        """Take all that is computed inside, for the same reason."""
        return True

    def shape(self, t: Box) -> tuple:
        """Return the shape of the value."""
        return t._value._sizes

    def detach(self, t: Box) -> Box:
        """Return a constant of this layer and of those below."""
        return self.box(t._value.detach())

    def separate(self, cls: type[Function]) -> Any:
        """Return a user's Function, which has to have the separate form.  Raises RuntimeError for the combined one."""
        if cls.combined:
            raise slots.problem("a Function under a transform has a setup_context", cls=cls, layer=self)
        return cls

    def follows(self, t: Box) -> bool:
        """Return whether results computed from t have derivatives in this layer."""
        return False

    def readable(self, t: Box) -> Tensor:
        """Return the value, for item(), `if` and tolist()."""
        return t._value

    def output(self, value: object, dirty: bool, args: tuple, values: tuple, name: str) -> Any:
        """Return one output of a custom Function: the box that was written to, else a new one.

        Where it lies in an input's memory, a write to it would change the input without its history: this is noted.
        """
        if not isinstance(value, Tensor):
            return value
        owned = [(a, v) for a, v in zip(args, values) if self.owns(a)]
        for a, v in owned:
            if dirty and v is value:
                return a
        out = self.box(value)
        for a, v in owned:
            if np.may_share_memory(bottom(value)._a, bottom(v)._a):
                out._view = ViewOf(a, None, (), None, 0, fixed=f"it was made inside {name} in its input's memory")
        return out


def captured(layer: Layer, fn: Any, x: Tensor) -> Exception:
    """Return the error for writing to a tensor that a transform's function uses but was not given."""
    return slots.problem("what a transform only captured is not written", layer=layer, fn=fn, x=x)


def layers_of(t: Tensor) -> set:
    """Return the transforms that see t in a way of their own."""
    return {b._layer for b in levels(t) if type(b) is Box}


def laid_out_in(order: tuple, t: Tensor) -> Tensor:
    """Return t in memory without gaps, its dimensions in that order: itself or a copy.

    What stands in for another tensor, as its tangent or gradient, has the same views only in the same layout.
    """
    if example(t).transpose(order).flags.c_contiguous:
        return t
    out = t.permute(order).contiguous().permute(tuple([order.index(d) for d in range(len(order))]))
    for low in levels(out):
        low._view = None  # nobody else sees what it is a view of
    return out


def laid_out_like(x: Tensor, t: Tensor) -> Tensor:
    """Return the tangent t of x, which is no view, in memory as x is: a view of x has the view of t as its tangent."""
    return laid_out_in(order_in_memory(example(x)), t)
