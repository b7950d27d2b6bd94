"""Calls of pointwise kernels: prepared for operands of given shapes, strides and dtypes, then looked up (choose.py).

A kernel follows memory, in one loop over all of it; operands that broadcast are expanded first. Formulas that NumPy has no
function for take arrays of any size, once the compiler is loaded. There is no call where NumPy's functions are as fast, such
as for small arrays.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache as kept
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.introspect import opt_func_info

from ..arrays import dtypes
from ..arrays.memory import order_in_memory
from ..arrays.shapes import broadcast_shape
from . import cache, fallback, formula, generate
from .choose import choose, kind
from .operands import convert, number, scalar
from .threads import launch, parts

# Elements from which a kernel replaces NumPy's function. A class says in `numpy_is` how that function compares with its kernel
# on one thread: the sizes are for NumPy with vector code (AVX-512), and without.
SIZES = {"any": 0, "few": 512, "many": 1 << 16, "never": sys.maxsize}
KERNEL_FROM = {
    "slow": ("few", "few"),  # the kernel takes a third of its time or less
    "slower": ("many", "many"),
    "vectorised": ("many", "few"),  # 0.1 to 1.4 of the time of vector code, 0.04 to 0.5 of other code
    "quick": ("many", "few"),  # one to three times the time of vector code, so it needs several threads
    "": ("never", "never"),
}
THREADS_FOR_OTHERS = 3


class PointwiseCall(NamedTuple):
    """A kernel, and its arguments for operands of given kinds."""

    kernel: Callable
    takes: list  # for each argument, a function that returns the kernel's argument for it
    shape: tuple  # of the result in memory
    dtype: np.dtype
    order: list | None  # of the result's dimensions, if it differs from row by row


def call_for(op: Any, args: tuple) -> Callable | None:
    """Return the prepared call of op's kernel for such arguments; None if NumPy is as fast, or no kernel may run."""
    most = 1  # elements of the result
    for a in args:
        if type(a) is np.ndarray:
            most *= a.size
    if most < kernel_threshold(op) or not fallback.is_ready(most) or fallback.numpy_only():
        return None
    return choose((op, *[kind(a) for a in args]), prepare, op, args)


def run(call: PointwiseCall, *args: Any) -> np.ndarray:
    """Return the result of a kernel, whose work the threads share."""
    kernel, takes, shape, dtype, order = call
    out = np.empty(shape, dtype)
    launch(kernel, [*[take(a) for take, a in zip(takes, args)], out.reshape(-1)])
    return out if order is None else out.transpose(order)


def prepare(op: Any, args: tuple) -> Callable | None:
    """Return a function of arguments of these kinds that runs a kernel on them; None if one has to be converted first."""
    n = len(args) - op.n_settings
    known = all([type(a) in (np.ndarray, int, float) for a in args[:n]])
    if not known or not all([type(a) in (bool, int, float) for a in args[n:]]):
        return None
    operands, target = convert(op, args[:n])
    arrays = [a for a in args[:n] if type(a) is np.ndarray]
    changed = [a for a, b in zip(args, operands) if type(a) is np.ndarray and a.size != 1 and a.dtype != b.dtype]
    overflows = target.kind != "f" and bool in map(type, args[n:])  # the differences of integers, in isclose
    shape = broadcast_shape(*[a.shape for a in arrays])
    size = math.prod(shape)
    if changed or overflows or target in dtypes.HALVES or size < kernel_threshold(op):
        return None
    if not beats_numpy(op, target, size):
        return None
    many = [type(a) is np.ndarray and a.size != 1 for a in args]
    many[0] = many[0] or size == 1 and type(args[0]) is np.ndarray and args[0].dtype == operands[0].dtype
    kernel = compiled(op, tuple(many), target)
    return None if kernel is None else partial(run, arranged(op, kernel, many, arrays, shape, target))


def arranged(op: Any, kernel: Callable, many: list, arrays: list, shape: tuple, target: np.dtype) -> PointwiseCall:
    """Return the call whose result has the dimensions' order in memory of the operands."""
    order = other_order([a for a in arrays if a.size != 1], len(shape))
    lies = shape if order is None else tuple([shape[d] for d in order])
    turned = (lambda a: a) if order is None else (lambda a: of_rank(a, len(shape)).transpose(order))
    takes = [(lambda a: flat(turned(a), lies)) if long else taken(op, i, target) for i, long in enumerate(many)]
    back = None if order is None else [order.index(d) for d in range(len(shape))]
    return PointwiseCall(kernel, takes, lies, dtypes.BOOL if op.kind == "bool" else target, back)


def taken(op: Any, i: int, target: np.dtype) -> Callable:
    """Return a function that converts argument i, a number or an array of one element, to a scalar.

    Settings of integer operations keep their type.
    """
    dtype, is_operand = target if i >= op.n_conditions else dtypes.BOOL, i < len(op.names) - op.n_settings
    convert = (lambda a: number(a, dtype)[()]) if is_operand and dtype.kind != "f" else (lambda a: scalar(a, dtype))
    return lambda a: dtype.type(a.item()) if type(a) is np.ndarray else convert(a)


def flat(a: np.ndarray, shape: tuple) -> np.ndarray:
    """Return flat contiguous memory of the full size."""
    if a.shape != shape:
        if a.shape[:-1] == shape[:-1]:  # for short rows, a third of the time of NumPy's broadcasting
            return a.reshape(-1).repeat(shape[-1])
        a = np.broadcast_to(a, shape)
    return a.reshape(-1)


def other_order(arrays: list, ndim: int) -> tuple | None:
    """Return the order of a result's dimensions in memory, if its operands are not stored row by row."""
    if all([a.flags.c_contiguous for a in arrays]):
        return None
    order = order_in_memory(*[of_rank(a, ndim) for a in arrays])
    return None if order == tuple(range(ndim)) else order


def of_rank(a: np.ndarray, ndim: int) -> np.ndarray:
    """Return an array with `ndim` dimensions, adding leading ones of size 1."""
    return a[(None,) * (ndim - a.ndim)] if a.ndim < ndim else a


# ---------------------------------------------------------------------- kernels, and when they are faster
@kept
def compiled(op: Any, is_array: tuple, dtype: np.dtype) -> Any:
    """Return the kernel of op; None if the formula cannot be compiled."""
    return loaded(f"{op.name}_forward", generate.forward(op.name, op.kernel, is_array, dtype))


def loaded(name: str, source: str | None) -> Any:
    """Return the function of that name in a generated module; None without a module."""
    return None if source is None else getattr(cache.load(name, source), name)


def beats_numpy(op: Any, target: np.dtype, size: int) -> bool:
    """Return True if the kernel beats NumPy's function, if there is one, on `size` elements, of which there are enough."""
    known = op.ufunc is None or target.kind == "f" and op.numpy_is != ""
    return known and (op.numpy_is != "quick" or not numpy_is_vectorised() or parts(size) >= THREADS_FOR_OTHERS)


@kept
def numpy_is_vectorised() -> bool:
    """Return True if NumPy computes elementary functions with AVX-512 here; other code takes most numbers one by one."""
    targets = opt_func_info("^tan$", "float32").get("tan", {}).values()  # none on processors without variants
    return any([name in target["current"] for target in targets for name in ("AVX512", "X86_V4")])


def kernel_threshold(op: Any) -> int:
    """Return the size in elements from which compiled code may beat NumPy's functions."""
    return SIZES[kernel_from(op)]


@kept
def kernel_from(op: Any) -> str:
    """Return the name of that size."""
    if op.ufunc is not None:
        return KERNEL_FROM[op.numpy_is][not numpy_is_vectorised()]
    return "few" if formula.needs([op.kernel], formula.F64) is None else "any"
