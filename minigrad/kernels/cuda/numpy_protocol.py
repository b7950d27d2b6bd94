"""NumPy's ufuncs for arrays on the device, and functions that every computation needs.

A ufunc is a pointwise kernel with the formula of its operation, or with one that only arrays need (`MORE`); the dtypes are
those that NumPy would choose.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from ...arrays.dtypes import I8, can_cast
from ...arrays.kinds import place
from ...arrays.meta import inside, is_meta
from .. import formula
from . import pointwise_cuda
from .device_array import DeviceArray, like
from .device_functions import digamma, erf, erfc, erfinv, lgamma, where
from .functions import FUNCTIONS, no_kernel, of_arrays

WHERE = lambda c, x, y: where(c, x, y)
MORE: dict[np.ufunc, Callable] = {
    np.positive: lambda x: x,
    np.floor_divide: lambda x, y: x // y,
    np.power: lambda x, y: x**y,
    np.sign: lambda x: where(x > 0, 1, where(x < 0, -1, x)),
    scipy.special.psi: lambda x: digamma(x),
    scipy.special.erf: lambda x: erf(x),
    scipy.special.erfc: lambda x: erfc(x),
    scipy.special.gammaln: lambda x: lgamma(x),
    scipy.special.erfinv: lambda x: erfinv(x),
}


@of_arrays(np.ufunc)
def ufunc_of_arrays(ufunc: np.ufunc, method: str, inputs: tuple, options: dict) -> Any:
    """Return the result of a ufunc, or of one of its methods, called with arrays on the device."""
    refuse_others(ufunc.__name__, inputs)
    # np.matmul and np.vecdot have separate functions, because they are not elementwise
    known = FUNCTIONS.get(ufunc if method == "__call__" else (ufunc, method))
    if known is None and method == "__call__":
        return elementwise(ufunc, inputs, options.get("out"))
    if known is None:
        raise no_kernel(f"{ufunc.__name__}.{method}")
    return known(*inputs, **options)


def refuse_others(name: str, inputs: tuple) -> None:
    """Raise an error if arrays of the device meet others in main memory; single numbers may."""
    for a in inputs:
        if type(a) is DeviceArray and not inside.active:
            continue
        apart = not is_meta(a) if type(a) is DeviceArray else isinstance(a, np.ndarray)
        if apart and a.ndim:
            raise OnAnotherDevice(f"{name}: an array of shape {a.shape} is on {place(a)}, but another one is not")


class OnAnotherDevice(ValueError):
    """Arrays of one operation are on different devices; diagnose/arguments.py names them."""


# ---------------------------------------------------------------------- ufuncs
class UfuncLoop(NamedTuple):
    """The formula of a ufunc for operands of some kinds, its parameters, and the dtypes of the computation and the result."""

    formula: Callable
    names: tuple
    target: np.dtype
    result: np.dtype


def elementwise(ufunc: np.ufunc, inputs: tuple, out: Any) -> Any:
    """Return a ufunc of arrays and numbers."""
    loop = loop_of(ufunc, tuple(map(kind, inputs)))
    given = out[0] if isinstance(out, tuple) else out
    given = None if given is Ellipsis else given
    target = loop.target
    if loop.result.kind == "b" and target.kind in "iu" and not all([fits(a, target) for a in inputs]):
        target = I8  # a comparison, which NumPy answers for any number
    operands = [a.astype(target, copy=False) if type(a) is DeviceArray else a for a in inputs]
    if given is not None:
        if not can_cast(loop.result, given.dtype):
            raise TypeError(
                f"the result of {ufunc.__name__} is {loop.result}, which cannot be written into {given.dtype}"
            )
        operands = [a.copy() if type(a) is DeviceArray and partly_overlaps(a, given) else a for a in operands]
    made = pointwise_cuda.apply(ufunc.__name__, loop.formula, loop.names, operands, target, loop.result, given)
    assert made is not None, ufunc
    return made


def partly_overlaps(a: DeviceArray, out: DeviceArray) -> bool:
    """Return True if writing an element of out could change an element of a that another thread has still to read."""
    if a is out or not np.may_share_memory(a, out):
        return False
    return (a.address, a.shape, a.strides) != (out.address, out.shape, out.strides)


@functools.cache
def formulas() -> dict[np.ufunc, Callable]:
    """Return the formula of each ufunc."""
    first_wins = reversed(formula.OPERATIONS.values())
    return {op.ufunc: op.kernel for op in first_wins if isinstance(op.ufunc, np.ufunc)} | MORE


@functools.cache
def loop_of(ufunc: np.ufunc, kinds: tuple) -> UfuncLoop:
    """Return the UfuncLoop of a ufunc for operands of these kinds."""
    if ufunc not in formulas():
        raise no_kernel(ufunc.__name__)
    f = formulas()[ufunc]
    *loop, result = ufunc.resolve_dtypes((*kinds, None))
    target = next((d for d in loop if d.kind != "b"), loop[0])
    return UfuncLoop(f, tuple(formula.parameters(f)), target, result)


def fits(a: Any, dtype: np.dtype) -> bool:
    """Return True if a number fits into an integer dtype."""
    return type(a) is not int or int(np.iinfo(dtype).min) <= a <= int(np.iinfo(dtype).max)


def kind(a: Any) -> Any:
    """Return an operand's kind for NumPy's promotion: the dtype, or the type of a Python number."""
    if type(a) is DeviceArray:
        return a.shadow.dtype
    return a.dtype if isinstance(a, (np.ndarray, np.generic)) else type(a)


# ---------------------------------------------------------------------- needed by every computation
@of_arrays(np.where)
def choose(condition: Any, x: Any, y: Any) -> Any:
    """Return x where the condition holds, else y."""
    refuse_others("where", (condition, x, y))
    target = np.result_type(*[a if isinstance(a, (bool, int, float)) else kind(a) for a in (x, y)])
    operands = [a.astype(target, copy=False) if isinstance(a, DeviceArray) else a for a in (x, y)]
    mask = condition if condition.dtype.kind == "b" else condition != 0
    made = pointwise_cuda.apply("where", WHERE, ("c", "x", "y"), (mask, *operands), target, target)
    assert made is not None
    return made


@of_arrays(np.empty_like)
def empty_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
    return like(a, shape, dtype, order)


@of_arrays(np.full_like)
def full_like(a: Any, value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
    out = like(a, shape, dtype, order)
    out.fill(value)
    return out


of_arrays(np.zeros_like)(lambda a, *given, **named: full_like(a, 0, *given, **named))
of_arrays(np.ones_like)(lambda a, *given, **named: full_like(a, 1, *given, **named))
