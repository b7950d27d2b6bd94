"""Kernels for eager mode, written by the generator of compiled programs from code that is captured on small examples.

`captured` and `compiled` lead to the generator, for optimizers and recurrent layers too. Here an operation's program, or its
formulas, become one pass over the lines of an array (kernels/row_kernels.py); the source contains no sizes.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.tensor import wrap
from ..errors import InternalError, error
from ..kernels import cache, cuda_kernels, row_kernels
from ..kernels.row_kernels import NUMBER, WEIGHT, Kernel, Layout, Plan
from ..ops.base.nodes import ShapeOf
from .capture import tracing
from .captured_steps import CapturedStep, CapturedValue
from .guards import Guards
from .symbols import Reads, SymbolicFloat
from .trace import CaptureTrace

SUMS = (WEIGHT, NUMBER)  # results that are summed over the lines
SIZES = 5, 7, 11, 13  # sizes of the examples, all distinct


def captured(code: Callable, make: Callable, source: Any = None, grad: bool = False) -> Any:
    """Run code(trace) under a capture, and return make(trace, *its results).

    Running transforms, recordings and captures do not see this; `source` is asked about values that the code reads.
    """

    def run() -> Any:
        trace = CaptureTrace(Guards(), source)
        trace.phase = "backward"  # user's lines are not recorded
        try:
            with tracing(trace, grad):
                found = code(trace)
            return make(trace, *found)
        finally:
            trace.forget()

    return contextvars.Context().run(run)


def memory(shape: tuple, dtype: np.dtype) -> CapturedValue:
    """Return the value for memory that a kernel fills."""
    return CapturedValue("input", np.empty(shape, dtype), 0, "result")


def compiled(dtype: np.dtype, *args: Any, **options: Any) -> tuple:
    """Return the program that the generator makes of its arguments, and a function that compiles it."""
    from .emit.from_capture import generate

    program = generate(*args, **options)
    load = cuda_kernels("kernel_modules").load if program.on_device else cache.load
    return program, lambda: getattr(load(f"{program.name}_{dtype.name}", program.text), program.name)


# ---------------------------------------------------------------------- lines
def install() -> None:
    """Install `write` as the source of fused kernels for eager operations."""
    row_kernels.write = write


def write(plan: Plan, args: tuple, layout: Layout, dtype: np.dtype, on_device: bool = False) -> Kernel:
    """Generate and compile the kernel for some arguments."""
    (program, load), given, whole = generated(plan, args, layout, dtype, on_device)
    arrays = [x for kind, x in program.params if kind == "input"]
    ranged = layout.reduced[0] and not on_device
    if program.statics or arrays != list(range(len(arrays))) or ranged and "[...] =" in program.text:
        what = f"its kernel does not loop over all of its arguments:\n{program.text}"
        raise error(InternalError, plan.cls.name, what, "report it; set MINIGRAD_GENERIC=1 to run without kernels")
    read = [x for kind, x in program.params if kind == "number"]
    return Kernel(load(), whole and not ranged, [i for i in plan.numbers if given[i].name in read], ranged)


def text(plan: Plan, args: tuple, on_device: bool = False) -> str:
    """Return the source of the kernel for arguments that are rows, on the CPU or a GPU."""
    layout = plan.layout(args, ())
    assert layout is not None
    return generated(plan, args, layout, args[plan.x].dtype, on_device)[0][0].text


def generated(plan: Plan, args: tuple, layout: Layout, dtype: np.dtype, on_device: bool = False) -> tuple:
    """Return the program, the examples that replaced `args`, and True if it has to see all lines at once."""
    cls, layout = plan.cls, layout._replace(sizes=SIZES[: len(layout.sizes)])

    def code(trace: CaptureTrace) -> tuple:
        given = [example(trace, plan, i, a, layout, dtype) for i, a in enumerate(args)]
        made = (cls.program or cls.apply)(*given) if plan.formulas is None else gradients(cls, plan.formulas, given)
        return given, list(zip(plan.gives, [trace.value(o) for o in (made if type(made) is tuple else (made,))]))

    def make(trace: CaptureTrace, given: list, outs: list) -> tuple:
        fixed, rows = ([trace.value(given[i]) for i, _ in some] for some in (plan.fixed, plan.rows))
        writes = [(memory(layout.shape(held), dtype), out) for held, out in outs if held not in SUMS]
        sums, inputs = [out for held, out in outs if held in SUMS], [*fixed, *rows, *[m for m, _ in writes]]
        name = cls.name if plan.formulas is None else f"{cls.name}_backward"
        own = layout.sizes[1] if layout.reduced[0] and not on_device else None
        program = compiled(dtype, trace.steps, inputs, sums, writes, name, on_device, own, eager=True)
        return program, given, NUMBER in plan.gives or sees_all(trace.steps, rows)

    return captured(code, make)


def example(trace: CaptureTrace, plan: Plan, i: int, a: Any, layout: Layout, dtype: np.dtype) -> Any:
    """Return the example for an argument of the capture."""
    held, n, m = plan.takes[i], len(plan.cls.names), len(plan.cls.gives)
    if held is not None:
        kind = np.dtype(np.int64) if a.dtype.kind == "i" else dtype
        name = plan.cls.names[i] if i < n else ("out" if i < n + m else "g") + str((i - n) % m) * (m > 1)
        return trace.argument(wrap(np.ones(layout.shape(held, plan.weight(i)), kind)), name, "")
    if i >= n:
        return None
    if i == plan.dims:
        return layout.dims if type(a) is tuple else layout.dims[0]
    if i in plan.numbers:
        return SymbolicFloat(a, f"leaves[{i}]", frozenset([i]), Reads(list(plan.cls.names), trace.depends))
    held = plan.roles[i]  # a formula may read its shape
    return a if held is None else ShapeOf(layout.shape(held, plan.weight(i)))


def gradients(cls: Any, formulas: tuple, given: list) -> tuple:
    """Return the gradients of some arguments."""
    bound, gs = tuple(given[: -len(cls.gives)]), tuple(given[-len(cls.gives) :])
    return tuple([cls.evaluate(i, bound, len(cls.names), gs) for i in formulas])


def sees_all(steps: list[CapturedStep], rows: list[CapturedValue]) -> bool:
    """Return True if the result for one line depends on other lines: a sum over lines is broadcast back to them."""
    mixed: set[CapturedValue] = set()
    known, count = set(rows), rows[0].shape[0]
    for step in steps:
        read = {a for a in step.args if isinstance(a, CapturedValue)}
        for out in step.outs:
            by_line = out.shape[:1] == (count,)
            if by_line and read & mixed:
                return True
            if not by_line and read & (known | mixed):
                mixed.add(out)
            elif by_line:
                known.add(out)
    return False
