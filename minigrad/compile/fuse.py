"""Fusion: maps and reductions over one shape share one loop, as long as none needs the finished result of a reduction in it.

Sizes of 1 need no loop: (n, 1) and (n,) are one shape here (`extent`).  Loops that follow each other row by row then become
one pass over the rows (`by_rows`, written in cpu_rows.py).

`schedule` puts the operations of a lowered program (ir.py) into groups that are written one after the other: loops,
products of matrices, calls.  Where a view is read, index arithmetic says which element it is, and whether that is the one
that the loop has just computed.  Next: buffers.py, which gives memory to what is read outside its loop.
"""

from __future__ import annotations

import itertools

from .ir import Lowering, Op, V

LOOPED = ("map", "reduce")


class Group:
    """What is emitted together: a loop over `shape`, sizes of 1 left out, or another operation; of rows, several `parts`."""

    __slots__ = ("kind", "ops", "parts", "shape")

    def __init__(self, kind: str, shape: tuple, ops: list, parts: tuple = ()):
        self.kind, self.shape, self.ops, self.parts = kind, shape, ops, list(parts)

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
    while pending:
        ready = [op for op in pending if has_all(low, op, done)]
        alone = next((op for op in ready if op.kind not in LOOPED), None)
        group = loop_with(low, ready[0], pending, done) if alone is None else Group(alone.kind, (), [alone])
        groups.append(group)
        pending = [op for op in pending if op not in group.ops]
        done.update([o for op in group.ops for o in op.outs])
    write_inside(low, kept)
    return by_rows(low, groups)


def has_all(low: Lowering, op: Op, done: set) -> bool:
    """Whether all that an operation reads is there."""
    return all(v in done or v.kind == "uniform" for v in low.bases([op]))


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


def operand_index(v: V, index: list) -> list:
    """Which element of v meets element `index` of the loop, by broadcasting."""
    own = index[len(index) - len(v.shape) :]
    return ["0" if n == 1 else i for n, i in zip(v.shape, own)]


# ---------------------------------------------------------------------- rows
def by_rows(low: Lowering, groups: list[Group]) -> list[Group]:
    """The groups, with those made one pass over rows that read of each other only what belongs to the row.

    A row that has just been read lies in the nearest memory: all steps of a softmax on it cost one trip to the far one.
    """
    found: list[Group] = []
    for g in groups:
        host = host_of(low, g, found)
        if host is not None:
            host.parts.append(g)
            host.ops += g.ops
        else:
            found.append(Group("rows", g.shape, list(g.ops), (g,)) if is_wide(g) else g)
    return [g if g.kind != "rows" or len(g.parts) > 1 or reduces_rows(g) else g.parts[0] for g in found]


def is_wide(g: Group) -> bool:
    """Whether a loop can be written row by row: it reduces rows, columns or everything."""
    return (
        g.kind == "loop"
        and len(g.shape) > 1
        and 1 not in g.shape
        and all(op.kind == "map" or kind_of(op) != "other" for op in g.ops)
    )


def kind_of(op: Op) -> str:
    """What a reduction reduces: each row, columns, all, or something else."""
    last, dims = len(extent(over(op))) - 1, reduced(op)
    if len(dims) == last + 1:
        return "all"
    return "row" if dims == [last] else "columns" if dims and last not in dims else "other"


def reduced(op: Op) -> list:
    """Which of the loops over an operation's extent a reduction is over."""
    live = [d for d, n in enumerate(over(op)) if n != 1]
    return [k for k, d in enumerate(live) if d in op.data["dims"]]


def reduces_rows(g: Group) -> bool:
    """Whether a group has a number for each row."""
    return any(op.kind == "reduce" and kind_of(op) == "row" for op in g.ops)


def host_of(low: Lowering, g: Group, before: list[Group]) -> Group | None:
    """The pass over rows that a group can be a part of: it reads something of it, and nothing that is made later."""
    for h in reversed(before):
        made = {o: op for op in h.ops for o in op.outs}
        if any(v in made for v in low.bases(g.ops)):
            return h if h.kind == "rows" and fits(low, g, h, made) else None
    return None


def fits(low: Lowering, g: Group, h: Group, made: dict) -> bool:
    """Whether a group can be a part of a pass over rows."""
    if g.kind == "loop":
        whole = g.shape == h.shape and is_wide(g)
        once = g.shape == h.shape[:-1] and all(op.kind == "map" or kind_of(op) == "all" for op in g.ops)
        reads = [(v, operand_index(v, loop_index(over(op)))) for op in g.ops for v in op.values]
        return (whole or once) and all(of_row(low, v, at, made) for v, at in reads)
    if g.kind not in ("pick", "scatter"):
        return False
    (op,) = g.ops
    x, *others = op.ins
    if extent(x.shape) != h.shape or x.shape[-1] == 1 or g.kind == "scatter" and not (op.data["inside"] and x in made):
        return False
    fine = g.kind == "scatter" or of_row(low, x, loop_index(x.shape), made)
    fine = fine and others[0].shape in (x.shape[:-1], (*x.shape[:-1], 1))
    return fine and all(of_row(low, v, loop_index(v.shape), made) for v in others)


def of_row(low: Lowering, v: V, index: list, made: dict) -> bool:
    """Whether what is read at an index of the loop is of this row, if it is made in this pass at all."""
    base, at = low.resolve(v, index)
    op = made.get(base)
    return op is None or (op.kind != "reduce" or kind_of(op) == "row") and at == loop_index(base.shape)


def write_inside(low: Lowering, kept: set) -> None:
    """Let a scatter write to what it adds to, where nothing else reads that."""
    for op in [op for op in low.ops if op.kind == "scatter"]:
        x = op.ins[0]
        readers = [o for o in low.ops for v in low.bases([o]) if v is x]
        maker = next((o for o in low.ops if x in o.outs), None)
        op.data["inside"] = maker is not None and maker.kind == "map" and readers == [op] and x not in kept
