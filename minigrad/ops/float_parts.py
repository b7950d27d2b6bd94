"""Floating-point numbers as mantissa * 2**exponent: frexp, ldexp, nextafter."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from ..arrays.dtypes import FLOATS
from ..arrays.kinds import on_host
from ..core.tensor import Tensor
from ..errors import error
from ..return_types import Binary
from .base.families import Operation, Pointwise
from .base.registry import functions, op
from .compare import where
from .elementary import PAIRS, exp2
from .pointwise import mul, pow


class Frexp(Operation):
    """Mantissas of absolute value 1/2 to 1, and exponents."""

    impl = lambda x: on_host(np.frexp, x)
    dx = lambda g0, out1: g0 / exp2(out1.detach().to(g0.dtype))
    batch = lambda x: (x,)


class Nextafter(Pointwise):
    """The next floating-point number after input in the direction of other."""

    accepts = "f"
    dx = lambda g, x, y: where(x == y, 0.0, g)
    dy = lambda: 0
    kernel = ufunc = lambda x, y: on_host(np.nextafter, x, y)
    samples = PAIRS


(nextafter,) = functions(Nextafter)


@op("T(3, 4)", "T()", "T(0, 2)", "8 * T(5)", out=True)
def frexp(input: Tensor) -> Binary:
    """Return (mantissa, exponent) with input = mantissa * 2**exponent, 1/2 <= |mantissa| < 1, exponents in int32.

    Raises RuntimeError for integers.

    >>> import minigrad
    >>> minigrad.frexp(minigrad.tensor([6., 0.25]))
    minigrad.return_types.frexp(
    mantissa=tensor([0.7500, 0.5000]),
    exponent=tensor([ 3, -1], dtype=minigrad.int32))
    """
    if input._np_dtype not in FLOATS:
        what = f"only supports floating-point dtypes, got {input.dtype.name}"
        raise error(RuntimeError, "frexp", what, "convert it first: input.float()")
    return return_types.frexp(*Frexp.apply(input))


@op("T(3, 4), I(3, 4, 5)", "T(3, 1), T(4)", "I(3, 9), I(3, 4)", "T(), T()", inplace=True, out=True, node="Ldexp")
def ldexp(input: Tensor, other: Any) -> Tensor:
    """Return input * 2**other; integers give floats.

    >>> import minigrad
    >>> minigrad.ldexp(minigrad.tensor([0.75]), minigrad.tensor([3]))
    tensor([6.])
    """
    return mul(input, pow(2.0, other))
