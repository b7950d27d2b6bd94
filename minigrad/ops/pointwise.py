"""Arithmetic, one class an operation: what it computes (`kernel`), NumPy's function for it (`ufunc`, where there is one)
and one formula per operand.  The families (families.py) make everything else of it.
"""

import math  # noqa: F401  (formulas use it)

import numpy as np

from .families import NonDifferentiable, Pointwise
from .registry import functions, op

POSITIVE = (0.1, 3.0)


class Add(Pointwise):
    """Sum of two tensors."""

    ufunc = np.add
    kernel = lambda x, y: x + y
    dx = lambda: 1
    dy = lambda: 1


class Sub(Pointwise):
    """Difference of two tensors."""

    ufunc = np.subtract
    kernel = lambda x, y: x - y
    dx = lambda: 1
    dy = lambda: -1


class Mul(Pointwise):
    """Product of two tensors, element by element."""

    ufunc = np.multiply
    kernel = lambda x, y: x * y
    dx = lambda y: y
    dy = lambda x: x
    aliases = ("multiply",)


class Div(Pointwise):
    """Quotient of two tensors; integers are divided as floating-point numbers."""

    kind = "float"
    ufunc = np.true_divide
    kernel = lambda x, y: x / y
    dx = lambda y: 1 / y
    dy = lambda x, y: -x / (y * y)


class Neg(Pointwise):
    """The negative."""

    ufunc = np.negative
    kernel = lambda x: -x
    dx = lambda: -1
    aliases = ("negative",)


class Pow(Pointwise):
    """x to the power of y.  At x = 0 the derivative by y is 0, and by x it is 0 where y = 0, as in PyTorch."""

    ufunc = np.power
    kernel = lambda x, y: x**y
    dx = lambda g, x, y: where(y == 0, 0.0, g * y * x ** (y - 1))
    dy = lambda g, x, y, out: where((x == 0) & (y >= 0), 0.0, g * out * log(x))
    operands = ("input", "exponent")
    samples = ("P(3, 4), T(3, 4)", "P(3, 1), T(4)", "T(3, 4), 2", "T(3), 3.0", "P(4), -1.5", "2.0, T(3)", "P(0, 2), 2")


class Exp(Pointwise):
    """e to the power of x."""

    kind = "float"
    ufunc = np.exp
    kernel = lambda x: math.exp(x)
    dx = lambda out: out


class Log(Pointwise):
    """Natural logarithm."""

    kind = "float"
    ufunc = np.log
    kernel = lambda x: math.log(x)
    dx = lambda x: 1 / x
    domain = POSITIVE


class Sqrt(Pointwise):
    """Square root."""

    kind = "float"
    ufunc = np.sqrt
    kernel = lambda x: math.sqrt(x)
    dx = lambda out: 1 / (2 * out)
    domain = POSITIVE


class Hypot(Pointwise):
    """Length of the hypotenuse, sqrt(x*x + y*y)."""

    kind = "float"
    ufunc = np.hypot
    kernel = lambda x, y: math.hypot(x, y)
    dx = lambda x, out: x / out
    dy = lambda y, out: y / out


class Where(Pointwise):
    """x where the condition holds, y elsewhere."""

    ufunc = np.where
    kernel = lambda condition, x, y: x if condition else y
    dx = lambda g, condition: where(condition, g, 0.0)
    dy = lambda g, condition: where(condition, 0.0, g)
    samples = ("B(3, 4), T(3, 4), T(3, 4)", "B(3, 1), T(4), T()", "B(3), T(3), 0.5", "B(4), 2.0, T(4)")
    operands = ("condition", "input", "other")
    method = False


add, sub, mul, div, neg, pow, exp, log, sqrt, hypot, where = functions(Add, Sub, Mul, Div, Neg, Pow, Exp, Log, Sqrt, Hypot, Where)
