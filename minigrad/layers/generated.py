"""generate_vmap_rule: wrap a user's Function in a Function that runs each of the user's methods under a separate vmap.

The user's methods see one example.  The tensors that they save are stored below that vmap, where outer transforms can follow
them.  Attributes that they set on ctx stay boxes of that vmap, and are valid again when the next method runs under the same
layer.  An outer vmap wraps the generated Function once more, so rules nest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..core.backward import fit_shape
from ..core.context import Ctx
from ..core.frames import push
from ..core.function import Function, as_tuple
from ..core.tensor import Box, Tensor
from ..events import services
from .batching import batch_in_front

if TYPE_CHECKING:
    from .batch import Batch


def generated_rule(batch: type, info: SimpleNamespace, in_dims: tuple, *args: object) -> tuple:
    """Apply the batched Function, as a vmap rule does."""
    cls = batched_function(info.function, batch(info.batch_size, info.randomness), in_dims)
    out = cls.apply(*args)
    return out, cls.out_dims if isinstance(out, (tuple, list)) else cls.out_dims[0]


def batched_function(cls: type[Function], layer: Batch, in_dims: tuple) -> Any:
    """Return the Function that does for a whole batch what `cls` does for one example."""
    made: Any = type(cls.__name__, (Batched,), {"of": cls, "layer": layer, "in_dims": in_dims})
    # errors name the user's methods and their arguments
    made.forward = staticmethod(wraps(user_forward(cls.forward))(lambda *args: made.run(*args)))
    made.backward = staticmethod(wraps(cls.backward)(lambda ctx, *grads: made.pull(ctx, *grads)))
    made.Node.__name__ = cls.Node.__name__
    return made


class Batched(Function):
    """A Function for a batch.  Its methods run the methods of the Function `of` on single examples, under one vmap."""

    generate_vmap_rule = True
    of: Any
    layer: Any
    in_dims: tuple
    # shapes of one example's inputs; batch dimensions of outputs and saved tensors.  They are not on the ctx, because a ctx may
    # belong to several such Functions
    shapes: tuple = ()
    out_dims: tuple = ()
    saved_dims: tuple = ()
    forward_dims: tuple = ()

    @classmethod
    def boxed(cls, values: tuple, dims: tuple) -> tuple:
        """Return the values boxed as single examples."""
        layer = cls.layer
        return tuple([a if d is None or a is None else Box(layer, a, d) for a, d in zip(values, dims, strict=True)])

    @classmethod
    def run(cls, *args: object) -> Any:
        """Run the user's forward, and record the batch dimensions of its outputs."""
        examples, layer = cls.boxed(args, cls.in_dims), cls.layer
        cls.shapes = tuple([a._sizes if isinstance(a, Tensor) else None for a in examples])
        with push(layer):
            out = services.call_method(cls.of, "forward", *examples)
        found, dims = [], []
        for o in as_tuple(out):
            found.append(o._value if layer.owns(o) else batch_in_front(layer, o))
            dims.append(o._extra if layer.owns(o) else 0 if isinstance(o, Tensor) else None)
        cls.out_dims = tuple(dims)
        return tuple(found) if isinstance(out, (tuple, list)) else found[0]

    @classmethod
    def setup_context(cls, ctx: Ctx, inputs: tuple, output: object) -> None:  # type: ignore[override]
        """Run the user's setup_context, and store its saved tensors as they are below the vmap."""
        outs, layer = cls.boxed(as_tuple(output), cls.out_dims), cls.layer
        with push(layer):
            output = outs if isinstance(output, tuple) else outs[0]
            services.call_method(cls.of, "setup_context", ctx, cls.boxed(inputs, cls.in_dims), output)
        ctx._saved, cls.saved_dims = strip(layer, ctx._saved)
        cls.forward_dims = cls.saved_dims
        if ctx._forward is not None:
            ctx._forward, cls.forward_dims = strip(layer, ctx._forward)
        ctx._nondiff, _ = strip(layer, ctx._nondiff)
        ctx._dirty, _ = strip(layer, ctx._dirty)

    @classmethod
    def under(cls, name: str, ctx: Ctx, args: tuple, dims: tuple, saved_dims: tuple) -> tuple:
        """Call a method that reads saved tensors on single examples; its results have the batch dimension in front."""
        saved = ctx.saved_tensors
        with push(cls.layer):
            saved = cls.boxed(saved, saved_dims)
            out = as_tuple(services.call_method(cls.of, name, Example(ctx, saved), *cls.boxed(args, dims)))
            if name == "backward":  # gradients that broadcast to one example need not broadcast to a batch
                out = reduced(ctx, out, cls.shapes)
        return tuple([batch_in_front(cls.layer, o) for o in out])

    @classmethod
    def pull(cls, ctx: Ctx, *grads: Tensor | None) -> tuple:
        """Run the user's backward; each gradient has its batch dimension where the input has it."""
        out, n = cls.under("backward", ctx, grads, cls.out_dims, cls.saved_dims), len(cls.in_dims)
        return tuple([restore_batch_dim(g, d) for g, d in zip(out, cls.in_dims)]) + out[n:]

    @classmethod
    def jvp(cls, ctx: Ctx, *tangents: Tensor | None) -> Any:  # type: ignore[override]
        """Run the user's jvp; each tangent has its batch dimension where the output has it."""
        out, dims = cls.under("jvp", ctx, tangents, cls.in_dims, cls.forward_dims), cls.out_dims
        return tuple([t if t is None else t.movedim(0, d) for t, d in zip(out, dims)]) + out[len(dims) :]


def strip(layer: Batch, tensors: tuple) -> tuple:
    """Return tensors as they are one layer down, and their batch dimensions."""
    return tuple([layer.inner(t) for t in tensors]), tuple([layer.dim(t) for t in tensors])


def user_forward(forward: Callable) -> Any:
    """Return the user's own forward."""
    return getattr(forward, "plain", forward)


def reduced(ctx: Ctx, grads: tuple, shapes: tuple) -> tuple:
    """Return one example's gradients summed down to the shapes of its inputs, as the engine does for unbatched calls."""
    while isinstance(ctx, Example):
        ctx = ctx._ctx
    wanted = [(i, g) for i, g in enumerate(grads[: len(shapes)]) if isinstance(g, Tensor) and ctx._needs[i]]
    fitted = {i: fit_shape(g, ctx, i, shapes) for i, g in wanted}
    return tuple([fitted.get(i, g) for i, g in enumerate(grads)])


def restore_batch_dim(g: Tensor | None, dim: int | None) -> Any:
    """Return a gradient with its batch dimension where the input has it; sum it if all examples share the input."""
    if g is None:
        return None
    return g.sum(0) if dim is None else g.movedim(0, dim)


class Example:
    """The user's ctx as the methods for one example see it: the same attributes, but that example's saved tensors."""

    def __init__(self, ctx: Ctx, saved: tuple):
        self._ctx, self.saved_tensors, self.saved_variables = ctx, saved, saved

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)
