"""The observer of debug mode and anomaly detection: it takes the notes that are too expensive to take always."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays.memory import storage
from ..core.frames import Frame, current, enter
from ..core.saved import Saved, plain_tensor
from ..core.tensor import Tensor
from ..events import Interceptor, Observer
from ..places import user_place
from . import captured_tensors, debug, detached, first_backward, lint, modules, nan, user_methods
from .data_writes import DataVersion
from .debug import Lent, Notes, anomaly, mode
from .saved_tensors import modified_unseen

fingerprints = Notes()  # saved tensor -> its fingerprint


class Watcher(Observer):
    """Observer of every operation while debug mode or anomaly detection is on."""

    def op_done(self, frame: Frame, cls: Any, args: tuple, outs: tuple, node: Any) -> None:
        """Note the operation of each result and the ends of histories; warn about suspicious calls."""
        name = cls.function_name() if cls.primitive else cls.__name__
        if mode.on:
            debug.note_origin(name, outs)
            detached.note(name, args, outs, frame.grad, node)
            if cls.primitive:
                lint.check_operation(cls, args, outs)
        if anomaly.on and anomaly.nan and cls.primitive:
            nan.watch(name, args, outs, cls.elementwise)

    def node_made(self, node: Any) -> None:
        """Note the user's line."""
        if anomaly.on:
            node._trace = user_place()

    def saved(self, saved: Saved) -> None:
        """Note the fingerprint of a saved tensor."""
        if mode.on:
            fingerprints[saved] = debug.fingerprint(plain_tensor(saved.tensor)._a)

    def unpacked(self, saved: Saved, node: Any) -> None:
        """Raise if the contents of a saved tensor no longer match its fingerprint."""
        mark = fingerprints.get(saved)
        if mark is not None and mark != debug.fingerprint(plain_tensor(saved.tensor)._a):
            raise modified_unseen(node, saved)

    def flowed(self, node: Any, outs: tuple) -> None:
        """Raise if a gradient is NaN and anomaly detection checks for it."""
        if node._trace is not None and anomaly.nan:
            nan.check_nan(node, outs)


WATCHER = Watcher()


def switch(debugging: bool, on: bool, check_nan: bool) -> None:
    """Set the modes of this thread; the observer is active while one of them is on."""
    mode.on, anomaly.on, anomaly.nan = debugging, on, check_nan
    frame = current()
    if (debugging or on) != (WATCHER in frame.observers):
        enter(frame.observed(WATCHER, debugging or on))


class Diagnosis(Interceptor):
    """Observer and interceptor of the whole process: checks that cost nothing until something is wrong."""

    def defined(self, cls: Any) -> None:
        """Guard a new Function's forward against direct calls."""
        user_methods.guard_forward(cls)

    def forward(self, run: Callable) -> Callable:
        """Return the function that watches the first forward of each Function."""
        return captured_tensors.run_forward

    def lent(self, memory: Any, how: str) -> None:
        """Note that the user gets a tensor's memory, or makes a tensor on an array."""
        if not isinstance(memory, Tensor):
            if mode.on and not debug.lent(memory):
                debug.lend(memory, how)
            return
        if type(memory._ver) is Lent:
            memory._ver.exposed = True
        if mode.on:
            debug.lend(storage(memory._a), how)

    def counter(self, t: Tensor) -> DataVersion:
        """Count the writes to what `.data` gives."""
        return DataVersion(t._a)

    def detached(self, how: str, t: Any, out: Any) -> None:
        """Note that the user detaches a tensor from its history."""
        if mode.on and t._edge is not None and out is not t and t._layer is None:
            detached.note_cut(how, t, out)

    def origins(self, tensors: dict) -> list[str]:
        """Return lines that tell how tensors were made, as far as it is known."""
        return debug.made(tensors)

    def backward_begins(self, who: str, edges: list, wanted: set | None, **facts: Any) -> None:
        """Look for mistakes in the graph of a loss."""
        first_backward.backward_begins(who, edges, wanted, **facts)

    def dropped(self, who: str) -> None:
        """Warn about functional dropout in eval mode, once a module has been in it."""
        if modules.switched:
            modules.warn_dropped(who)

    def not_finite(self, who: str, what: str) -> None:
        """Remember the first operations that made infinities and NaN."""
        nan.noticed(who, what)


DIAGNOSIS = Diagnosis()
