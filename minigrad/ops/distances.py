"""Distances within one set of points, and a limit on norms: pdist, renorm.  Distances of two sets, cdist: norms.py."""

from __future__ import annotations

import numpy as np

from ..arrays.dtypes import FLOATS
from ..core.tensor import Tensor
from ..errors import error
from .base.layouts import wrap_near
from .base.registry import op
from .compare import where
from .dimensions import axis
from .norms import Cdist, vector_norm
from .slices import index_select


@op("T(4, 3)", "T(4, 3), 1.0", "T(3, 2), 3", "T(3, 2), float('inf')", "T(1, 2)", method=False, node="Pdist")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Return the p-norms of the differences of all pairs of rows i < j, (0, 1), (0, 2), ..., (1, 2), ...: a vector.

    Raises RuntimeError if `input` is not a matrix of floating-point numbers, and for negative p.

    >>> import minigrad
    >>> minigrad.pdist(minigrad.tensor([[0., 0.], [3., 4.], [3., 0.]]))
    tensor([5., 3., 4.])
    """
    if input.ndim != 2:
        what = f"pdist only supports 2D tensors, got {input.ndim}D"
        raise error(RuntimeError, "pdist", what, "pass a matrix with a row for each point: input.flatten(1)")
    if input._np_dtype not in FLOATS:
        what = f"pdist only supports floating-point dtypes, got {input.dtype.name}"
        raise error(RuntimeError, "pdist", what, "convert it first: input.float()")
    if p < 0:
        raise error(RuntimeError, "pdist", f"pdist only supports non-negative p values, got {p}", "write p=2.0")
    first, second = np.triu_indices(len(input), 1)
    both = Cdist.apply(input, input, p, p == 2)
    return index_select(both.reshape(-1), 0, wrap_near(first * len(input) + second, input))


@op("T(3, 4), 2, 0, 1.0", "T(2, 3, 4), 1, -2, 2.5", "T(3, 2), 3.0, 1, 100.0", "T(3, 4), float('inf'), 0, 0.5",
    inplace=True, out=True, node="Renorm")  # fmt: skip
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale slices along `dim` whose p-norm exceeds `maxnorm` down to it; leave the others unchanged.

    Raises RuntimeError for fewer than two dimensions, p of 0 or less and a negative maxnorm.

    >>> import minigrad
    >>> minigrad.renorm(minigrad.tensor([[3., 4.], [0.5, 0.]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.5000, 0.0000]])
    """
    if input.ndim < 2:
        what = f"input needs at least 2 dimensions, got {input.ndim} dimensions"
        raise error(RuntimeError, "renorm", what, "write input.unsqueeze(0)")
    if p <= 0:
        raise error(RuntimeError, "renorm", f"non-positive-norm not supported, got p={p}", "write p=2")
    if maxnorm < 0:
        raise error(RuntimeError, "renorm", f"expected maxnorm to be >= 0 but got {maxnorm}", "write maxnorm=1.0")
    others = tuple([d for d in range(input.ndim) if d != axis(dim, input.ndim, "renorm")])
    size = vector_norm(input, p, others, True)
    return input.contiguous() * where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)
