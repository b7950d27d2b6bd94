"""How a recording hears of backward: what the engine tells it, and the contexts in which the engine works under it.

As with operations (noters.py), only the log is written while the program runs; flows.py works off what was told.
"""

from __future__ import annotations

from typing import Any

from ..core.edges import Leaf
from ..core.frames import OFF, Frame, current, enter
from .callbacks import ignore
from .event_log import Ledger
from .snapshots import copied
from .values import bottom


class Within:
    """The context of one node's backward."""

    __slots__ = ("log", "node")

    def __init__(self, log: Any, node: Any):
        self.log, self.node = log, node

    def __enter__(self) -> None:
        self.log.append([Ledger.backward_began, self.node])

    def __exit__(self, *_: object) -> None:
        self.log.append([Ledger.backward_ended])


class Running:
    """A context in which the engine runs under a recording, perhaps at another frame.  A class: a backward enters it once."""

    __slots__ = ("frame", "old", "outer", "rec")

    def __init__(self, rec: Any, frame: Frame | None = None):
        self.rec, self.frame = rec, frame

    def __enter__(self) -> None:
        rec = self.rec
        self.outer, rec._outer = rec._outer, None
        rec._backward += 1
        rec.ran_backward = True
        rec.log.append([Ledger.run_began])
        if self.frame is not None:
            self.old = current()
            enter(self.frame)

    def __exit__(self, *_: object) -> None:
        rec = self.rec
        if self.frame is not None:
            enter(self.old)
        rec.log.append([Ledger.run_ended])
        rec._backward -= 1
        rec._outer = self.outer


class Listener(Ledger):
    """A ledger that the engine tells what it does; a recording is one."""

    def __init__(self):
        super().__init__()
        self.ran_backward = False
        self._backward = 0  # how many are running
        self._outer: Any = None  # the frame of the function of the table that ran last
        self._quiet: Frame | None = None  # where a first-order backward of plain code runs

    def backward_of(self, node: Any) -> Within:
        """While a node's backward runs, what it computes belongs to a backward entry of the node's operation."""
        return Within(self.log, node)

    def running(self) -> Running:
        """While the engine runs, what is computed is its own: noted only where it can be differentiated again."""
        return Running(self)

    def sweeping(self) -> Running:
        """The same where the engine works on arrays; the user's methods and hooks run under this recording, too."""
        if self._quiet is None:
            self._quiet = Frame(self, False, None, False, OFF)
            self._quiet.note, self._quiet.quick = ignore, True
        return Running(self, self._quiet)

    def pull(self, node: Any, g: Any, free: Any) -> list:
        """Run the backward of a user's Function and note it; what it runs with gradients on belongs to its entry."""
        append = self.log.append
        append((node, g, None))
        append([Ledger.backward_began, node])
        try:
            pairs = node.pull(g, free)
        finally:
            append([Ledger.backward_ended])
        append([Ledger.given, node, g, pairs])
        return pairs

    def note_pairs(self, node: Any, g: Any, pairs: list) -> None:
        """A backward on arrays, with a pair of edge and gradient for each argument."""
        self.log.append((node, g, tuple([pairs[i][1] for i in node.places or range(len(pairs))])))

    def note_boxed(self, node: Any, g: Any, gs: list) -> None:
        """Arrays arrived at a node that runs on tensors, which are `gs` now."""
        self.log.append((node, g, None))
        for raw, t in zip(g if type(g) is list else [g], gs):
            if t is not None and t._a is not raw:
                self.note_same(raw, t._a)

    def note_same(self, g: Any, other: Any) -> None:
        """A gradient goes on as another object."""
        self.log.append([Ledger.same, g, other])

    def accumulating(self, end: Any) -> Any:
        """`end`, which adds a gradient to a leaf's `.grad`, so that the recording learns of it."""

        def noted(leaf: Leaf, g: Any, *rest: Any) -> None:
            t = leaf._ref()
            before = None if t is None else t._grad
            copy = None if before is None else copied(bottom(before))
            self.log.append([Ledger.leaf_began])
            end(leaf, g, *rest)
            self.log.append([Ledger.backward_ended])
            after = None if t is None or leaf._hooks is not None else t._grad  # a hook may have put anything there
            self.log.append([Ledger.accumulated, leaf, g, before, after, copy])

        return noted

    def note_arrived(self, node: Any, grads: list) -> None:
        """The whole gradient of a node's outputs, or of a leaf."""
        self.log.append([Ledger.arrived, node, tuple(grads)])

    def note_edges(self, node: Any, grads: list, outs: tuple) -> None:
        """What flowed back along each edge of a node."""
        self.log.append([Ledger.flowed, node, grads, list(zip(range(len(outs)), node._edges, outs))])
