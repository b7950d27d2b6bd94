"""Activations that write into their input: relu_(x) is relu(x, inplace=True)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.tensor import Tensor
from .activation import celu, elu, hardtanh, leaky_relu, relu, selu, threshold
from .dropout import rrelu


def writing(f: Callable) -> Callable:
    """Return the function `name_` for an activation `name`."""

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return f(input, *args, inplace=True, **kwargs)

    function.__name__ = function.__qualname__ = f"{f.__name__}_"
    function.__doc__ = f"""In-place form of {f.__name__}: write the result into `input`, and return it.

    >>> import minigrad
    >>> x = minigrad.ones(2)
    >>> minigrad.nn.functional.{f.__name__}_(x{", 0.5, 2.0" * (f is threshold)}) is x
    True
    """
    return function


relu_, leaky_relu_, elu_, celu_ = map(writing, (relu, leaky_relu, elu, celu))
selu_, hardtanh_, threshold_, rrelu_ = map(writing, (selu, hardtanh, threshold, rrelu))
