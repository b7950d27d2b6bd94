"""Debug mode's knowledge of where histories end: why a result is not tracked, and which leaves were cut off there."""

from __future__ import annotations

import sys
import threading
from typing import Any, NamedTuple
from weakref import WeakSet, ref

from ..core.engine import behind
from ..core.frames import current
from ..core.tensor import Tensor
from ..errors import error
from ..places import PACKAGE, Place, noted, user_place
from .debug import Notes
from .report import explains
from .user_methods import name_of_running_method


class End(NamedTuple):
    """Where a history ends: the operation, the user's line, why, and what to do."""

    name: str
    place: Place | None
    why: str
    fix: str


class Cuts(threading.local):
    """Where histories have ended in this thread, with the leaves behind, by the line."""

    def __init__(self):
        self.known: dict[Place | None, tuple[End, WeakSet]] = {}


cuts = Cuts()
_ends, _sources = Notes(), Notes()
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


def note(name: str, args: tuple, outs: tuple, grad: bool) -> None:
    """Remember why results are not tracked: the history ends here, did so before, or has never begun."""
    untracked = [t for t in outs if getattr(t, "_edge", t) is None and t._layer is None]
    if not untracked:
        return
    place, given = user_place(), [a for a in args if hasattr(a, "_edge")]
    tracked = next((t for t in given if t._edge is not None), None)
    end = next((e for t in given if (e := _ends.get(t))), None)
    if tracked is not None:
        why, fix = (f"the result, of {untracked[0].dtype}, has no derivative", "keep results floating-point")
        why, fix = NO_GRAD if not grad else (why, FIXES.get(name, fix))
        end = End(name, place, f"{why}; it was given a tensor of shape {tuple(tracked.shape)} that requires grad", fix)
        remember(end, [t._edge for t in given if t._edge is not None])
    for t in untracked:
        if end is not None:
            _ends[t] = end
        else:
            _sources[t] = [s for a in given for s in _sources.get(a) or [(ref(a), name, place)]]


def note_cut(name: str, t: Any, out: Any) -> None:
    """Remember that the user has taken t out of its history, as `out`; minigrad does so for purposes of its own."""
    if not sys._getframe(3).f_code.co_filename.startswith(PACKAGE):
        what = f"gives a tensor of shape {tuple(t.shape)} without its history"
        _ends[out] = end = End(name, user_place(), what, FIXES[name])
        remember(end, [t._edge])


def remember(end: End, edges: list) -> None:
    """Keep an end with the leaves behind it, for as long as those live."""
    cuts.known.setdefault(end.place, (end, WeakSet()))[1].update(behind(edges)[1])


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
    return next((end for end, leaves in reversed(cuts.known.values()) if leaf in leaves), None)


@explains("only tensors can be differentiated")
def not_differentiable(what: str, t: Any, i: int) -> Exception:
    """Return the error for what is neither a tensor nor a GradientEdge."""
    return error(
        RuntimeError,
        what,
        f"all inputs and outputs have to be tensors or GradientEdges, but got {type(t).__name__} at position {i}",
        "pass the tensors themselves",
    )


@explains("the tensor does not require grad")
def not_tracked(what: str, t: Tensor, i: int) -> Exception:
    """Return the error for a tensor without history that is to be differentiated."""
    said = f"element {i} of tensors does not require grad and does not have a grad_fn"
    if (end := end_of(t)) is not None:
        notes = noted(f"{what} was called", user_place())
        return error(RuntimeError, what, f"{said}: {end.name} {end.why}", end.fix, end.place, notes=notes)
    fix = (
        "set requires_grad=True on an input before computing, and do not compute under no_grad(); if it is a gradient, "
        "or was computed from one, pass create_graph=True where that was computed"
    )
    if (method := name_of_running_method()) and not current().grad:
        said += f"; inside {method} gradients are off"
        fix = "compute it inside `with minigrad.enable_grad():`, from x = x.detach().requires_grad_()"
    return error(RuntimeError, what, said, fix)
