"""Debug mode: what costs too much to be watched always.

While it is on, each result of an operation remembers which operation made it and at which of the user's lines, each node
too, and what is saved for backward is compared with what it was when it is used (core/saved.py).  Of a result that is not
tracked it is known where its history ends.  `minigrad.debug` (autograd/anomaly.py) and MINIGRAD_DEBUG=1 turn it on.
"""

from __future__ import annotations

import os
import sys
import threading
import zlib
from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakSet, ref

import numpy as np

from ..errors import PACKAGE, Place, user_place
from .edges import Leaf, producer

ALWAYS = os.environ.get("MINIGRAD_DEBUG", "0") not in ("", "0")
HOW = "its line is noted inside `with minigrad.debug():`"


class End(NamedTuple):
    """Where a history ends: the operation, the user's line, why, and what to do."""

    name: str
    place: Place | None
    why: str
    fix: str


class Mode(threading.local):
    """Whether debug mode is on in this thread, and where histories ended in it, with the leaves behind."""

    on = ALWAYS

    def __init__(self):
        self.ends: dict[Place | None, tuple[End, WeakSet]] = {}


class Notes:
    """What is known of tensors as long as they live.  By identity: `==` of tensors compares their elements."""

    def __init__(self):
        self._known: dict[int, tuple] = {}

    def __setitem__(self, t: Any, note: Any) -> None:
        number = id(t)
        self._known[number] = (ref(t, lambda _: self._known.pop(number, None)), note)

    def get(self, t: Any) -> Any:
        """The note on t, or None."""
        known = self._known.get(id(t))
        return None if known is None else known[1]


mode = Mode()
_origins, _ends, _sources = Notes(), Notes(), Notes()


# ---------------------------------------------------------------------- where tensors come from
def note_origin(name: str, args: Iterable, outs: Iterable, grad: bool) -> None:
    """Remember that the operation made these tensors at the user's line that runs now, with gradients recorded or not."""
    place = user_place()
    untracked = []
    for t in outs:
        if hasattr(t, "_edge"):
            _origins[t] = (name, place)
            if t._edge is None and t._layer is None:
                untracked.append(t)
    if untracked:
        note_end(name, place, [a for a in args if hasattr(a, "_edge")], untracked, grad)


def origin(t: Any) -> str:
    """A line that says how a tensor came about: its operation, and its line if it is known."""
    edge = t._edge
    while _origins.get(t) is None and getattr(t, "_layer", None) is not None:
        t = t._value
    if known := _origins.get(t):
        name, place = known
        return f"made by {name} at {place}"
    if edge is None or type(edge) is Leaf:
        return ""
    node = producer(edge)
    name = node._fn.function_name() if node._fn.primitive else node._fn.__name__
    return f"made by {name} at {node._trace}" if node._trace is not None else f"made by {name}; {HOW}"


def made_by(t: Any) -> tuple[str, Place | None]:
    """The operation that made a tensor and its line, as far as they were noted."""
    return _origins.get(t) or ("", None)


def made(tensors: dict[str, Any]) -> list[str]:
    """Notes for an error: how the tensors, which go by these names in it, came about."""
    lines = {name: origin(t) for name, t in tensors.items()}
    return [f"{name}: {line}" for name, line in lines.items() if line]


# ---------------------------------------------------------------------- where histories end
NO_GRAD = "runs under no_grad or inference_mode, where nothing is recorded", "compute it outside of the block"
FIXES = {
    "detach": "compute without detach() what is to get gradients",
    "data": "compute without .data what is to get gradients",
    "argmax": "use a loss for classes, nn.functional.cross_entropy(logits, target)",
    "argmin": "use a smooth function in its place, softmin",
    **dict.fromkeys(
        ("gt", "lt", "ge", "le", "eq", "ne"),
        "use a smooth function in its place, sigmoid(x - y), or a loss for scores, binary_cross_entropy_with_logits",
    ),
}


def note_end(name: str, place: Place | None, given: list, outs: list, grad: bool) -> None:
    """Remember why results are not tracked: the history ends here, did so before, or has never begun."""
    tracked = next((t for t in given if t._edge is not None), None)
    end = next((e for t in given if (e := _ends.get(t))), None)
    if tracked is not None:
        why, fix = (f"the result, of {outs[0].dtype}, has no derivative", "keep results floating-point")
        why, fix = NO_GRAD if not grad else (why, FIXES.get(name, fix))
        end = End(name, place, f"{why}; it was given a tensor of shape {tuple(tracked.shape)} that requires grad", fix)
        remember(end, [t._edge for t in given if t._edge is not None])
    for t in outs:
        if end is not None:
            _ends[t] = end
        else:
            _sources[t] = [s for a in given for s in _sources.get(a) or [(ref(a), name, place)]]


def note_cut(name: str, t: Any, out: Any) -> None:
    """Remember that the user has taken t out of its history, as `out`; minigrad does so for purposes of its own."""
    if not sys._getframe(2).f_code.co_filename.startswith(PACKAGE):
        what = f"gives a tensor of shape {tuple(t.shape)} without its history"
        _ends[out] = end = End(name, user_place(), what, FIXES[name])
        remember(end, [t._edge])


def remember(end: End, edges: list) -> None:
    """Keep an end with the leaves behind it, for as long as those live."""
    from .engine import behind

    mode.ends.setdefault(end.place, (end, WeakSet()))[1].update(behind(edges)[1])


def end_of(t: Any) -> End | None:
    """Why a tensor is not tracked, if that was noted."""
    if end := _ends.get(t):
        return end
    for source, name, place in _sources.get(t) or ():
        s = source()
        if s is not None and s._edge is not None:
            why = f"was given a tensor of shape {tuple(s.shape)} that came to require grad only after that"
            return End(name, place, why, "set requires_grad before computing with it")
    return None


def cut_off(leaf: Any) -> End | None:
    """Where a history with this leaf has ended."""
    return next((end for end, leaves in reversed(mode.ends.values()) if leaf in leaves), None)


def fingerprint(a: np.ndarray) -> int:
    """A number that differs, but for bad luck, when the contents do."""
    return zlib.crc32(np.ascontiguousarray(a).view(np.uint8).data)
