"""The source of a rows group: everything computed from a line, line after line, while the line is in the fastest cache.

A line is a row, or a table of columns. Each part of the group is a loop over the line, or code that runs once per line. A
value read only by other parts is stored for one line, in a variable or a buffer `name_row`, or is computed again. Sums run in
lanes (`row_sum`, `plus`), and so do maxima (`higher`), so that the compiler can use vector instructions everywhere.
"""

import ast

import numpy as np

from ..fuse import FusedGroup, element_read, extent, is_simple, loop_index, of_line, reduced
from ..ir import F4, Op, Value
from .cpu_loops import FusedLoop, accumulator_dtype, more_lines, nested, parse, running_lines, start
from .library_calls import at_class, followed, picked, whole
from .names import Spelling, cast, grouped

ROW_SUM = '''\
@njit(nogil=True, fastmath={"reassoc", "nsz"})
def row_sum(row):
    """Return the sum of a row: 512 terms at a time in any order, their sums in float64."""
    total = 0.0
    for start in range(0, row.size, 512):
        some, part = row[start : start + 512], row.dtype.type(0)
        for i in range(some.size):
            part += some[i]
        total += part
    return row.dtype.type(total)
'''


class RowLoops:
    """A rows group, or a single pick or scatter. Its lines are the dimensions after the first `lead`."""

    def __init__(self, spelling: Spelling, group: FusedGroup, stored: set, direct: dict):
        self.spelling, self.group, self.stored, self.direct = spelling, group, stored, direct
        self.before: list[str] = []
        self.after: list[str] = []
        self.locals: dict[Value, str] = {}  # values with one number per line
        self.buffers: dict[Value, str] = {}  # values with more than one
        self.flats: set[str] = set()  # arrays and buffers whose line also exists as a flat array
        self.makers: dict[Value, Op] = {}  # values that are computed again where they are read
        self.readers = readers(spelling, group)
        self.elsewhere = {v for v, parts in self.readers.items() if parts}

    def lines(self) -> list[str]:
        """Return the loop over the lines, with the code before and after it."""
        body = [line for part in self.group.parts or [self.group] for line in WRITERS[part.kind](self, part).lines()]
        return [*self.before, *nested(self.counters(), body), *self.after]

    def counters(self) -> list:
        """Return the variables of the loops over lines, with their bounds."""
        sizes = self.spelling.counters(self.group.like())[: self.group.lead] if self.group.lead else []
        return list(zip(loop_index(self.group.shape), sizes))

    def buffer(self, out: Value) -> str:
        """Allocate memory for one line of a value, and return its name."""
        name, sizes = f"{self.spelling.name(out)}_row", self.spelling.extent(out)[self.group.lead :]
        self.before.append(f"{name} = empty({grouped_sizes(sizes)}, np.{out.dtype.name})")
        self.buffers[out] = name
        return name

    def element(self, base: Value, at: list) -> str:
        """Return an element of the current line, from its variable or buffer, or from memory."""
        if base in self.locals:
            return self.locals[base]
        if base not in self.buffers:
            return self.spelling.element(base, at)
        index = [i for i, n in zip(at, base.shape) if n != 1][self.group.lead :]
        return f"{self.buffers[base]}[{', '.join(index)}]"


def grouped_sizes(sizes: list) -> str:
    """Return a shape as source text."""
    return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


def readers(spelling: Spelling, group: FusedGroup) -> dict[Value, set]:
    """Return for each value that a group computes the positions of the other parts that read it."""
    made = {o: k for k, part in enumerate(group.parts) for op in part.ops for o in op.outs}
    found: dict[Value, set] = {v: set() for v in made}
    for k, part in enumerate(group.parts):
        for v in spelling.low.bases(part.ops):
            if made.get(v, k) != k:
                found[v].add(k)
    return found


class LinePart(FusedLoop):
    """A loop over a line, or, if `narrow`, code that runs once per line."""

    def __init__(self, rows: RowLoops, group: FusedGroup):
        super().__init__(rows.spelling, group, rows.stored, rows.direct)
        self.rows, self.lead = rows, rows.group.lead
        self.flat = self.is_one_loop()
        self.inside = ["i"] if self.flat else self.live[self.lead :]  # the variables of the loops over a line
        self.narrow = not self.inside
        self.before, self.after = rows.before, rows.after
        self.sums: list[str] = []  # sums in float32

    def lines(self) -> list[str]:
        """Return the code for one line."""
        self.take_operations()
        if self.narrow or not self.body:
            return [*self.first, *self.body, *self.last]
        counters = self.around(self.inside)
        starts, ends = ({level - self.lead: lines for level, lines in at.items()} for at in (self.starts, self.ends))
        if self.sums:
            loop = [*starts.get(0, []), *blocks(*counters[0], self.body, self.sums), *ends.get(0, [])]
        else:
            loop = nested(counters, self.body, starts, ends)
        return [*self.first, *loop, *self.last]

    def before_level(self, level: int) -> list:
        return self.first if level <= self.lead else super().before_level(level)

    def around(self, variables: list) -> list:
        """Return some variables of the loops over a line, with their bounds."""
        sizes = self.spelling.counters(self.group.like())
        ends = dict(zip(self.live, sizes)) | {"i": " * ".join(map(grouped, sizes[self.lead :]))}
        return [(i, ends[i]) for i in variables]

    def is_one_loop(self) -> bool:
        """Return True if a single loop can cover all dimensions of a line, because memory has the same order."""
        inside = self.live[self.lead :]
        if self.group.kind != "loop" or len(inside) < 2 or self.spelling.shared in self.shape[self.lead :]:
            return False
        if any(p.layout != "C" for p, v in self.direct.items() if v in self.written):
            return False
        ops = [*self.group.ops]
        for op in ops:
            # maps that are computed again are written here, too
            ops += [self.rows.makers[v] for v in self.low.bases([op]) if v in self.rows.makers]
            if op.kind == "reduce" and reduced(op) != list(range(self.lead, len(self.live))):
                return False
            for base, at in [element_read(self.low, op, v) for v in op.values]:
                whole = at == loop_index(base.shape) and extent(base.shape) == self.shape and base.layout == "C"
                if not whole and base.kind != "uniform" and {*at} & {*inside}:
                    return False
        return True

    def access(self, name: str, at: list) -> str:
        """Return an element of an array, or, if a single loop covers the line, of the line as a flat array."""
        if self.flat and {*at} & {*self.live[self.lead :]}:
            return f"{self.flat_line(name, at)}[i]"
        return f"{name}[{', '.join(at)}]"

    def flat_line(self, name: str, at: list) -> str:
        """Return a variable for the current line of an array, or for a line buffer, as a flat array."""
        assert [i for i in at if i != "0"] == self.live, f"{name} has no whole lines"
        if name not in self.rows.flats:
            self.rows.flats.add(name)
            lead = at[: at.index(self.live[self.lead])]
            line = name if name in self.rows.buffers.values() else f"{name}[{', '.join(lead)}]"
            self.first.append(f"{name}_flat = flat({line})")
        return f"{name}_flat"

    def element(self, base: Value, at: list) -> str:
        """Return an element of the current line, from its variable or buffer, or from memory."""
        buffer = self.rows.buffers.get(base)
        return self.access(buffer, at) if self.flat and buffer else self.rows.element(base, at)

    def operand(self, a: object, kind: np.dtype, op: Op) -> ast.expr:
        """Return an operand; results of other parts come from where they are stored for this line."""
        base, at = element_read(self.low, op, a) if isinstance(a, Value) else (None, [])
        if base in self.rows.makers and base not in self.texts:
            self.variable(base, self.formula(self.rows.makers[base]))
        if base in self.rows.locals or base in self.rows.buffers and base not in self.texts:
            return parse(cast(self.element(base, at), base.dtype, kind))
        return super().operand(a, kind, op)

    # ------------------------------------------------------------------ operations
    def map(self, op: Op) -> None:
        if self.is_made_later(op):
            self.rows.makers[op.outs[0]] = op
        super().map(op)

    def is_made_later(self, op: Op) -> bool:
        """Return True if a result is computed where it is read, from unchanged values, instead of stored in a buffer.

        This is cheaper if it is simple arithmetic, and costs nothing extra if a single other part reads it.
        """
        out, rows = op.outs[0], self.rows
        if self.shape != rows.group.shape or out in self.stored or out not in rows.elsewhere:
            return False
        if not all(self.reads_same_element(rows.group.parts[k], out) for k in rows.readers[out]):
            return False
        written = {*self.direct, *self.spelling.taken.values()}
        there = {**rows.locals, **rows.buffers, **rows.makers}
        known = lambda v: v.kind in ("input", "constant", "uniform") or v in there
        once = not self.uses[out] and len(rows.readers[out]) == 1
        return (is_simple(op) or once) and all(known(v) and v not in written for v in self.low.bases([op]))

    def reads_same_element(self, part: FusedGroup, out: Value) -> bool:
        """Return True if a part reads a result only at the element that its own loop is at."""
        index = loop_index(out.shape)
        reads = [(op, v) for op in part.ops for v in op.values if self.low.base(v) is out]
        return part.kind == "loop" and all(element_read(self.low, op, v)[1] == index for op, v in reads)

    def is_kept(self, out: Value) -> bool:
        return super().is_kept(out) or out in self.rows.elsewhere

    def is_number(self, out: Value) -> bool:
        return self.narrow

    def keep(self, out: Value, text: str) -> None:
        """Store an element of a map's result in memory or in a buffer, unless its variable suffices."""
        if self.narrow:
            self.rows.locals[out] = text
        if out in self.stored:
            super().keep(out, text)
        elif out in self.rows.elsewhere and not self.narrow and out not in self.rows.makers:
            self.rows.buffer(out)
            self.body.append(f"{self.element(out, loop_index(out.shape))} = {text}")

    def reduce(self, op: Op) -> None:
        """Write a reduction of this line, over all lines (a running array), or of everything (a running number)."""
        x, dims = op.ins[0], reduced(op)
        self.spelling.name(op.outs[0], op.name)
        if of_line(op, self.lead):
            self.of_line(op) if dims == list(range(self.lead, len(self.live))) else self.across(op)
            return
        term = ast.unparse(self.operand(x, x.dtype, op))
        if len(dims) == len(self.live):
            self.running_number(op, term, self.before, self.after)
        else:
            self.running_array(op, term)

    def of_line(self, op: Op) -> None:
        """Write a reduction with one number per line."""
        x, out = op.ins[0], op.outs[0]
        name, row = self.spelling.name(out), ""
        if op.name == "sum" and x.dtype.kind == "f" and len(self.inside) == 1:
            row = self.row_of(x)
        if row:
            self.last.append(f"{name}_i = row_sum({row})")
        elif op.name == "sum" and x.dtype == F4 and len(self.inside) == 1:
            self.sums.append(name)
            self.body.append(f"{name}_part = plus({name}_part, {ast.unparse(self.operand(x, F4, op))})")
            self.first.append(f"{name}_sum = 0.0")
            self.last.append(f"{name}_i = np.float32({name}_sum)")
        else:
            term = ast.unparse(self.operand(x, x.dtype, op))
            first, more, total = running_lines(op, name, f"{name}_i", term)
            self.first.append(first)
            self.body.append(more)
            total = cast(total, accumulator_dtype(op), out.dtype) if op.name == "sum" else total
            self.last += [f"{name}_i = {total}"] if total != f"{name}_i" else []
        self.rows.locals[out] = f"{name}_i"
        if out in self.stored:
            self.allocate(out)
            self.last.append(f"{name}[{self.place(op)}] = {name}_i")

    def across(self, op: Op) -> None:
        """Write a reduction with several numbers per line: for a table of columns, a sum or maximum of each column."""
        x, out = op.ins[0], op.outs[0]
        term = ast.unparse(self.operand(x, x.dtype, op))
        kept = [i for d, i in enumerate(self.live) if d >= self.lead and d not in reduced(op)]
        buffer = self.rows.buffer(out)
        place = f"{buffer}[{', '.join(kept)}]"
        self.first.append(f"{buffer}[:] = {cast(start(op, accumulator_dtype(op)), accumulator_dtype(op), out.dtype)}")
        self.body += more_lines(op, place, cast(term, x.dtype, out.dtype))
        if out in self.stored:
            self.allocate(out)
            name = self.spelling.name(out)
            self.last += nested(self.around(kept), [f"{name}[{self.place(op)}] = {place}"])

    def row_of(self, x: Value) -> str:
        """Return x's row as an array, if it is in memory as one; else an empty string."""
        base, at = self.low.resolve(x, loop_index(x.shape))
        if base in self.rows.buffers:
            buffer = self.rows.buffers[base]
            return self.flat_line(buffer, at) if self.flat else buffer
        lies = base in self.stored or base.kind in ("input", "constant")
        whole = extent(base.shape) == self.shape and at == loop_index(base.shape) and base.shape[-1] != 1
        if lies and whole and base.layout == "C" and base.dtype == x.dtype:
            name = self.spelling.name(base)
            return self.flat_line(name, at) if self.flat else f"{name}[{', '.join(at[:-1])}]"
        return ""


def blocks(i: str, width: str, body: list, sums: list) -> list[str]:
    """Return a loop over a row, 512 elements at a time, whose float32 sums are accumulated in float64.

    The index is unsigned, because a possibly negative index would need a check, which prevents vectorisation.
    """
    loop = [f"for {i} in range(start, end):", *["    " + line for line in body]]
    inside = ["end = start + np.uint64(512)", f"if end > np.uint64({width}):", f"    end = np.uint64({width})",
              *[f"{s}_part = np.float32(0)" for s in sums],
              *loop, *[f"{s}_sum += {s}_part" for s in sums], "start = end"]  # fmt: skip
    return ["start = np.uint64(0)", f"while start < np.uint64({width}):", *["    " + line for line in inside]]


class LinePick(LinePart):
    """The negative of each line's element at its class."""

    def lines(self) -> list[str]:
        (op,), s, rows = self.group.ops, self.spelling, self.rows
        (x, target), out = op.ins, op.outs[0]
        index, name = loop_index(target.shape), s.name(out, "loss")
        lines = picked(s, op, s.at(target, index), rows.element(*s.low.resolve(x, at_class(op, index))))
        counters = s.loops(target)[rows.group.lead :]
        if not counters:
            rows.locals[out] = f"{name}_i"
        elif out in rows.elsewhere:
            rows.buffer(out)
            lines.append(f"{rows.element(out, index)} = {name}_i")
        if out in self.stored:
            self.allocate(out)
            lines.append(f"{name}[{', '.join(index)}] = {name}_i")
        return nested(counters, lines)


class AddAtClass(LinePart):
    """A number added to each line's element at its class, in the memory of the array it is added to, or in a copy."""

    def lines(self) -> list[str]:
        (op,), s = self.group.ops, self.spelling
        x, places, src = op.ins
        name, dim, index = s.name(op.outs[0], "scatter"), op.data["dim"], loop_index(places.shape)
        if not op.data["inside"]:
            lines, text = whole(s, x)
            self.before += [*lines, f"{name} = {text}" + ("" if x.kind == "uniform" else ".copy()")]
        place, number = [self.rows.element(*s.low.resolve(v, index)) for v in (places, src)]
        element = f"{name}[{', '.join([*index[:dim], 'k', *index[dim + 1 :]])}]"
        lines = [f"k = {place}", *followed(s, op, [f"{element} += {number}"])]
        return nested(s.loops(places)[self.rows.group.lead :], lines)


WRITERS = {"loop": LinePart, "pick": LinePick, "scatter": AddAtClass}
