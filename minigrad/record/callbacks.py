"""The interface between operations and recordings: the functions that are called for each operation, and the parts of a log
entry that must be stored at once, because arguments and results may change before the log is evaluated.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import WeakSet, ref

from ..core.frames import Frame, Layer, current, recorder_of
from ..core.graph import Leaf, history, producer
from ..core.tensor import Tensor
from ..events import Interceptor, Observer, events
from .callers import OURS, OUTSIDE
from .kept_bytes import LARGE

SELDOM = 100_000  # allocated containers between two collections
FULL = 1024  # entries of a log, which is then evaluated
usual: list[int] = []  # the threshold outside of recordings
recordings: list = []  # all running recordings of the process; without one, an operation's path through the layers is not noted
unsettled: WeakSet = WeakSet()  # recordings, running or finished, that still have to look at tensors
finished: set[ref] = set()  # recordings that are over and alive, without those of methods
passed: ContextVar[tuple] = ContextVar("minigrad.passed", default=())  # layers that the operation came through
getframe, layers_passed = sys._getframe, passed.get


def begin(rec: Any) -> None:
    """Register a recording that begins, and observe the process."""
    recordings.append(rec)
    unsettled.add(rec)
    events.add(WRAPPING)
    events.add(rec)
    collect_seldom(True)


def end(rec: Any) -> None:
    """Unregister a recording."""
    if rec in recordings:
        recordings.remove(rec)
    events.remove(rec)
    if not rec.in_method:
        finished.add(ref(rec, forgotten))
        events.add(AFTERWARDS)
    if not recordings:
        events.remove(WRAPPING)
        collect_seldom(False)


def collect_seldom(recording: bool) -> None:
    """Let the garbage collector run less often during a recording, whose log stays alive: it took half of the time."""
    threshold, *rest = gc.get_threshold()
    if recording and not usual and 0 < threshold < SELDOM:
        usual.append(threshold)
        gc.set_threshold(SELDOM, *rest)
    elif usual and not recording:
        before = usual.pop()
        if threshold == SELDOM:  # unless the program has set another threshold since
            gc.set_threshold(before, *rest)


class Wrapping(Interceptor):
    """Wraps the methods of layers, of users' Functions and of DataLoaders, once for all recordings that run."""

    def layer_process(self, process: Any) -> Any:
        """Return a layer's method `process` that notes that operations come through the layer."""
        layer = process.__self__
        return process if layer.records else partial(through, layer)

    def method(self, cls: Any, name: str, method: Any) -> Any:
        """Return a method of a user's Function that runs under a separate recording."""
        for rec in reversed(recordings[-1].nest):
            method = rec.watching(cls, name, method)
        return method

    def fetch(self, fetch: Callable) -> Any:
        """Return a function that fetches a batch without logging, because its operations are no part of the model."""
        rec = recorder_of(current())
        return partial(rec.fetched, fetch) if rec in recordings and not rec._fetching else None


WRAPPING = Wrapping()


class Afterwards(Observer):
    """Tells recordings that are over, as long as they are alive, of writes to their tensors."""

    def writes(self, x: Tensor) -> None:
        """Let them keep the contents before a write."""
        for rec in self.told():
            rec.writes(x)

    def lent(self, memory: Any, how: str) -> None:
        """Let them watch memory that the program gets as an array."""
        for rec in self.told():
            rec.lent(memory, how)

    def told(self) -> list:
        """Return the recordings."""
        alive = [one() for one in list(finished)]
        return [rec for rec in alive if rec is not None and rec not in recordings]


AFTERWARDS = Afterwards()


def forgotten(one: ref) -> None:
    """Stop to observe writes when the last recording that is over is deleted."""
    finished.discard(one)
    if not finished:
        events.remove(AFTERWARDS)


def through(layer: Layer, frame: Frame, cls: Any, args: tuple) -> Any:
    """Pass an operation to a layer, and note that it came through it."""
    before, out = passed.get(), None
    sights = [(rec, sight) for rec in recordings if (sight := rec.log_call(layer, cls, args)) is not None]
    try:
        passed.set((*before, layer))
        out = layer.process(frame, cls, args)
        return out
    finally:
        passed.set(before)
        for rec, sight in sights:
            rec.log_result(sight, layer, out)


def tracked_noter(rec: Any) -> Any:
    """Return the callback for operations with gradients on. It must be fast: a small operation takes under a microsecond.

    So it handles the usual callers itself (the user, or a function that only applies the operation); `caller` does the rest.
    """
    append, look, left = rec.log.append, rec.look, FULL  # operations until the log is evaluated

    def note(cls: Any, args: tuple, out: Any) -> None:
        nonlocal left
        left = left - 1 if left else FULL
        frame = getframe(2)
        try:
            link = out._edge
        except AttributeError:  # several results
            link = None
        code = frame.f_code
        if link is not None and not layers_passed():
            if code.co_filename in OUTSIDE:
                rec._outer = None
                append((cls, out, link, code, frame.f_lasti) + args)
                return None if left and out._a.nbytes < LARGE else look()
            ours, back = OURS.get(id(code)), frame.f_back
            if ours is not None and ours.stands_for is cls and back is not None and frame is not rec._outer:
                user = back.f_code
                if user.co_filename in OUTSIDE:
                    rec._outer = frame
                    append((code, out, link, user, back.f_lasti) + args)
                    return None if left and out._a.nbytes < LARGE else look()
        rec.note_called(cls, args, out, link, frame)

    return note


def ignore(cls: Any, args: tuple, out: Any) -> None:
    """Ignore an operation."""


def edges_of(args: tuple) -> list:
    """Return the edges of the tensors among the arguments, None for others."""
    return [None if not isinstance(a, Tensor) else a._edge if a._view is None else history(a) for a in args]


def nodes_of(outs: tuple) -> list:
    """Return the nodes of results, each with its saved tensors."""
    found = []
    for o in outs:
        edge = o._edge if isinstance(o, Tensor) else None
        if edge is not None and type(edge) is not Leaf:
            found.append((producer(edge), producer(edge)._saved))
    return found


def bases_of(x: Tensor) -> list:
    """Return the tensors that x is a view of, from the nearest to its base; a leaf counts as a base, whatever its memory."""
    found = []
    while x._view is not None and type(x._edge) is not Leaf:
        x = x._view.parent
        found.append(x)
    return found


def names_of(layers: Any) -> list:
    """Return the names of layers, without recordings."""
    return [layer.name for layer in layers if not layer.records]
