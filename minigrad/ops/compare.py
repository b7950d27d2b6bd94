"""Comparisons, and choices between values: eq, isclose, where, maximum, clamp, ...

Results that are bools have no derivative; a choice passes the gradient to the chosen operand (for equal operands, maximum
gives half to each, as PyTorch does).  Next: logic.py, pointwise.py.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS, default
from ..arrays.dtypes import check_fits as check_number
from ..arrays.kinds import number, require_one_device
from ..core.frames import current
from ..core.saved import plain_tensor
from ..core.tensor import Tensor
from ..errors import error
from .base.families import Pointwise
from .base.registry import check_fits, choice, functions, op
from .copy import fitting

# the ufunc behind np.clip, which takes a microsecond to reach it; it has no public name
limited = getattr(np._core.umath, "clip", np.clip)  # type: ignore[attr-defined]
NUMBER = (int, float)
NUMBERS = (
    "T(3, 4), T(3, 4)",
    "T(3, 1), T(4)",
    "I(2, 3, 3), I(2, 3, 3)",
    "I(3, 4), 2",
    "T(3), 0.5",
    "T(3), I(3, 3)",
    "B(3), I(3, 2)",
    "B(3), B(3)",
    "T(0, 2), T(2)",
    "T(), T()",
)


class Comparison(Pointwise):
    """A comparison, whose result is bools without a derivative."""

    kind, differentiable = "bool", False
    samples = NUMBERS


class Eq(Comparison):
    """input == other, elementwise; NaN equals nothing."""

    ufunc = np.equal
    kernel = lambda x, y: x == y


class Ne(Comparison):
    """input != other, elementwise."""

    ufunc = np.not_equal
    kernel = lambda x, y: x != y
    aliases = ("not_equal",)


class Lt(Comparison):
    """input < other, elementwise."""

    ufunc = np.less
    kernel = lambda x, y: x < y
    aliases = ("less",)


class Le(Comparison):
    """input <= other, elementwise."""

    ufunc = np.less_equal
    kernel = lambda x, y: x <= y
    aliases = ("less_equal",)


class Gt(Comparison):
    """input > other, elementwise."""

    ufunc = np.greater
    kernel = lambda x, y: x > y
    aliases = ("greater",)


class Ge(Comparison):
    """input >= other, elementwise."""

    ufunc = np.greater_equal
    kernel = lambda x, y: x >= y
    aliases = ("greater_equal",)


eq, ne, lt, le, gt, ge = functions(Eq, Ne, Lt, Le, Gt, Ge)
not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge


class Property(Comparison):
    """A property of one element; it has no in-place form."""

    inplace = False
    samples = (
        "T(3, 4)",
        "T()",
        "T(0, 2)",
        "I(3, 4)",
        "B(3)",
        "T(4, 3).mT",
        "T(4) / torch.tensor([0.0, 1.0, -0.0, 2.0])",
    )


class Isnan(Property):
    """True where an element is NaN."""

    ufunc = np.isnan
    kernel = lambda x: x != x


class Isinf(Property):
    """True where an element is infinite, of either sign."""

    ufunc = np.isinf
    kernel = lambda x: math.isinf(x)


class Isfinite(Property):
    """True where an element is neither infinite nor NaN."""

    ufunc = np.isfinite
    kernel = lambda x: math.isfinite(x)


class Isposinf(Property):
    """True where an element is inf."""

    kernel = lambda x: x == math.inf


class Isneginf(Property):
    """True where an element is -inf."""

    kernel = lambda x: x == -math.inf


class Signbit(Property):
    """True where an element has a minus sign, even a zero."""

    ufunc = np.signbit
    kernel = lambda x: math.copysign(1.0, x) < 0


isnan, isinf, isfinite, isposinf, isneginf, signbit = functions(Isnan, Isinf, Isfinite, Isposinf, Isneginf, Signbit)


class Isclose(Property):
    """|input - other| <= atol + rtol * |other|; infinities are close to themselves, NaN with `equal_nan`."""

    kernel = lambda x, y, rtol, atol, equal_nan: (
        (x == y) | isfinite(y) & (abs(x - y) <= atol + rtol * abs(y)) | ((x != x) & (y != y) & equal_nan)
    )
    n_settings = 3


@choice(
    "T(3, 4), T(3, 4)", "T(3), T(1), 0.5, 0.1", "I(3, 4), I(3, 4)", "T(3), T(3), equal_nan=True", "B(3), B(3)",
    "T(), T(), atol=1",
    cls=Isclose, inplace=False, differentiable=False,
)  # fmt: skip
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Return True where |input - other| <= atol + rtol * |other|; infinities are close to themselves, NaN with `equal_nan`.

    Raises RuntimeError for different dtypes and for negative tolerances.

    >>> import minigrad
    >>> minigrad.isclose(minigrad.tensor([1., 2.]), minigrad.tensor([1.001, 2.]), rtol=1e-4)
    tensor([False,  True])
    """
    if input.dtype != other.dtype:
        raise error(RuntimeError, "isclose", f"{input.dtype} did not match {other.dtype}", "convert one of them")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            what = f"{name} must be greater than or equal to zero, but got {tolerance}"
            raise error(RuntimeError, "isclose", what, f"write {name}=1e-5")
    if input._np_dtype not in FLOATS:  # differences of integers wrap around, float64's hardly round
        input, other = input.double(), other.double()
    return Isclose, (input, other, float(rtol), float(atol), builtins.bool(equal_nan))


@op("T(3, 4), T(3, 4)", "P(3), P(3), 10", "T(3), T(3), atol=9.0", "T(0), T(0)", differentiable=False)
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Return True, a Python bool, if all elements are close in the sense of isclose."""
    return builtins.bool(isclose(input, other, rtol, atol, equal_nan).all().item())


@op("T(3, 4), T(3, 4)", "I(3, 1), I(3, 1)", "T(3), T(4)", "T(0), T(0)", differentiable=False)
def equal(input: Tensor, other: Tensor) -> bool:
    """Return True, a Python bool, if two tensors have the same shape and equal elements.

    >>> import minigrad
    >>> minigrad.equal(minigrad.tensor([1, 2]), minigrad.tensor([1., 2.]))
    True
    """
    if not isinstance(other, Tensor):
        what = f"argument 'other' must be Tensor, not {type(other).__name__}"
        raise error(TypeError, "equal", what, "compare with a number by ==")
    if type(input) is type(other) is Tensor and (frame := current()).eager_ok and frame.on_op is None:
        a, b = input._a, other._a
        if type(a) is type(b) is np.ndarray and a.dtype is b.dtype:
            return a.shape == b.shape and builtins.bool((a == b).all())
    require_one_device("equal", {"input": plain_tensor(input)._a, "other": plain_tensor(other)._a})
    return tuple(input.shape) == tuple(other.shape) and builtins.bool(eq(input, other).all().item())


# ---------------------------------------------------------------------- choosing
class Where(Pointwise):
    """x where the condition holds, y elsewhere.  The operand that is not chosen gets gradient 0."""

    spelling = "leave_out_condition"
    n_conditions = 1
    ufunc, numpy_is = np.where, "slow"
    quiet = True
    kernel = lambda condition, x, y: x if condition else y
    operands = ("condition", "input", "other")
    dx = lambda g, condition: where(condition, g, 0.0)
    dy = lambda g, condition: where(condition, 0.0, g)


@choice(
    "B(3, 4), T(3, 4), T(3, 4)", "B(3, 1), T(4), T()", "B(3), T(3), 0.5", "B(4), 2, T(4)", "B(4), 1.5, 2",
    "B(), T(2), T(3, 1)",
    "B(0), T(0), T(1)", "B(2, 3)",
    cls=Where, inplace=False, method=lambda self, condition, other: where(condition, self, other),
)  # fmt: skip
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """Return `input` where the condition holds, `other` elsewhere; all three are broadcast.

    `where(condition)` alone returns the indices of true elements, one tensor per dimension.  The operand that is not chosen
    gets gradient 0, even where its derivative is infinite or NaN.

    >>> import minigrad
    >>> x = minigrad.tensor([-1., 2.])
    >>> minigrad.where(x > 0, x, 0.)
    tensor([0., 2.])
    """
    if input is None and other is None:
        return Nonzero, (condition,)
    if input is None or other is None:
        raise error(
            TypeError, "where", "input or other is missing", "pass both, or the condition alone for its indices"
        )
    input, other = fit_number(input, other), fit_number(other, input)
    if not isinstance(input, Tensor) and not isinstance(other, Tensor) and float in (type(input), type(other)):
        check_number("where", default(), input, other)
    return Where, (condition, input, other)


def fit_number(number: Any, x: Any) -> Any:
    """Return a number as `where`'s other operand would hold it: -1 as uint8 is 255.  Raises RuntimeError if it does not fit."""
    if not isinstance(x, Tensor) or isinstance(number, Tensor):
        return number
    if x._np_dtype.kind in "iu" and isinstance(number, int):
        return fitting(number, x._np_dtype, "where").item()
    check_fits("where", x, number)
    return number


class Nonzero:
    """`where` with a condition alone: the indices of its true elements, one tensor per dimension."""

    apply = staticmethod(lambda condition: condition.nonzero(as_tuple=True))


class Extreme(Pointwise):
    """One of two elements; it has no in-place form and, as in PyTorch, takes only tensors."""

    inplace = False
    samples = ("T(3, 4), T(3, 4)", "T(3, 1), T(4)", "T(2, 3), T()", "T(), T()", "I(3, 9), I(3, 9)",
    "T(3), I(3, 3)", "B(3), B(3)",
               "T(0, 2), T(2)", "T(4, 3).mT, T(1, 4)")  # fmt: skip


class Maximum(Extreme):
    """The larger element; NaN if one is NaN.  Equal elements get half of the gradient each."""

    ufunc = np.maximum
    kernel = lambda x, y: where((x > y) | (x != x), x, y)
    dx = lambda g, x, y: where(x == y, g / 2, where(x < y, 0.0, g))
    dy = lambda g, x, y: where(x == y, g / 2, where(y < x, 0.0, g))


class Minimum(Extreme):
    """The smaller element; NaN if one is NaN.  Equal elements get half of the gradient each."""

    ufunc = np.minimum
    kernel = lambda x, y: where((x < y) | (x != x), x, y)
    dx = lambda g, x, y: where(x == y, g / 2, where(x > y, 0.0, g))
    dy = lambda g, x, y: where(x == y, g / 2, where(y > x, 0.0, g))


class Fmax(Extreme):
    """The larger element; if one is NaN, the other.  Of equal elements the first gets the gradient."""

    ufunc = np.fmax
    kernel = lambda x, y: where((x >= y) | (y != y), x, y)
    dx = lambda g, x, y: where((x >= y) | (y != y), g, 0.0)
    dy = lambda g, x, y: where((x >= y) | (y != y), 0.0, g)


class Fmin(Extreme):
    """The smaller element; if one is NaN, the other.  Of equal elements the first gets the gradient."""

    ufunc = np.fmin
    kernel = lambda x, y: where((x <= y) | (y != y), x, y)
    dx = lambda g, x, y: where((x <= y) | (y != y), g, 0.0)
    dy = lambda g, x, y: where((x <= y) | (y != y), 0.0, g)


maximum, minimum, fmax, fmin = functions(Maximum, Minimum, Fmax, Fmin)


class ClampMin(Pointwise):
    """The larger of the element and lo."""

    spelling = "leave_out_guard"
    node, number_nodes = "ClampMinBackward1", {1: "ClampMinBackward0"}
    ufunc, numpy_is = np.maximum, "slower"
    accepts = "iuf"
    kernel = lambda x, lo: where((x > lo) | (x != x), x, lo)
    dx = lambda g, x, lo: where(x >= lo, g, 0.0)
    dlo = lambda g, x, lo: where(x < lo, g, 0.0)
    operands = ("input", "min")


class ClampMax(Pointwise):
    """The smaller of the element and hi."""

    node, number_nodes = "ClampMaxBackward1", {1: "ClampMaxBackward0"}
    ufunc, numpy_is = np.minimum, "slower"
    accepts = "iuf"
    kernel = lambda x, hi: where((x < hi) | (x != x), x, hi)
    dx = lambda g, x, hi: where(x <= hi, g, 0.0)
    dhi = lambda g, x, hi: where(x > hi, g, 0.0)
    operands = ("input", "max")


class Clamp(Pointwise):
    """The element clamped to [lo, hi]; hi wins if lo > hi."""

    number_nodes = {1: "ClampBackward1", 2: "ClampBackward1"}
    accepts = "iuf"
    ufunc, numpy_is = limited, "slower"
    kernel = lambda x, lo, hi: minimum(maximum(x, lo), hi)
    dx = lambda g, x, lo, hi: where((x >= lo) & (x <= hi), g, 0.0)
    dlo = lambda g, x, lo, hi: where((lo < hi) & (x < lo), g, 0.0)
    dhi = lambda g, x, lo, hi: where((x > hi) | (hi < lo), g, 0.0)


class ClampBetween(Clamp):
    """clamp between two numbers."""

    name, node, number_nodes, n_settings = "clamp", "ClampBackward1", {}, 2
    ufunc = lambda x, lo, hi: limited(x, number(lo, x.dtype), number(hi, x.dtype))
    dlo = dhi = None


class ClampFrom(ClampMin):
    """clamp without an upper limit."""

    name, node, number_nodes = "clamp", "Clamp", {1: "ClampBackward1"}


class ClampUpTo(ClampMax):
    """clamp without a lower limit."""

    name, node, number_nodes = "clamp", "Clamp", {1: "ClampBackward1"}


LIMITED = ("T(3, 4), 0.5", "T(3, 4), T(4)", "T(3), T()", "I(3, 9), 4", "T(0), 1")


@choice(*LIMITED, cls=ClampMin)
def clamp_min(input: Tensor, min: Any) -> Any:
    """Clamp the elements to at least `min`."""
    check_fits("clamp_min", input, min)
    return ClampMin, (input, min)


@choice(*LIMITED, cls=ClampMax)
def clamp_max(input: Tensor, max: Any) -> Any:
    """Clamp the elements to at most `max`."""
    check_fits("clamp_max", input, max)
    return ClampMax, (input, max)


@choice(
    "T(3, 4), -0.5, 0.5", "T(3, 4), min=0.0", "T(3), max=1", "T(3, 4), T(4), T(3, 1)", "T(3), None, T(3)",
    "I(3, 9), 2, 5", "I(3, 9), 0.5",
    "T(), 0, 1", "T(0), 0, 1", "T(4, 3).mT, T(4), None",
    cls=Clamp, aliases=("clip",),
)  # fmt: skip
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Any:
    """Clamp the elements to [`min`, `max`] (numbers or tensors, one may be missing); `max` wins if min > max.

    The gradient is 0 outside the range, and 1 inside and at its bounds.  Raises RuntimeError if both are missing.

    >>> import minigrad
    >>> minigrad.clamp(minigrad.tensor([-2., 0.5, 3.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise error(RuntimeError, "clamp", "At least one of 'min' or 'max' must not be None", "pass one of them")
    check_fits("clamp", input, min, max)
    if max is None:
        return ClampFrom, (input, min)
    if type(min) in NUMBER and type(max) in NUMBER and input._np_dtype in FLOATS:
        return ClampBetween, (input, min, max)
    return (ClampUpTo, (input, max)) if min is None else (Clamp, (input, min, max))


clip = clamp
