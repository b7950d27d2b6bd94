"""Bring a tensor's batch dimension to the front, as the rules for vmap want it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor

if TYPE_CHECKING:
    from .batch import Batch


def front(a: object, dim: int | None, size: int) -> Any:
    """Return a tensor with its batch dimension in front; one that has none is repeated there."""
    if not isinstance(a, Tensor):
        return a
    if dim is None:
        return a.expand((size, *a.shape))
    return a.movedim(dim, 0) if dim else a


def lift(a: Any, dim: int | None, rank: int) -> Any:
    """Return a batched tensor with the batch in front and `rank` dimensions behind it; others as they are."""
    if dim is None:
        return a
    a = a.movedim(dim, 0) if dim else a
    sizes = a._sizes
    missing = rank + 1 - len(sizes)
    return a.reshape(sizes[:1] + (1,) * missing + sizes[1:]) if missing else a


def in_front(layer: Batch, o: object) -> Any:
    """Return a result with its batch dimension in front; what is the same for all examples is repeated."""
    if not isinstance(o, Tensor):
        return o
    if not layer.owns(o):
        return o.expand((layer.size, *o.shape))
    return o._value.movedim(o._extra, 0) if o._extra else o._value
