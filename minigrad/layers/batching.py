"""Move batch dimensions to the front, as vmap rules need them, and out of the way of an example's views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arrays.memory import order_in_memory
from ..core.inplace import layout_of_example
from ..core.tensor import Tensor
from .transform import laid_out_in

if TYPE_CHECKING:
    from .batch import Batch


def front(a: object, dim: int | None, size: int) -> Any:
    """Return a tensor with its batch dimension in front; expand it there if it has none."""
    if not isinstance(a, Tensor):
        return a
    if dim is None:
        return a.expand((size, *a.shape))
    return a.movedim(dim, 0) if dim else a


def lift(a: Any, dim: int | None, rank: int) -> Any:
    """Return a batched tensor with the batch in front and `rank` dimensions behind it; return others unchanged."""
    if dim is None:
        return a
    a = a.movedim(dim, 0) if dim else a
    missing = rank + 1 - len(sizes := a._sizes)
    return a.reshape(sizes[:1] + (1,) * missing + sizes[1:]) if missing else a


def without_gaps(t: Tensor, dim: int) -> Tensor:
    """Return a result, with batch dimension `dim`, laid out so that each example has the same views as it has alone.

    NumPy lays out results like the operands, which may put the batch between or within an example's dimensions.  Then `flatten`
    or `contiguous` would copy, and writes through the copy would be lost.
    """
    a = layout_of_example(t)
    if dim == 0 and a.flags.c_contiguous or not a.size:
        return t
    step = a.itemsize
    for d in sorted([d for d, n in enumerate(a.shape) if d != dim and n > 1], key=lambda d: a.strides[d]):
        if a.strides[d] != step:
            return laid_out_in((dim, *[d for d in order_in_memory(a) if d != dim]), t)
        step = a.strides[d] * a.shape[d]
    return t


def batch_in_front(layer: Batch, o: object) -> Any:
    """Return a result with its batch dimension in front; expand a result that is the same for all examples."""
    if not isinstance(o, Tensor):
        return o
    if not layer.owns(o):
        return o.expand((layer.size, *o.shape))
    return o._value.movedim(o._extra, 0) if o._extra else o._value
