"""The source of GPU kernels: a loop of the program in which each thread computes some elements.

Loops and formulas come from cpu_loops.py; only the work is divided differently. `Elements` gives each thread one element after
another, `Columns` one sum after another. A sum over many threads has parts, one for each thread or block, and a second kernel
adds them up (kernels/cuda/two_step_reductions.py). Each writer returns the kernel's source and the lines that launch it.
"""

import ast
import re
from typing import Any

import numpy as np

from ...arrays.dtypes import BF2
from ...kernels.cuda import flat
from ..fuse import FusedGroup, loop_index, reduced
from ..ir import Op, Value
from .cpu_loops import FusedLoop, accumulator_dtype, start
from .library_calls import followed, picked
from .names import Spelling, cast, grouped

SIZE = r"\b(\w+)\.(?:size|shape\[0\])"  # of flat memory
SLOT = "cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y"  # the part for this row of threads


class GpuKernel(FusedLoop):
    """One kernel; `before` and `after` are the lines around its launch, `first` and `last` those around its loop."""

    slots = "grid"  # number of rows of threads; each has one part of a sum

    def finished(self, name: str, lines: list, shape: list) -> tuple[str, list]:
        """Return the kernel for some lines, and its launch; `shape` are the lines that set `grid` and `block`."""
        given = self.arguments(lines)
        head = f"@cuda.jit\ndef {name}({', '.join(given)}):\n"
        launch = f"{name}[grid, block]({', '.join(given.values())})"
        return head + "\n".join(["    " + line for line in lines]), [*shape, *self.before, launch, *self.after]

    def arguments(self, lines: list) -> dict[str, str]:
        """Return the arrays and numbers that the lines mention, each with the launch's expression for it."""
        bits = {n: f"{n}.view(np.uint16)" for v, n in self.spelling.names.items() if v.dtype == BF2}
        flat = {short: f"{bits.get(n, n)}.reshape({n}.size)" for n, short in self.flats.items()}
        given = {**bits, **flat, "outside": "outside.cells"}
        known = {*self.spelling.names.values(), *self.spelling.numbers.values()}
        found = dict.fromkeys(re.findall(r"(?<![.\w])[A-Za-z_]\w*", re.sub(r"#.*", "", "\n".join(lines))))
        return {n: given.get(n, n) for n in found if n in given or n in known or n.endswith("_parts")}

    # ------------------------------------------------------------------ operations
    def read_before(self, base: Value, element: str) -> str:
        return element  # threads read it from the fastest cache

    def is_number(self, out: Value) -> bool:
        return False

    def keep(self, out: Value, text: str) -> None:
        if out in self.stored:
            self.allocate(out)
            self.store(self.access(self.spelling.name(out), loop_index(out.shape) or ["0"]), text)

    def store(self, element: str, text: str) -> None:
        """Write an element of a result."""
        self.body.append(f"{element} = {text}")

    def reduce(self, op: Op) -> None:
        """Reduce in a running number per thread; at the end, each block combines them and stores the result as a part."""
        name = self.running(op, self.first, self.body)
        self.last += [
            *self.combined(op, f"{name}_running"),
            "if cuda.threadIdx.x == 0:",
            f"    {name}_parts[{SLOT}] = {name}_running",
        ]
        self.parts(op, self.slots, "1")

    def combined(self, op: Op, running: str) -> list[str]:
        """Return the line that combines the running numbers of a row of threads."""
        return [f"{running} = block_{op.name}_{accumulator_dtype(op).name}({running})"]

    def running(self, op: Op, first: list, body: list) -> str:
        """Write the start and the step of a running number; return the result's name."""
        x, wide = op.ins[0], self.summed_in(op)
        name, term = self.spelling.name(op.outs[0], op.name), ast.unparse(self.operand(x, x.dtype, op))
        first.append(f"{name}_running = {start(op, wide)}")
        body.append(f"{name}_running = {more(op, f'{name}_running', cast(term, x.dtype, wide))}")
        return name

    def summed_in(self, op: Op) -> np.dtype:
        """Return the dtype of a thread's running number."""
        return accumulator_dtype(op)

    def parts(self, op: Op, count: str, size: str) -> None:
        """Allocate memory for the parts of a result, and combine them after the kernel."""
        out, name, wide = op.outs[0], self.spelling.name(op.outs[0]), accumulator_dtype(op)
        dtype = f"np.{out.dtype.name}"
        self.before.append(f"{name}_parts = parts({count}, {size}, {dtype}, np.{wide.name})")
        self.after.append(f'{name} = joined("{op.name}", {name}_parts, {self.spelling.shape(out)}, {dtype})')


class Elements(GpuKernel):
    """One element per thread, then the element one grid further on, so that neighbours access neighbours."""

    def write(self, name: str) -> tuple[str, list]:
        self.take_operations()
        size = product(self.spelling.extent(self.group.like()))
        if self.flat and not self.first:
            return self.by_four(name, size)
        lines = [*self.first, *counted(self.counters(), self.body), *self.last]
        return self.finished(name, lines, [f"grid, block = threads({size})"])

    def by_four(self, name: str, size: str) -> tuple[str, list]:
        """Write the kernel over flat memory, without sums: its body is a function of one element (kernels/cuda/flat.py)."""
        given, lines, results = self.arguments(self.body), [], {}
        for line in self.body:
            array, assigns, text = line.partition("[i] = ")
            if assigns:
                results[array] = text
            else:
                lines.append(line)
        texts = "\n".join([*lines, *results.values()])
        read = set(re.findall(r"(\w+)\[i\]", texts))
        parameters = {n: ("{}", n) if n in read else (n, "") for n in given if re.search(rf"\b{n}\b", texts)}
        # an element does not know the size of its array
        sizes = {n: self.spelling.free(f"{n}_size") for n in sorted(read) if re.search(rf"\b{n}\.", texts)}
        parameters |= {short: (f"{n}.size", "") for n, short in sizes.items()}
        of_one = lambda text: re.sub(SIZE, lambda m: sizes.get(m[1], m[0]), text.replace("[i]", ""))
        lines, made = [of_one(line) for line in lines], {array: of_one(text) for array, text in results.items()}
        launch = f"{name}[grid, block]({', '.join(given.values())})"
        text = flat.text(name, list(given), parameters, lines, made).rstrip()
        return text, [f"grid, block = threads(-(-{size} // 4))", *self.before, launch, *self.after]


class Columns(GpuKernel):
    """Sums over outer or scattered dimensions: one thread per sum, so that neighbours read neighbours.

    If there are few sums of many terms, several threads share one, each with a part of the terms.
    """

    def __init__(self, spelling: Spelling, group: FusedGroup, stored: set, direct: dict):
        super().__init__(spelling, group, stored, direct)
        self.flat = False
        over = reduced(next(op for op in group.ops if op.kind == "reduce"))
        loops = spelling.loops(group.like())
        self.kept = [loop for k, loop in enumerate(loops) if k not in over]
        self.over = [loop for k, loop in enumerate(loops) if k in over]
        self.size = product([n for _, n in self.kept])
        self.results: list[str] = []

    def reduce(self, op: Op) -> None:
        name = self.running(op, self.first, self.body)
        self.parts(op, "count", self.size)
        self.results.append(name)

    def write(self, name: str) -> tuple[str, list]:
        self.take_operations()
        first = f"{self.results[0]}_parts"
        terms = product([n for _, n in self.over])
        body = [
            *decoded("i", self.kept, outermost="part"),
            *self.first,
            f"for term in range(part, {terms}, {first}.size // ({self.size})):",
            *["    " + line for line in [*decoded("term", self.over), *self.body]],
            *[f"{n}_parts[i] = {n}_running" for n in self.results],
        ]
        launch = [f"count = shares({self.size}, {terms})", f"grid, block = threads(count * {self.size})"]
        return self.finished(name, ranged("i", f"{first}.size", body), launch)


class Picks(GpuKernel):
    """The negative of each row's element at its class; NaN for an invalid class, which is reported in `outside`."""

    def write(self, name: str) -> tuple[str, list]:
        (op,), s = self.group.ops, self.spelling
        (x, target), out = op.ins, op.outs[0]
        index = loop_index(target.shape)
        self.before.append(f"{s.name(out, 'loss')} = {s.empty(out)}")
        body = [
            *picked(s, op, s.at(target, index), s.at(x, [*index, "k"])),
            f"{s.name(out)}[{', '.join(index) or '0'}] = {s.name(out)}_i",
        ]
        return of_each(self, name, target, body)


class Adds(GpuKernel):
    """Numbers added at places of each row; two may hit the same place, so the additions are atomic."""

    def write(self, name: str) -> tuple[str, list]:
        (op,), s = self.group.ops, self.spelling
        x, places, src = op.ins
        out = s.name(op.outs[0], "scatter")
        index = loop_index(places.shape)
        if not op.data["inside"]:
            self.before.append(f"{out} = {s.copied(x)}")
        add = f"cuda.atomic.add({out}, ({', '.join([*index[:-1], 'k'])}), {s.at(src, index)})"
        return of_each(self, name, places, [f"k = {s.at(places, index)}", *followed(s, op, [add])])


def of_each(kernel: GpuKernel, name: str, v: Value, body: list) -> tuple[str, list]:
    """Return a kernel that runs some lines for each element of v."""
    size = product(kernel.spelling.extent(v))
    return kernel.finished(name, counted(kernel.spelling.loops(v), body), [f"grid, block = threads({size})"])


# ---------------------------------------------------------------------- lines
def ranged(i: str, size: str, body: list) -> list[str]:
    """Return a thread's loop over its elements."""
    return [f"for {i} in range(cuda.grid(1), {size}, cuda.gridsize(1)):", *["    " + line for line in body]]


def counted(counters: list, body: list) -> list[str]:
    """Return a thread's loop over elements of several dimensions, whose indices are computed from the element's number."""
    if len(counters) == 1:
        return ranged(*counters[0], body)
    return ranged("i", product([n for _, n in counters]), [*decoded("i", counters), *body])


def decoded(number: str, counters: list, outermost: str = "") -> list[str]:
    """Return lines that split an element's number into indices; `outermost`, if given, receives the rest."""
    counters = [*([(outermost, "")] if outermost else []), *counters]
    if len(counters) < 2:
        return [f"{i} = {number}" for i, _ in counters]
    lines, rest = [], number
    for i, n in counters[:0:-1]:
        lines += [f"{i} = {rest} % {grouped(n)}", f"rest = {rest} // {grouped(n)}"]
        rest = "rest"
    return [*lines, f"{counters[0][0]} = rest"]


def product(sizes: list) -> str:
    """Return the number of elements as source text."""
    return " * ".join(sizes) or "1"


def more(op: Op, running: str, term: Any) -> str:
    """Return the expression that adds a term to a reduction."""
    return (
        f"higher_{accumulator_dtype(op).name}({running}, {term})"
        if op.name == "max"
        else f"{running} + {grouped(term)}"
    )
