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
from .cpu_loops import Loop, close_peak, nested, open_peak, parse, peak, plus, start, wider
from .names import Spelling, cast, grouped

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
        self.elsewhere: set[V] = set()  # what is read in another part than its own
        made = {o: k for k, part in enumerate(group.parts) for op in part.ops for o in op.outs}
        for k, part in enumerate(group.parts):
            read = [spelling.low.base(v) for op in part.ops for v in op.ins if isinstance(v, V)]
            self.elsewhere.update([v for v in read if made.get(v, k) != k])

    def lines(self) -> list[str]:
        """The loop over the rows, with all around it."""
        body = [line for part in self.group.parts for line in WRITERS[part.kind](self, part).lines()]
        return [*self.before, *nested(self.counters(), body), *self.after]

    def counters(self) -> list:
        """The variables of the loops over rows, and how far they count."""
        return list(zip(loop_index(self.group.shape), self.spelling.extent(self.group.like())[:-1]))

    def allocate(self, v: V) -> None:
        """Memory for a whole value."""
        if v not in self.direct.values():
            self.before.append(f"{self.spelling.name(v)} = {self.spelling.memory(v)}")

    def buffer(self, name: str, like: V, dtype: np.dtype) -> str:
        """Memory for one row."""
        self.before.append(f"{name} = np.empty({self.spelling.extent(like)[-1]}, np.{dtype.name})")
        return name


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
        for op in self.group.ops:
            self.map(op) if op.kind == "map" else self.reduce(op)
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
    def map(self, op: Op) -> None:
        """One formula, in a variable, in the formula that reads it, in a buffer or in memory."""
        out = op.outs[0]
        made = self.formula(op)
        shared = out in self.rows.elsewhere or out in self.stored
        if self.uses.get(out, 0) == 1 and not out.name and not shared:
            self.texts[out] = parse(made)
            return
        name = self.spelling.name(out, op.name)
        if self.uses.get(out, 0) or self.narrow:
            self.body.append(f"{name}_i = {made}")
            self.texts[out], made = parse(f"{name}_i"), f"{name}_i"
        if self.narrow:
            self.rows.locals[out] = f"{name}_i"
        if out in self.stored:
            self.rows.allocate(out)
            self.body.append(f"{name}[{', '.join(loop_index(out.shape))}] = {made}")
        elif shared and not self.narrow:
            self.rows.buffers[out] = self.rows.buffer(f"{name}_row", out, out.dtype)
            self.body.append(f"{name}_row[{self.live[-1]}] = {made}")

    def reduce(self, op: Op) -> None:
        """Of this row, of all rows (a running array), or of everything (a running number)."""
        x, dims = op.ins[0], reduced(op)
        if not self.narrow and dims == [len(self.live) - 1]:
            self.of_row(op)
            return
        term = ast.unparse(self.operand(x, x.dtype, op))
        self.spelling.name(op.outs[0], op.name)
        if len(dims) == len(self.live):
            self.of_all(op, term)
        else:
            self.running_array(op, self.place(op), term)

    def of_row(self, op: Op) -> None:
        """A number for each row."""
        x, out, name = op.ins[0], op.outs[0], self.spelling.name(op.outs[0], op.name)
        if op.name == "sum" and x.dtype.kind == "f":
            self.last.append(f"{name}_i = row_sum({self.row_of(x, op, name)})")
        else:
            term, running = ast.unparse(self.operand(x, x.dtype, op)), f"{name}_i"
            if op.name == "max":
                running = open_peak(self.first, name, x.dtype)
                self.body += peak(running, term, x.dtype)
                self.last += close_peak(f"{name}_i", running, x.dtype)
            else:
                self.first.append(f"{running} = {start(op)}")
                self.body.append(f"{running} = {running} + {grouped(term)}")
        self.rows.locals[out] = f"{name}_i"
        if out in self.stored:
            self.rows.allocate(out)
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

    def of_all(self, op: Op, term: str) -> None:
        """One number over all rows."""
        x, out, name, wide = op.ins[0], op.outs[0], self.spelling.name(op.outs[0], op.name), wider(op)
        running = f"{name}_sum"
        if op.name == "max":
            running = open_peak(self.before, name, x.dtype)
            self.body += peak(running, term, x.dtype)
            close, text = close_peak(f"{name}_sum", running, x.dtype), f"{name}_sum"
        else:
            self.before.append(f"{running} = {start(op)}")
            self.body.append(f"{running} = {plus(running, term, x.dtype, wide)}")
            close, text = [], cast(running, wide, out.dtype)
        self.after += close
        self.keep(out, f"{name}[{', '.join('0' for _ in out.shape)}]", text, self.after)


class Pick:
    """The negative of each row's element at its class."""

    def __init__(self, rows: Rows, group: Group):
        self.rows, self.op = rows, group.ops[0]

    def lines(self) -> list[str]:
        """The lines for one row."""
        s, rows, (x, target) = self.rows.spelling, self.rows, self.op.ins
        row, out = loop_index(target.shape), self.op.outs[0]
        name, base = s.name(out, "loss"), s.low.base(x)
        element = f"{rows.buffers[base]}[k]" if base in rows.buffers else s.at(x, [*row, "k"])
        rows.locals[out] = f"{name}_i"
        lines = [
            f"k, {name}_i = {s.at(target, row)}, np.{out.dtype.name}(0)",
            f"if k != {self.op.data['ignore']}:",
            f"    if k < 0 or k >= {s.sizes(x)[-1]}:",
            '        raise IndexError("class out of bounds")',
            f"    {name}_i = -{element}",
        ]
        if out in rows.stored:
            rows.allocate(out)
            lines.append(f"{name}[{', '.join(row)}] = {name}_i")
        return lines


class AddAtClass:
    """A number added to each row's element at its class, in the memory of what it is added to."""

    def __init__(self, rows: Rows, group: Group):
        self.rows, self.op = rows, group.ops[0]

    def lines(self) -> list[str]:
        """The lines for one row."""
        s, (_, places, src) = self.rows.spelling, self.op.ins
        row, name = loop_index(places.shape)[:-1], self.rows.spelling.name(self.op.outs[0])
        base = s.low.base(src)
        given = self.rows.locals.get(base) or s.at(src, [*row, "0"])
        at = self.rows.locals.get(s.low.base(places)) or s.at(places, [*row, "0"])
        return [
            f"k = {at}",
            f"if k < 0 or k >= {s.sizes(self.op.outs[0])[-1]}:",
            '    raise IndexError("index out of bounds")',
            f"{name}[{', '.join([*row, 'k'])}] += {given}",
        ]


WRITERS = {"loop": Part, "pick": Pick, "scatter": AddAtClass}
