"""The source of a fused loop: maps and reductions over one shape, computed element by element.

A map is a line of the loop's body or, if it is read only once, part of the formula that reads it. A reduction over the
innermost dimensions is a running number, with a line before and after its loop; a reduction over others is a running array.
If all arrays are in memory in the loop's order, one flat loop suffices, which the compiler vectorises best.
"""

import ast
import re
from collections import Counter
from typing import Any

import numpy as np

from ..fuse import FusedGroup, element_read, extent, loop_index, over, reduced
from ..ir import F4, F8, Names, Op, Value
from .names import Spelling, cast, grouped


class FusedLoop:
    """The source of one group. `stored` values get memory; `direct` maps an input to the value computed in it (buffers.py)."""

    lead = 0  # number of loops around the code written here

    def __init__(self, spelling: Spelling, group: FusedGroup, stored: set, direct: dict):
        self.spelling, self.low, self.group, self.stored, self.direct = spelling, spelling.low, group, stored, direct
        self.shape = group.shape
        self.live = [i for i in loop_index(self.shape) if i != "0"]  # the variables of the loops
        self.flat = self.is_flat()
        self.uses = self.count_uses()
        self.written, self.overwritten = self.find_written()
        self.early: dict[str, str] = {}  # elements read before the innermost loops -> their variables
        self.texts: dict[Value, ast.expr] = {}  # a map's result -> its expression in this loop
        self.flats: dict[str, str] = {}  # arrays -> their flat views
        self.before: list[str] = []  # lines around all loops
        self.after: list[str] = []
        self.first: list[str] = []  # lines around the loop over a line, or over a thread's elements
        self.last: list[str] = []
        self.body: list[str] = []
        self.starts: dict[int, list] = {}  # lines before and after the loop of each level
        self.ends: dict[int, list] = {}

    def lines(self) -> list[str]:
        """Return the lines of the loop, with those before and after it."""
        self.take_operations()
        views = [f"{short} = flat({name})" for name, short in self.flats.items() if short != name]
        return [*self.before, *views, *nested(self.counters(), self.body, self.starts, self.ends), *self.after]

    def take_operations(self) -> None:
        """Write the lines of all operations."""
        for op in self.group.ops:
            self.map(op) if op.kind == "map" else self.reduce(op)

    def counters(self) -> list:
        """Return the variables of the loops, outermost first, each with its bound."""
        if self.flat:
            return [("i", f"{next(iter(self.flats.values()))}.size")]
        return list(zip(self.live, self.spelling.counters(self.group.like())))

    # ------------------------------------------------------------------ operands
    def operand(self, a: Any, kind: np.dtype, op: Op) -> ast.expr:
        """Return an operand at the current element, in the dtype that the operation needs."""
        if not isinstance(a, Value):
            return parse(self.spelling.literal(a, kind, op))
        base, at = element_read(self.low, op, a)
        if base.kind == "uniform":
            return parse(self.spelling.literal(base.content, kind, op))
        if base in self.texts:
            made = self.texts[base]
            return made if base.dtype == kind else parse(cast(ast.unparse(made), base.dtype, kind))
        one = all(n == 1 for n in base.shape)
        text = self.spelling.element(base, at) if one else self.access(self.spelling.name(base), at)
        if base in self.overwritten:
            text = self.loaded(self.spelling.name(base), text)
        elif base not in self.written:
            text = self.read_before(base, text)
        return parse(cast(text, base.dtype, kind))

    def read_before(self, base: Value, element: str) -> str:
        """Return a variable for an element that the innermost loops do not change, read before them; else the element."""
        index = set(re.findall(r"\w+", element[element.find("[") :]))
        level = 1 + max([d for d, i in enumerate(self.live) if i in index], default=-1)
        if "[" not in element or level == len(self.live) or self.flat and "i" in index:
            return element
        if element not in self.early:
            name = f"{self.spelling.name(base)}_i"
            self.early[element] = name if name not in self.early.values() else self.spelling.free(name)
            self.before_level(level).append(f"{self.early[element]} = {element}")
        return self.early[element]

    def before_level(self, level: int) -> list:
        """Return the lines before the loop of a level."""
        return self.starts.setdefault(level, [])

    def loaded(self, name: str, element: str) -> str:
        """Return a variable for an element of an array that this loop writes to, read before the write."""
        if (line := f"{name}_was = {element}") not in self.body:
            self.body.insert(0, line)
        return f"{name}_was"

    def access(self, name: str, at: list) -> str:
        """Return an element of an array."""
        if not self.flat:
            return f"{name}[{', '.join(at)}]"
        self.flats[name] = f"{name}_flat" if len(at) > 1 else name
        return f"{self.flats[name]}[i]"

    def formula(self, op: Op) -> str:
        """Return a map's formula with its operands in place."""
        given = {p: self.operand(a, k, op) for p, a, k in zip(op.data["params"], op.ins, op.data["kinds"])}
        made = Names(given).visit(parse(ast.unparse(op.data["tree"])))
        return cast(ast.unparse(made), op.data["natural"], op.outs[0].dtype)

    def place(self, op: Op) -> str:
        """Return the index of the current element in a reduction's result."""
        keepdim, dims, index = op.data["keepdim"], op.data["dims"], enumerate(loop_index(over(op)))
        return ", ".join(["0" if d in dims else i for d, i in index if keepdim or d not in dims])

    # ------------------------------------------------------------------ operations
    def map(self, op: Op) -> None:
        """Write a map's formula: inline if this loop reads it in one place only, else as a variable, or in memory."""
        out, text = op.outs[0], self.formula(op)
        uses = self.uses[out]
        if uses == 1 and not out.name and not self.is_kept(out):
            self.texts[out] = parse(text)
            return
        self.spelling.name(out, op.name)
        self.keep(out, self.variable(out, text) if uses or self.is_number(out) else text)

    def is_kept(self, out: Value) -> bool:
        """Return True if a map's result is read outside this loop."""
        return out in self.stored

    def is_number(self, out: Value) -> bool:
        """Return True if a map's result is a single number, so that a variable can hold it."""
        return not out.shape

    def variable(self, out: Value, text: str) -> str:
        """Add a variable for a map's result and return its name."""
        name = self.spelling.name(out)
        name = f"{name}_i" if out.shape or not self.is_number(out) else name
        self.body.append(f"{name} = {text}")
        self.texts[out] = parse(name)
        return name

    def keep(self, out: Value, text: str) -> None:
        """Store an element of a map's result in memory, if it is read outside the loop."""
        if out.shape and self.is_kept(out):
            self.allocate(out)
            self.body.append(f"{self.access(self.spelling.name(out), loop_index(out.shape))} = {text}")

    def allocate(self, out: Value) -> None:
        """Allocate memory for a result before the loop."""
        if out not in self.direct.values():
            self.before.append(f"{self.spelling.name(out)} = {self.spelling.memory(out)}")

    def reduce(self, op: Op) -> None:
        """Write a sum or maximum: a running number if the innermost loops are reduced, else a running array."""
        x, out = op.ins[0], op.outs[0]
        term = ast.unparse(self.operand(x, x.dtype, op))
        self.spelling.name(out, op.name)
        dims = reduced(op)
        if not dims:  # only sizes of 1 are reduced
            self.finish(op, cast(term, x.dtype, out.dtype), self.body)
        elif dims[0] == len(self.live) - len(dims):
            level = 0 if self.flat else len(self.live) - len(dims)
            self.running_number(op, term, self.before_level(level), self.ends.setdefault(level, []))
        else:
            self.running_array(op, term)

    def running_number(self, op: Op, term: str, before: list, after: list) -> None:
        """Write a reduction as one number, with lines before and after its loop."""
        out, name, wide = op.outs[0], self.spelling.name(op.outs[0]), accumulator_dtype(op)
        running = f"{name}_sum" if out.shape or wide != out.dtype else name
        first, more, total = running_lines(op, name, running, term)
        before.append(first)
        self.body.append(more)
        if total != name:
            self.finish(op, total if out.shape else cast(total, wide, out.dtype), after)

    def finish(self, op: Op, text: str, lines: list) -> None:
        """Store the result of a reduction in its array, which is allocated before the loop, or in its variable."""
        out, name = op.outs[0], self.spelling.name(op.outs[0])
        if out.shape:
            self.before.append(f"{name} = {self.spelling.empty(out)}")
        lines.append(f"{name}[{self.place(op)}] = {text}" if out.shape else f"{name} = {text}")

    def running_array(self, op: Op, term: str) -> None:
        """Write a reduction over outer loops, which adds to each element of the result many times.

        Terms that the innermost loops add to one element go into a running number first.
        """
        x, out, name, wide = op.ins[0], op.outs[0], self.spelling.name(op.outs[0]), accumulator_dtype(op)
        lines, dims, level = self.body, reduced(op), len(self.live)
        while level > self.lead and level - 1 in dims:
            level -= 1
        if level == len(self.live):
            term = cast(term, x.dtype, wide)
        else:
            first, more, term = running_lines(op, name, f"{name}_part", term)
            self.before_level(level).append(first)
            self.body.append(more)
            lines = self.ends.setdefault(level, [])
        running = f"{name}_sum" if wide != out.dtype else name
        shape, place = self.spelling.shape(out), f"{running}[{self.place(op)}]"
        zeros = op.name == "sum" and wide.kind == "f"
        self.before.append(f"{running} = zeros({shape}, np.{wide.name})" if zeros else
                           f"{running} = np.full({shape}, {start(op, accumulator_dtype(op))})")  # fmt: skip
        lines += more_lines(op, place, term)
        if running != name:
            at = ", ".join(loop_index(out.shape))
            line = f"{name}[{at}] = {cast(f'{running}[{at}]', wide, out.dtype)}"
            self.after += [f"{name} = {self.spelling.empty(out)}", *nested(self.spelling.loops(out), [line])]

    # ------------------------------------------------------------------ decided in advance
    def is_flat(self) -> bool:
        """Return True if a loop reads and writes memory element by element, in the loop's order."""
        if not self.live or self.spelling.shared in self.shape:
            return False
        seen, made = False, {o for op in self.group.ops for o in op.outs}
        for op in self.group.ops:
            if op.kind == "reduce" and len(reduced(op)) < len(self.live):
                return False
            for a in op.values:
                base, at = element_read(self.low, op, a)
                if base.kind == "uniform" or all(n == 1 and i == "0" for n, i in zip(base.shape, at)):
                    continue
                if at != loop_index(base.shape) or extent(base.shape) != self.shape or base.layout != "C":
                    return False
                seen = seen or base not in made  # a result is memory only if it is stored
            seen = seen or op.kind == "map" and op.outs[0] in self.stored
            if any(v in op.outs and p.layout != "C" for p, v in self.direct.items()):
                return False
        return seen

    def find_written(self) -> tuple[set, set]:
        """Return the arrays that the loop writes to, and those it must read before; none of the latter if it has one result."""
        made = {o for op in self.group.ops for o in op.outs}
        results = [o for o in made if o in self.stored or o.name or self.uses[o] != 1]
        places = [*[(v, p) for p, v in self.direct.items()], *self.spelling.taken.items()]
        old = {place for v, place in places if v in made}
        return made | old, old if len(results) > 1 else set()

    def count_uses(self) -> Counter:
        """Return the number of reads of each map's result in its own loop; an operand used twice in a formula counts twice."""
        uses: Counter = Counter()
        for op in self.group.ops:
            tree = op.data.get("tree")  # None unless it is a map
            named = [] if tree is None else [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
            for k, a in [(k, a) for k, a in enumerate(op.ins) if isinstance(a, Value)]:
                uses[self.low.base(a)] += named.count(op.data["params"][k]) if named else 1
        return uses


def nested(counters: list, body: list, starts: dict | None = None, ends: dict | None = None) -> list[str]:
    """Return loops around some lines; `starts[level]` and `ends[level]` go before and after the loop of a level."""
    for level, (i, n) in reversed([*enumerate(counters)]):
        loop = [f"for {i} in range({n}):", *["    " + line for line in body]]
        body = [*(starts or {}).get(level, []), *loop, *(ends or {}).get(level, [])]
    return body


def accumulator_dtype(op: Op) -> np.dtype:
    """Return the dtype that a reduction runs in: float32 is summed in float64."""
    dtype = op.outs[0].dtype
    return F8 if dtype == F4 and op.name == "sum" else dtype


def start(op: Op, wide: np.dtype) -> str:
    """Return the start value of a reduction that runs in a dtype."""
    zero = "-np.inf" if op.name == "max" else "0" if wide.kind == "i" else "0.0"
    return cast(zero, F8, wide) if wide == F4 else zero


def running_lines(op: Op, name: str, running: str, term: str) -> tuple[str, str, str]:
    """Return the line before the loop of a running sum or maximum, the line for each term, and the final expression."""
    dtype, wide = op.ins[0].dtype, accumulator_dtype(op)
    if op.name == "max":
        bits, top = 8 * dtype.itemsize, f"{name}_top"
        return (
            f"{top} = np.int{bits}({-(1 << (bits - 1))})",
            f"{top} = higher({top}, {term})",
            f"peak({top})",
        )
    term = cast(term, dtype, wide)
    more = f"plus({running}, {term})" if wide.kind == "f" else f"{running} + {grouped(term)}"
    return f"{running} = {start(op, accumulator_dtype(op))}", f"{running} = {more}", running


def more_lines(op: Op, place: str, term: str) -> list[str]:
    """Return the lines that add one more term to an element."""
    if op.name == "sum":
        return [f"{place} += {term}"]
    return [f"term = {term}", f"{place} = term if (term > {place}) | (term != term) else {place}"]


def parse(text: str) -> ast.expr:
    """Return the syntax tree of an expression."""
    return ast.parse(text, mode="eval").body
