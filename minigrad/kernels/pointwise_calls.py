"""Calls of pointwise kernels: prepared once for operands of given shapes, strides and dtypes, then looked up.

A kernel follows memory, in one loop over all of it, or row by row for operands that broadcast (cpu/broadcast_cpu.py).
Formulas that NumPy has no function for take arrays of any size, once the compiler is loaded. The result is None where
NumPy's functions are as fast, such as for small arrays.
"""

from __future__ import annotations

import math
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
from .cpu import broadcast_cpu
from .operands import convert, number, scalar
from .threads import get_num_threads, launch, parts

FUSE_FROM = 512  # elements; NumPy's functions take as long for fewer
# If NumPy has a function, our kernel replaces it from this many elements on, provided that it is faster on one thread.
# Against NumPy's vector code (AVX-512), these take 0.1 to 1.4 of its time; the others take 1 to 3 and need several threads.
# Without that code all elementary functions are quicker, and take 0.04 (sinh) to 0.5 (log) of NumPy's time.
# NumPy's `where` branches and its power calls the C library for negative x: 60 times slower on shuffled numbers.
QUICK_FROM = 1 << 16
QUICK = {"exp", "exp2", "expm1", "sin", "cos", "sinh", "cosh", "sqrt", "rsqrt", "clamp_min", "clamp_max", "sinc", "relu",
         "heaviside", "clamp"}  # fmt: skip
# These take a third of the time of NumPy's function or less, so they replace it from FUSE_FROM on.
QUICKER = {"hypot", "erf", "erfc", "erfinv", "pow", "where", "sign", "fmod", "remainder", "floor_divide", "frac", "lgamma",
           "polygamma", "logaddexp", "logaddexp2", "sgn", "copysign", "logical_and", "logical_not", "logical_or",
           "logical_xor"}  # fmt: skip
QUICK |= QUICKER
THREADS_FOR_OTHERS = 3
BROADCAST_FROM = 1 << 16  # elements; from here on, our kernels take half of NumPy's time where operands broadcast
REMEMBERED = 4096  # calls


class PointwiseCall(NamedTuple):
    """A kernel, and its arguments for operands of given kinds."""

    kernel: Callable
    takes: list  # for each argument, a function that returns a tuple of the kernel's arguments for it
    shape: tuple  # of the result in memory
    dtype: np.dtype
    order: list | None  # of the result's dimensions, if it differs from row by row
    width: int  # of rows; 0 for one loop over all elements


calls: dict[tuple, Any] = {}  # also those of gradients (pointwise_gradients.py)


def looked_up(key: tuple, prepare: Callable, *args: Any) -> Any:
    """Return the call for a key, preparing it the first time."""
    if key not in calls:
        if len(calls) >= REMEMBERED:
            calls.clear()
        calls[key] = prepare(*args)
    return calls[key]


def kind(a: Any) -> Any:
    """Return the properties of a value on which a call depends; numbers count by type alone."""
    return (a.shape, a.strides, a.dtype) if type(a) is np.ndarray else type(a)


def known(op: Any, args: tuple) -> Callable | None:
    """Return the prepared call for such arguments, if there is one and kernels may run."""
    return None if fallback.numpy_only() else calls.get((op, get_num_threads(), *[kind(a) for a in args]))


def forward(op: Any, args: tuple) -> np.ndarray | None:
    """Run op.kernel as compiled code."""
    most = 1  # elements of the result
    for a in args:
        if type(a) is np.ndarray:
            most *= a.size
    if most < kernel_threshold(op) or not fallback.is_ready(most) or fallback.numpy_only():
        return None
    kinds = [kind(a) for a in args]
    call = looked_up((op, get_num_threads(), *kinds), prepare, op, args)
    return None if call is None else call(*args)


def run(call: PointwiseCall, *args: Any) -> np.ndarray:
    """Return the result of a kernel, whose work the threads share."""
    kernel, takes, shape, dtype, order, width = call
    given = [x for take, a in zip(takes, args) for x in take(a)]
    out = np.empty(shape, dtype)
    if width:
        table = out.reshape(-1, width)
        launch(lambda *some: kernel(width, *given, *some), [np.arange(len(table)), table], out.size)
    else:
        launch(kernel, [*given, out.reshape(-1)])
    return out if order is None else out.transpose(order)


def prepare(op: Any, args: tuple) -> Callable | None:
    """Return a function of arguments of these kinds that runs a kernel on them."""
    n = len(args) - op.n_settings
    known = all([type(a) in (np.ndarray, int, float) for a in args[:n]])
    if not known or not all([type(a) in (bool, int, float) for a in args[n:]]):
        return None
    operands, target = convert(op, args[:n])
    arrays = [a for a in args[:n] if type(a) is np.ndarray]
    changed = [a for a, b in zip(args, operands) if type(a) is np.ndarray and a.size != 1 and a.dtype != b.dtype]
    shape = broadcast_shape(*[a.shape for a in arrays])
    size = math.prod(shape)
    overflows = target.kind != "f" and bool in map(type, args[n:])  # the differences of integers, in isclose
    if changed or overflows or size < kernel_threshold(op) or target in dtypes.HALVES:
        return None
    # follow memory: the result has the same order of dimensions as the operands
    order = other_order([a for a in arrays if a.size != 1], len(shape))
    lies = shape if order is None else tuple([shape[d] for d in order])
    turned = (lambda a: a) if order is None else (lambda a: of_rank(a, len(shape)).transpose(order))
    many = [type(a) is np.ndarray and a.size != 1 for a in args]
    many[0] = many[0] or size == 1 and type(args[0]) is np.ndarray and args[0].dtype == operands[0].dtype
    long = [turned(a) if there else None for a, there in zip(args, many)]
    fast = worth_a_kernel(op, target, size)
    repeated = target.kind == "f" and (fast or size >= BROADCAST_FROM)
    rows = None
    if repeated and any([a is not None and not (a.shape == lies and a.flags.c_contiguous) for a in long]):
        rows = broadcast_cpu.layout(tuple([a if a is None else (a.shape, a.strides, a.itemsize) for a in long]), lies)
    if rows is None and not fast:
        return None
    width, places = rows or (0, [None] * len(args))
    if rows is None:
        kernel = compiled(op, "forward", tuple([a is not None for a in long]), target)
    else:
        kernel = compiled(op, "rows", tuple([row_kind(a, p) for a, p in zip(long, places)]), target)
    if kernel is None:
        return None
    takes = [taken(op, i, target, a is not None, place, turned, lies) for i, (a, place) in enumerate(zip(long, places))]
    back = None if order is None else [order.index(d) for d in range(len(shape))]
    call = PointwiseCall(kernel, takes, lies, dtypes.BOOL if op.kind == "bool" else target, back, width)
    return partial(run, call)


def row_kind(a: np.ndarray | None, place: tuple | None) -> str:
    """Return the kind of an argument as generate.rows names it."""
    return "number" if a is None else "column" if place[2] is None else "row"


def taken(
    op: Any, i: int, target: np.dtype, long: bool, place: tuple | None, turned: Callable, shape: tuple
) -> Callable:
    """Return a function that converts argument i for a kernel: a scalar, flat memory, or memory with a step between rows."""
    if place is not None:
        return lambda a: broadcast_cpu.row_arguments(turned(a), *place)
    dtype = target if i >= op.n_conditions else dtypes.BOOL
    if not long:
        return lambda a: (one(a, dtype, i < len(op.names) - op.n_settings),)
    return lambda a: (flat(turned(a), shape),)


def one(a: Any, dtype: np.dtype, is_operand: bool) -> Any:
    """Return a number or one-element array as a scalar of a dtype; settings of integer operations keep their type."""
    if type(a) is np.ndarray:
        return dtype.type(a.item())
    return number(a, dtype)[()] if is_operand and dtype.kind != "f" else scalar(a, dtype)


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
def compiled(op: Any, how: str, kinds: tuple, dtype: np.dtype) -> Any:
    """Return the kernel of op that generate.py's function `how` writes; None if the formula cannot be compiled."""
    return loaded(f"{op.name}_{how}", getattr(generate, how)(op.name, op.kernel, kinds, dtype))


def loaded(name: str, source: str | None) -> Any:
    """Return the function of that name in a generated module; None without a module."""
    return None if source is None else getattr(cache.load(name, source), name)


def worth_a_kernel(op: Any, target: np.dtype, size: int) -> bool:
    """Return True if the kernel beats NumPy on `size` elements."""
    return op.ufunc is None or beats_numpy(op, target, size)


def beats_numpy(op: Any, target: np.dtype, size: int) -> bool:
    """Return True if the kernel beats NumPy's function on `size` elements."""
    if target.kind != "f" or not has_kernel(op):
        return False
    return op.name in QUICK or not numpy_is_vectorised() or parts(size) >= THREADS_FOR_OTHERS


def has_kernel(op: Any) -> bool:
    """Return True if a kernel beats NumPy's function on large arrays."""
    return op.name in QUICK or is_elementary(op)


def is_elementary(op: Any) -> bool:
    """Return True for functions such as the exponential, which kernels compute by their own polynomials."""
    return op.name in formula.SCALARS and op.kind == "float"


@kept
def numpy_is_vectorised() -> bool:
    """Return True if NumPy computes elementary functions with AVX-512 here; other code takes most numbers one by one."""
    targets = opt_func_info("^tan$", "float32").get("tan", {}).values()  # none on processors without variants
    return any([name in target["current"] for target in targets for name in ("AVX512", "X86_V4")])


@kept
def kernel_threshold(op: Any) -> int:
    """Return the size in elements from which compiled code may beat NumPy's functions."""
    if op.ufunc is None:
        return 0 if formula.needs([op.kernel], formula.F64) is not None else FUSE_FROM
    return FUSE_FROM if op.name in QUICKER or is_elementary(op) and not numpy_is_vectorised() else QUICK_FROM
