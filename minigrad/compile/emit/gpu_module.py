"""The source of a compiled program for a GPU: kernels, and a plain function that launches them in turn.

The program, its memory and its names are the same as on the CPU (module_text.py). A loop becomes a kernel (gpu_loops.py,
gpu_rows.py); products, copies and calls of operations are in the function, written as in NumPy, because device arrays support
its functions. Numbers that the program computes stay on the device, as 0-d arrays, so that the CPU never waits for them.
"""

from typing import Any

import numpy as np

from ...kernels import formula
from ...kernels.cuda import flat, two_step_reductions
from ...kernels.cuda.two_step_reductions import block_function
from ..buffers import written_directly
from ..fuse import FusedGroup
from ..ir import F8, Lowering, Op, Value
from ..symbols import SymbolicFloat, SymbolicInt, is_symbolic
from .gpu_loops import Adds, Columns, Elements, Picks
from .gpu_rows import BLOCKS, BOUND, FUNCTIONS, RowKernels
from .library_calls import call
from .module_text import ModuleWriter, comment, comments, functions_in, tupled
from .names import Spelling, cast, dtype_text
from .split_for_gpu import split_groups
from .subfunctions import identifiers

KERNELS = {"elements": Elements, "rows": RowKernels, "columns": Columns, "pick": Picks, "scatter": Adds}
HELPERS = tuple([block_function("sum", "float64"), block_function("sum", "int64"),
                 block_function("max", "float32"), block_function("max", "float64"), *FUNCTIONS])  # fmt: skip
LAUNCHES = "minigrad.compile.emit.gpu_launches"
LAUNCHING = ("Outside", "by_four", "call", "empty", "full", "joined", "parts", "rows", "shares", "threads")
CONVERSIONS = ("of_bfloat16", "to_bfloat16")
RESERVED = {"cuda", "grid", "block", "kernel", "count", "part", "row", "rest", "fits", "first", "q", "k", "outside", "bfloat16",
            *flat.IMPORTS, *flat.LOCALS, *LAUNCHING, *CONVERSIONS, *functions_in("\n".join(HELPERS))}  # fmt: skip


class DeviceSpelling(Spelling):
    """Names and values on a GPU: arrays are on the device, and numbers are one-element arrays there."""

    def __init__(self, low: Lowering, inputs: list[Value], reserved: set):
        super().__init__(low, inputs, reserved)
        self.places: dict[Op, str] = {}  # operations whose kernels may report an invalid index

    def outside(self, op: Op) -> list[str]:
        """Set the loss to NaN, and store the index in a cell that the CPU checks later."""
        self.places.setdefault(op, op.name if op.place is None else f"{op.name} at {comment(op)[2:]}")
        return [*self.no_loss(op), f"outside[{[*self.places].index(op)}] = k"]

    def no_loss(self, op: Op) -> list[str]:
        """Return the line that sets the loss of an invalid class."""
        out = op.outs[0]
        return [f"{self.name(out)}_i = np.{out.dtype.name}(np.nan)"] * (op.kind == "pick")

    def repeated(self, v: Value) -> str:
        return f"full({self.shape(v)}, {self.literal(v.content, v.dtype)}, {dtype_text(v.dtype)})"

    def number(self, a: SymbolicFloat | SymbolicInt) -> str:
        text = f"{self.numbers[a.name]}.item()"
        return f"int({text})" if type(a) is SymbolicInt else text  # the cell of a number holds a float

    def empty(self, v: Value) -> str:
        return f"empty({self.shape(v)}, {dtype_text(v.dtype)})"

    def copied(self, v: Value) -> str:
        """Return a copy of v in new memory."""
        return self.repeated(v) if v.kind == "uniform" else f"{self.view(v)}.copy()"

    def element(self, base: Value, at: list) -> str:
        return f"{self.name(base)}[0]" if base.kind != "uniform" and not base.shape else super().element(base, at)

    def literal(self, a: Any, dtype: np.dtype, op: Op | None = None) -> str:
        return cast(f"{self.numbers[a.name]}[0]", F8, dtype) if is_symbolic(a) else super().literal(a, dtype, op)


class EagerSpelling(DeviceSpelling):
    """Names and values of a single operation: its numbers are kernel arguments, and its caller checks the indices."""

    def outside(self, op: Op) -> list[str]:
        return self.no_loss(op)

    def literal(self, a: Any, dtype: np.dtype, op: Op | None = None) -> str:
        return Spelling.literal(self, a, dtype, op)


class DeviceWriter(ModuleWriter):
    """Writes the module for one lowered program."""

    spelled, reserved = DeviceSpelling, RESERVED
    title = "{}, compiled by minigrad for a GPU: each kernel implements the program lines above it."
    decorator, helpers = "cuda", HELPERS
    offered = [*[(LAUNCHES, n) for n in LAUNCHING], *[(formula.CUDA.functions, n) for n in (*flat.IMPORTS, *CONVERSIONS)],
               ("ml_dtypes", "bfloat16")]  # fmt: skip

    def __init__(
        self, low: Lowering, inputs: list[Value], outputs: list[Value], writes: list[tuple[Value, Value]], name: str
    ):
        super().__init__(low, inputs, outputs, writes, name)
        self.kernels: list[str] = []
        self.of_rows: list[str] = []  # the names of those that process rows

    def grouped(self, kept: set) -> list[FusedGroup]:
        return split_groups(self.low, super().grouped(kept), kept)

    def place_results(self, kept: set) -> None:
        """Let only elementwise kernels write to inputs, because rows read their inputs several times."""
        whole = {o for g in self.groups if g.kind == "elements" for op in g.ops for o in op.outs}
        self.direct = {p: v for p, v in self.direct.items() if v in whole}

    def functions(self) -> str:
        """Return the kernels, and the function that launches them."""
        lines = [line for g in self.groups for line in self.group(g)]
        lines += [f"{self.spelling.name(p)}[...] = {self.spelling.view(v)}" for p, v in self.writes
                  if p not in self.direct and p.shape]  # fmt: skip
        lines.append(f"return {tupled(self.results())}")
        self.read = set(identifiers(lines))
        return "\n\n\n".join([*self.kernels, self.function(lines)])

    def results(self) -> list[str]:
        """Return the source of the results, each in separate memory."""
        texts, given = [], set()
        for v in self.outputs:
            base, text = self.low.base(v), self.spelling.view(v)
            texts.append(text if text.isidentifier() and base not in given else self.spelling.copied(v))
            given.add(base)
        return texts

    def group(self, g: FusedGroup) -> list[str]:
        """Return the lines of one group; a kernel's source goes before the function."""
        if g.kind not in KERNELS:
            return [*comments(g), *STATEMENTS[g.kind](self.spelling, g.ops[0])]
        name = self.spelling.free(f"{self.entry}_{len(self.kernels)}")
        kernel, lines = KERNELS[g.kind](self.spelling, g, self.stored, self.direct).write(name)
        self.of_rows += sorted(functions_in(kernel)) if g.kind == "rows" else []
        head, _, body = kernel.partition("\n    ")
        self.kernels.append("\n    ".join([head, *comments(g)[1:], body]))
        return [*comments(g), *lines]

    def constants(self) -> list[str]:
        outside = [f"outside = Outside({tuple(self.spelling.places.values())!r})"] * bool(self.spelling.places)
        return [
            *outside,
            *[BOUND.format(dict.fromkeys(self.of_rows, (two_step_reductions.LONG, BLOCKS)))] * bool(self.of_rows),
        ]


class EagerWriter(DeviceWriter):
    """Writes the module for one operation, whose results are in new memory: all kernels may write to it."""

    spelled = EagerSpelling

    def place_results(self, kept: set) -> None:
        """Let rows be written directly even if a later kernel, which adds to them, reports invalid indices.

        Results may be views, whose elements are not in order: a kernel over flat memory would not write to them.
        """
        whole = {o for g in self.groups if g.kind == "rows" for op in g.ops for o in op.outs}
        direct = written_directly(self.low, self.groups, self.outputs, self.writes, ("call",))
        self.direct |= {p: v for p, v in direct.items() if v in whole}


# ---------------------------------------------------------------------- operations without a loop
def dot(s: DeviceSpelling, op: Op) -> list[str]:
    """Write a product of matrices or vectors."""
    x, y = [s.view(v) for v in op.ins]
    return [f"{s.name(op.outs[0], 'dot')} = np.matmul({x}, {y})"]


def reshape(s: DeviceSpelling, op: Op) -> list[str]:
    """Write a reshape, with the elements in order."""
    return [f"{s.name(op.outs[0], 'reshape')} = {s.view(op.ins[0])}.reshape({s.shape(op.outs[0])})"]


def fill(s: DeviceSpelling, op: Op) -> list[str]:
    """Write zeros with parts filled in."""
    out, name = op.outs[0], s.name(op.outs[0], op.name)
    lines = [f"{name} = full({s.shape(out)}, 0, {dtype_text(out.dtype)})"]
    # after joining, each place is still a part of its original fill's result
    return [*lines, *[f"{s.view(place, name)}[...] = {s.view(x)}" for x, place in zip(op.ins, op.data["places"])]]


STATEMENTS = {"dot": dot, "reshape": reshape, "fill": fill, "call": call}
