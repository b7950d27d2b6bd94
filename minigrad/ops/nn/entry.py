"""Enter the functions of nn.functional into the table of operations; reject dtypes that they do not support."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...arrays.dtypes import FLOATS
from ...core.tensor import Tensor
from ...errors import error
from ..base.registry import op


def functional(*samples: str, **options: Any) -> Callable:
    """Enter a function that PyTorch has in nn.functional under the same name, and not as a method."""
    return lambda f: op(*samples, torch=f"nn.functional.{f.__name__}", method=False, **options)(f)


def expect_floats(who: str, x: Tensor) -> None:
    """Raise NotImplementedError for integers and bools, for which PyTorch has no kernels."""
    if x._np_dtype not in FLOATS:
        raise error(NotImplementedError, who, f"not implemented for {x.dtype.name}", "convert it first: x.float()")


def expect_numbers(who: str, x: Tensor) -> None:
    """Raise NotImplementedError for bools."""
    if x._np_dtype.kind == "b":
        raise error(NotImplementedError, who, "not implemented for bool", "convert it first: x.float()")
