"""Find the recording or graph that contains a derivative.

The search begins with the recordings of this thread that are in memory (record/live_recordings.py). It goes on, among all
objects in memory, with graphs that backward has kept and the rest of freed ones (recompute.py). This takes time when you ask,
but costs nothing while programs run.
"""

import gc
from types import FrameType
from typing import Any

import numpy as np

from ..arrays.kinds import host
from ..core.graph import Node, history, key, producer
from ..core.saved import Freed, plain_tensor
from ..core.tensor import Tensor
from ..errors import error, suppressed_warnings
from ..record.from_graph import older_first, record_of
from ..record.live_recordings import alive
from ..record.recorder import Record
from .derive import Asked
from .recompute import Lost, compare_gradients, compare_results, live_objects, recomputed
from .value_names import public_variables

RECORD = """record the program:
    with minigrad.record(passes=("forward", "backward")) as rec:
        ...  # forward and backward, unchanged
    print(minigrad.explain(x.grad))"""
RETAIN = "or keep the graph: loss.backward(retain_graph=True); the last backward under minigrad.debug() keeps it, too"
ROOTS = 8  # maximum number of graphs that are searched
AGAIN = "backward has freed the graph; it was recomputed from the leaves and agrees with what is left of the first run"
KEEP = "or ask while the graph exists: minigrad.explain(loss, x), before or instead of loss.backward()"


def derivative(t: Tensor, frame: FrameType | None) -> Asked:
    """Return the derivative that a tensor is, in a recording in memory or graph; raise ValueError if it is unknown."""
    for rec in alive():
        if (asked := in_recording(rec, t)) is not None:
            return checked(asked, t)
    gc.collect()  # graphs of earlier answers must not be found
    owner = next((o for o in live_objects(Tensor) if o._grad is t), None)
    if owner is None:
        raise error(
            ValueError,
            "explain",
            f"the origin of this tensor of shape {tuple(t.shape)} is unknown: it is not the .grad of any tensor, and no "
            "recording in memory contains it as a gradient or tangent",
            f"{RECORD}\n  {KEEP}",
        )
    name = next((name for name, value in public_variables(frame).items() if value is owner), "x")
    return in_graphs(roots(history(owner)), owner, name)


def in_graphs(found: list, owner: Tensor, name: str) -> Asked:
    """Return the gradient of a tensor in one of the graphs that lead to some roots, existing or recomputed."""
    living, freed, lost = [], [], ""
    for root in found:
        rec = graph(root)
        if not rec.ran_backward:  # another backward has freed it
            freed.append(root)
        elif (asked := in_graph(rec, owner)) is not None:
            living.append(asked)
    for asked in living:
        if not checked(asked, owner._grad).notes:
            return asked
    for root in freed:
        try:
            return computed_again(root, owner, name)
        except Lost as e:
            lost = lost or str(e)
    if living and not freed:
        return living[0]
    raise unknown(found, name, lost)


def in_graph(rec: Record, owner: Tensor) -> Asked | None:
    """Return the gradient of a tensor in the record of a graph."""
    value = rec.value_of(history(owner))
    return Asked(rec, "gradient", value, owned=True) if value in rec.gradients else None


def computed_again(root: Node, owner: Tensor, name: str) -> Asked:
    """Return the gradient of a tensor in the freed graph of a root; raise Lost if the leaves now give another one."""
    made = recomputed(root)
    rec = second(next(t for (node, _), t in made.items() if node is root and t._edge is not None), made)
    asked = in_graph(rec, owner)
    if asked is None:
        raise Lost(f"the current leaves give no gradient of {name}")
    compare_gradients(rec, owner, name)
    asked.notes.append(AGAIN)
    return asked


def second(y: Tensor, made: dict) -> Record:
    """Return the record of a result of a recomputed graph, which also knows the nodes of the first run."""
    compare_results(made)
    rec = graph(y)
    for (node, _), out in made.items():
        if out._edge is not None:
            rec._made_by[node] = rec._made_by[producer(out._edge)]
    return rec


def graph(what: Any) -> Record:
    """Return the record of a tensor's graph, with its backward; its warnings appear elsewhere."""
    with suppressed_warnings():
        rec = record_of(what)
    rec.settle()
    return rec


def unknown(found: list, name: str, lost: str) -> Exception:
    """Return the error for a gradient whose graph is gone, with the reason why it cannot be recomputed."""
    places = [n._saved.place for n in older_first(found) if type(n._saved) is Freed and n._saved.place]
    by = f"was freed by the backward at {places[-1]}" if places else "is gone"
    by += f"; it cannot be recomputed from the leaves: {lost}" if lost else ""
    what = f"{name}.grad is known, but its derivation is not: the graph {by}"
    return error(ValueError, "explain", what, f"{RECORD.replace('x.grad', name + '.grad')}\n  {KEEP}\n  {RETAIN}")


def in_recording(rec: Record, t: Tensor) -> Asked | None:
    """Return a tensor as a derivative in a recording: the .grad of a value, or a gradient or tangent of its passes."""
    rec.settle()
    index = rec._ids.get(id(plain_tensor(t)._a), -1)
    added = rec.runs_of_grad(index)
    for noted in reversed(rec.values):
        if noted.tensor is not None and noted.tensor._grad is t:
            runs = [run for run in added or rec.runs if noted.index in run.gradients]
            if runs:
                return Asked(rec, "gradient", noted.index, owned=True, runs=runs)
    for run in reversed(rec.runs):
        for value, gradient in run.gradients.items():
            if gradient == index:
                return Asked(rec, "gradient", value, runs=[run])
    for group in rec.groups:
        for value, tangent in group.tangents.items():
            if tangent == index:
                return Asked(rec, "tangent", value)
    return None


def checked(asked: Asked, t: Tensor) -> Asked:
    """Add a note if the tensor no longer holds the recorded gradient."""
    if asked.kind == "tangent":
        return asked
    rec = asked.rec
    gradients = rec.gradients if asked.runs is None else rec.gradients_in(asked.runs)
    recorded = np.asarray(rec.values[gradients[asked.value]].numbers())
    if not np.allclose(host(plain_tensor(t)._a), recorded, rtol=1e-4, equal_nan=True):
        what = f"the tensor now holds {short(plain_tensor(t)._a)}, not the gradient explained here: "
        why = "other backward calls added to it, or it was zeroed in between"
        asked.notes.append(what + why)
    return asked


def short(a: np.ndarray) -> str:
    """Return a few numbers in full, or an example of many."""
    return np.array2string(a, precision=4, separator=", ") if a.size <= 4 else f"other numbers, such as {a.flat[0]:.4g}"


def of_tensor(y: Tensor, x: Tensor) -> Asked:
    """Return the derivative of y with respect to x, from y's graph."""
    if history(y) is None:
        what = f"the first tensor, of shape {tuple(y.shape)}, has no graph: nothing that it depends on requires grad"
        fix = "set requires_grad=True on the tensor you differentiate with respect to, before you compute"
        raise error(ValueError, "explain", what, fix)
    rec, notes = graph(y), []
    if not rec.ran_backward:
        try:
            made = recomputed(producer(history(y)))
            rec, notes = second(made[key(history(y))], made), [AGAIN]
        except Lost as e:
            what = f"{rec.notes[0]}; the graph cannot be recomputed from the leaves: {e}"
            raise error(ValueError, "explain", what, RECORD) from None
    value = rec.value_of(history(x))
    if value is None or value not in rec.gradients:
        what = f"the tensor of shape {tuple(y.shape)} does not depend on the one of shape {tuple(x.shape)}"
        fix = "look for a detach, a no_grad, or an operation without a derivative between them"
        raise error(ValueError, "explain", what, fix)
    return Asked(rec, "gradient", value, notes=[*rec.notes, *notes])


def roots(leaf: Any) -> list:
    """Return a few living nodes, youngest first, through which gradients reach a leaf and that no other node reads."""
    reach: set = {leaf}
    read: set = {leaf}
    for node in sorted(live_objects(Node), key=lambda n: n._seq):
        inputs = {producer(e) for e in node._edges if e is not None}
        if inputs & reach:
            reach.add(node)
            read |= inputs
    return sorted(reach - read, key=lambda n: n._seq, reverse=True)[:ROOTS]
