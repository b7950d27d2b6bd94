"""Runs pointwise operations on arrays: NumPy for small ones, so that a first lesson never waits for the compiler, and
generated Numba kernels for large ones (pointwise_calls.py), on the processor or a GPU.
"""

from collections.abc import Sequence
from functools import cache as kept
from typing import Any

import numpy as np

from ..arrays import dtypes, halves
from ..arrays.kinds import on_device
from . import cuda_kernels, formula, pointwise_gradients
from .cpu import half_casts  # noqa: F401  halves.widened and narrowed use its kernels
from .operands import cast, convert, plain
from .pointwise_calls import call_for
from .pointwise_gradients import GRADIENTS_FROM, read_by


def forward(op: Any, args: tuple) -> np.ndarray:
    """Return op.kernel of arrays and numbers."""
    n, first = len(args) - op.n_settings, args[0]
    ready = type(first) is np.ndarray and first.dtype in unconverted_dtypes(op)
    if ready and all([type(a) is np.ndarray and a.dtype is first.dtype and a.shape == first.shape for a in args[1:n]]):
        return host_forward(op, args, (), dtypes.BOOL if op.kind == "bool" else first.dtype)
    if any(map(on_device, args[:n])):
        return cuda_kernels("repeats").call(device_forward, op, args)
    operands, target = convert(op, args[:n])
    statics, result = args[n:], dtypes.BOOL if op.kind == "bool" else target
    if target not in dtypes.HALVES:
        return host_forward(op, operands, statics, result)
    wide = dtypes.BOOL if op.kind == "bool" else dtypes.F4
    return halves.narrowed(host_forward(op, [halves.widened(a) for a in operands], statics, wide), result)


def host_forward(op: Any, operands: Sequence, statics: tuple, result: np.dtype) -> np.ndarray:
    """Return op.kernel of operands of one dtype in main memory, from compiled code or NumPy's functions."""
    call = call_for(op, (*operands, *statics)) or numpy_function(op)
    return cast(call(*operands, *statics), result)


@kept
def unconverted_dtypes(op: Any) -> frozenset:
    """Return the dtypes that op takes unconverted if all operands share one; none if op has conditions."""
    known = [
        d.dtype
        for d in dtypes.ALL
        if dtypes.kind(d.dtype) in op.accepts and (op.kind != "float" or d.is_floating_point)
    ]
    return frozenset(() if op.n_conditions else known) - dtypes.HALVES


@kept
def numpy_function(op: Any) -> Any:
    """Return the NumPy function of op: its ufunc, or the formula on arrays."""
    return op.ufunc or formula.on_arrays(op.kernel)


def device_forward(op: Any, args: tuple) -> Any:
    """Return op.kernel of operands on a GPU: one kernel, or one per step if the formula has no text."""
    from .cuda import pointwise_cuda
    from .cuda.numpy_protocol import refuse_others

    n = len(args) - op.n_settings
    operands, target = convert(op, args[:n])
    statics, result = args[n:], dtypes.BOOL if op.kind == "bool" else target
    refuse_others(op.name, tuple(operands))
    kernel = op.integer_kernel if op.integer_kernel and target.kind in "iu" else op.kernel
    out = (
        pointwise_cuda.apply(op.name, kernel, op.names, [*operands, *statics], target, result)
        if plain(statics)
        else None
    )
    out = numpy_function(op)(*operands, *statics) if out is None else out
    return out if out.dtype == result else out.astype(result)


def fusable(g: Any) -> bool:
    """Return True if a fused kernel pays off for a gradient: it is large, and not of half precision."""
    return g.size >= GRADIENTS_FROM and g.itemsize > 2 or on_device(g)


def backward(op: Any, kinds: list, g: Any, bound: tuple) -> tuple | None:
    """Return all requested gradients of op from one compiled pass; None if that is not possible.

    `kinds` gives for each operand the dtype of its gradient, or None if no gradient is requested.
    """
    if not on_device(g):
        return pointwise_gradients.backward(op, kinds, g, bound)
    return cuda_kernels("repeats").call(device_backward, op, kinds, g, bound)


def device_backward(op: Any, kinds: list, g: Any, bound: tuple) -> tuple | None:
    """Return the requested gradients on a GPU."""
    from .cuda import pointwise_cuda
    from .cuda.device_array import empty

    wanted, names, places = read_by(op, kinds, g.dtype)
    values = [bound[i] for i in places]
    if not pointwise_gradients.can_fuse(op, wanted, values, g.dtype) or op.simple(*bound[: len(kinds)]):
        return None
    formulas = {f"d{op.names[i]}": op.formulas[i] for i in wanted}
    scaled = [f for f in formulas.values() if "g" not in formula.parameters(f) and formula.text(f) != "0"]
    outs, given = [empty(g.shape, g.dtype) for _ in wanted], {"g": g, **dict(zip(names, values))}
    if not pointwise_cuda.run(f"{op.name}_backward", formulas, given, g.dtype, outs, scaled):
        return None
    found = dict(zip(wanted, outs))
    return tuple([found.get(i) for i in range(len(kinds))])
