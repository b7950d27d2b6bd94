"""generate_vmap_rule: for a user's Function, a Function whose every method is the user's method under a vmap of its own.

The user's methods see one example; what they save is kept with its batch dimension beside it.  An outer vmap wraps the
generated Function once more, so rules nest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.context import push
from ..core.function import Function
from ..core.tensor import Box, Tensor
from .batch import Batch, lower


def generated_rule(info: Any, in_dims: tuple, *args: Any) -> tuple:
    """The vmap rule: apply the batched Function."""
    out = batched_function(info.function, info.batch_size, info.randomness, in_dims).apply(*args)
    if isinstance(out, (tuple, list)):
        return tuple(out), tuple([0 if isinstance(o, Tensor) else None for o in out])
    return out, 0


def under(size: int, randomness: str, f: Callable, args: tuple, dims: tuple) -> Any:
    """f on single examples; tensors come back with the batch dimension in front."""
    with push(Batch(size, randomness)) as layer:
        out = f(
            *[
                Box(layer, a, d) if d is not None and isinstance(a, Tensor) else a
                for a, d in zip(args, dims, strict=True)
            ]
        )
    return tuple([lower(layer, o) for o in out]) if isinstance(out, (tuple, list)) else lower(layer, out)


def batched_function(cls: type[Function], size: int, randomness: str, dims: tuple) -> type[Function]:
    """The Function that does for a whole batch what `cls` does for one example."""

    class Batched(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*args: Any) -> Any:
            return under(size, randomness, cls.forward, args, dims)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
            with push(Batch(size, randomness)) as layer:
                examples = [
                    Box(layer, a, d) if d is not None and isinstance(a, Tensor) else a for a, d in zip(inputs, dims)
                ]
                outs = [
                    Box(layer, o, 0) if isinstance(o, Tensor) else o
                    for o in (output if isinstance(output, tuple) else (output,))
                ]
                cls.setup_context(ctx, tuple(examples), tuple(outs) if isinstance(output, tuple) else outs[0])
                ctx._saved, ctx._saved_dims = strip(layer, ctx._saved)
                ctx._forward_dims = ctx._saved_dims
                if ctx._forward is not None:
                    ctx._forward, ctx._forward_dims = strip(layer, ctx._forward)
                ctx._nondiff, _ = strip(layer, ctx._nondiff)
                ctx._dirty, _ = strip(layer, ctx._dirty)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple:
            n = len(ctx._saved_dims)

            def one(*flat: Any) -> Any:
                return cls.backward(Example(ctx, flat[:n]), *flat[n:])

            out = under(size, randomness, one, ctx.saved_tensors + grads, ctx._saved_dims + (0,) * len(grads))
            out = out if isinstance(out, tuple) else (out,)
            return tuple([back(g, d) for g, d in zip(out, dims)]) + out[len(dims) :]

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            n = len(ctx._forward_dims)

            def one(*flat: Any) -> Any:
                return cls.jvp(Example(ctx, flat[:n]), *flat[n:])

            return under(size, randomness, one, ctx.saved_tensors + tangents, ctx._forward_dims + dims)

    Batched.__name__ = Batched.__qualname__ = cls.__name__
    return Batched


def strip(layer: Batch, tensors: tuple) -> tuple:
    """Tensors as one layer down has them, and their batch dimensions."""
    return tuple([layer.inner(t) for t in tensors]), tuple([layer.dim(t) for t in tensors])


def back(g: Any, dim: int | None) -> Any:
    """A gradient with its batch dimension where the input had it; summed where the input was the same for all."""
    if g is None:
        return None
    return g.sum(0) if dim is None else g.movedim(0, dim)


class Example:
    """The user's ctx as the methods for one example see it: the same attributes, and what was saved of that example."""

    def __init__(self, ctx: Any, saved: tuple):
        self._ctx, self.saved_tensors = ctx, saved

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)
