"""Debug mode: what costs too much to be watched always.

While it is on, each result of an operation remembers which operation made it and at which of the user's lines, each node
too, and what is saved for backward is compared with what it was when it is used (observer.py).  `minigrad.debug`
(autograd/anomaly.py) and MINIGRAD_DEBUG=1 turn it on.
"""

from __future__ import annotations

import os
import threading
import weakref
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays.kinds import on_device
from ..core.graph import Leaf, operation_of, producer
from ..core.saved import Version
from ..places import user_place

ALWAYS = os.environ.get("MINIGRAD_DEBUG", "0") not in ("", "0")
HOW = "its line is noted inside `with minigrad.debug():`"


class Mode(threading.local):
    """Hold whether debug mode is on in this thread."""

    on = ALWAYS


class Anomaly(threading.local):
    """Hold whether this thread's nodes note the user's line (detect_anomaly, debug mode), and whether NaN is an error."""

    on, nan = ALWAYS, not ALWAYS


class Notes:
    """Keep notes about objects, compared by identity; a note goes when its object goes."""

    def __init__(self):
        self.table: dict[int, tuple[weakref.ref, Any]] = {}

    def __setitem__(self, o: Any, note: Any) -> None:
        k, table = id(o), self.table
        table[k] = weakref.ref(o, lambda _: table.pop(k, None)), note

    def get(self, o: Any) -> Any:
        """The last note about the object, or None."""
        ref, note = self.table.get(id(o), (None, None))
        return note if ref is not None and ref() is o else None


mode, anomaly = Mode(), Anomaly()
_origins = Notes()  # tensor -> name of the operation that made it, place
_lent = Notes()  # array that owns memory -> how a user got hold of it last, place


def note_origin(name: str, outs: Iterable) -> None:
    """Remember that the operation made these tensors at the user's line that runs now."""
    place = user_place()
    for t in outs:
        if hasattr(t, "_edge"):
            _origins[t] = name, place


def origin(t: Any) -> str:
    """A line that says how a tensor came about: its operation, and its line if it is known."""
    edge = t._edge
    while (noted := _origins.get(t)) is None and getattr(t, "_layer", None) is not None:
        t = t._value
    if noted is not None:
        name, place = noted
        return f"made by {name} at {place}"
    if edge is None or type(edge) is Leaf:
        return ""
    node = producer(edge)
    name = operation_of(node)
    return f"made by {name} at {node._trace}" if node._trace is not None else f"made by {name}; {HOW}"


def made_by(t: Any) -> str:
    """The name of the operation that made a tensor, if that was noted."""
    return (_origins.get(t) or ("",))[0]


def made(tensors: dict[str, Any]) -> list[str]:
    """Notes for an error: how the tensors, which go by these names in it, came about."""
    lines = {name: origin(t) for name, t in tensors.items()}
    return [f"{name}: {line}" for name, line in lines.items() if line]


def lend(memory: np.ndarray, how: str) -> None:
    """Remember how, and at which line, the user got hold of this memory, in which writes are not noticed."""
    _lent[memory] = how, user_place()


def lent(memory: np.ndarray) -> list[str]:
    """A note for an error: how and where the user last got hold of this memory."""
    noted = _lent.get(memory)
    return [] if noted is None else [f"its memory was last handed out by {noted[0]} at {noted[1]}"]


def fingerprint(a: np.ndarray) -> int:
    """A number that differs, but for bad luck, when the contents do."""
    return zlib.crc32(np.ascontiguousarray(a.to_host() if on_device(a) else a).view(np.uint8).data)


class Lent(Version):
    """Of a gradient that an optimizer's step has used, when it had the version `used`.

    `exposed`: its memory was asked for since, so writes may have gone unnoticed.
    """

    exposed, used = False, 0
