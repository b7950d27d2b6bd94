"""Warnings of debug mode about code that is allowed but rarely intended; each function warns only when it is sure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..errors import warn
from . import debug

OUTPUTS = ("affine", "linear", "matmul", "mm", "addmm", "add", "sigmoid", "tanh", "relu", "exp", "softplus", "prelu")


def check_operation(cls: Any, args: tuple, outs: tuple) -> None:
    """Check an operation that has just run on plain tensors."""
    if cls.function_name() in ("add", "sub", "mul"):
        overflow(cls, args, outs[0])
    if cls.function_name() == "sub" and all([isinstance(a, Tensor) for a in args]):
        column(args, outs[0])


def overflow(cls: Any, args: tuple, out: Tensor) -> None:
    """Warn if integers overflow their dtype."""
    if out._np_dtype.kind not in "iu" or out.itemsize == 8:
        return
    exact = cls.compute(*[a._a.astype(np.int64) if isinstance(a, Tensor) else a for a in args])
    wrong = int((exact != out._a).sum())
    if wrong:
        warn(
            "integer-overflow",
            cls.function_name(),
            f"{wrong} of {out.numel()} elements overflow {out.dtype} and wrap around",
            "convert before computing: x.int() or x.float()",
        )


def column(args: tuple, out: Tensor) -> None:
    """Warn if a model's output, a column, is subtracted from a row of data."""
    x, y = args if args[0].ndim == 2 else args[::-1]
    sizes = tuple(x.shape), tuple(y.shape)
    if sizes[0] != (*sizes[1], 1) or sizes[1] in ((), (1,)) or x._edge is None or y._edge is not None:
        return
    name = debug.made_by(x)
    if x._view is None and name in OUTPUTS:
        warn(
            "broadcast-column",
            "sub",
            f"broadcasts a column of shape {sizes[0]} (made by {name}) and a row of shape {sizes[1]} to {tuple(out.shape)}",
            f"give both the same shape: x.squeeze(1) or y.reshape({list(x.shape)})",
            notes=[f"the column: {debug.origin(x)}"],
        )
