"""Writes under a recording: operations in place, and custom Functions that write to their arguments.

As for other operations (recorder.py), the running program appends to the log; written_memory.py keeps old contents of values.
"""

import sys
from typing import Any

from ..core.frames import OFF, Frame, use
from ..core.graph import Leaf, history
from ..core.inplace import inplace_at, shares
from ..core.saved import INFERENCE, version
from ..core.tensor import Tensor
from ..events import events, services
from ..tensors.nested import tensors_in
from .callbacks import bases_of, edges_of, passed
from .event_log import EventLog
from .snapshots import copied, is_sole_owner, restored_copy
from .values import Event, bottom


def may_write(rec: Any, args: tuple) -> list:
    """Save the state of a custom Function's arguments, because it may write to them (mark_dirty)."""
    found = []
    for x in args:
        if isinstance(x, Tensor) and x._ver is not INFERENCE:
            if not is_sole_owner(bottom(x)):
                rec.settle()
                rec.freeze(x)
            found.append((x, version(x), bottom(x).copy(), [(base, history(base)) for base in bases_of(x)]))
    return found


def note_written(rec: Any, event: Event, args: tuple, outs: tuple, below: Frame, watched: list) -> None:
    """Log a custom Function that has written to arguments."""
    rec.settle()
    held, written = [(bottom(x), content) for x, _, content, _ in watched], []
    for x, number, _, bases in watched:
        if version(x) != number:
            written.append((x, [(base, rec.ref(base, "", edge)) for base, edge in bases]))
    event.group.inplace = True
    for x, _ in written:
        rec.freeze(x, restored_copy(bottom(x), held) if is_sole_owner(bottom(x)) else None)
        rec.forget(x, event.group)
    rec.end(event, args, outs, below)
    rec.settle()
    for x, bases in written:
        rec.note_bases(event.group, x, bases)


def inplace(rec: Any, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
    """Run and log an in-place operation: x and all that shares its memory get new values."""
    below = frame.below()
    if rec._backward and not frame.grad:
        return inplace_at(below, fn, x, others)
    if not rec._cut:
        return write(rec, frame, below, fn, x, others)
    rec.log.append([EventLog.writes_into, (x, *bases_of(x))])
    try:
        return write(rec, frame, below, fn, x, others)
    finally:
        rec.log.append([EventLog.writes_into, ()])


def write(rec: Any, frame: Frame, below: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
    """Run and log an in-place operation on the frame below."""
    if below is OFF and not rec.takes_turns() and write_simply(rec, fn, x, others):
        return x
    args = (x, *cloned_overlaps(frame, fn, x, others))
    event, bases = rec.begin(frame, fn, args), bases_of(x)
    rec.settle()
    event.group.inplace = True
    stops = rec.stops(fn, args)
    if event.group.phase == "forward" and not frame.grad and type(history([x, *bases][-1])) is Leaf:
        event.group.phase = "update"  # a parameter is assigned: a leaf, whose tangent does not change
    elif not stops:
        below = rec.with_tangents(below, frame.grad)
    befores = [rec.ref(base) for base in bases]
    tangents = rec.tangents_at(below, (x, *bases))
    before = [None if t is None else rec.ref(t, "tangent") for t in tangents]
    written = [t for t in (x, tangents[0]) if t is not None]
    for t in written:
        rec.freeze(t)
    rec._writing, outer = True, rec._writing
    try:
        rec.timed(event, inplace_at, below, fn, x, args[1:])
    finally:
        rec._writing = outer
    for t in written:
        rec.forget(t, event.group)
    if stops:
        rec.without_tangents((x, *bases))
    rec.end(event, args, (x,), below)
    rec.settle()
    rec.note_tangents(event.group, event.inputs[:1], before[:1])
    rec.note_bases(event.group, x, list(zip(bases, befores, before[1:], rec.tangents_at(below, bases))))
    return x


def cloned_overlaps(frame: Frame, fn: Any, x: Tensor, others: tuple) -> tuple:
    """Clone a write's other arguments that share x's memory: here, so that the clone is logged with the operation."""
    if not frame.grad or not fn.differentiable or all([history(t) is None for t in (x, *tensors_in(others))]):
        return others
    with use(frame):
        return tuple([a.clone() if isinstance(a, Tensor) and shares(a, x) else a for a in others])


def write_simply(rec: Any, fn: Any, x: Tensor, others: tuple) -> bool:
    """Run a plain write under no_grad to a tensor that is not a view, such as an optimizer's; return False otherwise."""
    if x._view is not None or x._layer is not None or passed.get() or (copy := copied(x._a)) is None:
        return False
    args = (x, *others)
    edges = edges_of(args)
    rec._writing, outer = True, rec._writing
    try:
        with use(OFF):
            events.writes(x)  # other recordings
            services.write(OFF, fn, x, others) or inplace_at(OFF, fn, x, others)
    finally:
        rec._writing = outer
    rec.log.append([EventLog.written, fn, args, edges, *rec.caller(sys._getframe(2)), copy])
    return True
