"""The product over dimensions.

Its partial with respect to one element is the product of the others.  Running products from both ends give it without a
division.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.kinds import on_device
from ..core.tensor import Tensor
from ..kernels.formula import on_arrays
from .base.registry import op
from .dimensions import axes, axis
from .reduce import OverAll, count, reduced, result_dtype
from .scan import Cumprod, Shift, can_divide


class Prod(OverAll):
    """The product over dimensions.  The partial is the product of the others, without a division."""

    keeps_elements = True
    autocast = "float32"
    kernel_takes_half = True
    impl = lambda x, dims, keepdim: reduced("product", np.multiply, x, dims, keepdim)
    dx = lambda x, dims: others(x, dims)

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """Return the same on arrays."""
        (g,), (x, dims, keepdim) = gs, bound[:3]
        if on_device(x):
            return None
        return (g if keepdim else np.expand_dims(g, dims)) * on_arrays(others)(x, dims), None, None

    textbook = {"dx": lambda g, x, out: g * out / x, "when": lambda x, *settings: can_divide(x)}


def others(x: Tensor, dims: tuple) -> Any:
    """Return for each element the product of all others: those before it times those behind it."""
    if not dims:
        return 1
    last = dims[-1]
    rows = x if len(dims) == 1 else x.reshape((*x.shape[: dims[0]], count(x.shape, dims)))  # all of the last dimensions
    d = last if len(dims) == 1 else dims[0]
    before = Shift.apply(Cumprod.apply(rows, d, False), d, 1, 1.0)
    behind = Shift.apply(Cumprod.apply(rows, d, True), d, -1, 1.0)
    return (before * behind).reshape(x.shape)


@op("T(3, 4)", "T(2, 3, 4), 1", "T(2, 3, 4), -1, True", "T()", "T(0)", "T(0, 3), 0", "T(3, 0), 0", "I(3, 4, 9), 0",
    "B(3)", "T(4, 3).mT", "torch.cat((T(2, 1), torch.zeros(2, 1, dtype=torch.float64), T(2, 2)), 1), 1",
    "torch.cat((T(2), torch.zeros(2, dtype=torch.float64)))", out=True)  # fmt: skip
def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the product of all elements, or over one dimension; integers and bools are multiplied as int64.

    Derivatives of every order are right at zeros too: they are products of the other elements, never quotients.
    """
    one = None if dim is None else axis(dim, input.ndim, "prod")
    return Prod.apply(result_dtype(input, dtype, "prod"), axes(input, one, "prod"), keepdim)
