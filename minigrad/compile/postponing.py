"""Postponing: a value with a single later reader is computed in that reader's loop, if it comes from one array in memory.

For example, the derivative 1 - h * h of a layer is not saved between forward and backward, since h is saved anyway. A value
with several readers is computed again in each of them if it is simple arithmetic, such as x - mean. Smaller inputs, such as
one number for each row, do not count: they are kept instead of the result.
"""

import math
from collections.abc import Callable

from .fuse import FusedGroup, is_simple, joins
from .ir import Lowering, Op, Value


def postpone(low: Lowering, groups: list[FusedGroup], kept: set) -> list[FusedGroup]:
    """Return the groups with values moved into the loops that read them; values in `kept` must exist at the end."""
    order, first = Order(low, groups, kept), {op: k for k, op in enumerate(low.ops)}
    for k in reversed(range(len(groups))):
        for op in [op for op in reversed(groups[k].ops) if op.kind == "map" and op.outs[0].shape]:
            if order.place[op] == k:
                order.postpone(op)
    for g in reversed(groups):
        for op in [op for op in reversed(g.ops) if op.kind == "map" and op.outs[0].shape]:
            if op in order.place:
                order.repeat(op)
    for g in groups:
        g.ops.sort(key=lambda op: first.get(op, -1))  # as the user wrote them, so that equal steps give equal code
    low.ops = [op for g in groups for op in g.ops]
    return [g for g in groups if g.ops]


class Order:
    """The position of each operation, and the maker and readers of each value."""

    def __init__(self, low: Lowering, groups: list[FusedGroup], kept: set):
        self.low, self.groups, self.kept = low, groups, kept
        self.place = {op: k for k, g in enumerate(groups) for op in g.ops}
        self.maker = {o: op for op in self.place for o in op.outs}
        self.readers = low.readers(self.place)

    def postpone(self, op: Op) -> None:
        """Move an operation, and the operations that only serve it, into the loop that reads it."""
        targets = self.targets(op)
        if len(targets) != 1 or self.place[op] in targets:
            return
        (target,) = targets
        chain, read = self.chain(op, lambda readers, chain: readers <= chain)
        arrays = large(read, op)
        if len(arrays) == 1 and self.is_there(arrays[0], target, op, chain):
            group, later = self.groups[self.place[op]], self.groups[target]
            later.ops[:0] = [one for one in group.ops if one in chain]
            group.ops[:] = [one for one in group.ops if one not in chain]
            self.place.update(dict.fromkeys(chain, target))

    def repeat(self, op: Op) -> None:
        """Repeat an operation in each later loop that reads its result."""
        later = self.targets(op) - {self.place[op]}
        chain, read = self.chain(op, lambda readers, _: all(self.place[one] == self.place[op] for one in readers))
        arrays = large(read, op)
        if not later or len(arrays) > 1 or not all(map(is_simple, chain)):
            return
        if all(self.is_there(v, max(later), op, set()) for v in arrays):
            ops = [one for one in self.groups[self.place[op]].ops if one in chain]
            for target in later:
                self.copy(ops, target)
            for one in reversed(ops):
                self.drop_unread(one)

    def copy(self, chain: list[Op], target: int) -> None:
        """Copy a chain of operations into a loop, which then uses its own copy of the result."""
        group, made, copies = self.groups[target], dict[Value, Value](), []
        for op in chain:
            (out,) = op.outs
            made[out] = self.low.new(out.shape, out.dtype)
            copies.append(Op(op.kind, [self.own(a, made) for a in op.ins], [made[out]], op.name, op, **op.data))
        for reader in [one for one in group.ops if out in self.low.bases([one])]:
            reader.ins = [self.own(a, {out: made[out]}) for a in reader.ins]
            self.readers[out].remove(reader)
            self.readers.setdefault(made[out], set()).add(reader)
        for op in copies:
            self.place[op], self.maker[op.outs[0]] = target, op
            for v in self.low.bases([op]):
                self.readers.setdefault(v, set()).add(op)
        group.ops[:0] = copies

    def drop_unread(self, op: Op) -> None:
        """Drop an operation that has no reader left, and then its inputs from the readers' table."""
        if self.readers.get(op.outs[0]) or op.outs[0] in self.kept:
            return
        self.groups[self.place.pop(op)].ops.remove(op)
        for v in self.low.bases([op]):
            self.readers[v].discard(op)

    def own(self, a: object, made: dict[Value, Value]) -> object:
        """Return an operand with copied values replaced by their copies."""
        if not isinstance(a, Value) or self.low.base(a) not in made:
            return a
        base, places = self.low.seen(a)
        if a is base:
            return made[base]
        view = self.low.new(a.shape, a.dtype)
        self.low.aliases[view] = made[base], places
        return view

    def targets(self, op: Op) -> set[int]:
        """Return the positions of the loops that read an operation's result, if all of them have its shape; else nothing."""
        out, like, there = op.outs[0], self.groups[self.place[op]], self.readers.keys()
        readers = self.readers.get(out, set())
        found = {self.place[one] for one in readers}
        alike = all((g.kind, g.shape) == (like.kind, like.shape) for g in [self.groups[k] for k in found])
        fit = out not in self.kept and alike and all(joins(self.low, one, {out}, there) for one in readers)
        return found if fit else set()

    def chain(self, op: Op, fit: Callable) -> tuple[set[Op], list[Value]]:
        """Return an operation with the formulas of its loop that only serve it, and the arrays that these read.

        `fit(readers, chain)` decides whether a formula with these readers may join the chain.
        """
        chain, read, k = {op}, set(self.low.bases([op])), self.place[op]
        makers = lambda: {self.maker[v] for v in read if v in self.maker and v not in self.kept}
        alike = lambda one: one.kind == "map" and self.place[one] == k and fit(self.readers[one.outs[0]], chain)
        while more := {one for one in makers() if alike(one)}:
            chain |= more
            read = set(self.low.bases(list(chain))) - {o for one in chain for o in one.outs}
        return chain, [v for v in read if v.kind != "uniform" and v.shape]

    def is_there(self, v: Value, target: int, op: Op, chain: set[Op]) -> bool:
        """Return True if an array stays in memory until `target`, or can stay instead of a result that is not smaller."""
        if v in self.kept or v not in self.maker:
            return True
        until = max([self.place[one] for one in self.readers[v] - chain], default=0)
        return until >= target or until > self.place[op] and v.dtype.itemsize <= op.outs[0].dtype.itemsize


def large(read: list[Value], op: Op) -> list[Value]:
    """Return the arrays that are at least as large as an operation's result."""
    return [v for v in read if math.prod(v.shape) >= math.prod(op.outs[0].shape)]
