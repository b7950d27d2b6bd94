"""The text of a compiled program for a GPU: kernels, and a plain function that launches them in turn.

What a program is, which of its values get memory and how they are called is as on the processor (module_text.py).  A loop
becomes a kernel (gpu_loops.py, gpu_rows.py); products, copies and calls of operations stand in the function as they would
in NumPy, for arrays on the device answer its functions.  Numbers that the program computes stay in the device's memory, as
arrays without dimensions, so that nothing waits for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import formula
from ...kernels.cuda import flat
from ...kernels.cuda.parts import block_function
from ..fuse import Group
from ..ir import F8, Lowering, Op, V
from ..symbols import Number, Whole, is_symbolic
from .gpu_loops import Adds, Columns, Elements, Picks
from .gpu_rows import RowKernel
from .library_calls import call
from .module_text import Writer, comment, comments, functions_in, tupled
from .names import Spelling, cast, dtype_text
from .split_for_gpu import apart
from .subfunctions import words

KERNELS = {"elements": Elements, "rows": RowKernel, "columns": Columns, "pick": Picks, "scatter": Adds}
HELPERS = tuple([block_function("sum", "float64"), block_function("sum", "int64"),
                 block_function("max", "float32"), block_function("max", "float64")])  # fmt: skip
LAUNCHES = "minigrad.compile.emit.gpu_launches"
LAUNCHING = ("Outside", "call", "empty", "full", "joined", "parts", "rows", "shares", "threads")
CONVERSIONS = ("of_bfloat16", "to_bfloat16")
RESERVED = {"cuda", "grid", "block", "count", "part", "row", "rest", "outside", "bfloat16", *flat.IMPORTS, *flat.LOCALS,
            *LAUNCHING, *CONVERSIONS, *functions_in("\n".join(HELPERS))}  # fmt: skip


class DeviceSpelling(Spelling):
    """Spell values for a GPU: arrays come from the device, and numbers lie there as arrays of one element."""

    def __init__(self, low: Lowering, inputs: list[V], reserved: set):
        super().__init__(low, inputs, reserved)
        self.places: list[str] = []  # of the operations whose kernels leave indices that they cannot follow

    def outside(self, op: Op) -> list[str]:
        """The loss is NaN, and the index is left in a cell, where the processor sees it."""
        self.places.append(op.name if op.place is None else f"{op.name} at {comment(op)[2:]}")
        return [*self.no_loss(op), f"outside[{len(self.places) - 1}] = k"]

    def no_loss(self, op: Op) -> list[str]:
        """The loss of a class that there is not."""
        out = op.outs[0]
        return [f"{self.name(out)}_i = np.{out.dtype.name}(np.nan)"] * (op.kind == "pick")

    def repeated(self, v: V) -> str:
        return f"full({self.shape(v)}, {self.literal(v.content, v.dtype)}, {dtype_text(v.dtype)})"

    def number(self, a: Number | Whole) -> str:
        text = f"{self.numbers[a.name]}.item()"
        return f"int({text})" if type(a) is Whole else text  # the cell of a number holds a float

    def empty(self, v: V) -> str:
        return f"empty({self.shape(v)}, {dtype_text(v.dtype)})"

    def copied(self, v: V) -> str:
        """A copy of v in memory of its own."""
        return self.repeated(v) if v.kind == "uniform" else f"{self.view(v)}.copy()"

    def element(self, base: V, at: list) -> str:
        return f"{self.name(base)}[0]" if base.kind != "uniform" and not base.shape else super().element(base, at)

    def literal(self, a: Any, dtype: np.dtype, op: Op | None = None) -> str:
        return cast(f"{self.numbers[a.name]}[0]", F8, dtype) if is_symbolic(a) else super().literal(a, dtype, op)


class EagerSpelling(DeviceSpelling):
    """Spell values for one operation: its numbers are arguments of the kernels, and its caller looks at the indices."""

    def outside(self, op: Op) -> list[str]:
        return self.no_loss(op)

    def literal(self, a: Any, dtype: np.dtype, op: Op | None = None) -> str:
        return Spelling.literal(self, a, dtype, op)


class DeviceWriter(Writer):
    """Writes the module for one lowered program."""

    spelled, reserved = DeviceSpelling, RESERVED
    title = "{}, compiled by minigrad for a GPU: a kernel stands for the lines of the program above it."
    decorator, helpers = "cuda", HELPERS
    offered = [*[(LAUNCHES, n) for n in LAUNCHING], *[(formula.CUDA.functions, n) for n in (*flat.IMPORTS, *CONVERSIONS)],
               ("ml_dtypes", "bfloat16")]  # fmt: skip

    def __init__(self, low: Lowering, inputs: list[V], outputs: list[V], writes: list[tuple[V, V]], name: str):
        super().__init__(low, inputs, outputs, writes, name)
        self.kernels: list[str] = []

    def grouped(self, kept: set) -> list[Group]:
        return apart(self.low, super().grouped(kept), kept)

    def place_results(self, kept: set) -> None:
        """Let kernels over elements write to inputs; rows are computed again and again from what they read."""
        whole = {o for g in self.groups if g.kind == "elements" for op in g.ops for o in op.outs}
        self.direct = {p: v for p, v in self.direct.items() if v in whole}

    def functions(self) -> str:
        """The kernels, and the function that launches them."""
        lines = [line for g in self.groups for line in self.group(g)]
        lines += [f"{self.spelling.name(p)}[...] = {self.spelling.view(v)}" for p, v in self.writes
                  if p not in self.direct and p.shape]  # fmt: skip
        lines.append(f"return {tupled(self.results())}")
        self.read = set(words(lines))
        return "\n\n\n".join([*self.kernels, self.function(lines)])

    def results(self) -> list[str]:
        """Return the text of the results: each value in memory of its own."""
        texts, given = [], set()
        for v in self.outputs:
            base, text = self.low.base(v), self.spelling.view(v)
            texts.append(text if text.isidentifier() and base not in given else self.spelling.copied(v))
            given.add(base)
        return texts

    def group(self, g: Group) -> list[str]:
        """The lines of one group; a kernel's text goes before the function."""
        if g.kind not in KERNELS:
            return [*comments(g), *STATEMENTS[g.kind](self.spelling, g.ops[0])]
        name = self.spelling.free(f"{self.entry}_{len(self.kernels)}")
        kernel, lines = KERNELS[g.kind](self.spelling, g, self.stored, self.direct).write(name)
        head, _, body = kernel.partition("\n    ")
        self.kernels.append("\n    ".join([head, *comments(g)[1:], body]))
        return [*comments(g), *lines]

    def constants(self) -> list[str]:
        return [f"outside = Outside({tuple(self.spelling.places)!r})"] * bool(self.spelling.places)


class EagerWriter(DeviceWriter):
    """Writes the module for one operation, whose results have new memory, which nothing reads: all kernels write to it."""

    spelled = EagerSpelling

    def place_results(self, kept: set) -> None:
        """Leave them where they are."""


# ---------------------------------------------------------------------- what is no loop
def dot(s: DeviceSpelling, op: Op) -> list[str]:
    """A product of matrices or vectors."""
    x, y = [s.view(v) for v in op.ins]
    return [f"{s.name(op.outs[0], 'dot')} = np.matmul({x}, {y})"]


def reshape(s: DeviceSpelling, op: Op) -> list[str]:
    """The elements in order under another shape."""
    return [f"{s.name(op.outs[0], 'reshape')} = {s.view(op.ins[0])}.reshape({s.shape(op.outs[0])})"]


def fill(s: DeviceSpelling, op: Op) -> list[str]:
    """Zeros with parts of them filled in."""
    out, name = op.outs[0], s.name(op.outs[0], op.name)
    lines = [f"{name} = full({s.shape(out)}, 0, {dtype_text(out.dtype)})"]
    # of fills that were joined to one, the places are still parts of what each of them made
    return [*lines, *[f"{s.view(place, name)}[...] = {s.view(x)}" for x, place in zip(op.ins, op.data["places"])]]


STATEMENTS = {"dot": dot, "reshape": reshape, "fill": fill, "call": call}
