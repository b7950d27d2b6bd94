"""Textbook forms of derivatives, for rules that also handle overflow, zeros or a kernel's needs.

They are shown only for numbers for which both forms agree: finite, not huge, and without 0 in a divisor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.tensor import Tensor
from ..ops import pointwise, prod, scan, scattering, special_functions
from ..ops.compare import clamp, where
from ..ops.elementary import TWO_OVER_ROOT_PI, Atan2, Sinc, cos, exp, log, sigmoid, sinc
from ..ops.gather import Gather
from ..ops.nn import activation, loss
from .terms import numbers


class Page(NamedTuple):
    """A textbook's version of an operation: the class with other formulas, and a condition on the arguments."""

    cls: Any
    holds: Callable[..., bool]


BOOK: dict[type, Page] = {}


def textbook(cls: Any, holds: Callable[..., bool] = lambda *args: True, **formulas: Callable) -> None:
    """Register further formulas of a class, with the same names."""
    BOOK[cls] = Page(type(cls.__name__, (cls,), {"name": cls.name, "node": cls.node, **formulas}), holds)


def shown(cls: Any, args: tuple, tame: bool) -> Any:
    """Return the class whose formulas are shown for these arguments."""
    page = BOOK.get(cls) if tame else None
    return page.cls if page is not None and page.holds(*args) else cls


textbook(pointwise.Pow, dx=lambda g, x, y: g * y * x ** (y - 1), dy=lambda g, x, y, out: g * out * log(x))
textbook(Atan2, dx=lambda g, x, y: g * y / (x**2 + y**2), dy=lambda g, x, y: -g * x / (x**2 + y**2))
textbook(
    activation.Elu,
    dx=lambda g, x, alpha, scale, input_scale: where(
        x > 0, scale * g, scale * alpha * input_scale * g * exp(input_scale * x)
    ),
)
textbook(
    activation.Softplus,
    lambda x, beta, threshold: threshold >= 15,  # where the sigmoid is 1
    dx=lambda g, x, beta: g * sigmoid(beta * x),
)
textbook(
    loss.Huber,
    dx=lambda g, x, y, limit: g * clamp(x - y, -limit, limit),
    dy=lambda g, x, y, limit: g * clamp(y - x, -limit, limit),
)
textbook(
    Sinc,
    lambda x: bool((abs(numbers(x)) >= 0.1).all()),
    dx=lambda g, x: g * (cos(math.pi * x) - sinc(x)) / x,
)
textbook(
    special_functions.I1,
    lambda x: bool((abs(numbers(x)) > 0.5).all()),
    dx=lambda x, out: special_functions.i0(x) - out / x,
)
textbook(
    special_functions.Erfcx,
    lambda x: bool((numbers(x) <= 8).all()),
    dx=lambda x, out: 2 * x * out - TWO_OVER_ROOT_PI,
)
textbook(loss.WithLogits, dx=lambda g, x, y: g * (sigmoid(x) - y))


# ---------------------------------------------------------------------- products, with quotients
def none_is_zero(x: Tensor, *settings: Any) -> bool:
    """Return True if all elements can be divisors."""
    return bool((abs(numbers(x)) > 1e-18).all())


def behind(x: Tensor, dim: int) -> Tensor:
    """Return the sum of each element and all elements after it."""
    return x.flip(dim).cumsum(dim).flip(dim)


textbook(prod.Prod, none_is_zero, dx=lambda g, x, out: g * out / x)
textbook(
    scattering.ScatterProd,
    lambda x, dim, index, src: none_is_zero(src),
    dsrc=lambda g, dim, index, src, out: Gather.apply(g * out, dim, index) / src,
)
textbook(
    scan.Cumprod,
    lambda x, dim, reverse: none_is_zero(x) and not reverse,
    dx=lambda g, x, out, dim: behind(g * out, dim) / x,
)
textbook(
    scan.Logcumsumexp,
    lambda x, dim: bool((abs(numbers(x)) < 30).all()),  # so that no power of e over- or underflows
    dx=lambda g, x, out, dim: exp(x) * behind(g * exp(-out), dim),
)
