"""Fusion: maps and reductions over one shape share one loop, as long as none needs the finished result of a reduction in it.

Sizes of 1 need no loop: (n, 1) and (n,) are one shape here (`extent`).  Loops that follow each other row by row, or column by
column, then become one pass over these lines (`by_rows`, written in cpu_rows.py).

`schedule` puts the operations of a lowered program (ir.py) into groups that are written one after the other: loops,
products of matrices, calls.  Where a view is read, index arithmetic says which element it is, and whether that is the one
that the loop has just computed.  Next: postponing.py, then buffers.py, which gives memory to what is read outside its loop.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable

from ..kernels.formula import CUDA
from .ir import Lowering, Op, V

LOOPED = ("map", "reduce")


class Group:
    """What is emitted together: a loop over `shape`, sizes of 1 left out, or another operation; of rows, several `parts`."""

    __slots__ = ("kind", "lead", "ops", "parts", "shape")

    def __init__(self, kind: str, shape: tuple, ops: list, parts: tuple = (), lead: int = 0):
        self.kind, self.shape, self.ops, self.parts = kind, shape, ops, list(parts)
        self.lead = lead  # how many dimensions lie before those of its lines; 0 where that is not known yet

    def like(self) -> V:
        """A value of the group's shape."""
        found = [op.outs[0] if op.kind == "map" else op.ins[0] for op in self.ops if op.kind in LOOPED]
        return next(v for v in found if extent(v.shape) == self.shape)


def schedule(low: Lowering, done: set, kept: set) -> list[Group]:
    """Groups in an order in which each has what it reads.

    `done` are the values that are there at the start, `kept` those that have to be there at the end.
    """
    pending = list(low.ops)
    groups: list[Group] = []
    done = set(done)
    lacks = {op: {v for v in low.bases([op]) if v not in done and v.kind != "uniform"} for op in pending}
    reads = {op: frozenset(values) for op, values in lacks.items()}
    readers = low.readers(pending)  # those that are not in a group yet
    while pending:
        ready = [op for op in pending if not lacks[op]]
        op = chosen(ready, reads, lambda op: frozenset([v for v in reads[op] - kept if len(readers[v]) == 1]))
        group = loop_with(low, op, pending, done) if op.kind in LOOPED else Group(op.kind, (), [op])
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


def chosen(ready: list[Op], reads: dict[Op, frozenset[V]], freed: Callable[[Op], frozenset[V]]) -> Op:
    """Return which operation comes next: loops after what is none, and of products first that after which least is in memory.

    So the gradient of a weight is computed, and the layer's input is freed, before there is the gradient of that input.  What
    such a product needs may be made by a loop: one that takes more memory than it frees waits for loops over what it reads.
    """
    first = next((op for op in ready if op.kind not in LOOPED), ready[0])
    if first.kind != "dot":
        return first
    size = lambda values: sum([math.prod(v.shape) * v.dtype.itemsize for v in values])
    more = {op: size(op.outs) - size(freed(op)) for op in ready if op.kind == "dot"}
    best = min(more, key=lambda op: more[op])
    loops = [op for op in ready if op.kind in LOOPED and more[best] > 0 and reads[op] & reads[best]]
    return next((op for op in ready if op.kind == "reshape" or op in loops), best)


def loop_with(low: Lowering, first: Op, pending: list, done: set) -> Group:
    """A loop of the first operation and of all others that can run in it."""
    shape, ops, inside = extent(over(first)), [], set[V]()
    for op in pending:
        if op.kind in LOOPED and extent(over(op)) == shape and joins(low, op, inside, done):
            ops.append(op)
            inside.update(op.outs if op.kind == "map" else ())
    return Group("loop", shape, ops)


def joins(low: Lowering, op: Op, inside: set, done: set) -> bool:
    """Whether an operation can run in a loop with those inside: it reads of them only the element just computed."""
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
    """Return whether a map is arithmetic alone, which costs less than the way to memory."""
    return all(isinstance(n, (ast.Name, ast.BinOp, ast.operator, ast.expr_context)) for n in ast.walk(op.data["tree"]))


def over(op: Op) -> tuple:
    """The shape that an operation runs over."""
    return op.outs[0].shape if op.kind == "map" else op.ins[0].shape


def extent(shape: tuple) -> tuple:
    """What a loop over a shape counts through: the sizes other than 1; of ones alone the shape itself."""
    return tuple([n for n in shape if n != 1]) or shape


def loop_index(shape: tuple) -> list:
    """The loop's variables, one for each size other than 1, and 0 for those."""
    variables = itertools.count()
    return ["0" if n == 1 else f"i{next(variables)}" for n in shape]


def element_read(low: Lowering, op: Op, v: V) -> tuple[V, list]:
    """Return what is read of an operand in an operation's loop: the value that has the memory, and which element of it."""
    return low.resolve(v, operand_index(v, loop_index(over(op))))


def operand_index(v: V, index: list) -> list:
    """Which element of v meets element `index` of the loop, by broadcasting."""
    own = index[len(index) - len(v.shape) :]
    return ["0" if n == 1 else i for n, i in zip(v.shape, own)]


# ---------------------------------------------------------------------- lines
def by_rows(low: Lowering, groups: list[Group]) -> list[Group]:
    """The groups, with those made one pass over lines, which are rows or columns, that read of each other only their line.

    A line that has just been read lies in the nearest memory: all steps of a softmax on it cost one trip to the far one.
    """
    found: list[Group] = []
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
            found.append(Group("rows", g.shape, ops, (*first, g), lead_of(low, g) or len(g.shape[:-1]) * bool(first)))
        else:
            found.append(g)
    for g in found:
        g.lead = g.lead or max(len(g.shape) - 1, 0)
    return [g if g.kind != "rows" or len(g.parts) > 1 or lead_of(low, g) else g.parts[0] for g in found]


def begins(low: Lowering, n: Group, g: Group, found: list[Group]) -> bool:
    """Return whether a group computes one number for each row of another, and nothing in between reads these."""
    if n.kind != "loop" or n.shape != g.shape[:-1] or lead_of(low, g) not in (0, len(n.shape)):
        return False
    if any(op.kind != "map" for op in n.ops):
        return False
    made = {o: op for op in n.ops for o in op.outs}
    rows = [element_read(low, op, v) for op in g.ops for v in op.values if low.base(v) in made]
    if not rows or any(at != loop_index(v.shape) for v, at in rows):
        return False
    return not any(v in made for other in found[found.index(n) + 1 :] for v in low.bases(other.ops))


def is_wide(low: Lowering, g: Group) -> bool:
    """Return whether a loop can be written line by line.  Those of a GPU's threads are rows."""
    if g.kind != "loop" or len(g.shape) < 2 or 1 in g.shape:
        return False
    return low.target is not CUDA or rows_alone(g)


def rows_alone(g: Group) -> bool:
    """Return whether a loop reduces rows, columns or everything, and nothing else."""
    return all(op.kind == "map" or on_rows(op) for op in g.ops)


def on_rows(op: Op) -> bool:
    """Return whether a reduction is of each row, of columns, or of everything."""
    last, dims = len(extent(over(op))) - 1, reduced(op)
    return bool(dims) and (of_rows(op) or last not in dims or len(dims) == last + 1)


def of_rows(op: Op) -> bool:
    """Return whether a reduction is of each row."""
    return reduced(op) == [len(extent(over(op))) - 1]


def of_line(op: Op, lead: int) -> bool:
    """Return whether a reduction is of each line, where these have `lead` dimensions before them, and not over lines."""
    return bool(reduced(op)) and reduced(op)[0] >= lead


def reduced(op: Op) -> list:
    """Which of the loops over an operation's extent a reduction is over."""
    live = [d for d, n in enumerate(over(op)) if n != 1]
    return [k for k, d in enumerate(live) if d in op.data["dims"]]


def lead_of(low: Lowering, g: Group) -> int:
    """Return how many dimensions lie before those of a group's lines; 0 where nothing in it needs lines.

    A reduction over the first dimension, be it of everything, goes along.  The lines of a GPU's threads are rows.
    """
    if low.target is CUDA:
        last = len(g.shape) - 1
        return last if any(op.kind == "reduce" and reduced(op) == [last] for op in g.ops) else 0
    found = [reduced(op)[0] for op in g.ops if op.kind == "reduce" and reduced(op)]
    found += [before_class(op) for op in g.ops if op.kind in ("pick", "scatter")]
    return min([d for d in found if d], default=0)


def before_class(op: Op) -> int:
    """Return how many of a loop's dimensions lie before that of the classes."""
    return len([n for n in op.ins[0].shape[: op.data["dim"]] if n != 1])


def host_of(low: Lowering, g: Group, before: list[Group]) -> Group | None:
    """The pass over lines that a group can be a part of: it reads something of it, and nothing that is made later."""
    for h in reversed(before):
        made = {o: op for op in h.ops for o in op.outs}
        if any(v in made for v in low.bases(g.ops)):
            return h if h.kind == "rows" and fits(low, g, h, made) else None
    return None


def fits(low: Lowering, g: Group, h: Group, made: dict) -> bool:
    """Return whether a group can be a part of a pass over lines."""
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


def of_this_line(low: Lowering, v: V, index: list, made: dict, lead: int) -> bool:
    """Return whether what is read at an index of the loop is of this line, if it is made in this pass at all."""
    base, at = low.resolve(v, index)
    op = made.get(base)
    if op is not None and low.target is CUDA and at != loop_index(base.shape):
        return False  # its threads compute elements again
    line = [i for i, n in zip(at, base.shape) if n != 1][:lead] == [f"i{d}" for d in range(lead)]
    return op is None or line and (op.kind != "reduce" or of_line(op, lead))


def write_inside(low: Lowering, kept: set) -> None:
    """Let a scatter write to what it adds to, where nothing else reads that."""
    for op in [op for op in low.ops if op.kind == "scatter"]:
        x = op.ins[0]
        readers = [o for o in low.ops for v in low.bases([o]) if v is x]
        maker = next((o for o in low.ops if x in o.outs), None)
        op.data["inside"] = maker is not None and maker.kind == "map" and readers == [op] and x not in kept
