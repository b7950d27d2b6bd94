"""Fused operations on the lines of arrays on the device, through kernels that the compiler generates from their programs.

Threads share rows (compile/emit/gpu_rows.py). Columns are treated as rows of a transposed view: if the next row is closer in
memory than the next element, each row has one thread, whose neighbour reads the adjacent element. Lines in several pieces,
such as channels, need their sums first: these operations are formulas on arrays (normalize_cuda.py).
"""

from ...arrays.dtypes import F4, F8
from .. import row_kernels
from ..fallback import only_definitions
from ..row_kernels import Layout, Plan
from . import normalize_cuda
from .device_array import empty


def run(plan: Plan, args: tuple) -> list | None:
    """Return the results of a kernel on all lines."""
    x = args[plan.x]
    weights = tuple([args[i] if isinstance(args[i], tuple) else args[i].shape for i in plan.weights])
    layout = plan.layout(args, weights)
    if only_definitions() or not x.size or x.dtype.kind != "f":
        return None
    if layout is None or in_pieces(layout):
        if (scale := normalize_cuda.SCALED.get(plan.cls.name)) is None:
            return None
        compute = normalize_cuda.forward if plan.formulas is None else normalize_cuda.backward
        made = compute(x, *scale, *args[1:])
        return None if made is None else [made[i] for i in plan.formulas or range(len(made))]
    return run_by_rows(plan, args, layout) if x.dtype in (F4, F8) else None


def in_pieces(layout: Layout) -> bool:
    """Return True if lines are neither rows nor columns nor elements."""
    *before, last = layout.reduced
    return any(before) and (last or before != [False, True] or bool(layout.weights))


def run_by_rows(plan: Plan, args: tuple, layout: Layout) -> list:
    """Run a kernel on rows, or on columns as rows of a transposed view."""
    dtype, columns = args[plan.x].dtype, layout.reduced == (False, True, False)
    turned = lambda a: a.swapaxes(1, 2) if columns and a.ndim == 3 else a
    sizes = layout.sizes
    as_rows = Layout((sizes[0], sizes[2], sizes[1]), (False, False, True), ()) if columns else layout
    kernel = row_kernels.kernel_for(plan, args, as_rows, dtype, True)
    given, shapes, seen_as, order = row_kernels.arranged(plan, args, layout)
    arrays = [args[i] if shape is None else turned(args[i].reshape(shape)) for i, shape in given]
    outs = [empty(shape, dtype) for shape in shapes]
    memory = [turned(out.reshape(shape)) for out, shape in zip(outs, seen_as)]
    sums = kernel.entry(*arrays, *memory, *[args[i] for i in kernel.numbers])
    return [outs[k] if own is None else sums[k].reshape(own).astype(dtype, copy=False) for k, own in order]
