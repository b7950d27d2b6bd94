"""Debug mode: what costs too much to be watched always.

While it is on, each result of an operation remembers which operation made it and at which of the user's lines, each node
too, and what is saved for backward is compared with what it was when it is used (core/saved.py).  `minigrad.debug`
(autograd/anomaly.py) and MINIGRAD_DEBUG=1 turn it on.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterable
from typing import Any
from weakref import ref

import numpy as np

from ..errors import user_place
from .edges import Leaf, producer

ALWAYS = os.environ.get("MINIGRAD_DEBUG", "0") not in ("", "0")
HOW = "its line is noted inside `with minigrad.debug():`"


class Mode(threading.local):
    """Whether debug mode is on in this thread."""

    on = ALWAYS


mode = Mode()
_origins: dict[int, tuple] = {}  # by id, because tensors compare by their elements: weak reference, operation, place


def note_origin(name: str, outs: Iterable) -> None:
    """Remember that the operation made these tensors at the user's line that runs now."""
    place = user_place()
    for t in outs:
        if hasattr(t, "_edge"):
            key = id(t)
            _origins[key] = (ref(t, lambda _, key=key: _origins.pop(key, None)), name, place)


def origin(t: Any) -> str:
    """A line that says how a tensor came about: its operation, and its line if it is known."""
    edge = t._edge
    while id(t) not in _origins and getattr(t, "_layer", None) is not None:
        t = t._value
    if id(t) in _origins:
        _, name, place = _origins[id(t)]
        return f"made by {name} at {place}"
    if edge is None or type(edge) is Leaf:
        return ""
    node = producer(edge)
    name = node._fn.function_name() if node._fn.primitive else node._fn.__name__
    return f"made by {name} at {node._trace}" if node._trace is not None else f"made by {name}; {HOW}"


def made(tensors: dict[str, Any]) -> list[str]:
    """Notes for an error: how the tensors, which go by these names in it, came about."""
    lines = {name: origin(t) for name, t in tensors.items()}
    return [f"{name}: {line}" for name, line in lines.items() if line]


def fingerprint(a: np.ndarray) -> int:
    """A number that differs, but for bad luck, when the contents do."""
    return zlib.crc32(np.ascontiguousarray(a).view(np.uint8).data)
