"""One run of the engine under a recording: the functions that the engine calls there, and the context in which it runs.

As for operations (callbacks.py), the running program only appends to the log; gradient_flow.py evaluates it.
"""

from time import perf_counter
from typing import Any

from ..core.backward import formulas_on_arrays, step_on_tensors, to_array, to_tensor, vjp
from ..core.context import Ctx
from ..core.engine import BackwardRun
from ..core.frames import Frame, current, enter
from ..core.graph import Leaf
from .event_log import EventLog
from .kept_bytes import LARGE
from .snapshots import copied
from .values import bottom


class Logs(list):
    """The logs of a recording and of those around it, which get the same entries."""

    def append(self, entry: Any) -> None:
        """Append an entry to each log."""
        for log in self:
            log.append(entry)


class Running:
    """The log of one run. On arrays, the engine runs in `frame`; on Tensors, `frame` is None and it runs where it is."""

    def __init__(self, rec: Any, run: BackwardRun, seeds: list, frame: Frame | None):
        place = None if rec.added_backward else run.place
        self.facts = list(run.roots), list(seeds), place, run.freed is None, run.create
        self.rec, self.nest = rec, rec.nest
        self.told = self.nest[:1] if rec.added_backward else self.nest  # the backward of a recording is its own
        self.log = rec.log if len(self.told) == 1 else Logs([one.log for one in self.told])
        self.frame, self.end, self.summing = frame, run.end, False
        run.end, run.arrived = self.accumulated, self.note_arrived
        step = self.step_on_tensors if frame is None else self.step_on_arrays
        for one in self.told:
            step = step if one.clock is None else one.clock.step(step)
        run.step = step
        run.pull = self.pull_arrived if frame is None else self.pull

    def __enter__(self) -> None:
        self.outer = [rec._outer for rec in self.nest]
        for rec in self.nest:
            rec._outer = None
            rec._backward += 1
        self.began = perf_counter()
        for rec in self.told:
            rec.ran_backward = True
        self.log.append([EventLog.run_began, *self.facts])
        if self.frame is not None:
            self.old = current()
            enter(self.frame)

    def __exit__(self, kind: object, *_: object) -> None:
        self.end_sums()
        if self.frame is not None:
            enter(self.old)
        self.log.append([EventLog.run_ended, kind is not None])
        for rec in self.nest:
            rec._backward -= 1
            rec._outer = self.outer.pop(0)
        for rec in self.told:
            rec.backward_times.append((self.began, perf_counter()))

    # ------------------------------------------------------------------ on Tensors
    def step_on_tensors(self, node: Any, g: Any, this: BackwardRun) -> list:
        """Run a node's backward on Tensors; a sum of gradients right after it belongs to the same rule."""
        self.end_sums()
        pairs = step_on_tensors(node, g, this)
        self.log.append([EventLog.backward_began, node])
        self.summing = True
        return pairs

    def end_sums(self) -> None:
        """Log that the following operations no longer sum a rule's gradients."""
        if self.summing:
            self.log.append([EventLog.backward_ended])
            self.summing = False

    def pull(self, node: Any, gs: list) -> tuple:
        """Run a node's backward on Tensors; its operations belong to a backward entry of the node's operation."""
        self.log.append([EventLog.backward_began, node])
        try:
            outs = vjp(node, gs)
        finally:
            self.log.append([EventLog.backward_ended])
        self.log.append([EventLog.gradients_flowed, node, gs, list(zip(range(len(outs)), node._edges, outs))])
        return outs

    def pull_arrived(self, node: Any, gs: list) -> tuple:
        """Do the same in a run where all gradients are Tensors."""
        self.note_arrived(node, gs)
        return self.pull(node, gs)

    # ------------------------------------------------------------------ on arrays
    def step_on_arrays(self, node: Any, g: Any, this: BackwardRun) -> list:
        """Run a node's backward on arrays, and log the incoming and outgoing gradients.

        These arrays must never be written to, because the log refers to them.
        """
        if type(g) is not list and g.nbytes >= LARGE:
            for rec in self.told:
                rec.look()
        if node._hooks is None and node.places is not None and node.backward_on_arrays is not None:
            pairs = node.backward_on_arrays(g, this.freed)
            if pairs is not None:
                self.log.append((node, g, tuple([d for _, d in pairs])))
                return pairs
        if node._hooks is None and not isinstance(node, Ctx) and node._fn.arrays:
            pairs = formulas_on_arrays(node, g, this.freed)
            if pairs is not None:
                self.log.append((node, g, tuple([pairs[i][1] for i in node.places or range(len(pairs))])))
                return pairs
        return self.step_boxed(node, g, this)

    def step_boxed(self, node: Any, g: Any, this: BackwardRun) -> list:
        """Run a backward on Tensors around arrays; a gradient that becomes another object is logged as the same one."""
        raws = g if type(g) is list else [g]
        gs = [to_tensor(x) for x in raws]
        self.note_arrived(node, raws)
        for raw, t in zip(raws, gs):
            if t is not None:
                self.rec.note_same(raw, t._a)
        given = step_on_tensors(node, gs, this)
        pairs = [(e, to_array(t)) for e, t in given]
        for (_, t), (_, x) in zip(given, pairs):
            if t is not None:
                self.rec.note_same(t._a, x)
        return pairs

    # ------------------------------------------------------------------ at the leaves
    def accumulated(self, leaf: Leaf, g: Any, this: BackwardRun) -> None:
        """Let the engine add a gradient to a leaf's `.grad`, and log it."""
        self.end_sums()
        t = leaf._ref()
        before = None if t is None else t._grad
        copy = None if before is None else copied(bottom(before))
        self.log.append([EventLog.leaf_began])
        self.end(leaf, g, this)
        self.log.append([EventLog.backward_ended])
        after = None if t is None or leaf._hooks is not None else t._grad  # a hook may set it to anything
        self.log.append([EventLog.accumulated, leaf, g, before, after, copy])

    def note_arrived(self, node: Any, g: Any) -> None:
        """Log the complete gradient of a node's outputs, or of a leaf."""
        self.log.append([EventLog.arrived, node, tuple(g) if type(g) is list else (g,)])
