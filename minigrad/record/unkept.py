"""Operations that a recording of a long program does not keep: they are one operation of the record.

The program ran them while the recording paused. The graph still has their nodes, so the gradients that pass through them to the
leaves are known, and added up; the gradients in between are not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.engine import reachable
from ..core.graph import Leaf, producer
from ..core.tensor import Tensor
from .values import NOWHERE, Event, Flow, OpEntry, bottom

if TYPE_CHECKING:
    from .recorder import Record


class Unkept:
    """Stands in a record for operations that are not kept."""

    primitive, differentiable, elementwise, name, names, n_internal = True, True, False, "operations", ("inputs",), 0

    @staticmethod
    def tangents(*_: object) -> Any:
        """Raise NotImplementedError: the partials of these operations are unknown."""
        raise NotImplementedError

    evaluate = tangents

    @staticmethod
    def partial_text(_: int) -> str:
        """Return the text of a partial, of which nothing is known."""
        return "not kept"


class Beyond:
    """The operations behind a recording that are not kept, in one backward pass or several."""

    def __init__(self, rec: Record, nodes: list):
        self.rec, self.nodes = rec, set(nodes)
        self.sums: dict[Leaf, Any] = {}  # the gradients that flow to each leaf, in the run that is going on
        self.group = OpEntry("forward", f"{len(nodes):,} operations", NOWHERE, [])
        leaves = sorted({e for node in nodes for e in node._edges if type(e) is Leaf}, key=lambda leaf: leaf._seq)
        self.leaves = {leaf: self.value_of(leaf) for leaf in leaves if leaf.variable is not None}
        made = {v: producer(v.tensor._edge) for v in rec.values if isinstance(v.tensor, Tensor) and v.tensor._edge}
        self.event = Event(Unkept, self.group, list(self.leaves.values()))
        self.event.outputs = [v.index for v, node in made.items() if node in self.nodes]
        for v, node in made.items():
            if node in self.nodes:
                rec._made_by[node] = Event(Unkept, self.group, [], [v.index])
        self.group.events = (self.event,)
        rec.groups.insert(0, self.group)

    def value_of(self, leaf: Leaf) -> int:
        """Return the value of a leaf, which is noted now if no recorded operation reads it."""
        return self.rec.leaves[leaf] if leaf in self.rec.leaves else self.rec.ref(leaf.variable)

    def has(self, node: Any) -> bool:
        """Return True if a node belongs to an operation that is not kept."""
        return node in self.nodes

    def flowed(self, given: Sequence[tuple]) -> None:
        """Add up the gradients that a node, which is not kept, passes to leaves: (position, edge, gradient) of each."""
        for _, edge, g in given:
            if type(edge) is Leaf and g is not None:
                a = bottom(g) if isinstance(g, Tensor) else g
                self.sums[edge] = a + 0 if edge not in self.sums else self.sums[edge] + a

    def ended(self, run: int) -> None:
        """Note the flows of a run that is over."""
        arrived = [g for number, _, g in self.group.upstreams if number == run]
        for position, (leaf, value) in enumerate(self.leaves.items()):
            if leaf in self.sums and arrived:
                gives = self.rec._runs[-1].gradients.get(value)  # if no recorded operation contributes
                known = None if gives is None else self.rec.values[gives].content()
                if gives is None or known is None or not np.array_equal(known, self.sums[leaf], equal_nan=True):
                    gives = self.rec.gradient(self.sums[leaf])
                self.group.edges += (Flow(value, self.event, position, "not kept", arrived[0], gives, run),)
        self.sums = {}


def fold_unseen(rec: Record, roots: Sequence) -> None:
    """Note all operations behind some edges that a paused recording has not seen as one."""
    rec.settle()
    nodes = [node for node in reachable([e for e in roots if e is not None])[0] if node not in rec._made_by]
    if nodes and rec.beyond is None:
        rec.beyond = Beyond(rec, nodes)
