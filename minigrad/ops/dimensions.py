"""Convert the dimensions that users name, counted from either end, to dimensions counted from the front."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error

ALL = [tuple(range(n)) for n in range(65)]  # by rank, up to NumPy's limit: all dimensions, where a call names none


def axes(input: Tensor, dim: Any, who: str) -> tuple:
    """Return `dim=` as a tuple of dimensions counted from the front: all for None or ()."""
    n = len(input._sizes)
    if dim is None or isinstance(dim, (tuple, list)) and not len(dim):
        return ALL[n]
    if type(dim) is int and -n <= dim < n:
        return (dim % n,)
    found = distinct_axes(tuple(dim) if isinstance(dim, (tuple, list)) else (dim,), n, who)
    return () if n == 0 else tuple(sorted(found))


def distinct_axes(dims: tuple, n: int, who: str) -> tuple:
    """Return dimensions counted from the front, in the given order.  Raises RuntimeError if one is named twice."""
    found = tuple([axis(d, n, who) for d in dims])
    if len(set(found)) != len(found):
        twice = next(d for d in found if found.count(d) > 1)
        what = f"dim {twice} appears multiple times in the list of dims {dims}"
        raise error(RuntimeError, who, what, f"write dim={tuple(sorted(set(found)))}")
    return found


def axis(dim: Any, n: int, who: str) -> int:
    """Return one dimension of a tensor with n of them, counted from the front.  Raises IndexError if it does not exist."""
    if type(dim) is int and -n <= dim < n:
        return dim % n
    if isinstance(dim, float) or not hasattr(dim, "__index__"):
        raise error(TypeError, who, f"dim must be an integer, not {type(dim).__name__}", "write dim=0 or dim=-1")
    d = int(dim)
    limit = max(n, 1)  # a 0-d tensor accepts dimension 0 or -1
    if not -limit <= d < limit:
        what = f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {d})"
        fix = f"write dim={max(-limit, min(d, limit - 1))}, or x.unsqueeze(d) for a new dimension"
        raise error(IndexError, who, what, fix)
    return d % limit


# ---------------------------------------------------------------------- in calls as users write them
def single(values: Any) -> Any:
    """Return a setting for all dimensions as one number, if all are equal."""
    return values[0] if isinstance(values, tuple) and len(set(values)) == 1 else values


def shown_dims(input: Tensor, dims: tuple, keepdim: bool) -> int | tuple | None:
    """Return the dimensions of a reduction as they are written: None for all, one of them alone."""
    return None if len(dims) == input.ndim and not keepdim else dims[0] if len(dims) == 1 else dims
