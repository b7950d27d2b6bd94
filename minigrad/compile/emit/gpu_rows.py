"""The source of a row kernel: the threads of a warp, or of a block, share a row, then move on to another one.

The parts of a rows group (cpu_rows.py) run one after the other on the same row. All threads of the row get the row's sums. An
element computed in one part and read in another is computed again: its inputs are in the fastest cache, and arithmetic costs
less than access to slower memory.
"""

from __future__ import annotations

import ast

from ..fuse import Group, loop_index, reduced
from ..ir import Op, V
from .cpu_loops import parse, wider
from .cpu_rows import readers
from .gpu_loops import SLOT, Kernel, decoded, product
from .library_calls import picked
from .names import Spelling, cast

STEP = "cuda.gridDim.x * cuda.blockDim.y"


class RowKernel(Kernel):
    """One kernel for a group of rows."""

    slots = "grid * block[1]"

    def __init__(self, spelling: Spelling, group: Group, stored: set, direct: dict):
        super().__init__(spelling, group, stored, direct)
        self.flat = False
        self.locals: dict[V, str] = {}  # one number for each row
        self.makers = {o: op for part in group.parts for op in part.ops if op.kind == "map" for o in op.outs}
        self.elsewhere = {v for v, parts in readers(spelling, group).items() if parts}

    def write(self, name: str) -> tuple[str, list]:
        body = [line for part in self.group.parts for line in WRITERS[part.kind](self, part).lines()]
        *sizes, width = self.spelling.extent(self.group.like())
        row = self.live[0] if len(sizes) == 1 else "row"
        head = f"for {row} in range({SLOT}, {product(sizes)}, {STEP}):"
        places = decoded(row, list(zip(self.live[:-1], sizes))) if len(sizes) > 1 else []
        rows = ["    " + line for line in [*places, *body]]
        shape = [f"grid, block = rows({', '.join([product(sizes), width, *self.example()])})"]
        return self.finished(name, [*self.first, head, *rows, *self.last], shape)

    def example(self) -> list[str]:
        """Return the name of an array of the group's shape that exists before the launch, in a list, or an empty list."""
        bases = self.low.bases(self.group.ops)
        return [self.spelling.name(v) for v in self.spelling.inputs if v in bases and v.shape == self.group.shape][:1]


class Part(Kernel):
    """A loop of the threads over one row, or, if `narrow`, code that each of them runs once per row."""

    slots = RowKernel.slots

    def __init__(self, kernel: RowKernel, group: Group):
        super().__init__(kernel.spelling, group, kernel.stored, kernel.direct)
        self.kernel, self.flat = kernel, False
        self.narrow = self.shape != kernel.group.shape
        self.before, self.after = kernel.before, kernel.after
        self.starts_here: list[str] = []
        self.ends_here: list[str] = []
        self.first, self.last = kernel.first, kernel.last

    def lines(self) -> list[str]:
        """Return the code for one row."""
        self.take_operations()
        if not self.narrow and self.body:
            width = self.spelling.extent(self.kernel.group.like())[-1]
            loop = f"for {self.live[-1]} in range(cuda.threadIdx.x, {width}, cuda.blockDim.x):"
            self.body = [loop, *["    " + line for line in self.body]]
        return [*self.starts_here, *self.body, *self.ends_here]

    def operand(self, a: object, kind, op: Op) -> ast.expr:
        """Return an operand: the row's numbers are in variables, elements of other parts are computed again."""
        base = self.low.base(a) if isinstance(a, V) else None
        if base in self.kernel.locals:
            return parse(cast(self.kernel.locals[base], base.dtype, kind))
        if base in self.kernel.makers and base not in self.texts:
            maker = self.kernel.makers[base]
            self.spelling.name(base, maker.name)
            self.variable(base, self.formula(maker))
        return super().operand(a, kind, op)

    def map(self, op: Op) -> None:
        """Write a formula, unless that is done already, or its readers compute it again."""
        out = op.outs[0]
        if out not in self.texts and (self.narrow or self.uses[out] or out in self.stored):
            super().map(op)

    def is_kept(self, out: V) -> bool:
        return super().is_kept(out) or self.narrow and out in self.kernel.elsewhere

    def is_number(self, out: V) -> bool:
        return self.narrow

    def keep(self, out: V, text: str) -> None:
        """Store an element of a result in memory; a number of the row stays in its variable, in all threads."""
        if self.narrow:
            self.kernel.locals[out] = text
        super().keep(out, text)

    def store(self, element: str, text: str) -> None:
        """Write an element of a result; one thread writes the row's numbers."""
        if self.narrow:
            self.body += ["if cuda.threadIdx.x == 0:", f"    {element} = {text}"]
        else:
            super().store(element, text)

    def reduce(self, op: Op) -> None:
        """Write a reduction of this row, by all of its threads, or of everything, as a running number per thread."""
        out = op.outs[0]
        if not self.narrow and reduced(op) == [len(self.live) - 1]:
            name = self.running(op, self.starts_here, self.body)
            total = f"block_{op.name}_{wider(op).name}({name}_running)"
            self.ends_here.append(f"{name}_i = {cast(total, wider(op), out.dtype)}")
            self.kernel.locals[out] = f"{name}_i"
            if out in self.stored:
                self.allocate(out)
                self.ends_here += ["if cuda.threadIdx.x == 0:", f"    {name}[{self.place(op)}] = {name}_i"]
            return
        super().reduce(op)
        if self.narrow:
            self.body[-1:] = ["if cuda.threadIdx.x == 0:", f"    {self.body[-1]}"]


class Pick(Part):
    """The negative of each row's element at its class, computed by every thread."""

    def lines(self) -> list[str]:
        (op,), s = self.group.ops, self.spelling
        (x, target), out = op.ins, op.outs[0]
        row, base = loop_index(target.shape), s.low.base(x)
        name, inside, element = s.name(out, "loss"), [], ""
        if base in self.kernel.makers:
            s.name(base, self.kernel.makers[base].name)
            self.body.append(f"{self.kernel.live[-1]} = k")
            element = self.variable(base, self.formula(self.kernel.makers[base]))
            inside = self.body
        else:
            element = s.at(x, [*row, "k"])
        lines = picked(s, op, s.at(target, row), element, tuple(inside))
        self.kernel.locals[out] = f"{name}_i"
        if out in self.stored:
            self.allocate(out)
            lines += ["if cuda.threadIdx.x == 0:", f"    {name}[{', '.join(row)}] = {name}_i"]
        return lines


WRITERS = {"loop": Part, "pick": Pick}
