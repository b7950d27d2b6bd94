"""How a recording hears of operations: the function that the written-out roads call, and what an entry of the log has to
hold of arguments and results, since it may be another when the entry is worked off.
"""

from __future__ import annotations

import gc
import sys
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

from ..autograd.profiler import listeners
from ..core.events import slots
from ..core.frames import Frame, Layer
from ..core.graph import Leaf, history, producer
from ..core.tensor import Tensor
from .callers import OURS, OUTSIDE

SELDOM = 100_000  # containers made between two collections
usual: list[int] = []  # the threshold outside of recordings
recordings: list = []  # those that run anywhere in the process: only then the way of an operation through layers is noted
unsettled: WeakSet = WeakSet()  # recordings, running or over, that have yet to look at tensors
passed: ContextVar[tuple] = ContextVar("minigrad.passed", default=())  # the layers that the operation came through
getframe, layers_passed = sys._getframe, passed.get


def begin(rec: Any) -> None:
    """Have the nucleus tell what runs: a recording begins."""
    recordings.append(rec)
    listeners.append(rec)
    unsettled.add(rec)
    plug_in()


def end(rec: Any) -> None:
    """Be told no more, where it was the last."""
    recordings.remove(rec)
    listeners.remove(rec)
    plug_in()


def plug_in() -> None:
    """Fill the slots that tell of operations, nodes and users' methods while a recording runs."""
    slots.process, slots.node_made, slots.dual_made, slots.drawn, slots.transferring = (
        (process, claim, dual_made, drawn, transferring) if recordings else (None, None, None, None, None)
    )
    slots.method = method if any([rec.inside for rec in recordings]) else None
    collect_seldom(bool(recordings))


def collect_seldom(recording: bool) -> None:
    """While a recording runs, have the collector look less often through what stays: it took half of the time."""
    threshold, *rest = gc.get_threshold()
    if recording and not usual and 0 < threshold < SELDOM:
        usual.append(threshold)
        gc.set_threshold(SELDOM, *rest)
    elif usual and not recording:
        before = usual.pop()
        if threshold == SELDOM:  # the program may have set another one meanwhile
            gc.set_threshold(before, *rest)


def process(layer: Layer, frame: Frame, cls: Any, args: tuple) -> Any:
    """Hand an operation to a layer, and note that it came through it."""
    if layer.records:
        return layer.process(frame, cls, args)
    before, out = passed.get(), None
    sights = [(rec, sight) for rec in recordings if (sight := rec.saw(layer, cls, args)) is not None]
    try:
        passed.set((*before, layer))
        out = layer.process(frame, cls, args)
        return out
    finally:
        passed.set(before)
        for rec, sight in sights:
            rec.saw_result(sight, out)


def claim(node: Any) -> None:
    """Tell the recordings of a node."""
    for rec in recordings:
        rec.claim(node)


def dual_made(t: Any, tangent: Any) -> None:
    """Tell the recordings of a tensor that the program has given a tangent."""
    for rec in recordings:
        rec.note_dual(t, tangent)


def drawn(t: Any) -> None:
    """Tell the recordings of random numbers."""
    for rec in recordings:
        rec.note_drawn(t)


def transferring(call: Any, ended: bool) -> None:
    """Tell the recordings of a call that communicates: its results are about to be written, or it has ended."""
    for rec in recordings:
        rec.note_transfer(call, ended)


def checkpointed(what: str, node: Any, inputs: Any = ()) -> None:
    """Tell the recordings of a checkpoint: what it does (a method of Regions), and its node.

    A log that had the checkpoint itself would keep its inputs alive.
    """
    for rec in recordings:
        rec.note_region(what, node, inputs)


def method(cls: Any, name: str, own: Any) -> Any:
    """Return what runs in place of a method of a user's Function."""
    return recordings[-1].watching(cls, name, own)


def settle() -> None:
    """Let recordings look at tensors now: one is about to get another array."""
    for rec in list(unsettled):
        rec.settle()


def tracked_noter(rec: Any) -> Any:
    """The noter of operations with gradients on.  Every look counts: a small operation takes less than a microsecond.

    So the usual callers are told apart here, the user and a function that is nothing but the operation; `caller` knows all.
    """
    append = rec.log.append

    def note(cls: Any, args: tuple, out: Any) -> None:
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
                return
            ours, back = OURS.get(id(code)), frame.f_back
            if ours is not None and ours.stands_for is cls and back is not None and frame is not rec._outer:
                user = back.f_code
                if user.co_filename in OUTSIDE:
                    rec._outer = frame
                    append((code, out, link, user, back.f_lasti) + args)
                    return
        rec.note_called(cls, args, out, link, frame)

    return note


def ignore(cls: Any, args: tuple, out: Any) -> None:
    """An operation that nobody wants to know of."""


def edges_of(args: tuple) -> list:
    """The edges of the tensors among arguments."""
    return [None if not isinstance(a, Tensor) else a._edge if a._view is None else history(a) for a in args]


def nodes_of(outs: tuple) -> list:
    """The nodes that made results, with what they have saved."""
    found = []
    for o in outs:
        edge = o._edge if isinstance(o, Tensor) else None
        if edge is not None and type(edge) is not Leaf:
            found.append((producer(edge), producer(edge)._saved))
    return found


def bases_of(x: Tensor) -> list:
    """The tensors that x is a view of, from the nearest to its base; a leaf begins anew, whatever memory it lies in."""
    found = []
    while x._view is not None and type(x._edge) is not Leaf:
        x = x._view.parent
        found.append(x)
    return found


def names_of(layers: Any) -> list:
    """The names of layers, recordings left out."""
    return [layer.name for layer in layers if not layer.records]
