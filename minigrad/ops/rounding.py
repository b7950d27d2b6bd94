"""Division and rounding: div with its modes, floor_divide, remainder, fmod, and floor, ceil, trunc, round, frac.

Whatever rounds has derivative 0.  Integers divide by PyTorch's rules: `/` gives floats, `//` and `%` follow Python,
fmod C, and a division by 0 raises.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..core.tensor import Tensor
from ..errors import error
from ..kernels import formula
from .base.families import Pointwise
from .base.registry import choice, functions
from .pointwise import BINARY, UNARY, where

RESTS = tuple([s.replace("9)", "9) + 1") for s in BINARY if s[0] != "2"])


class Div(Pointwise):
    """Quotient of two tensors; integers are divided as floating-point numbers."""

    kind = "float"
    ufunc = np.true_divide
    kernel = lambda x, y: x / y
    dx = lambda g, y: g / y
    dy = lambda g, x, y: -g * (x / y / y)


def nonzero_divisor(name: str, x: Any, y: Any) -> bool:
    """Whether the operands are integers; RuntimeError if the division by one of them is by zero."""
    integers = y.dtype not in FLOATS if isinstance(y, np.ndarray) else x.dtype not in FLOATS
    if integers and np.size(x) and np.any(y == 0):
        raise error(
            RuntimeError,
            name,
            "ZeroDivisionError: an integer is divided by 0",
            "divide as floats, whose quotient is an infinity or NaN",
        )
    return integers


class FloorDivide(Pointwise):
    """The quotient rounded down.  Its derivative is 0."""

    accepts = "iuf"
    ufunc = lambda x, y: (nonzero_divisor("floor_divide", x, y), np.floor_divide(x, y))[1]
    kernel = lambda x, y: x // y
    dx = lambda: 0
    dy = lambda: 0


class TruncDivide(Pointwise):
    """The quotient rounded towards zero.  Its derivative is 0."""

    name, node, accepts = "div", "Div", "iuf"
    kernel = lambda x, y: trunc(x / y)
    integer_kernel = lambda x, y: where((x % y != 0) & ((x < 0) != (y < 0)), x // y + 1, x // y)
    dx = lambda: 0
    dy = lambda: 0

    @staticmethod
    def ufunc(x: Any, y: Any) -> Any:
        """By way of the rest for integers, which may be too large for floats."""
        if nonzero_divisor("div", x, y):
            return np.floor_divide(x - np.fmod(x, y), y)
        quotient = x / y
        return np.trunc(quotient, out=quotient if isinstance(quotient, np.ndarray) else None)


class Remainder(Pointwise):
    """What is left of input after division rounded down: it has the sign of the divisor, as in Python."""

    node, number_nodes = "RemainderBackward1", {1: "RemainderBackward0"}
    accepts = "iuf"
    ufunc = lambda x, y: (nonzero_divisor("remainder", x, y), np.remainder(x, y))[1]
    kernel = lambda x, y: x % y
    dx = lambda: 1
    dy = lambda x, y: -floor_divide(x, y)
    samples = RESTS


class Fmod(Pointwise):
    """What is left of input after division rounded towards zero: it has the sign of input, as in C."""

    node, number_nodes = "FmodBackward1", {1: "FmodBackward0"}
    accepts = "iuf"
    ufunc = lambda x, y: (nonzero_divisor("fmod", x, y), np.fmod(x, y))[1]
    kernel = lambda x, y: math.fmod(x, y)
    integer_kernel = lambda x, y: where((x % y != 0) & ((x < 0) != (y < 0)), x % y - y, x % y)
    dx = lambda: 1
    dy = lambda x, y: -trunc_divide(x, y)
    samples = RESTS


def trunc_divide(x: Any, y: Any) -> Any:
    """div rounded towards zero, in formulas."""
    return TruncDivide.apply(x, y)


formula.OPERATIONS["trunc_divide"] = TruncDivide
remainder, fmod = functions(Remainder, Fmod)


@choice(*RESTS, "2, T(3)", cls=FloorDivide, differentiable=False)
def floor_divide(input: Tensor, other: Any) -> Any:
    """The quotient rounded down.  Raises RuntimeError where an integer is divided by 0, but on a GPU, which cannot.

    >>> import minigrad
    >>> minigrad.tensor([7, -7]) // 2
    tensor([ 3, -4])
    """
    return FloorDivide, (input, other)


@choice(*BINARY[:5], "I(2, 3, 9), I(3, 9) + 1", "B(3), I(3, 9) + 1", "T(0, 2), T(2)",
        "T(3, 4), T(4), rounding_mode='floor'", "T(3, 4), 2, rounding_mode='trunc'",
        "I(9, 9) - 4, 3, rounding_mode='trunc'", "I(9, 9) - 4, -3, rounding_mode='floor'",
        cls=Div, aliases=("divide",))  # fmt: skip
def div(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Any:
    """Quotient, as a float also for integers; with `rounding_mode` "floor" or "trunc" rounded, in the operands' dtype.

    Raises RuntimeError for other rounding modes, and where an integer is divided by 0 and rounded.

    >>> import minigrad
    >>> minigrad.div(minigrad.tensor([7, -7]), 2, rounding_mode="trunc")
    tensor([ 3, -3])
    """
    modes = {None: Div, "floor": FloorDivide, "trunc": TruncDivide}
    if rounding_mode not in modes:
        raise error(
            RuntimeError,
            "div",
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}",
            "write rounding_mode='floor'",
        )
    return modes[rounding_mode], (input, other)


@choice(*BINARY[:5], "I(2, 3, 9), I(3, 9) + 1", cls=Div)
def true_divide(input: Tensor, other: Any) -> Any:
    """Quotient, as a float also for integers."""
    return Div, (input, other)


divide = div


# ---------------------------------------------------------------------- rounding
class Rounding(Pointwise):
    """Rounds floats, leaves integers as they are; its derivative is 0."""

    accepts = "iuf"
    samples = UNARY
    integer_kernel = lambda x: x
    dx = lambda: 0


class Floor(Rounding):
    """The largest integer that is not above."""

    ufunc = np.floor
    kernel = lambda x: math.floor(x)


class Ceil(Rounding):
    """The smallest integer that is not below."""

    ufunc = np.ceil
    kernel = lambda x: math.ceil(x)


class Trunc(Rounding):
    """Rounded towards zero."""

    ufunc = np.trunc
    kernel = lambda x: math.trunc(x)
    aliases = ("fix",)


class Round(Rounding):
    """The nearest integer, the even one of two that are equally near."""

    ufunc = lambda x: np.rint(x) if x.dtype in FLOATS else x.copy()
    kernel = lambda x: builtins.round(x)


class RoundDecimals(Rounding):
    """Rounded to a number of decimals."""

    name, node, accepts = "round", "RoundBackward1", "f"
    ufunc = lambda x, decimals: np.round(x, decimals)
    kernel = lambda x, decimals: builtins.round(x * 10.0**decimals) / 10.0**decimals
    n_settings = 1


class Frac(Pointwise):
    """What is left of x without its integer part; it has the sign of x."""

    accepts = "f"
    ufunc = lambda x: x - np.trunc(x)
    kernel = lambda x: x - trunc(x)
    dx = lambda: 1


floor, ceil, trunc, frac = functions(Floor, Ceil, Trunc, Frac)
fix = trunc


class Heaviside(Pointwise):
    """0 where x < 0, 1 where x > 0, and y at the step, where x is 0."""

    differentiable = False
    kernel = lambda x, y: where(x == 0, y, where(x > 0, 1.0, 0.0))
    integer_kernel = lambda x, y: where(x == 0, y, where(x > 0, 1, 0))
    ufunc = lambda x, y: np.where(x == 0, y, x > 0)


@choice("T(3, 4), T(3, 4)", "T(3, 1).round(), T(4)", "I(3, 4, 3) - 1, I(4, 9)", "T(0, 2), T(2)", "T().round(), T()",
        cls=Heaviside, differentiable=False)  # fmt: skip
def heaviside(input: Tensor, values: Tensor) -> Any:
    """The step from 0 to 1 at 0, where it is `values`.  Raises RuntimeError for two dtypes.

    >>> import minigrad
    >>> minigrad.heaviside(minigrad.tensor([-2., 0., 2.]), minigrad.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    if isinstance(values, Tensor) and values.dtype != input.dtype:
        what = f"is not there for tensors of different dtypes, {input.dtype.name} and {values.dtype.name}"
        raise error(RuntimeError, "heaviside", what, "write values.to(input.dtype)")
    return Heaviside, (input, values)


@choice(*UNARY, "T(3, 4), decimals=1", "100 * T(5), decimals=-1", cls=Round)
def round(input: Tensor, *, decimals: int = 0) -> Any:
    """The nearest integer, the even one of two that are equally near; or rounded to `decimals` (of floats only).

    >>> import minigrad
    >>> minigrad.round(minigrad.tensor([0.5, 1.5, 2.345]), decimals=2)
    tensor([0.5000, 1.5000, 2.3400])
    """
    return (RoundDecimals, (input, decimals)) if decimals else (Round, (input,))
