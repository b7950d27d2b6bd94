"""Division and rounding: div with its modes, floor_divide, remainder, fmod, and floor, ceil, trunc, round, frac.

All rounding has derivative 0.  Integers divide by PyTorch's rules: `/` gives floats, `//` and `%` follow Python, fmod
follows C, and a division by 0 raises.
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

    spelling = "leave_out_count_of_one"
    kind = "float"
    ufunc = np.true_divide
    kernel = lambda x, y: x / y
    dx = lambda g, y: g / y
    dy = lambda g, x, y: -g * (x / y / y)


def check_integer_division(name: str, x: Any, y: Any) -> bool:
    """Return True if the operands are integers; raise RuntimeError for an integer division by zero."""
    integers = y.dtype not in FLOATS if isinstance(y, np.ndarray) else x.dtype not in FLOATS
    if integers and np.size(x) and np.any(y == 0):
        what = "ZeroDivisionError: cannot divide an integer by 0"
        raise error(RuntimeError, name, what, "divide as floats, which gives an infinity or NaN")
    return integers


class FloorDivide(Pointwise):
    """The quotient rounded down.  Its derivative is 0."""

    accepts, numpy_is = "iuf", "slow"
    ufunc = lambda x, y: (check_integer_division("floor_divide", x, y), np.floor_divide(x, y))[1]
    kernel = lambda x, y: x // y
    dx = lambda: 0
    dy = lambda: 0


class TruncDivide(Pointwise):
    """The quotient rounded towards zero.  Its derivative is 0."""

    call = 'div(x, y, rounding_mode="trunc")'
    name, node, accepts = "div", "Div", "iuf"
    kernel = lambda x, y: trunc(x / y)
    integer_kernel = lambda x, y: where((x % y != 0) & ((x < 0) != (y < 0)), x // y + 1, x // y)
    dx = lambda: 0
    dy = lambda: 0

    @staticmethod
    def ufunc(x: Any, y: Any) -> Any:
        """Use the remainder for integers, which may be too large for floats."""
        if check_integer_division("div", x, y):
            return np.floor_divide(x - np.fmod(x, y), y)
        quotient = x / y
        return np.trunc(quotient, out=quotient if isinstance(quotient, np.ndarray) else None)


class Remainder(Pointwise):
    """Remainder of input after division rounded down, with the sign of the divisor, as in Python."""

    node, number_nodes = "RemainderBackward1", {1: "RemainderBackward0"}
    accepts, numpy_is = "iuf", "slow"
    ufunc = lambda x, y: (check_integer_division("remainder", x, y), np.remainder(x, y))[1]
    kernel = lambda x, y: x % y
    dx = lambda: 1
    dy = lambda x, y: -floor_divide(x, y)
    samples = RESTS


class Fmod(Pointwise):
    """Remainder of input after division rounded towards zero, with the sign of input, as in C."""

    node, number_nodes = "FmodBackward1", {1: "FmodBackward0"}
    accepts, numpy_is = "iuf", "slow"
    ufunc = lambda x, y: (check_integer_division("fmod", x, y), np.fmod(x, y))[1]
    kernel = lambda x, y: math.fmod(x, y)
    integer_kernel = lambda x, y: where((x % y != 0) & ((x < 0) != (y < 0)), x % y - y, x % y)
    dx = lambda: 1
    dy = lambda x, y: -trunc_divide(x, y)
    samples = RESTS


def trunc_divide(x: Any, y: Any) -> Any:
    """Divide, rounding towards zero, in formulas."""
    return TruncDivide.apply(x, y)


formula.OPERATIONS["trunc_divide"] = TruncDivide
remainder, fmod = functions(Remainder, Fmod)


@choice(*RESTS, "2, T(3)", cls=FloorDivide, differentiable=False)
def floor_divide(input: Tensor, other: Any) -> Any:
    """Return the quotient rounded down.  Raises RuntimeError for an integer division by 0, except on a GPU.

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
    """Return the quotient, a float for integers too; with `rounding_mode` "floor" or "trunc" rounded, in the operands' dtype.

    Raises RuntimeError for other rounding modes, and for a rounded integer division by 0.

    >>> import minigrad
    >>> minigrad.div(minigrad.tensor([7, -7]), 2, rounding_mode="trunc")
    tensor([ 3, -3])
    """
    modes = {None: Div, "floor": FloorDivide, "trunc": TruncDivide}
    if rounding_mode not in modes:
        what = f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {rounding_mode!r}"
        raise error(RuntimeError, "div", what, "write rounding_mode='floor'")
    return modes[rounding_mode], (input, other)


@choice(*BINARY[:5], "I(2, 3, 9), I(3, 9) + 1", cls=Div)
def true_divide(input: Tensor, other: Any) -> Any:
    """Return the quotient, a float for integers too."""
    return Div, (input, other)


divide = div


# ---------------------------------------------------------------------- rounding
class Rounding(Pointwise):
    """A rounding of floats, with derivative 0; integers stay unchanged."""

    accepts = "iuf"
    samples = UNARY
    integer_kernel = lambda x: x
    dx = lambda: 0


class Floor(Rounding):
    """The largest integer that is not above x."""

    ufunc = np.floor
    kernel = lambda x: math.floor(x)


class Ceil(Rounding):
    """The smallest integer that is not below x."""

    ufunc = np.ceil
    kernel = lambda x: math.ceil(x)


class Trunc(Rounding):
    """x rounded towards zero."""

    ufunc = np.trunc
    kernel = lambda x: math.trunc(x)
    aliases = ("fix",)


class Round(Rounding):
    """The nearest integer; the even one in a tie."""

    ufunc = lambda x: np.rint(x) if x.dtype in FLOATS else x.copy()
    kernel = lambda x: builtins.round(x)


class RoundDecimals(Rounding):
    """x rounded to a number of decimals."""

    call = "round(x, decimals=decimals)"
    name, node, accepts = "round", "RoundBackward1", "f"
    ufunc = lambda x, decimals: np.round(x, decimals)
    kernel = lambda x, decimals: builtins.round(x * 10.0**decimals) / 10.0**decimals
    n_settings = 1


class Frac(Pointwise):
    """The fractional part of x, with the sign of x."""

    accepts, numpy_is = "f", "slow"
    ufunc = lambda x: x - np.trunc(x)
    kernel = lambda x: x - trunc(x)
    dx = lambda: 1


floor, ceil, trunc, frac = functions(Floor, Ceil, Trunc, Frac)
fix = trunc


class Heaviside(Pointwise):
    """0 where x < 0, 1 where x > 0, and y where x is 0."""

    differentiable, numpy_is = False, "slower"
    kernel = lambda x, y: where(x == 0, y, where(x > 0, 1.0, 0.0))
    integer_kernel = lambda x, y: where(x == 0, y, where(x > 0, 1, 0))
    ufunc = lambda x, y: np.where(x == 0, y, x > 0)


@choice("T(3, 4), T(3, 4)", "T(3, 1).round(), T(4)", "I(3, 4, 3) - 1, I(4, 9)", "T(0, 2), T(2)", "T().round(), T()",
        cls=Heaviside, differentiable=False)  # fmt: skip
def heaviside(input: Tensor, values: Tensor) -> Any:
    """Return the step from 0 to 1 at 0, where it is `values`.  Raises RuntimeError for two dtypes.

    >>> import minigrad
    >>> minigrad.heaviside(minigrad.tensor([-2., 0., 2.]), minigrad.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    if isinstance(values, Tensor) and values.dtype != input.dtype:
        what = f"does not support tensors of different dtypes, {input.dtype.name} and {values.dtype.name}"
        raise error(RuntimeError, "heaviside", what, "write values.to(input.dtype)")
    return Heaviside, (input, values)


@choice(*UNARY, "T(3, 4), decimals=1", "100 * T(5), decimals=-1", cls=Round)
def round(input: Tensor, *, decimals: int = 0) -> Any:
    """Round to the nearest integer, to the even one in a tie; or to `decimals` decimals (floats only).

    >>> import minigrad
    >>> minigrad.round(minigrad.tensor([0.5, 1.5, 2.345]), decimals=2)
    tensor([0.5000, 1.5000, 2.3400])
    """
    return (RoundDecimals, (input, decimals)) if decimals else (Round, (input,))
