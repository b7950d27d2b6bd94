"""Running pointwise operations on arrays: NumPy for small ones, so that a first lesson never waits for the compiler, and
generated Numba kernels for large ones.  Promotion of dtypes and broadcasting are settled here, before a kernel is called.
"""

from __future__ import annotations

import math
from functools import cache as kept
from typing import Any

import numpy as np

from ..arrays import dtypes, halves
from ..arrays.kinds import on_device
from ..arrays.memory import order_in_memory, unmasked
from ..arrays.shapes import broadcast_shape
from ..errors import error
from . import cache, fallback, formula, generate
from .cpu import broadcast_cpu
from .threads import launch, parts

NUMERIC = (np.ndarray, int, float, np.generic)
FUSE_FROM = 4096  # elements; below, the formulas on arrays need no compiler and cost a few microseconds
# Where NumPy has a function, our kernel is called from so many elements on, if it is the faster one on a single thread.
# Measured beside NumPy's own vector code (AVX-512): 0.1 to 1.4 of its time; the others, at 1 to 3, need some threads.
# NumPy's `where` has a branch, and its power calls the C library for negative x: 60 times slower on shuffled numbers.
QUICK_FROM = 1 << 16
QUICK = {"exp", "exp2", "expm1", "sin", "cos", "sinh", "cosh", "sqrt", "rsqrt", "clamp_min", "clamp_max", "sinc"}
# What takes a third of the time of NumPy's function, or less, is called from FUSE_FROM on.
QUICKER = {"hypot", "erf", "erfc", "erfinv", "pow", "where", "sign", "fmod", "remainder", "floor_divide", "frac", "lgamma",
           "polygamma", "logaddexp", "copysign", "logical_and", "logical_not", "logical_or", "logical_xor"}  # fmt: skip
QUICK |= QUICKER
THREADS_FOR_OTHERS = 3
BROADCAST_FROM = 1 << 18  # where something is repeated, ours are faster for all from so many elements on


def forward(op: Any, args: tuple) -> np.ndarray:
    """op.kernel on arrays and numbers."""
    n, first = len(args) - op.n_settings, args[0]
    if type(first) is np.ndarray and first.dtype in unconverted_dtypes(op):
        if first.size >= kernel_threshold(op) and wanted(op, first.dtype, first.size):
            if first.dtype.kind == "f" and (out := straight(op, args)) is not None:
                return out
        elif all([type(a) is np.ndarray and a.dtype is first.dtype and a.shape == first.shape for a in args[1:n]]):
            # nothing to convert and nothing to broadcast: NumPy's function
            return cast(numpy_function(op)(*args), dtypes.BOOL if op.kind == "bool" else first.dtype)
    operands, target = convert(op, args[:n])
    statics, result = args[n:], dtypes.BOOL if op.kind == "bool" else target
    if any(map(on_device, operands)):
        return device_forward(op, operands, statics, target, result)
    if target in dtypes.HALVES:
        wide = dtypes.BOOL if op.kind == "bool" else dtypes.F4
        return cast(host_forward(op, [halves.widened(a) for a in operands], statics, dtypes.F4, wide), result)
    return host_forward(op, operands, statics, target, result)


def straight(op: Any, args: tuple) -> np.ndarray | None:
    """op.kernel on large contiguous arrays of one shape and dtype, and numbers, or arrays of one element; None for all else.

    This is what by_kernel does, where there is little to ask: 4 microseconds before the kernel in place of 12, whose own
    time is 12 for 100,000 elements.
    """
    first, given = args[0], []
    shape, dtype = first.shape, first.dtype
    for a in args:
        if type(a) is np.ndarray and a.size != 1:
            if a.shape != shape or a.dtype is not dtype or not a.flags.c_contiguous:
                return None
            given.append(a.reshape(-1))
        elif type(a) in (int, float):
            given.append(dtype.type(a))
        elif type(a) is np.ndarray and a.dtype is dtype and a.ndim <= first.ndim:
            given.append(dtype.type(a.item()))
        else:
            return None
    if fallback.numpy_alone():
        return None
    kernel = compiled(op, "forward", tuple([type(a) is np.ndarray for a in given]), dtype)
    if kernel is None:
        return None
    out = np.empty(shape, dtypes.BOOL if op.kind == "bool" else dtype)
    launch(kernel, [*given, out.reshape(-1)])
    return out


def host_forward(op: Any, operands: list, statics: tuple, target: np.dtype, result: np.dtype) -> np.ndarray:
    """op.kernel in the computer's memory: by compiled code where that is worth it, else by NumPy's functions."""
    size = math.prod([a.size for a in operands if isinstance(a, np.ndarray) and a.ndim])  # of the result, at most
    worth = size >= kernel_threshold(op) and plain(statics) and not fallback.numpy_alone()
    out = by_kernel(op, operands, statics, target, result) if worth else None
    return cast(numpy_function(op)(*operands, *statics), result) if out is None else out


def kernel_threshold(op: Any) -> int:
    """Return from how many elements on compiled code may be quicker than NumPy's functions."""
    return FUSE_FROM if op.ufunc is None or op.name in QUICKER else QUICK_FROM


@kept
def unconverted_dtypes(op: Any) -> frozenset:
    """Return the dtypes that op computes with as they are, where all operands have the same; none if it has conditions."""
    known = [
        d.dtype
        for d in dtypes.ALL
        if dtypes.kind(d.dtype) in op.accepts and (op.kind != "float" or d.is_floating_point)
    ]
    return frozenset(known if not op.n_conditions else ()) - dtypes.HALVES


@kept
def numpy_function(op: Any) -> Any:
    """Return the function of arrays that computes op by NumPy: its own, or the formula."""
    return op.ufunc or formula.on_arrays(op.kernel)


def device_forward(op: Any, operands: list, statics: tuple, target: np.dtype, result: np.dtype) -> Any:
    """op.kernel in the memory of a GPU: one kernel, or one for each of its steps where it has no text."""
    from .cuda import pointwise_cuda
    from .cuda.numpy_protocol import refuse_others

    refuse_others(op.name, tuple(operands))
    kernel = op.integer_kernel if op.integer_kernel and target.kind in "iu" else op.kernel
    out = (
        pointwise_cuda.apply(op.name, kernel, op.names, [*operands, *statics], target, result)
        if plain(statics)
        else None
    )
    out = numpy_function(op)(*operands, *statics) if out is None else out
    return out if out.dtype == result else out.astype(result)


def by_kernel(op: Any, operands: list, statics: tuple, target: np.dtype, result: np.dtype) -> np.ndarray | None:
    """op.kernel in compiled code; None where NumPy is as fast, or where there is no such code."""
    shapes = [a.shape for a in operands if isinstance(a, np.ndarray)]
    shape = shapes[0] if shapes.count(shapes[0]) == len(shapes) else broadcast_shape(*shapes)
    size = math.prod(shape)
    if size < kernel_threshold(op):
        return None
    operands, numbers = [one(scalar(a, target)) for a in operands], [scalar(s, target) for s in statics]
    if (order := other_order(operands, len(shape))) is not None:  # along memory, and the result lies like the operands
        moved = [of_rank(a, len(shape)).transpose(order) if is_long(a) else a for a in operands]
        out = by_kernel(op, moved, statics, target, result)
        return None if out is None else out.transpose([order.index(d) for d in range(len(shape))])
    fast = wanted(op, target, size)
    repeated = target.kind == "f" and (fast or size >= BROADCAST_FROM) and not whole(operands, shape)
    seen = broadcast_cpu.rows(operands, shape) if repeated else None
    if seen is None and not fast:
        return None
    if seen is None:
        kernel = compiled(op, "forward", (*map(is_long, operands), *[False] * op.n_settings), target)
    else:
        kernel = compiled(op, "rows", (*map(kind_in_rows, seen[1]), *["number"] * op.n_settings), target)
    if kernel is None:
        return None
    out = np.empty(shape, result)
    if seen is None:
        launch(kernel, [*[flat(a, shape) for a in operands], *numbers, out.reshape(-1)])
    else:
        broadcast_cpu.run(kernel, *seen, numbers, out)
    return out


def other_order(operands: list, ndim: int) -> tuple | None:
    """Return the order of a result's dimensions in memory where the operands lie in another one than row by row."""
    arrays = [a for a in operands if is_long(a)]
    if all([a.flags.c_contiguous for a in arrays]):
        return None
    order = order_in_memory(*[of_rank(a, ndim) for a in arrays])
    return None if order == tuple(range(ndim)) else order


def of_rank(a: np.ndarray, ndim: int) -> np.ndarray:
    """Return an array with so many dimensions: those of one element in front of its own."""
    return a[(None,) * (ndim - a.ndim)] if a.ndim < ndim else a


def whole(operands: list, shape: tuple) -> bool:
    """Whether all are numbers, or arrays of this shape that lie in memory in its order."""
    return all(
        [not isinstance(a, np.ndarray) or not a.ndim or a.shape == shape and a.flags.c_contiguous for a in operands]
    )


def one(a: Any) -> Any:
    """An array of a single element as a number."""
    return a.reshape(())[()] if isinstance(a, np.ndarray) and a.size == 1 else a


def is_long(a: Any) -> bool:
    """Whether it is an array that a kernel goes along, no number."""
    return isinstance(a, np.ndarray) and a.ndim > 0


def kind_in_rows(found: tuple) -> str:
    """What generate.rows has to know of an operand that broadcast.rows has found."""
    a, step = found
    return "row" if step is not None else "column" if isinstance(a, np.ndarray) else "number"


@kept
def compiled(op: Any, how: str, kinds: tuple, dtype: np.dtype) -> Any:
    """The kernel of op that the function of generate.py called `how` writes; None if the formula cannot be compiled."""
    return loaded(f"{op.name}_{how}", getattr(generate, how)(op.name, op.kernel, kinds, dtype))


@kept
def compiled_backward(op: Any, wanted: tuple, is_array: tuple, read: tuple, dtype: np.dtype) -> Any:
    """The kernel for the gradients of the wanted operands, from g and what is read."""
    partials = [("d" + op.names[i], op.formulas[i]) for i in wanted]
    return loaded(f"{op.name}_backward", generate.backward(op.name, ["g", *read], is_array, partials, dtype))


def loaded(name: str, source: str | None) -> Any:
    """The function of that name in a generated module; None without a module."""
    return None if source is None else getattr(cache.load(name, source), name)


def wanted(op: Any, target: np.dtype, size: int) -> bool:
    """Whether the kernel overtakes NumPy on that many elements."""
    return op.ufunc is None or quicker(op, target, size)


def quicker(op: Any, target: np.dtype, size: int) -> bool:
    """Whether the kernel overtakes NumPy's function on that many elements."""
    return target.kind == "f" and has_kernel(op) and (op.name in QUICK or parts(size) >= THREADS_FOR_OTHERS)


def has_kernel(op: Any) -> bool:
    """Whether there is a kernel that overtakes NumPy's function on large arrays."""
    return op.name in QUICK or op.name in formula.SCALARS and op.kind == "float"


def convert(op: Any, operands: tuple) -> tuple[list, np.dtype]:
    """The operands in the one dtype in which they meet, and that dtype; masks stay bools."""
    operands = tuple([a if type(a) is np.ndarray else operand(op, a) for a in operands])
    masks, values = [mask(op, a) for a in operands[: op.n_conditions]], operands[op.n_conditions :]
    first = values[0]
    alone = len(values) == 1 and isinstance(first, np.ndarray)
    target = first.dtype if alone else dtypes.common(values)
    if dtypes.kind(target) not in op.accepts:
        raise refused(op, target)
    if op.kind == "float" and target not in dtypes.FLOATS:
        target = dtypes.default()
    elif alone:
        return [*masks, first], target
    return masks + [
        a.astype(target, copy=False) if isinstance(a, np.ndarray) else number(a, target) for a in values
    ], target


def operand(op: Any, a: Any) -> Any:
    """A number, or an array of another class as one of NumPy's own: matrices would be multiplied as such."""
    if not isinstance(a, NUMERIC):
        raise TypeError(f"no operand: {type(a).__name__}")  # diagnose/arguments.py says which
    return unmasked(a, op.name)


def mask(op: Any, a: Any) -> np.ndarray:
    """A condition; uint8 stands for bool, as it did before there were bools."""
    if isinstance(a, np.ndarray) and a.dtype.kind == "b":
        return a
    if isinstance(a, np.ndarray) and a.dtype == np.uint8:
        return a.astype(np.bool_)
    if not isinstance(a, np.ndarray):
        raise error(
            TypeError,
            op.name,
            f"expected condition to be a tensor, got {type(a).__name__}",
            "use Python's own `input if condition else other`",
        )
    raise error(
        RuntimeError,
        op.name,
        f"expected condition to be a boolean tensor, but got a tensor with dtype {dtypes.of_numpy(a.dtype)}",
        "compare first, as in condition != 0",
    )


def refused(op: Any, target: np.dtype) -> Exception:
    """The error for a dtype that the operation does not compute with."""
    if op.advice:
        return error(RuntimeError, op.name, op.advice, "convert it first, as in x.float()")
    kinds = {"b": "bool", "i": "integers", "f": "floating-point numbers"}
    return error(
        NotImplementedError,
        op.name,
        f"not implemented for {dtypes.of_numpy(target)}",
        f"it computes with {' and '.join(kinds[k] for k in op.accepts if k in kinds)}: convert first",
    )


def number(a: Any, target: np.dtype) -> Any:
    """A number beside arrays of dtype `target`: NumPy does not widen for Python's own, but refuses those out of range."""
    if target in dtypes.FLOATS:
        return float(a)
    return np.array(a).astype(target)


def cast(out: Any, target: np.dtype) -> np.ndarray:
    """A result as an array of its dtype: formulas with float constants, and numbers alone, may have widened."""
    out = out if type(out) is np.ndarray else np.asarray(out)
    return out if out.dtype == target else out.astype(target)


def flat(a: Any, shape: tuple) -> Any:
    """What a kernel takes: contiguous memory of the full size, or a number."""
    if not isinstance(a, np.ndarray):
        return a
    if a.ndim == 0:
        return a[()]
    return (a if a.shape == shape else np.broadcast_to(a, shape)).reshape(-1)


def fusable(g: Any) -> bool:
    """Return whether a fused kernel may work on a gradient: it is large, and not of half precision."""
    return g.size >= FUSE_FROM and g.itemsize > 2 or on_device(g)


def backward(op: Any, kinds: list, g: np.ndarray, bound: tuple) -> tuple | None:
    """Return all wanted gradients of op in one compiled pass; None where that cannot be done.

    `kinds` has per operand the dtype that its gradient has to have, None where none is wanted.
    """
    n, dtype = len(kinds), g.dtype
    wanted = tuple([i for i, kind in enumerate(kinds) if kind is not None and i in op.formulas])
    names, places = read_by(op, wanted)
    values = [bound[i] for i in places]
    if (
        not values
        or light(op)
        or op.simple(*bound[:n])
        or len(op.names) != n
        or not all([kinds[i] == dtype for i in wanted])
        or not plain(values)
        or not all([v.dtype in (dtype, dtypes.BOOL) for v in values if isinstance(v, np.ndarray)])
    ):
        return None
    if on_device(g):
        return device_backward(op, n, wanted, g, dict(zip(names, values)))
    same = not any(g.strides)  # one number throughout, as sums send it back: no need to lay it out
    if fallback.numpy_alone():
        return None
    outs = [np.empty(g.shape, dtype) for _ in wanted]
    inputs = [flat(scalar(v, dtype), g.shape) for v in values]
    upstream = g[(0,) * g.ndim] if same else g.reshape(-1)
    try:
        kernel = compiled_backward(op, wanted, (not same, *map(is_long, values)), names, dtype)
        if kernel is None:
            return None
        launch(kernel, [upstream, *inputs, *[o.reshape(-1) for o in outs]])
    except Exception as e:
        return fallback.again(e, lambda: None)  # the formulas serve as well
    found = dict(zip(wanted, outs))
    return tuple([found.get(i) for i in range(n)])


@kept
def read_by(op: Any, wanted: tuple) -> tuple:
    """Return the names of what the formulas of these operands read, and their places; g does not count."""
    names = [(name, i) for i, name in enumerate((*op.names, "out")) if any(name in op.reads[k] for k in wanted)]
    return tuple(zip(*names)) or ((), ())


def device_backward(op: Any, n: int, wanted: tuple, g: Any, values: dict) -> tuple | None:
    """The same in the memory of a GPU."""
    from .cuda import pointwise_cuda
    from .cuda.device_array import empty

    formulas = {f"d{op.names[i]}": op.formulas[i] for i in wanted}
    scaled = [f for f in formulas.values() if "g" not in formula.parameters(f) and formula.text(f) != "0"]
    outs = [empty(g.shape, g.dtype) for _ in wanted]
    if not pointwise_cuda.run(f"{op.name}_backward", formulas, {"g": g, **values}, g.dtype, outs, scaled):
        return None
    found = dict(zip(wanted, outs))
    return tuple([found.get(i) for i in range(n)])


@kept
def light(op: Any) -> bool:
    """Whether each gradient is one multiplication at most: then NumPy's own loop over it is as good as a fused one."""
    return all([(formula.text(f) or "?").isidentifier() or not formula.parameters(f) for f in op.formulas.values()])


def plain(values: Any) -> bool:
    """Whether a kernel can take them all."""
    return all(isinstance(v, (np.ndarray, int, float, bool)) for v in values)


def scalar(v: Any, dtype: np.dtype) -> Any:
    """Numbers among a kernel's arguments in the dtype of the arrays: a float64 would widen the whole loop."""
    return dtype.type(v) if type(v) in (int, float) and dtype.kind == "f" else v
