"""Run a function under a CaptureTrace, which intercepts its operations, reads of values and requests for gradients."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.kinds import host
from ..core.frames import OFF, Frame, current, enter, use
from ..core.graph import Leaf
from ..core.tensor import Box, Tensor
from ..events import Interceptor, events
from ..func.tree import flatten, rebuild
from ..kernels.cache import without
from ..ops.join import stack
from ..scopes import undoing
from .captured_steps import HANDLED, VALUES, Refused
from .symbols import is_symbolic, plain

if TYPE_CHECKING:
    from .trace import CaptureTrace

MOST = 64  # maximum number of Python numbers in one tensor that become parameters of the program
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
        events.remove(trace)

    with undoing(restore):
        try:
            events.add(trace)
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


class CapturedReads(Interceptor):
    """The base of CaptureTrace that follows what captured code does to tensors, apart from operations."""

    def sees(self, t: Tensor | None) -> bool:
        """Return True if this capture runs here, and is responsible for `t` (or for code that has no tensor)."""
        return capturing.get() is self and (t._layer is self if type(t) is Box else current() is not OFF)

    def tracked(self, t: Tensor, before: Leaf | None) -> None:
        """Record that a tensor starts or stops requiring gradients; `before` is its previous edge."""
        if self.sees(t):
            self.edges.setdefault(id(t), (t, before))
            self.own(t)._edge = t._edge

    def changes(self, what: str, t: Tensor | None = None) -> None:
        """Refuse to change a tensor from outside, or to read or change the state of a generator."""
        if self.sees(t) and (type(t) is not Box or self.is_input(t)):
            raise self.refuse(f"it {what}")

    def numbers(self, data: Any) -> Any:
        """Record that a tensor is about to be made of symbolic numbers; return them as plain Python numbers."""
        if not self.sees(None):
            return None
        flat, tree = flatten(data)
        if not any(map(is_symbolic, flat)):
            return None
        self.elements = flat
        return rebuild(tree, list(map(plain, flat)))

    def item(self, t: Tensor) -> Any:
        """Return the number for item()."""
        if not self.sees(t):
            return None
        if (symbol := self.number(t)) is None and type(t) is not Box:
            raise self.unrecorded(t, "item")
        return symbol

    def read(self, t: Tensor, how: str) -> None:
        """Refuse to read the values of a tensor, from outside or traced, apart from item()."""
        if not self.sees(t) or how == "item":
            return
        if how == "grad":
            self.look_at_grad(t)
        elif how == "grad_fn":
            self.look_at_history(t)
        else:
            raise self.unrecorded(t, how)

    def unrecorded(self, t: Tensor, how: str) -> Refused:
        """Return the exception for a read that is not recorded."""
        if type(t) is not Box:
            return self.refuse(
                f"it reads the value of a tensor ({how}), which can change from call to call", fix=VALUES
            )
        what = f"it accesses the memory of a tensor of shape {tuple(t.shape)} with {how}(), which is not recorded"
        return self.refuse(what, fix="use minigrad's operations instead of NumPy's")


# ---------------------------------------------------------------------- tensors that are made of numbers
def made_of(trace: Any, elements: list, like: Tensor) -> Any:
    """Create a tensor like tensor([lr, 1.0]) or full((3,), k) from parameters of the program: one for all elements, or each."""
    frame: Any = current()
    while frame.layer is not trace:
        frame = frame.parent
    kind = like._np_dtype
    if kind.kind != "f" and any(isinstance(a, float) for a in elements):  # floats are truncated
        elements = [a.__trunc__() for a in elements]
    ones = partial(like.new_ones, dtype=like.dtype)
    with use(frame.all_grad(False)):
        if len(elements) == 1:
            made = ones(like._sizes) * trace.operand(elements[0], kind)
        else:
            made = stack([ones(()) * trace.operand(a, kind) for a in elements]).reshape(like._sizes)
    trace.from_numbers[trace.value(made)] = elements
    return made


def holds(t: Tensor, numbers: list) -> bool:
    """Return True if a tensor consists of these numbers, one per element or one for all, and they may be parameters."""
    if len(numbers) > MOST or t._np_dtype not in HANDLED or t._np_dtype.kind == "b":
        return False
    held = np.array(list(map(plain, numbers))).astype(t._np_dtype)
    return np.array_equal(host(t._a).ravel(), held if len(held) > 1 else np.repeat(held, t._a.size), equal_nan=True)
