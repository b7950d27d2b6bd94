"""Postponing: what one later loop alone reads is computed there, if it comes from one array that is in memory anyway.

So the derivative 1 - h * h of a layer is not kept beside h from the forward pass to the backward pass.  Smaller arrays, such
as a number for each row, do not count: they are kept in place of the result.
"""

from __future__ import annotations

import math

from .fuse import Group, joins
from .ir import Lowering, Op, V


def postpone(low: Lowering, groups: list[Group], kept: set) -> list[Group]:
    """Return the groups, with what can wait in the loop that reads it; `kept` has to be there at the end."""
    order = Order(low, groups, kept)
    for k in reversed(range(len(groups))):
        for op in [op for op in reversed(groups[k].ops) if op.kind == "map" and op.outs[0].shape]:
            if order.place[op] == k:
                order.postpone(op)
    return [g for g in groups if g.ops]


class Order:
    """The places of operations, and who makes and reads what."""

    def __init__(self, low: Lowering, groups: list[Group], kept: set):
        self.low, self.groups, self.kept = low, groups, kept
        self.place = {op: k for k, g in enumerate(groups) for op in g.ops}
        self.maker = {o: op for op in self.place for o in op.outs}
        self.readers: dict[V, set[Op]] = {}
        for op in self.place:
            for v in low.bases([op]):
                self.readers.setdefault(v, set()).add(op)

    def postpone(self, op: Op) -> None:
        """Move an operation to the loop that reads it, and with it what computes for it alone."""
        target = self.target(op)
        if target is None:
            return
        chain, read = self.chain(op)
        arrays = [v for v in read if math.prod(v.shape) >= math.prod(op.outs[0].shape)]
        if len(arrays) == 1 and self.is_there(arrays[0], target, op, chain):
            group, later = self.groups[self.place[op]], self.groups[target]
            later.ops[:0] = [one for one in group.ops if one in chain]
            group.ops[:] = [one for one in group.ops if one not in chain]
            self.place.update(dict.fromkeys(chain, target))

    def target(self, op: Op) -> int | None:
        """Return the place of the one loop, over the same shape, that reads an operation's result; None if that is not so."""
        out, k = op.outs[0], self.place[op]
        found = {self.place[one] for one in self.readers.get(out, ())}
        if len(found) != 1 or k in found or out in self.kept:
            return None
        (target,) = found
        group, there = self.groups[target], self.readers.keys()
        fits = (group.kind, group.shape) == (self.groups[k].kind, self.groups[k].shape)
        return target if fits and all(joins(self.low, one, {out}, there) for one in self.readers[out]) else None

    def chain(self, op: Op) -> tuple[set[Op], list[V]]:
        """Return an operation with those of its loop that compute for it alone, and the arrays that these read."""
        chain, read = {op}, set(self.low.bases([op]))
        while more := {self.maker[v] for v in read if self.is_for(v, chain, self.place[op])}:
            chain |= more
            read = set(self.low.bases(list(chain))) - {o for one in chain for o in one.outs}
        return chain, [v for v in read if v.kind != "uniform" and v.shape]

    def is_for(self, v: V, chain: set[Op], k: int) -> bool:
        """Return whether a value is made by a formula in group k, and read by nobody but a chain of them."""
        maker = self.maker.get(v)
        inside = maker is not None and maker.kind == "map" and self.place[maker] == k
        return inside and v not in self.kept and self.readers[v] <= chain

    def is_there(self, v: V, target: int, op: Op, chain: set[Op]) -> bool:
        """Return whether an array is in memory until then, or stays there in place of a result that is no smaller."""
        if v in self.kept or v not in self.maker:
            return True
        until = max([self.place[one] for one in self.readers[v] - chain], default=0)
        return until >= target or until > self.place[op] and v.dtype.itemsize <= op.outs[0].dtype.itemsize
