"""The source of row kernels: the threads of a warp, or of a block, share a row.

The parts of a rows group (cpu_rows.py) run one after the other on the same row. All threads of the row get the row's sums.
There are two kernels. If a row fits into the registers of its threads, each thread keeps its elements there, so that memory
is read once and written once: `x_row[q]` is the q-th of them. What a single part reads or writes, such as weights, is there
four elements at a time, and all rows consist of aligned groups of four: a processor has room for more threads if each needs
fewer registers. Other rows are read again in each part, and elements computed in one part and read in another are computed
again: their inputs are in a cache, and arithmetic costs less than memory.
"""

import ast
import re

import numpy as np

from ...arrays.dtypes import BF2
from ..fuse import FusedGroup, is_simple, loop_index, reduced
from ..ir import Op, Value
from .cpu_loops import accumulator_dtype, parse
from .cpu_rows import readers
from .gpu_loops import SLOT, GpuKernel, decoded, product
from .library_calls import picked
from .names import Spelling, cast

STEP = "cuda.gridDim.x * cuda.blockDim.y"
OWN = 16, 8, 4  # elements of a row that a thread may keep
ROOM = 128  # bytes of them in a thread's registers, which it also needs for other numbers
BLOCKS = 2  # of the most threads, that a processor must be able to run at once, which leaves a thread 64 registers
BOUND = "LAUNCH_BOUNDS = {}  # threads of a block, and blocks of a processor: the compiler limits a thread's registers"

# Neighbours read neighbours: of each 4 * blockDim.x elements of a row, a thread has four, which it moves in one instruction.
ROW_INDEX = '''\
@cuda.jit(device=True)
def row_index(q):
    """Return the index in its row of this thread's element q, a multiple of four."""
    return 4 * cuda.threadIdx.x + q * cuda.blockDim.x
'''
LOAD_FOUR = '''\
@cuda.jit(device=True)
def load_four(row, i, own, k):
    """Read elements i to i + 3 of a row, if there are any, into own[k:]."""
    if i < row.size:
        own[k], own[k + 1], own[k + 2], own[k + 3] = load4(row, i)
'''
FUNCTIONS = ROW_INDEX, LOAD_FOUR


class RowKernels:
    """The two kernels for a group of rows."""

    def __init__(self, *group: object):
        self.group = group  # the arguments of a kernel

    def write(self, name: str) -> tuple[str, list]:
        """Return the source of both kernels, and the lines that launch one of them."""
        for own in OWN:
            used = RowKernel(*self.group, own=own)
            used.lines()  # to see which rows a single part uses
            short = RowKernel(*self.group, own=own, alone=used.alone())
            lines = short.lines()
            if own * short.size() <= ROOM:
                break
        long = RowKernel(*self.group)
        again = long.lines()
        names = name, short.spelling.free(f"{name}_long")
        given = short.arguments([*lines, *again])
        texts = [kernel_text(n, given, body) for n, body in zip(names, (lines, again))]
        *sizes, width = short.spelling.extent(short.group.like())
        sized = ", ".join([product(sizes), width, str(short.own), *short.example()])
        fits = f"fits and by_four({', '.join([width, *short.memory])})"
        launch = [f"kernel = {names[0]} if {fits} else {names[1]}", f"kernel[grid, block]({', '.join(given.values())})"]
        return "\n\n\n".join(texts), [f"grid, block, fits = rows({sized})", *short.before, *launch, *short.after]


def kernel_text(name: str, given: dict, lines: list) -> str:
    """Return the source of a kernel."""
    return f"@cuda.jit\ndef {name}({', '.join(given)}):\n" + "\n".join(["    " + line for line in lines])


class RowKernel(GpuKernel):
    """One kernel for a group of rows: each thread keeps `own` elements in registers or, if that is 0, reads them again.

    Of the rows in `alone`, which a single part uses, it has four elements at a time.
    """

    slots = "grid * block[1]"

    def __init__(
        self, spelling: Spelling, group: FusedGroup, stored: set, direct: dict, own: int = 0, alone: set = frozenset()
    ):
        super().__init__(spelling, group, stored, direct)
        self.flat, self.own, self.fours = False, own, alone
        self.users: dict[tuple, set] = {}  # the parts that use a row
        self.locals: dict[Value, str] = {}  # one number for each row
        self.rows: dict[tuple, str] = {}  # rows in memory, or results -> the arrays of a thread's elements of them
        self.read: dict[str, Value] = {}  # those arrays that are read
        self.memory: dict[str, None] = {}  # arrays in memory whose rows are read or written by four
        self.makers = {o: op for part in group.parts for op in part.ops if op.kind == "map" for o in op.outs}
        self.elsewhere = {v for v, parts in readers(spelling, group).items() if parts}

    def lines(self) -> list[str]:
        """Return the lines of the kernel."""
        body = [line for part in self.group.parts for line in WRITERS[part.kind](self, part).lines()]
        *sizes, width = self.spelling.extent(self.group.like())
        row = self.live[0] if len(sizes) == 1 else "row"
        places = decoded(row, list(zip(self.live[:-1], sizes))) if len(sizes) > 1 else []
        rows = ["    " + line for line in [*places, *body]]
        if not self.own:
            return [*self.first, f"for {row} in range({SLOT}, {product(sizes)}, {STEP}):", *rows, *self.last]
        sizes_of = lambda key: 4 if key in self.fours else self.own
        arrays = [f"{name} = cuda.local.array({sizes_of(key)}, np.{key[1]})" for key, name in self.rows.items()]
        begin = [*arrays, f"{row} = {SLOT}"]
        return [*self.first, *begin, f"if {row} < {product(sizes)}:", *rows, *self.last]

    def example(self) -> list[str]:
        """Return the name of an array of the group's shape that exists before the launch, in a list, or an empty list."""
        bases = self.low.bases(self.group.ops)
        return [self.spelling.name(v) for v in self.spelling.inputs if v in bases and v.shape == self.group.shape][:1]

    def size(self) -> int:
        """Return the size in bytes of one element of all rows that are read, at least two: halves are computed as float32."""
        whole = {name for key, name in self.rows.items() if key not in self.fours}
        sizes = [max(v.dtype.itemsize, 4) for name, v in self.read.items() if name in whole]
        return max(sum(sizes), 2 * max(sizes, default=0))

    def alone(self) -> set:
        """Return the rows that a single part uses."""
        return {row for row, parts in self.users.items() if len(parts) == 1}

    def row_of(self, v: Value, row: str, part: object) -> tuple[str, bool]:
        """Return the array for a thread's elements of a row of v, which a part uses, and True if it holds four at a time."""
        key = row, "uint16" if v.dtype == BF2 else "bool_" if v.dtype.kind == "b" else v.dtype.name
        self.users.setdefault(key, set()).add(part)
        if key not in self.rows:
            name = f"{self.spelling.name(v)}_row"
            self.rows[key] = name if name not in self.rows.values() else self.spelling.free(name)
        return self.rows[key], key in self.fours


class KernelPart(GpuKernel):
    """A loop of the threads over one row, or, if `narrow`, code that each of them runs once per row."""

    slots = RowKernel.slots

    def __init__(self, kernel: RowKernel, group: FusedGroup):
        super().__init__(kernel.spelling, group, kernel.stored, kernel.direct)
        self.kernel, self.flat = kernel, False
        self.narrow = self.shape != kernel.group.shape
        self.own = 0 if self.narrow or group.kind != "loop" else kernel.own
        self.before, self.after = kernel.before, kernel.after
        self.starts_here: list[str] = []
        self.ends_here: list[str] = []
        self.reads: list[str] = []  # of four elements, before their formulas, and after them
        self.writes: list[str] = []
        self.first, self.last = kernel.first, kernel.last

    def lines(self) -> list[str]:
        """Return the code for one row."""
        self.take_operations()
        if not self.narrow and self.body:
            self.body = self.loop(self.live[-1], self.spelling.extent(self.kernel.group.like())[-1])
        return [*self.starts_here, *self.body, *self.ends_here]

    def loop(self, i: str, width: str) -> list[str]:
        """Return the loop over a thread's elements of the row."""
        if not self.own:
            return [f"for {i} in range(cuda.threadIdx.x, {width}, cuda.blockDim.x):", *["    " + b for b in self.body]]
        index = [f"{i} = first + k"] if re.search(rf"\b{i}\b", "\n".join(self.body)) else []
        each = [*self.reads, "for k in range(4):", *["    " + b for b in [*index, *self.body]], *self.writes]
        # the numbers of repetitions are constant: the compiler writes them out, and each element has its own register
        lines = ["first = row_index(q)", f"if first < {width}:", *["    " + line for line in each]]
        return [f"for q in range(0, {self.own}, 4):", *["    " + line for line in lines]]

    def access(self, name: str, at: list) -> str:
        """Return an element of an array; the thread's elements of whole rows are in registers, read before the loop."""
        if not self.own or at[-1:] != self.live[-1:] or at[-1] in at[:-1]:
            return super().access(name, at)
        v = next(v for v, n in self.spelling.names.items() if n == name)
        row = row_in(name, at)
        own, by_four = self.kernel.row_of(v, row, self)
        if own not in self.kernel.read:
            self.kernel.read[own] = v
            self.kernel.memory[name] = None
            if by_four:
                self.reads.append(f"load_four({row}, first, {own}, 0)")
            else:
                self.starts_here += [
                    f"for q in range(0, {self.own}, 4):",
                    f"    load_four({row}, row_index(q), {own}, q)",
                ]
        return own_element(own, by_four)

    def operand(self, a: object, kind, op: Op) -> ast.expr:
        """Return an operand: the row's numbers are in variables, elements of other parts in registers or computed again."""
        base = self.low.base(a) if isinstance(a, Value) else None
        if base in self.kernel.locals:
            return parse(cast(self.kernel.locals[base], base.dtype, kind))
        if base in self.kernel.makers and base not in self.texts:
            if self.own and self.is_kept(base):
                own, by_four = self.kernel.row_of(base, self.spelling.name(base), self)
                self.kernel.read[own] = base
                return parse(cast(own_element(own, by_four), base.dtype, kind))
            maker = self.kernel.makers[base]
            self.spelling.name(base, maker.name)
            self.variable(base, self.formula(maker))
        return super().operand(a, kind, op)

    def map(self, op: Op) -> None:
        """Write a formula, unless that is done already, or its readers compute it again."""
        out = op.outs[0]
        if out not in self.texts and (self.narrow or self.uses[out] or self.is_kept(out)):
            super().map(op)

    def is_kept(self, out: Value) -> bool:
        """Return True if a result is in memory, or is read by other parts, and not computed again there."""
        kept = self.narrow or self.own and not is_simple(self.kernel.makers[out])
        return super().is_kept(out) or kept and out in self.kernel.elsewhere

    def is_number(self, out: Value) -> bool:
        return self.narrow

    def keep(self, out: Value, text: str) -> None:
        """Store an element of a result in memory; a number of the row stays in its variable, in all threads."""
        if self.narrow:
            self.kernel.locals[out] = text
        if not self.own:
            super().keep(out, text)
        elif self.is_kept(out):
            name, at = self.spelling.name(out), loop_index(out.shape)
            own, by_four = self.kernel.row_of(out, name, self)
            element = own_element(own, by_four)
            self.body.append(f"{element} = {text}")
            if out in self.stored:
                self.allocate(out)
                if at[-1] != self.live[-1]:  # the last dimension of memory has the size 1
                    self.body.append(f"{name}[{', '.join(at)}] = {element}")
                else:
                    self.kernel.memory[name] = None
                    four = ", ".join([own_element(own, by_four, str(k)) for k in range(4)])
                    self.writes.append(f"store4({row_in(name, at)}, first, ({four}))")

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
            name, wide = self.running(op, self.starts_here, self.body), accumulator_dtype(op)
            total = f"block_{op.name}_{wide.name}({cast(f'{name}_running', self.summed_in(op), wide)})"
            self.ends_here.append(f"{name}_i = {cast(total, wide, out.dtype)}")
            self.kernel.locals[out] = f"{name}_i"
            if out in self.stored:
                self.allocate(out)
                self.ends_here += ["if cuda.threadIdx.x == 0:", f"    {name}[{self.place(op)}] = {name}_i"]
            return
        super().reduce(op)
        if self.narrow:
            self.body[-1:] = ["if cuda.threadIdx.x == 0:", f"    {self.body[-1]}"]

    def summed_in(self, op: Op) -> np.dtype:
        """Return the dtype of a thread's running number: of its few registers the sum is in their dtype, which is faster."""
        return op.outs[0].dtype if self.own and not self.narrow else super().summed_in(op)

    def combined(self, op: Op, running: str) -> list[str]:
        """Return nothing for a sum of the rows' numbers: one thread has it."""
        return [] if self.narrow else super().combined(op, running)


def own_element(own: str, by_four: bool, k: str = "k") -> str:
    """Return element k of four of a thread's array, which holds four at a time, or all of the thread's elements of a row."""
    return f"{own}[{k}]" if by_four else f"{own}[q + {k}]"


def row_in(name: str, at: list) -> str:
    """Return the expression of the row of an array that has the element `at`."""
    return f"{name}[{', '.join(at[:-1])}]" if len(at) > 1 else name


class KernelPick(KernelPart):
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


WRITERS = {"loop": KernelPart, "pick": KernelPick}
