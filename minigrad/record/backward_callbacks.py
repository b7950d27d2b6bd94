"""Tell a recording of backward: the engine's callbacks, and the contexts in which the engine runs under a recording.

As with operations (callbacks.py), the log is all that is written while the program runs; gradient_flow.py evaluates it.
"""

from __future__ import annotations

from typing import Any

from ..core import engine
from ..core.engine import BackwardRun
from ..core.frames import OFF, Frame, current, enter
from ..core.function import Ctx
from ..core.graph import Leaf
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
    """The context of one run of the engine under a recording, perhaps at another frame."""

    __slots__ = ("frame", "old", "outer", "rec", "summing")

    def __init__(self, rec: Any, frame: Frame | None = None):
        self.rec, self.frame, self.summing = rec, frame, False

    def step(self, node: Any, g: Any, this: BackwardRun) -> list:
        """Run a node's backward on Tensors; a sum of gradients that follows belongs to the rule that gave the last of them."""
        self.end_sums()
        pairs = engine.step_on_tensors(node, g, this)
        self.rec.log.append([Ledger.backward_began, node])
        self.summing = True
        return pairs

    def end_sums(self) -> None:
        """Note that what follows is no sum of a rule's gradients."""
        if self.summing:
            self.rec.log.append([Ledger.backward_ended])
            self.summing = False

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
        self.end_sums()
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

    def running(self, run: BackwardRun, grads: Any, seeds: list, arrays: bool) -> Running:
        """Have what flows in a run of the engine noted.  What it computes is its own: noted only where it can be
        differentiated again."""
        run.pull, end, context = self.pull, run.end, Running(self)

        def accumulated(leaf: Leaf, g: Any, this: BackwardRun) -> None:
            context.end_sums()
            self.accumulated_by(end, leaf, g, this)

        run.end = accumulated
        if not arrays:
            run.pull = self.pull_arrived
            run.step = context.step
            run.arrived = lambda node, g: self.note_arrived(node, g if type(g) is list else [g])
            return context
        run.step = self.step_on_arrays
        run.arrived = lambda node, g: self.log.append((node, g, None))
        if self._quiet is None:  # the user's methods and hooks run under this recording, too
            self._quiet = Frame(self, False, None, False, OFF)
            self._quiet.on_op, self._quiet.eager_ok = ignore, True
        for g, seed in zip(grads, seeds):
            if g is not None and seed is not g._a:
                self.note_same(g._a, seed)
        return Running(self, self._quiet)

    def found(self, gradients: dict) -> dict:
        """Return gradients that are wanted as Tensors; each that becomes another object is noted as the same."""
        tensors = {k: engine.boxed(g) for k, g in gradients.items()}
        for k, t in tensors.items():
            if t is not gradients[k] and t._a is not gradients[k]:
                self.note_same(gradients[k], t._a)
        return tensors

    # ------------------------------------------------------------------ one node
    def pull(self, node: Any, gs: list) -> tuple:
        """Run a node's backward on Tensors; what it computes belongs to a backward entry of the node's operation."""
        with Within(self.log, node):
            outs = engine.pull(node, gs)
        self.log.append([Ledger.flowed, node, gs, list(zip(range(len(outs)), node._edges, outs))])
        return outs

    def pull_arrived(self, node: Any, gs: list) -> tuple:
        """Do the same where all that flows are Tensors."""
        self.note_arrived(node, gs)
        return self.pull(node, gs)

    def step_on_arrays(self, node: Any, g: Any, this: BackwardRun) -> list:
        """Run a node's backward on arrays, and note what arrived and what it gives on.

        No array on its way back may ever be written, for the log has them as they are.
        """
        pairs = None
        if node._hooks is None and node.places is not None and node.backward_on_arrays is not None:
            pairs = node.backward_on_arrays(g, this.freed)
            if pairs is not None:
                self.log.append((node, g, tuple([d for _, d in pairs])))
                return pairs
        if node._hooks is None and not isinstance(node, Ctx) and node._fn.arrays:
            pairs = engine.formulas_on_arrays(node, g, this.freed)
            if pairs is not None:
                self.log.append((node, g, tuple([pairs[i][1] for i in node.places or range(len(pairs))])))
                return pairs
        return self.step_boxed(node, g, this)

    def step_boxed(self, node: Any, g: Any, this: BackwardRun) -> list:
        """Run a backward on Tensors around arrays; each gradient that becomes another object is noted as the same."""
        raws = g if type(g) is list else [g]
        gs = [engine.boxed(x) for x in raws]
        self.log.append((node, g, None))
        for raw, t in zip(raws, gs):
            if t is not None and t._a is not raw:
                self.note_same(raw, t._a)
        given = engine.step_on_tensors(node, gs, this)
        pairs = [(e, engine.bare(t)) for e, t in given]
        for (_, t), (_, x) in zip(given, pairs):
            if t is not None and x is not t._a:
                self.note_same(t._a, x)
        return pairs

    # ------------------------------------------------------------------ what else flows
    def note_same(self, g: Any, other: Any) -> None:
        """Note that a gradient goes on as another object."""
        self.log.append([Ledger.same, g, other])

    def accumulated_by(self, end: Any, leaf: Leaf, g: Any, this: BackwardRun) -> None:
        """Let `end` add a gradient to a leaf's `.grad`, and note it."""
        t = leaf._ref()
        before = None if t is None else t._grad
        copy = None if before is None else copied(bottom(before))
        self.log.append([Ledger.leaf_began])
        end(leaf, g, this)
        self.log.append([Ledger.backward_ended])
        after = None if t is None or leaf._hooks is not None else t._grad  # a hook may have put anything there
        self.log.append([Ledger.accumulated, leaf, g, before, after, copy])

    def note_arrived(self, node: Any, grads: list) -> None:
        """Note the whole gradient of a node's outputs, or of a leaf."""
        self.log.append([Ledger.arrived, node, tuple(grads)])
