"""Fusion: maps and reductions over one shape share a loop, unless one needs the finished result of another's reduction.

Sizes of 1 need no loop: (n, 1) and (n,) are one shape here (`extent`). Loops that follow each other row by row, or column by
column, then become a single pass over these lines (`by_rows`, written by cpu_rows.py).

`schedule` sorts the operations of a lowered program (ir.py) into groups, which are written one after the other: loops, matrix
products, calls. When a view is read, index arithmetic finds its element, and compares it with the one that the loop has just
computed. Next: postponing.py, then buffers.py, which allocates memory for values read outside their loop.
"""

import ast
import itertools
import math
from collections.abc import Callable

from ..kernels.formula import CUDA
from .ir import Lowering, Op, Value

LOOPED = ("map", "reduce")


class FusedGroup:
    """Operations emitted together: a loop over `shape` (without sizes of 1), one operation, or, for rows, several `parts`."""

    __slots__ = ("kind", "lead", "ops", "parts", "shape")

    def __init__(self, kind: str, shape: tuple, ops: list, parts: tuple = (), lead: int = 0):
        self.kind, self.shape, self.ops, self.parts = kind, shape, ops, list(parts)
        self.lead = lead  # number of dimensions before those of its lines; 0 if not known yet

    def like(self) -> Value:
        """Return a value of the group's shape."""
        found = [op.outs[0] if op.kind == "map" else op.ins[0] for op in self.ops if op.kind in LOOPED]
        return next(v for v in found if extent(v.shape) == self.shape)


def schedule(low: Lowering, done: set, kept: set) -> list[FusedGroup]:
    """Return groups in an order that computes each value before its readers.

    `done` are the values available at the start; `kept` are needed at the end.
    """
    pending = list(low.ops)
    groups: list[FusedGroup] = []
    done = set(done)
    lacks = {op: {v for v in low.bases([op]) if v not in done and v.kind != "uniform"} for op in pending}
    reads = {op: frozenset(values) for op, values in lacks.items()}
    readers = low.readers(pending)  # those not yet in a group
    while pending:
        ready = [op for op in pending if not lacks[op]]
        op = chosen(ready, reads, lambda op: frozenset([v for v in reads[op] - kept if len(readers[v]) == 1]))
        group = loop_with(low, op, pending, done) if op.kind in LOOPED else FusedGroup(op.kind, (), [op])
        groups.append(group)
        inside = set(group.ops)
        pending = [op for op in pending if op not in inside]
        for op in group.ops:
            for v in reads[op]:
                readers[v].remove(op)
            for v in op.outs:
                done.add(v)
                for reader in readers.get(v, ()):
                    lacks[reader].remove(v)
    write_inside(low, kept)
    return groups


def chosen(ready: list[Op], reads: dict[Op, frozenset[Value]], freed: Callable[[Op], frozenset[Value]]) -> Op:
    """Return the next operation: loops come last; among products, the one that leaves the least in memory comes first.

    This way a weight's gradient is computed, and the layer's input freed, before that input's gradient is allocated. Such a
    product may need the result of a loop: if it takes more memory than it frees, it waits for loops over the same inputs.
    """
    first = next((op for op in ready if op.kind not in LOOPED), ready[0])
    if first.kind != "dot":
        return first
    size = lambda values: sum([math.prod(v.shape) * v.dtype.itemsize for v in values])
    more = {op: size(op.outs) - size(freed(op)) for op in ready if op.kind == "dot"}
    best = min(more, key=lambda op: more[op])
    loops = [op for op in ready if op.kind in LOOPED and more[best] > 0 and reads[op] & reads[best]]
    return next((op for op in ready if op.kind == "reshape" or op in loops), best)


def loop_with(low: Lowering, first: Op, pending: list, done: set) -> FusedGroup:
    """Return a loop with the first operation and all others that can run in it."""
    shape, ops, inside = extent(over(first)), [], set[Value]()
    for op in pending:
        if op.kind in LOOPED and extent(over(op)) == shape and joins(low, op, inside, done):
            ops.append(op)
            inside.update(op.outs if op.kind == "map" else ())
    return FusedGroup("loop", shape, ops)


def joins(low: Lowering, op: Op, inside: set, done: set) -> bool:
    """Return True if an operation can join a loop: of the operations inside, it reads only the element just computed."""
    index = loop_index(over(op))
    for v in op.values:
        base, at = low.resolve(v, operand_index(v, index))
        if base in inside:
            if at != loop_index(base.shape):
                return False
        elif base not in done and base.kind != "uniform":
            return False
    return True


def is_simple(op: Op) -> bool:
    """Return True if a map is plain arithmetic, which costs less than a memory access."""
    return all(isinstance(n, (ast.Name, ast.BinOp, ast.operator, ast.expr_context)) for n in ast.walk(op.data["tree"]))


def over(op: Op) -> tuple:
    """Return the shape that an operation runs over."""
    return op.outs[0].shape if op.kind == "map" else op.ins[0].shape


def extent(shape: tuple) -> tuple:
    """Return the sizes that a loop over a shape iterates: those other than 1, or the shape itself if all are 1."""
    return tuple([n for n in shape if n != 1]) or shape


def loop_index(shape: tuple) -> list:
    """Return the loop's index: a variable for each size other than 1, and 0 for sizes of 1."""
    variables = itertools.count()
    return ["0" if n == 1 else f"i{next(variables)}" for n in shape]


def element_read(low: Lowering, op: Op, v: Value) -> tuple[Value, list]:
    """Return the element of an operand that an operation's loop reads: the value that owns the memory, and the index."""
    return low.resolve(v, operand_index(v, loop_index(over(op))))


def operand_index(v: Value, index: list) -> list:
    """Return the index of v that broadcasts to element `index` of the loop."""
    own = index[len(index) - len(v.shape) :]
    return ["0" if n == 1 else i for n, i in zip(v.shape, own)]


# ---------------------------------------------------------------------- lines
def by_rows(low: Lowering, groups: list[FusedGroup]) -> list[FusedGroup]:
    """Return the groups, merged into one pass over lines (rows or columns) where they read only each other's current line.

    A line that was just read is in the fastest cache: all steps of a softmax on it cost one access to main memory.
    """
    found: list[FusedGroup] = []
    for g in groups:
        host = host_of(low, g, found)
        if host is not None:
            host.lead = host.lead or lead_of(low, g)
            host.parts.append(g)
            host.ops += g.ops
        elif is_wide(low, g):
            first = [n for n in found if begins(low, n, g, found)]
            found = [n for n in found if n not in first]
            ops = [op for part in (*first, g) for op in part.ops]
            found.append(
                FusedGroup("rows", g.shape, ops, (*first, g), lead_of(low, g) or len(g.shape[:-1]) * bool(first))
            )
        else:
            found.append(g)
    for g in found:
        g.lead = g.lead or max(len(g.shape) - 1, 0)
    return [g if g.kind != "rows" or len(g.parts) > 1 or lead_of(low, g) else g.parts[0] for g in found]


def begins(low: Lowering, n: FusedGroup, g: FusedGroup, found: list[FusedGroup]) -> bool:
    """Return True if a group computes one number for each row of another, and no group in between reads these."""
    if n.kind != "loop" or n.shape != g.shape[:-1] or lead_of(low, g) not in (0, len(n.shape)):
        return False
    if any(op.kind != "map" for op in n.ops):
        return False
    made = {o: op for op in n.ops for o in op.outs}
    rows = [element_read(low, op, v) for op in g.ops for v in op.values if low.base(v) in made]
    if not rows or any(at != loop_index(v.shape) for v, at in rows):
        return False
    return not any(v in made for other in found[found.index(n) + 1 :] for v in low.bases(other.ops))


def is_wide(low: Lowering, g: FusedGroup) -> bool:
    """Return True if a loop can be written line by line. On a GPU, the lines are rows."""
    if g.kind != "loop" or len(g.shape) < 2 or 1 in g.shape:
        return False
    return low.target is not CUDA or rows_alone(g)


def rows_alone(g: FusedGroup) -> bool:
    """Return True if a loop only reduces rows, columns or everything."""
    return all(op.kind == "map" or on_rows(op) for op in g.ops)


def on_rows(op: Op) -> bool:
    """Return True if a reduction is over each row, over columns, or over everything."""
    last, dims = len(extent(over(op))) - 1, reduced(op)
    return bool(dims) and (of_rows(op) or last not in dims or len(dims) == last + 1)


def of_rows(op: Op) -> bool:
    """Return True if a reduction is over each row."""
    return reduced(op) == [len(extent(over(op))) - 1]


def of_line(op: Op, lead: int) -> bool:
    """Return True if a reduction is within each line, after the first `lead` dimensions, and not across lines."""
    return bool(reduced(op)) and reduced(op)[0] >= lead


def reduced(op: Op) -> list:
    """Return the loops of an operation's extent that a reduction is over."""
    live = [d for d, n in enumerate(over(op)) if n != 1]
    return [k for k, d in enumerate(live) if d in op.data["dims"]]


def lead_of(low: Lowering, g: FusedGroup) -> int:
    """Return the number of dimensions before those of a group's lines; 0 if the group does not need lines.

    Reductions over the first dimension, or over everything, fit any lines. On a GPU, the lines are rows.
    """
    if low.target is CUDA:
        last = len(g.shape) - 1
        return last if any(op.kind == "reduce" and reduced(op) == [last] for op in g.ops) else 0
    found = [reduced(op)[0] for op in g.ops if op.kind == "reduce" and reduced(op)]
    found += [before_class(op) for op in g.ops if op.kind in ("pick", "scatter")]
    return min([d for d in found if d], default=0)


def before_class(op: Op) -> int:
    """Return the number of a loop's dimensions before the class dimension."""
    return len([n for n in op.ins[0].shape[: op.data["dim"]] if n != 1])


def host_of(low: Lowering, g: FusedGroup, before: list[FusedGroup]) -> FusedGroup | None:
    """Return the pass over lines that a group can join: the group reads its values, and none that are computed later."""
    for h in reversed(before):
        made = {o: op for op in h.ops for o in op.outs}
        if any(v in made for v in low.bases(g.ops)):
            return h if h.kind == "rows" and fits(low, g, h, made) else None
    return None


def fits(low: Lowering, g: FusedGroup, h: FusedGroup, made: dict) -> bool:
    """Return True if a group can join a pass over lines."""
    own = lead_of(low, g)
    lead = h.lead or own or len(h.shape) - 1
    if own and own != lead or lead != len(h.shape) - 1 and low.target is CUDA:
        return False
    if g.kind == "loop":
        once = g.shape == h.shape[:lead] and all(op.kind == "map" or len(reduced(op)) == lead for op in g.ops)
        whole = len(g.shape) > lead and g.shape[:lead] == h.shape[:lead] and 1 not in g.shape
        whole = whole and (low.target is not CUDA or g.shape == h.shape and rows_alone(g))
        reads = [(v, operand_index(v, loop_index(over(op)))) for op in g.ops for v in op.values]
        return (whole or once) and all(of_this_line(low, v, at, made, lead) for v, at in reads)
    if g.kind not in ("pick", "scatter"):
        return False
    (op,) = g.ops
    x, *others = op.ins
    if extent(x.shape) != h.shape or x.shape[op.data["dim"]] == 1 or before_class(op) != lead:
        return False
    if g.kind == "scatter" and not (op.data["inside"] and x in made):
        return False
    fine = g.kind == "scatter" or of_this_line(low, x, loop_index(x.shape), made, lead)
    return fine and all(of_this_line(low, v, loop_index(v.shape), made, lead) for v in others)


def of_this_line(low: Lowering, v: Value, index: list, made: dict, lead: int) -> bool:
    """Return True if a value read at an index of the loop is on the current line, or not computed in this pass."""
    base, at = low.resolve(v, index)
    op = made.get(base)
    if op is not None and low.target is CUDA and at != loop_index(base.shape):
        return False  # its threads compute elements again
    line = [i for i, n in zip(at, base.shape) if n != 1][:lead] == [f"i{d}" for d in range(lead)]
    return op is None or line and (op.kind != "reduce" or of_line(op, lead))


def write_inside(low: Lowering, kept: set) -> None:
    """Let a scatter overwrite the array it adds to, if no other operation reads that."""
    for op in [op for op in low.ops if op.kind == "scatter"]:
        x = op.ins[0]
        readers = [o for o in low.ops for v in low.bases([o]) if v is x]
        maker = next((o for o in low.ops if x in o.outs), None)
        op.data["inside"] = maker is not None and maker.kind == "map" and readers == [op] and x not in kept
