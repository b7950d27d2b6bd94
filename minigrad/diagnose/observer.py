"""The observer of debug mode and of anomaly detection: it notes what costs too much to be noted always."""

from __future__ import annotations

from typing import Any

from ..arrays.memory import storage
from ..core.events import Observer
from ..core.frames import Frame, current, enter
from ..core.saved import Saved, bottom
from ..core.tensor import Tensor
from ..places import user_place
from . import debug, detached, lint, nan
from .debug import Lent, Notes, anomaly, mode
from .saved_tensors import modified_unseen

fingerprints = Notes()  # what is saved for backward -> its fingerprint


class Watcher(Observer):
    """Looks at every operation while debug mode or anomaly detection is on."""

    def op_done(self, frame: Frame, cls: Any, args: tuple, outs: tuple, node: Any) -> None:
        """Note what made each result, where histories end, and what is seldom meant."""
        name = cls.function_name() if cls.primitive else cls.__name__
        if mode.on:
            debug.note_origin(name, outs)
            detached.note(name, args, outs, frame.grad)
            if cls.primitive:
                lint.look(cls, args, outs)
        if anomaly.on and anomaly.nan and cls.primitive:
            nan.watch(name, args, outs)

    def node_made(self, node: Any) -> None:
        """Note the user's line."""
        if anomaly.on:
            node._trace = user_place()

    def detached(self, how: str, t: Any, out: Any) -> None:
        """Note that the user has taken a tensor out of its history."""
        if mode.on and t._edge is not None:
            detached.note_cut(how, t, out)

    def saved(self, saved: Saved) -> None:
        """Note what a saved tensor is like."""
        if mode.on:
            fingerprints[saved] = debug.fingerprint(bottom(saved.tensor)._a)

    def unpacked(self, saved: Saved, node: Any) -> None:
        """Refuse one that is not like that any more."""
        mark = fingerprints.get(saved)
        if mark is not None and mark != debug.fingerprint(bottom(saved.tensor)._a):
            raise modified_unseen(node, saved)

    def flowed(self, node: Any, outs: tuple) -> None:
        """Refuse NaN, where that was asked for."""
        if node._trace is not None and anomaly.nan:
            nan.check_nan(node, outs)


WATCHER = Watcher()


def switch(debugging: bool, on: bool, check_nan: bool) -> None:
    """Set the modes of this thread; while one is on, the observer looks on."""
    mode.on, anomaly.on, anomaly.nan = debugging, on, check_nan
    frame = current()
    if (debugging or on) != (WATCHER in frame.observers):
        enter(frame.observed(WATCHER, debugging or on))


def lent(t: Tensor, how: str) -> None:
    """Note that the user gets hold of a tensor's memory, in which writes are not noticed."""
    if type(t._ver) is Lent:
        t._ver.exposed = True
    if mode.on:
        debug.lend(storage(t._a), how)


def lent_array(memory: Any, how: str) -> None:
    """Note that memory of the user's becomes that of a tensor."""
    if mode.on and not debug.lent(memory):
        debug.lend(memory, how)
