"""Run a function under a CaptureTrace, which intercepts its operations, reads of values and requests for gradients."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..core.frames import OFF, Frame, current, enter
from ..core.graph import Leaf
from ..core.tensor import Box, Tensor
from ..events import Interceptor, events, lock
from ..func.tree import flatten, rebuild
from ..kernels.cache import without
from ..scopes import undoing
from .captured_steps import VALUES, Refused
from .symbols import is_symbolic, plain
from .trace import CaptureTrace

capturing: ContextVar[Any] = ContextVar("minigrad.capture", default=None)  # the running CaptureTrace


@contextmanager
def tracing(trace: CaptureTrace, grad: bool):
    """Run the block under a capture."""
    here, around, alone = current(), capturing.get(), without.get()

    def restore() -> None:
        enter(here)
        capturing.set(around)
        without.set(alone)
        trace.restore()
        CAPTURES.listen(trace, False)

    with undoing(restore):
        try:
            CAPTURES.listen(trace, True)
            capturing.set(trace)
            without.set(True)  # no user sees the values
            enter(Frame(trace, grad, None, False, OFF))
            yield trace
            if trace.refused is not None:
                raise trace.refused
        except Exception as e:
            refused = e if isinstance(e, Refused) else trace.refused or e
            trace.forget()
            try:
                raise refused from None
            finally:
                del refused  # as in raise_instead


def traced(t: Tensor | None) -> CaptureTrace | None:
    """Return the running capture if it is responsible for `t` (or for code that has no tensor); else None."""
    trace = capturing.get()
    elsewhere = t._layer is not trace if type(t) is Box else current() is OFF
    return None if elsewhere else trace


class Captures(Interceptor):
    """Follows what code that is captured does to tensors, apart from operations; it listens only while a capture runs."""

    def __init__(self) -> None:
        self.running: set[CaptureTrace] = set()  # in all threads

    def listen(self, trace: CaptureTrace, on: bool) -> None:
        """Note that a capture begins or ends."""
        with lock:
            (self.running.add if on else self.running.discard)(trace)
            (events.add if self.running else events.remove)(self)

    def tracked(self, t: Tensor, before: Leaf | None) -> None:
        """Record that a tensor starts or stops requiring gradients."""
        if (trace := traced(t)) is not None:
            trace.track(t, before)

    def changes(self, what: str, t: Tensor | None = None) -> None:
        """Refuse to change a tensor from outside, or to read or change the state of a generator."""
        if (trace := traced(t)) is not None and (type(t) is not Box or trace.is_input(t)):
            raise trace.refuse(f"it {what}")

    def numbers(self, data: Any) -> Any:
        """Record that a tensor is about to be made of symbolic numbers; return them as plain Python numbers."""
        if (trace := traced(None)) is None:
            return None
        flat, tree = flatten(data)
        if not any(map(is_symbolic, flat)):
            return None
        trace.elements = flat
        return rebuild(tree, list(map(plain, flat)))

    def item(self, t: Tensor) -> Any:
        """Return the number for item()."""
        if (trace := traced(t)) is None:
            return None
        if (symbol := trace.number(t)) is None and type(t) is not Box:
            raise self.unrecorded(trace, t, "item")
        return symbol

    def read(self, t: Tensor, how: str) -> None:
        """Refuse to read the values of a tensor, from outside or traced, apart from item()."""
        if (trace := traced(t)) is None or how == "item":
            return
        if how == "grad":
            trace.look_at_grad(t)
        elif how == "grad_fn":
            trace.look_at_history(t)
        else:
            raise self.unrecorded(trace, t, how)

    def unrecorded(self, trace: CaptureTrace, t: Tensor, how: str) -> Refused:
        """Return the exception for a read that is not recorded."""
        if type(t) is not Box:
            return trace.refuse(
                f"it reads the value of a tensor ({how}), which can change from call to call", fix=VALUES
            )
        what = f"it accesses the memory of a tensor of shape {tuple(t.shape)} with {how}(), which is not recorded"
        return trace.refuse(what, fix="use minigrad's operations instead of NumPy's")


CAPTURES = Captures()
