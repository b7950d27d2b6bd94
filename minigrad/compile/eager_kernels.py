"""Kernels for eager mode: an operation's program, or its formulas, as one generated pass over the lines of an array.

They are captured on small examples and written by the generator of compiled programs. They take memory for their results, so
that threads can share the lines (kernels/row_kernels.py); the source contains no sizes.
"""

from __future__ import annotations

import contextvars
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


def install() -> None:
    """Install `write` as the source of fused kernels for eager operations."""
    row_kernels.write = write


def write(plan: Plan, args: tuple, layout: Layout, dtype: np.dtype, on_device: bool = False) -> Kernel:
    """Generate and compile the kernel for some arguments."""
    program, given, whole = generated(plan, args, layout, dtype, on_device)
    arrays = [x for kind, x in program.params if kind == "input"]
    ranged = layout.reduced[0] and not on_device
    if program.statics or arrays != list(range(len(arrays))) or ranged and "[...] =" in program.text:
        what = f"its kernel does not loop over all of its arguments:\n{program.text}"
        raise error(InternalError, plan.cls.name, what, "report it; set MINIGRAD_GENERIC=1 to run without kernels")
    load = cuda_kernels("kernel_modules").load if on_device else cache.load
    entry = getattr(load(f"{program.name}_{dtype.name}", program.text), program.name)
    read = [x for kind, x in program.params if kind == "number"]
    return Kernel(entry, whole and not ranged, [i for i in plan.numbers if given[i].name in read], ranged)


def text(plan: Plan, args: tuple, on_device: bool = False) -> str:
    """Return the source of the kernel for arguments that are rows, on the CPU or a GPU."""
    layout = plan.layout(args, ())
    assert layout is not None
    return generated(plan, args, layout, args[plan.x].dtype, on_device)[0].text


def generated(plan: Plan, args: tuple, layout: Layout, dtype: np.dtype, on_device: bool = False) -> tuple:
    """Return the program, the examples that replaced `args`, and True if it has to see all lines at once.

    Running transforms, recordings and captures do not see this.
    """
    examples = layout._replace(sizes=SIZES[: len(layout.sizes)])
    return contextvars.Context().run(captured, plan, args, examples, dtype, on_device)


def captured(plan: Plan, args: tuple, layout: Layout, dtype: np.dtype, on_device: bool) -> tuple:
    """Capture an operation's program, or its formulas, on examples."""
    from .emit.from_capture import generate

    cls = plan.cls
    trace = CaptureTrace(Guards(), None)
    trace.phase = "backward"  # user's lines are not recorded
    with tracing(trace, False):
        given = [example(trace, plan, i, a, layout, dtype) for i, a in enumerate(args)]
        made = (cls.program or cls.apply)(*given) if plan.formulas is None else gradients(cls, plan.formulas, given)
        outs = list(zip(plan.gives, [trace.value(o) for o in (made if type(made) is tuple else (made,))]))
    fixed, rows = ([trace.value(given[i]) for i, _ in some] for some in (plan.fixed, plan.rows))
    memory = lambda held: CapturedValue("input", np.empty(layout.shape(held), dtype), 0, "result")
    writes = [(memory(held), out) for held, out in outs if held not in SUMS]
    sums = [out for held, out in outs if held in SUMS]
    name = cls.name if plan.formulas is None else f"{cls.name}_backward"
    inputs = [*fixed, *rows, *[m for m, _ in writes]]
    own = layout.sizes[1] if layout.reduced[0] and not on_device else None
    program = generate(trace.steps, inputs, sums, writes, name, on_device, own, eager=True)
    whole = NUMBER in plan.gives or sees_all(trace.steps, rows)
    trace.forget()
    return program, given, whole


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
