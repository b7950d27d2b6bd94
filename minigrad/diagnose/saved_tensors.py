"""What to say where backward comes to saved tensors that have changed or are freed: which mistake it looks like.

Creation numbers tell: whether the result was computed after the backward that has freed a node, or before it, and whether
it contains what that backward began from.  All of this is looked for when the error is raised, and costs nothing before.
"""

from __future__ import annotations

from typing import Any

from ..arrays.memory import storage
from ..core.engine import behind, running
from ..core.graph import Leaf, name_of, producer
from ..core.saved import bottom, version
from ..errors import error
from ..places import Place, noted
from . import debug
from .report import explains
from .retained_graphs import last_round

ASSIGNED = ("index_put_", "copy_", "masked_fill_", "ViewScatter")  # what writes to a part of a tensor
CARRIED = "if it is a state that goes on from round to round, detach it: h = h.detach()"


@explains("a saved tensor was modified in place")
def modified(node: Any, saved: Any) -> Exception:
    """The error for a saved tensor that was written to: who saved it, who wrote and where."""
    t, who = bottom(saved.tensor), name_of(node)
    which = "its own result" if saved.index is not None else "one of its inputs"
    what = (
        f"{which}, a tensor of shape {tuple(saved.tensor.shape)} that it saved for backward, has been modified by an "
        f"inplace operation: it is at version {version(t)}, expected version {saved.version}"
    )
    notes = [f"last written by {t._ver.writer} at {t._ver.place}"] if t._ver.writer else []
    place = running_place()
    if node._seq < last_round(place):
        what += "; the operation is of an earlier round, from before the last backward at this line"
        fix = f"{CARRIED}, and leave out retain_graph=True"
    elif type(saved.tensor._edge) is Leaf:
        fix = "change it after backward, or compute the loss again after the change"
    elif t._ver.writer in ASSIGNED:
        fix = (
            "write to a copy, x.clone() or x.detach().clone(); choose by minigrad.where(mask, value, x); or collect parts in "
            "a list and join them by minigrad.stack(parts)"
        )
    else:
        fix = (
            "make a new tensor, x = x + ... for x += ... (of an activation: without inplace=True), or write to a copy, "
            "x.clone() or x.detach().clone()"
        )
    return error(RuntimeError, who, what, fix, place, [*notes, *saved_at(node)])


def modified_unseen(node: Any, saved: Any) -> Exception:
    """The error for a saved tensor whose memory was written past the version counter, which only debug mode finds."""
    return error(
        RuntimeError,
        name_of(node),
        f"a tensor of shape {tuple(saved.tensor.shape)} that it saved for backward has other values now, though no "
        "in-place operation of minigrad has changed it: its memory was written through .data or a NumPy array",
        "write `with minigrad.no_grad(): x.copy_(...)`, which is noticed, and after backward; or let NumPy work on a copy: "
        "x.detach().numpy().copy(), minigrad.tensor(array)",
        running_place(),
        [*debug.lent(storage(bottom(saved.tensor)._a)), *saved_at(node)],
    )


def saved_at(node: Any) -> list[str]:
    """A note where a node's operation was called, if that is known."""
    return noted("its forward call was", node._trace)


@explains("an earlier backward has freed the saved tensors")
def freed(node: Any) -> Exception:
    """The error for asking a node for what an earlier backward has freed."""
    first, pending = node._saved, running.get()
    notes = [*noted("what it saved was freed by the first backward", first.place), *saved_at(node)]
    nodes = () if pending is None else behind(pending.roots)[0]
    if node not in nodes:
        what = "its saved tensors are asked for after backward has freed them"
        fix = "read them before backward, or call that backward with retain_graph=True"
        return error(RuntimeError, name_of(node), what, fix, notes=notes)
    root = max(producer(e)._seq for e in pending.roots)
    what = "trying to backward through the graph a second time"
    if root == first.root and first.place == pending.place:
        what += ", by the same line: one result is differentiated in each round of a loop"
        fix = "compute the result anew inside the loop, or specify retain_graph=True where one graph is meant"
    elif root == first.root:
        fix = "specify retain_graph=True in the first call, or compute the forward pass again"
    elif root < first.at:
        what += f": the two results of backward share this operation, whose result has shape {node._meta[0][0]}"
        fix = "differentiate them together, (loss1 + loss2).backward(), or specify retain_graph=True in the first call"
    elif any(n._seq == first.root for n in nodes):
        what += ": the result contains the one that was differentiated there, an earlier loss"
        fix = "call backward once, after the loop, or begin the sum anew in each round"
    else:
        old = max((n for n in nodes if n._seq < first.at), key=lambda n: n._seq)
        what += f": the new operations were applied to an old result of {name_of(old)}, of shape {old._meta[0][0]}"
        if old is not node:
            notes += noted(f"{name_of(old)}: made", old._trace)
        fix = (
            f"{CARRIED}; else compute that result anew inside the loop, or specify retain_graph=True in the first call"
        )
    return error(RuntimeError, name_of(node), what, fix, pending.place, notes)


def running_place() -> Place | None:
    """The user's line that has called the backward which runs now."""
    pending = running.get()
    return None if pending is None else pending.place


@explains("inference tensors cannot be saved for backward")
def inference_tensor_saved(t: Any) -> Exception:
    """Return the error for a tensor whose writes nobody counts."""
    return error(
        RuntimeError,
        "save_for_backward",
        f"inference tensors cannot be saved for backward; this one has the shape {tuple(t.shape)}",
        "clone() it outside inference_mode, or use no_grad instead of inference_mode",
    )
