"""Debug mode: checks that are too expensive to run always.

While it is on, each result and each node remembers its operation and the user's line, and backward compares each saved
tensor with its contents in forward (observer.py).  `minigrad.debug` (autograd/anomaly.py) and MINIGRAD_DEBUG=1 turn it on.
"""

import os
import threading
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays.kinds import on_device
from ..core.graph import Leaf, operation_of, producer
from ..core.saved import Version
from ..errors import as_imported
from ..places import user_place
from .report import Notes
from .users_program import made_line

ALWAYS = os.environ.get("MINIGRAD_DEBUG", "0") not in ("", "0")
HOW = "`with minigrad.debug():` shows the line"


class DebugMode(threading.local):
    """State of debug mode in this thread."""

    on = ALWAYS


class Anomaly(threading.local):
    """State of anomaly detection in this thread: `on` notes the user's line on nodes, `nan` makes NaN an error."""

    on, nan = ALWAYS, not ALWAYS


mode, anomaly = DebugMode(), Anomaly()
_origins = Notes()  # tensor -> name of the operation that made it, place
_lent = Notes()  # array that owns memory -> how the user last obtained it, place


def note_origin(name: str, outs: Iterable) -> None:
    """Remember the operation and the current user's line for these tensors."""
    place = user_place()
    for t in outs:
        if hasattr(t, "_edge"):
            _origins[t] = name, place


def origin(t: Any) -> str:
    """Return a phrase with the operation that made a tensor, and its line if it is known."""
    whole, edge = t, t._edge
    while (noted := _origins.get(t)) is None and getattr(t, "_layer", None) is not None:
        t = t._value
    if noted is not None:
        name, place = noted
        return f"made by {name} at {place}"
    node = None if edge is None or type(edge) is Leaf else producer(edge)
    place = made_line(whole) if node is None or node._trace is None else node._trace
    if node is None:
        return "" if place is None else f"made at {place}"
    name = operation_of(node)
    return f"made by {name}; {as_imported(HOW)}" if place is None else f"made by {name} at {place}"


def made_by(t: Any) -> str:
    """Return the name of the operation that made a tensor, or "" if it was not noted."""
    return (_origins.get(t) or ("",))[0]


def made(tensors: dict[str, Any]) -> list[str]:
    """Return notes for an error: the origins of tensors, under the names that they have in it."""
    lines = {name: origin(t) for name, t in tensors.items()}
    return [f"{name}: {line}" for name, line in lines.items() if line]


def lend(memory: np.ndarray, how: str) -> None:
    """Remember how and where the user obtained this memory, in which writes go unnoticed."""
    _lent[memory] = how, user_place()


def lent(memory: np.ndarray) -> list[str]:
    """Return a note for an error: how and where the user last obtained this memory."""
    noted = _lent.get(memory)
    return [] if noted is None else [f"its memory was last accessed through {noted[0]} at {noted[1]}"]


def fingerprint(a: np.ndarray) -> int:
    """Return a checksum of the contents."""
    return zlib.crc32(np.ascontiguousarray(a.to_host() if on_device(a) else a).view(np.uint8).data)


class Lent(Version):
    """Version counter of a gradient that an optimizer's step read at version `used`.

    `exposed`: the user has obtained its memory since then, so writes may go unnoticed.
    """

    exposed, used = False, 0


def used_by_step(g: Any) -> bool:
    """Return True if an optimizer's step has used a gradient, and nothing has written to it since."""
    return type(g._ver) is Lent and g._ver.n == g._ver.used and not g._ver.exposed
