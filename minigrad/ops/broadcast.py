"""Broadcasting: the common shape of several tensors, tensors expanded to it, and tensors padded to a minimum rank.

The view that repeats a tensor is Expand in shape.py.
"""

from __future__ import annotations

from typing import Any

from ..arrays.devices import Size
from ..arrays.shapes import apart, broadcast_shape, sketch
from ..core.tensor import Tensor
from ..errors import error
from .base.registry import op
from .shape import expand, reshape


@op("T(3, 1), (3, 4)", "T(3), (2, 3)", "T(), (2,)")
def broadcast_to(input: Tensor, *size: Any) -> Tensor:
    """Expand the tensor to a shape; NumPy's name of `expand`."""
    return expand(input, *size)


@op("(2, 1), (3,)", method=False, differentiable=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """Return the shape to which tensors of these shapes broadcast, or raise RuntimeError.

    >>> import minigrad
    >>> minigrad.broadcast_shapes((3, 1), (4,))
    minigrad.Size([3, 4])
    """
    sizes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    try:
        return Size(broadcast_shape(*sizes))
    except ValueError:
        raise error(
            RuntimeError,
            "broadcast_shapes",
            apart(sizes),
            "give them the same size there, or size 1 in one of them: x.unsqueeze(d) adds a dimension of size 1",
            notes=[sketch({str(i): s for i, s in enumerate(sizes)})],
        ) from None


@op("T(3, 1), T(4)", "T(2, 3), T()", method=False)
def broadcast_tensors(*tensors: Any) -> tuple:
    """Expand the tensors to their common shape, as views."""
    tensors = tensors_from(tensors)
    size = broadcast_shapes(*[t.shape for t in tensors])
    return tuple([expand(t, size) for t in tensors])


def tensors_from(args: tuple) -> tuple:
    """Return the tensors of `f(a, b)` or `f((a, b))`."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args


@op("T()", "T(3)", "T(2, 3)", "T(), T(2, 3)", method=False)
def atleast_1d(*tensors: Any) -> Any:
    """Return 0-d tensors as tensors of shape (1,); several give a tuple."""
    return map_tensors(tensors, lambda t: reshape(t, 1) if t.ndim == 0 else t)


@op("T()", "T(3)", "T(2, 3)", "T(), T(2, 3)", method=False)
def atleast_2d(*tensors: Any) -> Any:
    """Return tensors of fewer than 2 dimensions with new ones in front; several give a tuple."""
    return map_tensors(tensors, lambda t: reshape(t, (1,) * (2 - t.ndim) + tuple(t.shape)) if t.ndim < 2 else t)


@op("T()", "T(3)", "T(2, 3)", "T(), T(2, 3)", method=False)
def atleast_3d(*tensors: Any) -> Any:
    """Return tensors of fewer than 3 dimensions with new ones, a vector in the middle; several give a tuple."""
    shapes = (lambda s: (1, 1, 1), lambda s: (1, *s, 1), lambda s: (*s, 1))
    return map_tensors(tensors, lambda t: reshape(t, shapes[t.ndim](tuple(t.shape))) if t.ndim < 3 else t)


def map_tensors(tensors: tuple, f: Any) -> Any:
    """Apply f to a single tensor, or to each of several, as a tuple."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return f(tensors[0])
    return tuple([f(t) for t in tensors_from(tensors)])
