"""Reductions: sum, mean and the like over dimensions.  Each states the partial of its result by one element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.tensor import Tensor
from ..errors import error
from .families import Reduce
from .registry import op


def axes(input: Tensor, dim: Any, who: str) -> tuple:
    """`dim=` as a tuple of dimensions counted from the front: all for None or ()."""
    n = input.ndim
    if dim is None or isinstance(dim, (tuple, list)) and not len(dim):
        return tuple(range(n))
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    found = tuple([axis(d, n, who) for d in dims])
    if len(set(found)) != len(found):
        raise error(RuntimeError, who, f"dim {found[0]} appears multiple times in the list of dims {dims}")
    return () if n == 0 else found


def axis(dim: Any, n: int, who: str) -> int:
    """One dimension of a tensor with n of them, counted from the front.  Raises IndexError when there is no such one."""
    d = int(dim)
    limit = max(n, 1)  # a 0-d tensor may be asked for dimension 0 or -1
    if not -limit <= d < limit:
        raise error(IndexError, who, f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {d})")
    return d % limit


def result_dtype(input: Tensor, dtype: Any) -> Tensor:
    """The input converted to the dtype in which it is to be summed: integers and bools to int64."""
    if dtype is not None:
        return input.to(dtype)
    return input if input._np_dtype.kind == "f" else input.to(dtypes.int64)


class Sum(Reduce):
    """The sum over dimensions."""

    impl = lambda x, dims, keepdim: np.add.reduce(x, axis=dims, keepdims=keepdim)
    dx = lambda: 1


@op("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), (0, -1), True", "T()", "T(0, 3), 0", "I(3, 4, 9)", "B(3), 0", out=True)
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of all elements, or over the dimensions `dim`; integers and bools are summed as int64.

    >>> import minigrad
    >>> minigrad.sum(minigrad.tensor([[1, 2], [3, 4]]), dim=0)
    tensor([4, 6])
    """
    return Sum.apply(result_dtype(input, dtype), axes(input, dim, "sum"), keepdim)
