"""Fusion: maps and reductions over one shape share one loop, as long as none needs the finished result of a reduction in it.

`schedule` puts the operations of a lowered program (lowered.py) into groups that are written one after the other: loops,
products of matrices, calls.  Where a view is read, index arithmetic says which element it is, and whether that is the one
that the loop has just computed.  Next: memory.py, which gives memory to what is read outside its loop.
"""

from __future__ import annotations

from .lowered import Lowering, Op, V

LOOPED = ("map", "reduce")


class Group:
    """What is emitted together: a loop over `shape`, or one operation of another kind."""

    __slots__ = ("kind", "ops", "shape")

    def __init__(self, kind: str, shape: tuple, ops: list):
        self.kind, self.shape, self.ops = kind, shape, ops


def schedule(low: Lowering, done: set) -> list[Group]:
    """Groups in an order in which each has what it reads; `done` are the values that are there at the start."""
    pending = [op for op in low.ops if op.kind != "alias"]
    groups: list[Group] = []
    while pending:
        ready = [op for op in pending if has_all(low, op, done)]
        alone = next((op for op in ready if op.kind not in LOOPED), None)
        group = loop_with(low, ready[0], pending, done) if alone is None else Group(alone.kind, (), [alone])
        groups.append(group)
        pending = [op for op in pending if op not in group.ops]
        done.update([o for op in group.ops for o in op.outs])
    return groups


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
