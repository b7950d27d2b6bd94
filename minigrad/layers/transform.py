"""Transform: the common base of the grad, jvp and vmap layers.  A running transform sees tensors as its own boxes around the
values of the layer below; grad.py, jvp.py and batch.py define how operations act on them.
"""

from typing import Any, TypeGuard

from ..arrays.memory import order_in_memory
from ..core.frames import Frame, Layer, call_in, current
from ..core.function import Function
from ..core.graph import ViewOf, history, producer
from ..core.inplace import layout_of_example, shares
from ..core.tensor import Box, Tensor, levels
from ..events import events, services


class Transform(Layer):
    """A running transform of a function."""

    name = "transform"
    transparent = False

    def owns(self, a: object) -> TypeGuard[Box]:
        """Return True if a is a box of this layer."""
        return type(a) is Box and a._layer is self

    def inner(self, a: object) -> Any:
        """Return the value of a box of this layer; return anything else, such as a captured tensor, unchanged."""
        return a._value if type(a) is Box and a._layer is self else a

    def box(self, value: Tensor) -> Box:
        """Box a value of the layer below as this layer sees it."""
        return Box(self, value)

    def adopt(self, value: Tensor) -> Any:
        """Box a tensor made inside: they all belong to the layer, so that buffers can be written to."""
        return self.box(value)

    def handles(self, fn: type, args: tuple) -> bool:
        """Return True, for the same reason: the layer processes every operation inside."""
        return True

    def shape(self, t: Box) -> tuple:
        """Return the shape of the value."""
        return t._value._sizes

    def detach(self, t: Box) -> Box:
        """Return a constant of this layer and of the layers below."""
        events.detached("detach", t, out := self.box(t._value.detach()))
        return out

    def separate(self, cls: type[Function]) -> Any:
        """Return a user's Function in the separate form.  Raises RuntimeError for the combined form."""
        if cls.combined:
            raise services.problem("a Function under a transform has a setup_context", cls=cls, layer=self)
        return cls

    def follows(self, t: Box) -> bool:
        """Return True if results computed from t have derivatives in this layer."""
        return False

    def readable(self, t: Box) -> Tensor:
        """Return the value, for item(), `if` and tolist()."""
        return t._value

    def output(self, value: object, dirty: bool, args: tuple, values: tuple) -> Any:
        """Return one output of a custom Function: the modified box, or a new one."""
        if not isinstance(value, Tensor):
            return value
        for a, v in zip(args, values):
            if dirty and v is value and self.owns(a):
                return a
        return self.box(value)


def captured(layer: Layer, fn: Any, x: Tensor) -> Exception:
    """Return the error for a write to a tensor that a transform's function uses but did not receive as an argument."""
    return services.problem("a transform does not modify captured tensors", layer=layer, fn=fn, x=x)


def layers_of(t: Tensor) -> set:
    """Return the transforms that have a box around t or around one of its values."""
    return {b._layer for b in levels(t) if type(b) is Box}


def unwritten(a: object, *written: Tensor | None) -> Any:
    """Return a, or a copy of it if a write to one of the tensors would change it."""
    return a.clone() if isinstance(a, Tensor) and any([x is not None and shares(a, x) for x in written]) else a


def recording() -> Frame:
    """Return the current chain of frames with gradients on, for a step that moves values and must not cut their history."""
    return current().chain(lambda f, parent: f.but(grad=True, inference=False, parent=parent))


def same_view(view: ViewOf, t: Tensor, frame: Frame) -> Tensor:
    """Return the view of t, the tangent of the view's base, in the frame in which the view was made, not the reader's."""
    out = call_in(frame, view.fn.apply, t, *view.args)
    bases = {low._layer: history(low) for low in levels(t)}
    for low in levels(out):
        if low._edge is not None and (edge := bases.get(low._layer)) is not None:
            producer(low._edge)._seq = producer(edge)._seq + 2**-20  # as in core/graph.py, `derive`
    return out


def laid_out_in(order: tuple, t: Tensor) -> Tensor:
    """Return t, or a copy, laid out in memory without gaps and with its dimensions in that order.

    A tangent or gradient has the same views as its tensor only if it has the same layout.
    """
    if layout_of_example(t).transpose(order).flags.c_contiguous:
        return t
    out = t.permute(order).contiguous().permute(tuple([order.index(d) for d in range(len(order))]))
    for low in levels(out):
        low._view = None  # no other code sees that it is a view
    return out


def laid_out_like(x: Tensor, t: Tensor) -> Tensor:
    """Return the tangent t of a non-view x, with its history, in x's layout: a view of x has a view of it as its tangent."""
    a = layout_of_example(x)
    if a.flags.c_contiguous and layout_of_example(t).flags.c_contiguous:
        return t
    return call_in(recording(), laid_out_in, order_in_memory(a), t)
