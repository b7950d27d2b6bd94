"""Fusion: maps and reductions over one shape share one loop, as long as none needs the finished result of a reduction in it.

Loops that follow each other row by row then become one pass over the rows (`by_rows`, written in rowloops.py).

`schedule` puts the operations of a lowered program (lowered.py) into groups that are written one after the other: loops,
products of matrices, calls.  Where a view is read, index arithmetic says which element it is, and whether that is the one
that the loop has just computed.  Next: memory.py, which gives memory to what is read outside its loop.
"""

from __future__ import annotations

from .lowered import Lowering, Op, V

LOOPED = ("map", "reduce")


class Group:
    """What is emitted together: a loop over `shape`, or one operation of another kind; of rows, several `parts`."""

    __slots__ = ("kind", "ops", "parts", "shape")

    def __init__(self, kind: str, shape: tuple, ops: list, parts: tuple = ()):
        self.kind, self.shape, self.ops, self.parts = kind, shape, ops, list(parts)

    def like(self) -> V:
        """A value of the group's shape."""
        return next((o for op in self.ops if op.kind == "map" for o in op.outs if o.shape == self.shape), None) or next(
            v for op in self.ops if op.kind == "reduce" for v in op.ins if v.shape == self.shape
        )


def schedule(low: Lowering, done: set, kept: set) -> list[Group]:
    """Groups in an order in which each has what it reads.

    `done` are the values that are there at the start, `kept` those that have to be there at the end.
    """
    pending = [op for op in low.ops if op.kind != "alias"]
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
    return all(low.base(v) in done or low.base(v).kind == "uniform" for v in op.ins if isinstance(v, V))


def loop_with(low: Lowering, first: Op, pending: list, done: set) -> Group:
    """A loop of the first operation and of all others that can run in it."""
    shape, index = over(first), loop_index(over(first))
    waiting = [op for op in pending if op.kind in LOOPED and over(op) == shape]
    ops: list[Op] = []
    inside: set[V] = set()
    grown = True
    while grown:
        grown = False
        for op in list(waiting):
            if joins(low, op, index, inside, done):
                waiting.remove(op)
                ops.append(op)
                inside.update(op.outs if op.kind == "map" else ())
                grown = True
    return Group("loop", shape, ops)


def joins(low: Lowering, op: Op, index: list, inside: set, done: set) -> bool:
    """Whether an operation can run in a loop with those inside: it reads of them only the element just computed."""
    for v in op.ins:
        if not isinstance(v, V):
            continue
        base, at = low.resolve(v, operand_index(v, index))
        if base in inside:
            if at != index[len(index) - len(base.shape) :] or len(base.shape) != len(index):
                return False
        elif base not in done and base.kind != "uniform":
            return False
    return True


def over(op: Op) -> tuple:
    """The shape that an operation runs over."""
    return op.outs[0].shape if op.kind == "map" else op.ins[0].shape


def loop_index(shape: tuple) -> list:
    """The loop's variables, 0 for dimensions of size 1."""
    return ["0" if n == 1 else f"i{d}" for d, n in enumerate(shape)]


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
    if g.kind != "loop" or len(g.shape) < 2 or g.shape[-1] == 1 or all(n == 1 for n in g.shape[:-1]):
        return False
    return all(op.kind == "map" or kind_of(op) != "other" for op in g.ops)


def kind_of(op: Op) -> str:
    """What a reduction reduces: each row, columns, all, or something else."""
    shape = op.ins[0].shape
    live = [d for d, n in enumerate(shape) if n != 1]
    dims = [d for d in live if d in op.data["dims"]]
    last = len(shape) - 1
    if dims == live and (len(shape) < 2 or dims != [last]):
        return "all"
    return "row" if dims == [last] else "columns" if dims and last not in dims else "other"


def reduces_rows(g: Group) -> bool:
    """Whether a group has a number for each row."""
    return any(op.kind == "reduce" and kind_of(op) == "row" for op in g.ops)


def host_of(low: Lowering, g: Group, before: list[Group]) -> Group | None:
    """The pass over rows that a group can be a part of: it reads something of it, and nothing that is made later."""
    for h in reversed(before):
        made = {o: op for op in h.ops for o in op.outs}
        if any(isinstance(v, V) and low.base(v) in made for op in g.ops for v in op.ins):
            return h if h.kind == "rows" and fits(low, g, h, made) else None
    return None


def fits(low: Lowering, g: Group, h: Group, made: dict) -> bool:
    """Whether a group can be a part of a pass over rows."""
    lead, index = h.shape[:-1], loop_index(h.shape)
    if g.kind == "loop":
        whole = g.shape == h.shape and is_wide(g)
        once = g.shape in (lead, (*lead, 1)) and all(op.kind == "map" or kind_of(op) == "all" for op in g.ops)
        reads = [(v, operand_index(v, loop_index(g.shape))) for op in g.ops for v in op.ins if isinstance(v, V)]
        return (whole or once) and all(of_row(low, v, at, made, index) for v, at in reads)
    if g.kind not in ("pick", "scatter"):
        return False
    (op,), row = g.ops, index[:-1]
    if g.kind == "pick":
        x, target = op.ins
        fine = x.shape == h.shape and target.shape == lead
        return fine and of_row(low, x, [*row, "k"], made, [*row, "k"]) and of_row(low, target, row, made, index)
    x, places, src = op.ins
    fine = op.data.get("inside") and x.shape == h.shape and places.shape == src.shape == (*lead, 1) and x in made
    return bool(fine) and all(of_row(low, v, [*row, "0"], made, index) for v in (places, src))


def of_row(low: Lowering, v: V, index: list, made: dict, row: list) -> bool:
    """Whether what is read at an index of the loop is of this row, if it is made in this pass at all."""
    base, at = low.resolve(v, index)
    op = made.get(base)
    if op is None:
        return True
    if op.kind == "reduce" and kind_of(op) != "row":
        return False
    return at == row if len(base.shape) == len(row) and base.shape[-1] != 1 else at[: len(row) - 1] == row[:-1]


def write_inside(low: Lowering, kept: set) -> None:
    """Let a scatter write to what it adds to, where nothing else reads that."""
    for op in [op for op in low.ops if op.kind == "scatter"]:
        x = op.ins[0]
        readers = [o for o in low.ops for v in o.ins if isinstance(v, V) and low.base(v) is x]
        maker = next((o for o in low.ops if x in o.outs), None)
        op.data["inside"] = maker is not None and maker.kind == "map" and readers == [op] and x not in kept
