"""The text of a rows group: all that is computed from a row, one row after the other, while it lies in the nearest memory.

Each part of the group is a loop over one row, or what is computed once for each.  What only other parts read is kept for one
row: in a variable, or in a buffer `name_row`.  Sums run in lanes (`row_sum`), as maxima do (`higher`), so that the compiler
can use vector instructions everywhere.
"""

from __future__ import annotations

import ast

import numpy as np

from ..fuse import Group, extent, loop_index, reduced
from ..ir import Op, V
from .cpu_loops import Loop, nested, parse, running_lines
from .library_calls import added, picked
from .names import Spelling, cast

ROW_SUM = '''\
@njit(nogil=True, fastmath={"reassoc", "nsz"})
def row_sum(row):
    """The sum of a row: 512 terms at a time in any order, their sums in float64."""
    total = 0.0
    for start in range(0, row.size, 512):
        some, part = row[start : start + 512], row.dtype.type(0)
        for i in range(some.size):
            part += some[i]
        total += part
    return row.dtype.type(total)
'''


class Rows:
    """One rows group."""

    def __init__(self, spelling: Spelling, group: Group, stored: set, direct: dict):
        self.spelling, self.group, self.stored, self.direct = spelling, group, stored, direct
        self.before: list[str] = []
        self.after: list[str] = []
        self.locals: dict[V, str] = {}  # one number for each row
        self.buffers: dict[V, str] = {}  # a row of numbers
        self.elsewhere = read_elsewhere(spelling, group)

    def lines(self) -> list[str]:
        """The loop over the rows, with all around it."""
        body = [line for part in self.group.parts for line in WRITERS[part.kind](self, part).lines()]
        return [*self.before, *nested(self.counters(), body), *self.after]

    def counters(self) -> list:
        """The variables of the loops over rows, and how far they count."""
        return list(zip(loop_index(self.group.shape), self.spelling.extent(self.group.like())[:-1]))

    def buffer(self, name: str, like: V, dtype: np.dtype) -> str:
        """Memory for one row."""
        self.before.append(f"{name} = np.empty({self.spelling.extent(like)[-1]}, np.{dtype.name})")
        return name


def read_elsewhere(spelling: Spelling, group: Group) -> set:
    """Return the values that are read in another part of a group than the one that computes them."""
    made = {o: k for k, part in enumerate(group.parts) for op in part.ops for o in op.outs}
    read = [(v, k) for k, part in enumerate(group.parts) for v in spelling.low.bases(part.ops)]
    return {v for v, k in read if made.get(v, k) != k}


class Part(Loop):
    """A loop over one row, or, where `narrow`, what is computed once for a row."""

    def __init__(self, rows: Rows, group: Group):
        super().__init__(rows.spelling, group, rows.stored, rows.direct)
        self.rows, self.flat = rows, False
        self.narrow = self.shape != rows.group.shape
        self.before, self.after = rows.before, rows.after
        self.first: list[str] = []  # lines before the loop over the row, and behind it
        self.last: list[str] = []

    def lines(self) -> list[str]:
        """The lines for one row."""
        self.take_operations()
        counters = [] if self.narrow else [(self.live[-1], self.spelling.extent(self.rows.group.like())[-1])]
        return [*self.first, *(nested(counters, self.body) if self.body else []), *self.last]

    def operand(self, a: object, kind: np.dtype, op: Op) -> ast.expr:
        """What an operation reads: other parts' results from where they are kept for this row."""
        base = self.low.base(a) if isinstance(a, V) else None
        if base in self.rows.locals:
            return parse(cast(self.rows.locals[base], base.dtype, kind))
        if base in self.rows.buffers and base not in self.texts:
            return parse(cast(f"{self.rows.buffers[base]}[{self.live[-1]}]", base.dtype, kind))
        return super().operand(a, kind, op)

    # ------------------------------------------------------------------ operations
    def is_kept(self, out: V) -> bool:
        return super().is_kept(out) or out in self.rows.elsewhere

    def is_number(self, out: V) -> bool:
        return self.narrow

    def keep(self, out: V, text: str) -> None:
        """Put an element of a map's result into a variable, which it is in already, into memory or into a buffer."""
        name = self.spelling.name(out)
        if self.narrow:
            self.rows.locals[out] = text
        if out in self.stored:
            super().keep(out, text)
        elif out in self.rows.elsewhere and not self.narrow:
            self.rows.buffers[out] = self.rows.buffer(f"{name}_row", out, out.dtype)
            self.body.append(f"{name}_row[{self.live[-1]}] = {text}")

    def reduce(self, op: Op) -> None:
        """Of this row, of all rows (a running array), or of everything (a running number)."""
        x, dims = op.ins[0], reduced(op)
        if not self.narrow and dims == [len(self.live) - 1]:
            self.of_row(op)
            return
        term = ast.unparse(self.operand(x, x.dtype, op))
        self.spelling.name(op.outs[0], op.name)
        if len(dims) == len(self.live):
            self.running_number(op, term, self.before, self.after)
        else:
            self.running_array(op, term)

    def of_row(self, op: Op) -> None:
        """A number for each row."""
        x, out, name = op.ins[0], op.outs[0], self.spelling.name(op.outs[0], op.name)
        if op.name == "sum" and x.dtype.kind == "f":
            self.last.append(f"{name}_i = row_sum({self.row_of(x, op, name)})")
        else:
            term = ast.unparse(self.operand(x, x.dtype, op))
            first, more, total = running_lines(op, name, f"{name}_i", term)
            self.first.append(first)
            self.body.append(more)
            self.last += [f"{name}_i = {total}"] if total != f"{name}_i" else []
        self.rows.locals[out] = f"{name}_i"
        if out in self.stored:
            self.allocate(out)
            self.last.append(f"{name}[{self.place(op)}] = {name}_i")

    def row_of(self, x: V, op: Op, name: str) -> str:
        """x's row as an array: where it lies already, or a buffer that is filled for the purpose."""
        base, at = self.low.resolve(x, loop_index(x.shape))
        term = ast.unparse(self.operand(x, x.dtype, op))
        if base in self.rows.buffers:
            return self.rows.buffers[base]
        lies = base in self.stored or base.kind in ("input", "constant")
        whole = extent(base.shape) == self.shape and at == loop_index(base.shape) and base.shape[-1] != 1
        if lies and whole and base.layout == "C" and base.dtype == x.dtype:
            return f"{self.spelling.name(base)}[{', '.join(at[:-1])}]"
        buffer = self.rows.buffer(f"{name}_row", x, x.dtype)
        self.body.append(f"{buffer}[{self.live[-1]}] = {term}")
        return buffer


class Pick(Part):
    """The negative of each row's element at its class."""

    def lines(self) -> list[str]:
        (op,), s, rows = self.group.ops, self.spelling, self.rows
        (x, target), out = op.ins, op.outs[0]
        row, name, base = loop_index(target.shape), s.name(out, "loss"), s.low.base(x)
        element = f"{rows.buffers[base]}[k]" if base in rows.buffers else s.at(x, [*row, "k"])
        rows.locals[out] = f"{name}_i"
        lines = picked(s, op, s.at(target, row), element)
        if out in self.stored:
            self.allocate(out)
            lines.append(f"{name}[{', '.join(row)}] = {name}_i")
        return lines


class AddAtClass(Part):
    """A number added to each row's element at its class, in the memory of what it is added to."""

    def lines(self) -> list[str]:
        (op,), s, known = self.group.ops, self.spelling, self.rows.locals
        _, places, src = op.ins
        at = [*loop_index(places.shape)[:-1], "0"]
        return added(s, op, at, *[known.get(s.low.base(v)) or s.at(v, at) for v in (places, src)])


WRITERS = {"loop": Part, "pick": Pick, "scatter": AddAtClass}
