"""Events that are no operations, such as reads, cuts, batches, communication, gradients, checkpoints; and tangents.

Tangents run beside the program at a dual level that only the recording knows.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..autograd.dual import Both, Level, carried, carry, others, tangent_of
from ..core.backward import to_tensor
from ..core.frames import EAGER, Frame, Layer, current, recorder_of, use
from ..core.function import Function
from ..core.graph import Leaf, history
from ..core.tensor import Tensor, wrap
from ..events import Observer
from .callbacks import edges_of
from .callers import called
from .cuts import has_history, noted_array, noted_cut
from .event_log import EventLog
from .layer_views import below, dims_of, sight, tangents_of
from .reads import READING, noted_read, reader
from .transfers import transfer_entry
from .values import Event


class Heard(EventLog, Observer):
    """The events of the process that a recording notes."""

    level: Level | None
    seeds: Any
    notes: list[str]
    ran_backward: bool
    ran_jvp: bool
    _seeded: list[Tensor]
    in_method: bool
    nest: list
    _backward: int
    _cut: set[int]
    _outer: Any
    _sights: list

    def read(self, t: Tensor, how: str) -> None:
        """Log that the program reads a tensor's elements."""
        if how in READING and not self._backward and not self._fetching and self.is_here():
            self.log.append([noted_read, t, edges_of((t,))[0], *reader(sys._getframe(1))])

    def detached(self, how: str, t: Tensor, out: Tensor, edge: Any = None) -> None:
        """Log that the program, or a module, takes a tensor out of its history; an operation's own such steps do not count."""
        edge = edge or history(t)
        known = edge is not None or has_history(t) or id(below(t, self.around)) in self._cut
        if not known or self.in_method or self._backward or self._fetching or recorder_of(current()) is not self:
            return
        name, _, user = called(sys._getframe(1))
        if user is not None and name in (None, "detach"):
            t, out = below(t, self.around), below(out, self.around)
            self._cut.add(id(out))
            edge = edge if t is out else history(t)
            self.log.append([noted_cut, how, t, edge, out, user.f_code, user.f_lasti])

    def built(self, t: Tensor) -> None:
        """Log that the program makes a tensor of an array."""
        if not self.in_method and not self._fetching and history(t) is None and recorder_of(current()) is self:
            self._cut.add(id(t))
            self.log.append([noted_array, t, *reader(sys._getframe(1))])

    def tracked(self, t: Tensor, before: Any) -> None:
        """Log that a leaf stops requiring grad."""
        if before is not None:
            self.detached("requires_grad_", t, t, before)
            t._tan = t._tan if self.level is None else others(t._tan, self.level)

    def is_here(self) -> bool:
        """Return True if the running code is recorded here, possibly by a recording inside this one, too."""
        return self in getattr(recorder_of(current()), "nest", ())

    def drawn(self, t: Tensor) -> None:
        """Log that random numbers were drawn."""
        if not self._fetching:
            self.log.append([EventLog.drew, t])

    def fetched(self, fetch: Callable) -> Any:
        """Fetch a batch; only operations through which gradients pass are logged."""
        nest = self.nest
        for rec in nest:
            rec._fetching = True
        try:
            with use(current().but()):  # all operations come through `handles`
                return fetch()
        finally:
            for rec in nest:
                rec._fetching = False

    def communicated(self, call: Any, ended: bool) -> None:
        """Log that a communicating call is about to write its results, or has ended."""
        self._outer = None
        ends, writes = EventLog.transfer_ended, EventLog.transfer_writes
        self.log.append([ends, call, transfer_entry(call)] if ended else [writes, call, call.reads])

    # ------------------------------------------------------------------ gradients
    def found(self, gradients: dict) -> dict:
        """Return the requested gradients as Tensors; if one becomes another object, log that they are the same."""
        tensors = {k: to_tensor(g) for k, g in gradients.items()}
        for k, t in tensors.items():
            for rec in self.nest if t is not gradients[k] else ():
                rec.log.append([EventLog.handed_out, gradients[k], t])
        return tensors

    def hand_over(self, tensors: tuple) -> None:
        """Log that the program receives tensors that no operation returns: from autograd.grad, from ctx.saved_tensors."""
        caller = sys._getframe(2)
        if called(caller)[2] is caller:  # the user's code, not the library's
            for rec in self.nest:
                rec.log.append([EventLog.received, tensors, caller.f_code, caller.f_lasti])

    def note_same(self, g: Any, other: Any) -> None:
        """Log that a gradient continues as another object."""
        if g is not other:
            self.log.append([EventLog.same, g, other])

    # ------------------------------------------------------------------ checkpoints, layers, Functions and modules
    def checkpoint(self, what: str, node: Any, inputs: Any) -> None:
        """Log that a checkpoint begins, or runs again (regions.py)."""
        facts = (inputs, edges_of(inputs)) if what == "region_began" else ()
        self._outer = None
        self.log.append([getattr(EventLog, what), node, *facts])

    def log_call(self, layer: Layer, cls: Any, args: tuple) -> Event | None:
        """Log an operation with its arguments as a transform receives it, and return the event."""
        if layer in self.around:
            return None
        self._sights.append((layer.name, [list(a.shape) for a in args if isinstance(a, Tensor)]))
        event, *seen = sight(layer, cls, args, self.around)
        self.ran_jvp = self.ran_jvp or any(seen[-1])
        self.log.append([EventLog.sight_began, event, *seen])
        return event

    def log_result(self, event: Event, layer: Layer, out: Any) -> None:
        """Log the transform's result, or None if it failed."""
        outs = [o for o in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(o, Tensor)]
        seen = [below(o, self.around) for o in outs], [dims_of(o, self.around) for o in outs]
        self.log.append([EventLog.sight_ended, event, *seen, tangents_of(layer, outs, self.around)])

    def node_made(self, node: Any) -> None:
        """Log a node of a Grad layer inside this recording, whose operation may just have run below."""
        if node._layer is not None:
            self.log.append([EventLog.claimed, node, node._saved])

    def module_begins(self, module: Any) -> None:
        """Log that a module's call begins."""
        self.log.append([EventLog.module_entered, module])

    def module_ends(self, module: Any) -> None:
        """Log that a module's call is over."""
        self.log.append([EventLog.module_left, module])

    # ------------------------------------------------------------------ tangents
    def with_tangents(self, below: Frame, grad: bool) -> Frame:
        """Return the frame below with the recording's dual level open, unless the program has opened one."""
        update, inner, bottom = self.ran_backward and not grad, below.dual, below
        while bottom.layer.records:
            bottom = bottom.parent
        if self.level is None or inner is not None and inner.programs or bottom.layer is not EAGER or update:
            return below
        return below.but(dual=self.level if inner is None else Both(self.level, inner))

    def tangents_at(self, frame: Frame, args: Any) -> list:
        """Return the tangent of each argument at the recording's level, or the program's, if it is open in a frame, or None."""
        dual = frame.dual
        level = dual if dual is None or dual.programs else self.level if self.level in dual.levels else None
        return [None if level is None else tangent_of(a, level) for a in args]

    def stops(self, cls: Any, args: tuple) -> bool:
        """Return True if tangents stop here: at a Function without jvp, or at an operation on its results."""
        if self.level is None:
            return False
        kept = [carried(a._tan, self.level) for a in args if isinstance(a, Tensor) and a._layer is None]
        if any([tan is not None and tan[1] is None for tan in kept]):
            return True
        if cls.primitive or cls.jvp is not Function.jvp or all([tangent_of(a, self.level) is None for a in args]):
            return False
        self.notes.append(f"the jvp pass stops at {cls.__name__}, which has no jvp")
        return True

    def without_tangents(self, results: tuple) -> None:
        """Mark results that depend on the leaves but have no tangent, so that it does not count as 0."""
        for t in results:
            if isinstance(t, Tensor):
                carry(t, self.level, None)

    def meet(self, t: Tensor, name: str = "") -> None:
        """Give a leaf that a jvp pass meets for the first time its tangent: ones, unless the seeds say otherwise."""
        new = self.level is not None and t._layer is None and carried(t._tan, self.level) is None
        if type(history(t)) is Leaf and t._np_dtype in FLOATS and new:
            if self.seeds is None or self.seeds.tangent is None:
                seed = np.ones_like(t._a, order="C")
            elif (seed := self.seeds.direction(t, t._a.shape, t._np_dtype, name)) is None:
                return
            self._seeded.append(t)
            carry(t, self.level, wrap(seed))

    def dual_made(self, t: Tensor, tangent: Tensor) -> None:
        """Log that the program has given a tensor a tangent."""
        self.ran_jvp = True
        self.log.append([EventLog.dual_began, t, tangent])
