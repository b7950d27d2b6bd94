"""generate_vmap_rule: for a user's Function, a Function whose every method is the user's method under a vmap of its own.

The user's methods see one example.  What they save is kept below that vmap, where outer transforms can follow it; the
attributes that they set on ctx stay boxes of it, and are at home again when the next method runs under the same layer.
An outer vmap wraps the generated Function once more, so rules nest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..core.engine import fit_shape
from ..core.events import slots
from ..core.frames import push
from ..core.function import Ctx, Function, as_tuple
from ..core.tensor import Box, Tensor
from .batching import in_front

if TYPE_CHECKING:
    from .batch import Batch


def generated_rule(batch: type, info: SimpleNamespace, in_dims: tuple, *args: object) -> tuple:
    """Apply the batched Function, as a vmap rule does."""
    cls = batched_function(info.function, batch(info.batch_size, info.randomness), in_dims)
    out = cls.apply(*args)
    return out, cls.out_dims if isinstance(out, (tuple, list)) else cls.out_dims[0]


def batched_function(cls: type[Function], layer: Batch, in_dims: tuple) -> Any:
    """Make the Function that does for a whole batch what `cls` does for one example."""

    def boxed(values: tuple, dims: tuple) -> tuple:
        """Return single examples of the values."""
        return tuple([a if d is None or a is None else Box(layer, a, d) for a, d in zip(values, dims, strict=True)])

    def under(name: str, ctx: Ctx, args: tuple, dims: tuple) -> Any:
        """Call a method that reads what was saved on single examples; its results have the batch dimension in front."""
        saved = ctx.saved_tensors
        with push(layer):
            saved = boxed(saved, Batched.saved_dims if name == "backward" else Batched.forward_dims)
            out = as_tuple(slots.call_method(cls, name, Example(ctx, saved), *boxed(args, dims)))
            if name == "backward":  # here, as what broadcasts to one example need not broadcast to a batch of them
                out = reduced(ctx, out, Batched.shapes)
        return tuple([in_front(layer, o) for o in out])

    class Batched(Function):
        generate_vmap_rule = True
        # shapes of one example's inputs, batch dimensions of outputs and saved tensors; here, as a ctx may be that of
        # several such Functions
        shapes: tuple = ()
        out_dims: tuple = ()
        saved_dims: tuple = ()
        forward_dims: tuple = ()

        @staticmethod
        @wraps(own(cls.forward))  # errors name the user's arguments
        def forward(*args: object) -> Any:  # type: ignore[override]
            examples = boxed(args, in_dims)
            Batched.shapes = tuple([a._sizes if isinstance(a, Tensor) else None for a in examples])
            with push(layer):
                out = slots.call_method(cls, "forward", *examples)
            found, dims = [], []
            for o in as_tuple(out):
                found.append(o._value if layer.owns(o) else in_front(layer, o))
                dims.append(o._extra if layer.owns(o) else 0 if isinstance(o, Tensor) else None)
            Batched.out_dims = tuple(dims)
            return tuple(found) if isinstance(out, (tuple, list)) else found[0]

        @staticmethod
        def setup_context(ctx: Ctx, inputs: tuple, output: object) -> None:
            outs = boxed(as_tuple(output), Batched.out_dims)
            with push(layer):
                slots.call_method(
                    cls, "setup_context", ctx, boxed(inputs, in_dims), outs if isinstance(output, tuple) else outs[0]
                )
            ctx._saved, Batched.saved_dims = strip(layer, ctx._saved)
            Batched.forward_dims = Batched.saved_dims
            if ctx._forward is not None:
                ctx._forward, Batched.forward_dims = strip(layer, ctx._forward)
            ctx._nondiff, _ = strip(layer, ctx._nondiff)
            ctx._dirty, _ = strip(layer, ctx._dirty)

        @staticmethod
        @wraps(cls.backward)
        def backward(ctx: Ctx, *grads: Tensor | None) -> tuple:  # type: ignore[override]
            out = under("backward", ctx, grads, Batched.out_dims)
            return tuple([back(g, d) for g, d in zip(out, in_dims)]) + out[len(in_dims) :]

        @staticmethod
        def jvp(ctx: Ctx, *tangents: Tensor | None) -> Any:
            out, dims = under("jvp", ctx, tangents, in_dims), Batched.out_dims
            return tuple([t if t is None else t.movedim(0, d) for t, d in zip(out, dims)]) + out[len(dims) :]

    Batched.__name__ = Batched.__qualname__ = cls.__name__
    Batched.Node.__name__ = cls.Node.__name__
    return Batched


def strip(layer: Batch, tensors: tuple) -> tuple:
    """Return tensors as one layer down has them, and their batch dimensions."""
    return tuple([layer.inner(t) for t in tensors]), tuple([layer.dim(t) for t in tensors])


def own(forward: Callable) -> Any:
    """Return the user's own forward."""
    return getattr(forward, "plain", forward)


def reduced(ctx: Ctx, grads: tuple, shapes: tuple) -> tuple:
    """Return one example's gradients summed down to the shapes of its inputs, as the engine does with those of plain calls."""
    while isinstance(ctx, Example):
        ctx = ctx._ctx
    wanted = [(i, g) for i, g in enumerate(grads[: len(shapes)]) if isinstance(g, Tensor) and ctx._needs[i]]
    fitted = {i: fit_shape(g, ctx, i, shapes) for i, g in wanted}
    return tuple([fitted.get(i, g) for i, g in enumerate(grads)])


def back(g: Tensor | None, dim: int | None) -> Any:
    """Return a gradient with its batch dimension where the input had it; summed where the input was the same for all."""
    if g is None:
        return None
    return g.sum(0) if dim is None else g.movedim(0, dim)


class Example:
    """The user's ctx as the methods for one example see it: the same attributes, and what was saved of that example."""

    def __init__(self, ctx: Ctx, saved: tuple):
        self._ctx, self.saved_tensors = ctx, saved

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)
