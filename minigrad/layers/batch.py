"""The Batch layer: vmap.  A box hides one dimension of its value; an operation on boxes is the operation's vmap rule.

Built-in operations have their rule from the family (ops/families.py); a user's Function has a `vmap` static method, or
asks with `generate_vmap_rule = True` for one that runs each of its methods under a vmap of its own (generated.py).
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..core.context import Frame, Layer, push, use
from ..core.inplace import inplace_at
from ..core.tensor import Box, Tensor
from ..errors import error


class Batch(Layer):
    """One running vmap over `size` examples."""

    name = "vmap"

    def __init__(self, size: int, randomness: str = "error"):
        self.size, self.randomness = size, randomness

    def shape(self, t: Box) -> tuple:
        """What one example sees: the value's shape without the batch dimension."""
        return t._value.shape[: t._extra] + t._value.shape[t._extra + 1 :]

    def detach(self, t: Box) -> Box:
        """Cut off from enclosing derivatives."""
        return Box(self, t._value.detach(), t._extra)

    def item(self, t: Box) -> Any:
        """There is one value per example, so Python cannot have it."""
        raise error(
            RuntimeError,
            "vmap",
            "item(), bool(), float() and `if` need one value, but under vmap this tensor has "
            f"{self.size}, one per example",
            "use minigrad.where(condition, a, b), or compute outside of vmap",
        )

    def inner(self, a: Any) -> Any:
        """The value one layer down."""
        return a._value if type(a) is Box and a._layer is self else a

    def dim(self, a: Any) -> int | None:
        """The batch dimension of a value, None for what is the same in all examples."""
        return a._extra if type(a) is Box and a._layer is self else None

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation's rule one layer down."""
        values, dims = tuple([self.inner(a) for a in args]), tuple([self.dim(a) for a in args])
        info = SimpleNamespace(batch_size=self.size, randomness=self.randomness, function=cls)
        with use(frame.parent):
            result = self.rule(cls)(info, dims, *values)
        if not (type(result) is tuple and len(result) == 2):
            raise error(
                RuntimeError,
                f"{cls.__name__}.vmap",
                f"returned {type(result).__name__}, expected a tuple (output, out_dims)",
                "return output, out_dims",
            )
        out, out_dims = result
        if not isinstance(out, tuple):
            return self.box(cls, out, out_dims)
        if not isinstance(out_dims, tuple) or len(out_dims) != len(out):
            raise error(
                RuntimeError,
                f"{cls.__name__}.vmap",
                f"out_dims {out_dims!r} do not match its {len(out)} outputs",
                "return one dimension, or None, for each output",
            )
        return tuple([self.box(cls, o, d) for o, d in zip(out, out_dims)])

    def rule(self, cls: Any) -> Callable:
        """How this Function runs on batches."""
        if cls.primitive:
            return cls.vmap
        if cls.generate_vmap_rule and cls.vmap is not None:
            raise error(
                RuntimeError,
                cls.__name__,
                "found both generate_vmap_rule=True and an overridden vmap staticmethod",
                "keep one of them",
            )
        if cls.generate_vmap_rule:
            from .generated import generated_rule

            return generated_rule
        if cls.vmap is None:
            raise error(
                RuntimeError,
                cls.__name__,
                "to use it with vmap, it needs a vmap rule",
                "override the vmap staticmethod, or set generate_vmap_rule=True if its methods are made of minigrad operations",
            )
        return cls.vmap

    def box(self, cls: Any, value: Any, dim: Any) -> Any:
        """An output of a rule with its batch dimension, which is checked."""
        if dim is None or not isinstance(value, Tensor):
            return value
        if not isinstance(dim, int) or not -value.ndim <= dim < value.ndim or value.shape[dim] != self.size:
            raise error(
                RuntimeError,
                f"{cls.__name__}.vmap",
                f"out_dim {dim!r} is not a dimension of size {self.size} (the batch) of an "
                f"output of shape {tuple(value.shape)}",
            )
        return Box(self, value, dim % value.ndim)

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        """The write happens below, on the value with its batch dimension."""
        if self.dim(x) is None:
            raise error(
                RuntimeError,
                "vmap",
                f"vmap: inplace arithmetic {fn.__name__.lower()}_(self, *extra_args) is not possible because a "
                "tensor that is the same for all examples would have to hold one value per example",
                "use the out-of-place form, or clone a batched tensor to write to",
            )
        x_dim, value = x._extra, x._value
        with use(frame.parent):
            rank = value.ndim - 1
            if fn.elementwise:
                low = tuple([meet(self.inner(o), self.dim(o), x_dim, rank) for o in others])
            else:  # the operation's own rule says what a batch changes
                from ..ops.memory import Copy

                info = SimpleNamespace(batch_size=self.size, randomness=self.randomness, function=fn)
                out, dim = fn.vmap(
                    info, (x_dim, *[self.dim(o) for o in others]), value, *[self.inner(o) for o in others]
                )
                fn, low = Copy, (out.movedim(dim, x_dim),)
        inplace_at(frame.parent, fn, value, low)
        return x


def meet(o: Any, dim: int | None, x_dim: int, rank: int) -> Any:
    """An operand of an in-place write, with its batch dimension where the written tensor has its own."""
    if not isinstance(o, Tensor):
        return o
    if dim is None:
        return o if o.ndim <= rank - x_dim else o.unsqueeze(o.ndim - (rank - x_dim))
    o = o.movedim(dim, 0)
    o = o.reshape(o.shape[:1] + (1,) * (rank + 1 - o.ndim) + o.shape[1:])
    return o.movedim(0, x_dim)


def batched(f: Callable, args: tuple, dims: tuple, size: int, randomness: str = "error") -> Any:
    """f over a batch: arguments with a dimension in `dims` are split along it, results are stacked in front."""
    with push(Batch(size, randomness)) as layer:
        out = f(*[a if d is None else Box(layer, a, d) for a, d in zip(args, dims)])
        outs = out if isinstance(out, tuple) else (out,)
    lowered = tuple([lower(layer, o) for o in outs])
    return lowered if isinstance(out, tuple) else lowered[0]


def lower(layer: Batch, o: Any) -> Any:
    """A result with its batch dimension in front; what is the same for all examples is repeated."""
    if not isinstance(o, Tensor):
        return o
    return o._value.movedim(o._extra, 0) if type(o) is Box and o._layer is layer else o.expand((layer.size, *o.shape))


def batched_grad(outputs: Any, inputs: Any, grad_outputs: Any, **options: Any) -> tuple:
    """autograd.grad for a batch of grad_outputs at once."""
    from ..autograd import as_sequence, grad

    weights = as_sequence(grad_outputs)
    sizes = {tuple(w.shape)[:1] for w in weights if w is not None}
    if len(sizes) != 1 or () in sizes:
        raise error(
            RuntimeError,
            "grad",
            f"is_grads_batched=True needs grad_outputs with one common first dimension, got shapes "
            f"{[tuple(w.shape) for w in weights]}",
        )
    (size,) = sizes.pop()
    outs = as_sequence(outputs)
    return batched(
        lambda *ws: grad(outs, inputs, ws, **options), weights, tuple([None if w is None else 0 for w in weights]), size
    )
