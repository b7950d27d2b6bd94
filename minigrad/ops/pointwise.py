"""Arithmetic, one class per operation: its scalar formula (`kernel`), NumPy's function for it (`ufunc`, if it exists)
and one formula per operand.  The families (families.py) derive the rest.

Neighbours: rounding.py (div, floor, ...), elementary.py (exp, sin, erf, ...), compare.py (eq, where, maximum, ...),
activation.py (relu, gelu, ...).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS, finfo
from ..arrays.dtypes import check_fits as check_number
from ..core.tensor import Tensor
from ..errors import error
from ..kernels import select
from . import compare
from .base.families import Pointwise
from .base.layouts import as_power
from .base.registry import check_fits, choice, functions, op
from .compare import isfinite
from .copy import Clone
from .elementary import log

BINARY = ("T(3, 4), T(3, 4)", "T(3, 1), T(4)", "T(2, 3), T()", "T(), T()", "T(3), 1.5", "2, T(3)",
          "I(2, 3, 9), I(3, 9)", "I(3, 9), 2.5", "T(3), I(3, 9)", "B(3), I(3, 9)", "T(0, 2), T(2)",
          "T(4, 3).mT, T(1, 4)")  # fmt: skip
UNARY = ("T(3, 4)", "T()", "T(0, 2)", "T(1)", "I(3, 9)", "T(4, 3).mT", "T(6)[1::2]")


class Add(Pointwise):
    """Sum of two tensors."""

    spelling = "leave_out_zeros"
    ufunc = np.add
    kernel = lambda x, y: x + y
    dx = lambda: 1
    dy = lambda: 1


class AddScaled(Pointwise):
    """x + alpha * y."""

    name, node = "add", "Add"
    kernel = lambda x, y, alpha: x + alpha * y
    dx = lambda: 1
    dy = lambda alpha: alpha
    n_settings = 1


class Subtraction(Pointwise):
    """A subtraction, which bools do not support."""

    @classmethod
    def impl(cls, *args: Any) -> np.ndarray:
        if any(is_bool(a) for a in args[:2]):
            raise error(
                RuntimeError,
                "sub",
                "Subtraction, the `-` operator, with a bool tensor is not supported",
                "use ~mask (logical_not) to invert a mask, `^` (logical_xor) to find differences, mask.float() for 0 and 1",
            )
        return select.forward(cls, args)


class Sub(Subtraction):
    """Difference of two tensors."""

    ufunc = np.subtract
    kernel = lambda x, y: x - y
    dx = lambda: 1
    dy = lambda: -1
    number_nodes = {0: "RsubBackward1"}


class SubScaled(Subtraction):
    """x - alpha * y."""

    name, node = "sub", "Sub"
    kernel = lambda x, y, alpha: x - alpha * y
    dx = lambda: 1
    dy = lambda alpha: -alpha
    n_settings = 1


class Mul(Pointwise):
    """Product of two tensors, element by element."""

    spelling = "leave_out_ones"
    ufunc = np.multiply
    kernel = lambda x, y: x * y
    dx = lambda y: y
    dy = lambda x: x
    samples = BINARY
    aliases = ("multiply",)


(mul,) = functions(Mul)
multiply = mul
SCALED = ("T(3, 4), T(3, 1), alpha=2.5", "T(3), 2, alpha=3", "I(3, 9), I(3, 9), alpha=2")


@choice(*BINARY, *SCALED, cls=Add)
def add(input: Tensor, other: Any, *, alpha: Any = 1) -> Any:
    """Add: input + alpha * other.  Raises RuntimeError for a float `alpha` with integer tensors.

    >>> import minigrad
    >>> minigrad.add(minigrad.tensor([1., 2.]), minigrad.tensor([[10.], [20.]]), alpha=2)
    tensor([[21., 22.],
            [41., 42.]])
    """
    return (Add, (input, other)) if alpha == 1 else (AddScaled, (input, other, scale("add", alpha, input, other)))


@choice(*[s for s in BINARY if "B(" not in s], *SCALED, cls=Sub, aliases=("subtract",))
def sub(input: Tensor, other: Any, *, alpha: Any = 1) -> Any:
    """Subtract: input - alpha * other.  Raises RuntimeError for bools, and for a float `alpha` with integers."""
    return (Sub, (input, other)) if alpha == 1 else (SubScaled, (input, other, scale("sub", alpha, input, other)))


subtract = sub


def scale(who: str, alpha: Any, *operands: Any) -> Any:
    """Return alpha; raise RuntimeError if it is a float and all operands are integers."""
    if isinstance(alpha, float) and not any(
        [isinstance(a, float) or isinstance(a, Tensor) and a._np_dtype in FLOATS for a in operands]
    ):
        what = f"For integral input tensors, argument alpha must not be a floating point number, got {alpha}"
        raise error(RuntimeError, who, what, "convert a tensor to float first, or pass an integer")
    check_fits(who, operands[0], alpha)
    return alpha


def is_bool(a: Any) -> bool:
    """Return True if an operand of impl is a bool, or an array of bools."""
    return isinstance(a, bool) or isinstance(a, np.ndarray) and a.dtype.kind == "b"


# ---------------------------------------------------------------------- powers
def where(condition: Any, x: Any, y: Any) -> Any:
    """Apply `where` in formulas; for a condition on a number it is Python's conditional."""
    return (x if condition else y) if type(condition) is bool else compare.where(condition, x, y)


# Powers of floats that take a few operations; NumPy recognises squares and roots only by Python numbers.
POWERS: dict[float, Any] = {
    1: np.copy,
    2: np.square,
    3: lambda x: x * x * x,
    0.5: np.sqrt,
    -0.5: lambda x: 1 / np.sqrt(x),
    -1: lambda x: 1 / x,
    -2: lambda x: 1 / (x * x),
}


class Pow(Pointwise):
    """x to the power of y.  At x = 0 the partial with respect to y is 0; with respect to x it is 0 where y = 0, as in PyTorch.

    Raises RuntimeError for integers to the power of a negative Python integer.
    """

    node, number_nodes = "PowBackward1", {0: "PowBackward2", 1: "PowBackward0"}
    layout, numpy_is = as_power, "slow"
    accepts = "iuf"
    kernel = lambda x, y: x**y
    # a negative power of an integer is 0, except for 1 and -1
    integer_kernel = lambda x, y: where(
        y >= 0, x ** where(y >= 0, y, 0), where(x == 1, 1, where(x == -1, where(y % 2 == 0, 1, -1), 0))
    )
    # the inner where keeps the hidden branch of the outer one finite: x**0 has derivatives of every order at x = 0
    dx = lambda g, x, y: where(y == 0, 0.0, g * (y * x ** where(y == 0, 1, y - 1)))
    dy = lambda g, x, y, out: where((x == 0) & (y >= 0), 0.0, g * (out * log(x)))
    number_operand = 1  # most exponents are numbers, for which `where` chooses immediately
    operands = ("input", "exponent")
    samples = ("P(3, 4), T(3, 4)", "P(3, 1), T(4)", "T(3, 4), 2", "T(3), 3.0", "P(4), -1.5", "T(4), -2",
               "2.0, T(3)", "P(0, 2), 2", "I(3, 4, 5), 3", "I(4, 5), I(4, 5)", "I(3, 5), 0.5", "2, I(3, 5)",
               "B(3), 2", "T(3), 0", "P(), T()")  # fmt: skip

    @classmethod
    def impl(cls, x: Any, y: Any) -> np.ndarray:
        if isinstance(y, int) and y < 0 and isinstance(x, np.ndarray) and x.dtype not in FLOATS:
            what = f"Integers to negative integer powers are not allowed, got {y} for a tensor of {x.dtype}"
            raise error(RuntimeError, "pow", what, "convert the base: x.float() ** y")
        if isinstance(y, int) and isinstance(x, np.ndarray):
            check_number("pow", x.dtype, y)
        found = simple_power(x, y)
        return select.forward(cls, (x, y)) if found is None else found

    @staticmethod
    def simple(x: Any, y: Any) -> bool:
        """Return True for x**y with a derivative among the simple powers."""
        return isinstance(y, (int, float)) and y - 1 in POWERS

    @staticmethod
    def ufunc(x: Any, y: Any) -> Any:
        """Compute powers; integers to negative powers are 0, except for 1 and -1."""
        if isinstance(x, np.ndarray) and x.dtype.kind == "i" and np.any(y < 0):
            sign = np.where(y % 2 == 0, x * x, x)
            return np.where(y >= 0, np.power(x, np.maximum(y, 0)), np.where(np.abs(x) == 1, sign, 0))
        found = simple_power(x, y) if isinstance(x, np.ndarray) and x.size > 32 else None  # this check costs time, too
        if found is None and isinstance(x, float) and isinstance(y, (int, float)):
            return np.float64(x) ** y  # infinite where Python raises an error
        return x**y if found is None else found

    textbook = {"dx": lambda g, x, y: g * y * x ** (y - 1), "dy": lambda g, x, y, out: g * out * log(x)}


def simple_power(x: Any, y: Any) -> np.ndarray | None:
    """Return x**y if it takes a few operations and the result has x's dtype, else None."""
    if not isinstance(x, np.ndarray) or x.dtype not in FLOATS:
        return None
    if isinstance(y, np.ndarray) and (y.ndim or y.dtype != x.dtype or type(y) is not np.ndarray):  # one on a device
        return None
    f = POWERS.get(y.item() if isinstance(y, np.ndarray) else y)
    return None if f is None else f(x)


class Square(Pointwise):
    """x times x."""

    call = "x ** 2"
    node = "Pow"
    ufunc = np.square
    kernel = lambda x: x * x
    dx = lambda x: 2 * x


class Reciprocal(Pointwise):
    """1 / x."""

    call = "1 / x"
    kind = "float"
    ufunc = lambda x: 1 / x
    kernel = lambda x: 1 / x
    dx = lambda out: -out * out
    domain = (0.2, 3.0)


pow, reciprocal = functions(Pow, Reciprocal)


@choice(*UNARY, "B(3)", cls=Square)
def square(input: Tensor) -> Any:
    """Return the square; for bools it is an integer."""
    return (Pow, (input, 2)) if isinstance(input, Tensor) and input._np_dtype.kind == "b" else (Square, (input,))


# ---------------------------------------------------------------------- sign and size
class Neg(Pointwise):
    """The negative."""

    accepts = "iuf"
    advice = "Negation, the `-` operator, on a bool tensor is not supported. To invert a mask, use `~` or logical_not()"
    ufunc = np.negative
    kernel = lambda x: -x
    dx = lambda: -1
    samples = UNARY
    aliases = ("negative",)


class Abs(Pointwise):
    """The absolute value; its derivative at 0 is 0."""

    accepts = "iuf"
    ufunc = np.absolute
    kernel = lambda x: abs(x)
    dx = lambda x: sign(x)
    samples = UNARY
    aliases = ("absolute",)


class Sign(Pointwise):
    """1, 0 or -1 (0 for NaN).  Its derivative is 0."""

    kernel = lambda x: where(x > 0, 1.0, where(x < 0, -1.0, 0.0))
    dx = lambda: 0
    samples, numpy_is = (*UNARY, "B(3)"), "slow"

    @staticmethod
    def ufunc(x: np.ndarray) -> Any:
        """Return NumPy's sign, but 0 for NaN, and bools unchanged."""
        x = x if isinstance(x, np.ndarray) else np.asarray(x)  # it may be a number
        return x if x.dtype.kind == "b" else np.sign(np.where(x == x, x, 0) if x.dtype in FLOATS else x)


class Sgn(Sign):
    """The sign, -1, 0 or 1; PyTorch's sgn differs from sign only for complex numbers."""


class Copysign(Pointwise):
    """The absolute value of input with the sign of other, even of a zero.  At input = 0 the derivative is 0."""

    number_nodes = {1: "CopysignBackward1"}
    kind = "float"
    ufunc, numpy_is = np.copysign, "slow"
    kernel = lambda x, y: math.copysign(x, y)
    dx = lambda g, x, out: where(x == 0, 0.0, g * (out / x))
    dy = lambda: 0
    samples = tuple([s for s in BINARY if s[0] != "2"])


neg, abs, sign, sgn, copysign = functions(Neg, Abs, Sign, Sgn, Copysign)
negative, absolute = neg, abs


@op("T(3, 4)", "I(3, 9)", "T()")
def positive(input: Tensor) -> Tensor:
    """Return `+x`: x itself.  Raises RuntimeError for bools."""
    if input._np_dtype.kind == "b":
        raise error(RuntimeError, "+", "the `+` operator on a bool tensor is not supported", "convert first: +x.int()")
    return input


# ---------------------------------------------------------------------- mixtures
class NanToNum(Pointwise):
    """NaN and infinities replaced by numbers; their derivative is 0."""

    kernel = lambda x, nan, posinf, neginf: where(
        x != x, nan, where(x == math.inf, posinf, where(x == -math.inf, neginf, x))
    )
    dx = lambda g, x: where(isfinite(x), g, 0.0)
    n_settings = 3


@choice(
    *UNARY,
    "torch.where(B(9), float('inf'), T(9)), posinf=5.0",
    "torch.where(B(9), float('nan'), T(9)), 1.0, 2.0, 3.0",
    cls=NanToNum,
)
def nan_to_num(input: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Replace NaN and infinities: by 0 and the largest and smallest number of the dtype, or by given numbers."""
    if input._np_dtype not in FLOATS:
        return Clone, (input,)
    largest = largest_number(input.dtype)
    usual = ((nan, 0.0), (posinf, largest), (neginf, -largest))
    return NanToNum, (input, *[number if given is None else given for given, number in usual])


@cache
def largest_number(dtype: Any) -> float:
    """Return the largest finite number of a dtype; looking it up takes as long as 50,000 elements."""
    return finfo(dtype).max


class Lerp(Pointwise):
    """x + weight * (y - x), computed from the nearer end."""

    node, number_nodes = "LerpBackward1", {2: "LerpBackward0"}
    operands = ("input", "end", "weight")
    kernel = lambda x, y, weight: where(abs(weight) < 0.5, x + weight * (y - x), y - (y - x) * (1 - weight))
    dx = lambda weight: 1 - weight
    dy = lambda weight: weight
    dweight = lambda x, y: y - x


@choice(
    "T(3, 4), T(3, 4), 0.3",
    "T(3, 1), T(4), T(4)",
    "T(2, 3), T(3), 0.7",
    "T(), T(), T()",
    "T(3), T(3), T()",
    "T(0), T(0), 0.5",
    cls=Lerp,
)
def lerp(input: Tensor, end: Tensor, weight: Any) -> Any:
    """Interpolate between `input` and `end`: input + weight * (end - input).  Raises RuntimeError for different dtypes.

    >>> import minigrad
    >>> minigrad.lerp(minigrad.tensor([0., 10.]), minigrad.tensor([1., 20.]), 0.25)
    tensor([ 0.2500, 12.5000])
    """
    if input._np_dtype not in FLOATS:
        raise error(NotImplementedError, "lerp", f"not implemented for {input.dtype}", "convert to float first")
    for name, t in (("end", end), ("weight", weight)):
        if isinstance(t, Tensor) and t.ndim and t.dtype != input.dtype:
            what = f"expected dtype {input.dtype} for `{name}` but got dtype {t.dtype}"
            raise error(RuntimeError, "lerp", what, f"write {name}.to(input.dtype)")
    check_fits("lerp", input, weight)
    return Lerp, (input, end, weight)


class Addcmul(Pointwise):
    """x + value * a * b."""

    kernel = lambda x, a, b, value: x + value * a * b
    operands = ("input", "tensor1", "tensor2")
    dx = lambda: 1
    da = lambda b, value: value * b
    db = lambda a, value: value * a
    n_settings = 1


class Addcdiv(Pointwise):
    """x + value * a / b."""

    accepts = "f"
    kernel = lambda x, a, b, value: x + value * a / b
    operands = ("input", "tensor1", "tensor2")
    dx = lambda: 1
    da = lambda b, value: value / b
    db = lambda a, b, value: -value * (a / b / b)
    n_settings = 1


@choice("T(3, 4), T(3, 4), T(3, 4)", "T(3, 1), T(4), T(3, 4), value=0.5", "T(), T(), T()",
        "I(3, 9), I(3, 9), I(3, 9), value=2", "T(0), T(0), T(1)",
        cls=Addcmul)  # fmt: skip
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Any:
    """Return input + value * tensor1 * tensor2; `value` loses its fraction if all are integers."""
    integers = not (input.is_floating_point() or tensor1.is_floating_point() or tensor2.is_floating_point())
    check_fits("addcmul", input, value)
    return Addcmul, (input, tensor1, tensor2, int(value) if integers else value)


@choice(
    "T(3, 4), T(3, 4), P(3, 4)", "T(3, 1), T(4), P(3, 4), value=0.5", "T(), T(), P()", "T(0), T(0), T(1)", cls=Addcdiv
)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Any:
    """Return input + value * tensor1 / tensor2.  Raises RuntimeError if both tensors of the quotient are integers."""
    if not tensor1.is_floating_point() and not tensor2.is_floating_point():
        what = "Integer division with addcdiv is no longer supported"
        raise error(RuntimeError, "addcdiv", what, "convert tensor1 to float, or divide with div()")
    check_fits("addcdiv", input, value)
    return Addcdiv, (input, tensor1, tensor2, value)
