"""Where a NaN came from: a hint that costs nothing until there is one.

NumPy tells when a calculation makes an infinity or a NaN of other numbers.  In the forward pass the operation and the user's
line are remembered until the next backward (`made`); while gradients travel back (core/engine.py), the node that was at
work (`spoilers`).  They are looked at when a gradient has become NaN, or backward starts from one.  Compiled kernels,
which large arrays take, do not tell, and on a GPU none does: detect_anomaly looks at every number.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.nowhere import has_numbers
from ..core.engine import BackwardRun, behind, running
from ..core.events import slots
from ..core.graph import Leaf, name_of, operation_of, producer
from ..core.saved import Saved, bottom, next_number
from ..core.tensor import Tensor
from ..errors import error, warn
from ..places import Place, noted, user_place
from .debug import Notes, anomaly
from .report import explains


class Event(NamedTuple):
    """An operation of the forward pass that has made a NaN or an infinity, at the user's line, and what is known of it.

    `number` is the creation number of its node, if it is tracked.
    """

    name: str
    place: Place | None
    number: int
    what: str = ""
    fix: str = ""


class Made(threading.local):
    """The first events of this thread since its last backward."""

    def __init__(self):
        self.nan: dict[int, Event] = {}
        self.inf: dict[int, Event] = {}
        self.spoilt = Notes()  # tensors that are known to hold NaN, in anomaly mode

    def note(self, kind: str, name: str, number: int, what: str = "", data: bool = False) -> None:
        """Remember an operation, if it is among the first; `data` says that it was given what it has."""
        events, slots.backward_ends = getattr(self, kind), backward_ends
        if what or len(events) < ENOUGH:
            place = user_place()
            events[number] = Event(name, place, number, what, DATA if data else advice(name, place, kind == "nan"))

    def clear(self) -> None:
        """Forget them: they have led to nothing."""
        self.nan.clear()
        self.inf.clear()


made = Made()
ENOUGH = 20  # events that are remembered
spoilers = Notes()  # a backward that runs -> the nodes that made its first infinity and its first NaN


def noticed(who: str, what: str) -> None:
    """NumPy has made an infinity or a NaN: remember which operation or which node's backward it was."""
    kind, pending = "nan" if what.startswith("invalid") else "inf", running.get()
    if pending is None:
        if len(getattr(made, kind)) < ENOUGH:
            made.note(kind, who, next_number() + 1)
    elif kind not in (nodes := spoilers.get(pending) or {}) and pending.node is not None:
        spoilers[pending], slots.backward_ends = {**nodes, kind: pending.node}, backward_ends


def backward_ends(run: BackwardRun, found: dict) -> None:
    """Warn if a backward has led to NaN."""
    if not spoilers.table and not made.nan:
        return
    nodes = spoilers.get(run) or {}
    if nodes or made.nan:
        if run.targets is None:
            tensors = [leaf._ref() for leaf in run.reaches() if type(leaf) is Leaf]
            found = {t: t._grad for t in tensors if t is not None and t._grad is not None}
        hint(nodes, [(g._sizes, g._a) for g in found.values() if type(g) is Tensor], run.reaches())


# ---------------------------------------------------------------------- warnings
def hint(nodes: dict, gradients: Iterable[tuple], graph: Iterable) -> None:
    """Warn if one of the gradients, pairs of shape and array, has become NaN, which these nodes or `made` can explain."""
    spoilt = [(shape, g) for shape, g in gradients if has_numbers(g) and np.isnan(g).any()]
    if not spoilt:
        made.clear()
        return
    shape, g = spoilt[0]
    reach = f"it reaches {int(np.isnan(g).sum())} of {g.size} elements of the gradient of a tensor of shape {shape}"
    event = None if "nan" in nodes else of_graph(made.nan, graph)
    if event is not None:
        what = "made a NaN of other numbers in the forward pass, which backward multiplies with, even with 0"
        warn("nan-gradient", event.name, f"{what}; {reach}", event.fix, event.place)
    elif "nan" in nodes:
        name, what, place = blame(nodes, nodes["nan"])
        warn("nan-gradient", name, f"{what}; {reach}", advice(name, place), place)
    made.clear()


def blame(nodes: dict, last: Any) -> tuple[str, str, Place | None]:
    """Of the nodes that have made an infinity and a NaN, the one at fault: its operation, why, and its line."""
    node = nodes.get("inf", last)
    what = "its backward made a NaN of other numbers (0 * inf, 0 / 0 or inf - inf)"
    if node is not last:
        what = f"its backward made an infinity, of which that of {operation_of(last)} made NaN (0 * inf or inf - inf)"
    return operation_of(node), what, forward_place(node)


def of_graph(events: dict, graph: Iterable) -> Event | None:
    """The first event that happened in the forward pass of a graph."""
    nodes = [node for node in graph if type(node) is not Leaf]
    ours = [e for e in events.values() if any([is_of(e, node) for node in nodes])]
    return next((e for e in ours if e.what), ours[0] if ours else None)


def forward_place(node: Any) -> Place | None:
    """Where the node was made, if that was noted, or can be told by a number that was none there."""
    return node._trace or next((e.place for e in (*made.inf.values(), *made.nan.values()) if is_of(e, node)), None)


def is_of(event: Event, node: Any) -> bool:
    """Whether the event happened when the node was made, so far as no other thread has taken its number meanwhile."""
    return node._seq == event.number and node._fn.primitive and node._fn.function_name() == event.name


@explains("root not finite")
def hint_at_loss(t: Tensor) -> None:
    """Warn that what is about to be differentiated is NaN or infinite, and say which operation made it so.

    In anomaly mode NaN is an error.
    """
    value = t._a.item()
    kind, word = ("nan", "NaN") if math.isnan(value) else ("inf", str(value))
    graph = behind([t._edge])[0]
    event = of_graph(getattr(made, kind), graph)
    node = None if event or kind == "inf" else origin(t._edge)
    made.clear()
    what = f"the tensor of shape {tuple(t.shape)} that backward starts from is {word}"
    if event is not None:
        name, place, fix = event.name, event.place, event.fix
        what = f"{event.what or f'made the first {word}'}; {what}"
    elif node is not None:
        name, place = operation_of(node), node._trace
        what = f"{what}; this operation made the first NaN"
        fix = advice(name, place, True)
    else:
        name, place, fix = "backward", None, FINDING
    if kind == "nan" and anomaly.on and anomaly.nan:
        raise error(RuntimeError, name, what, fix, place)
    warn("nan-loss" if kind == "nan" else "infinite-loss", name, what, fix, place)


def origin(edge: Any) -> Any:
    """The oldest node behind an edge whose result is known to be NaN; None where nothing that was saved tells."""
    is_nan: dict = {}
    nodes = sorted(behind([edge])[0], key=lambda n: n._seq)
    for node in nodes:
        kept = node._saved if type(node._saved) is tuple else ()
        for k, s in enumerate(kept):
            if type(s) is not Saved or s.unpack is not None:
                continue
            known = s.tensor._np_dtype in FLOATS and bool(np.isnan(bottom(s.tensor)._a).any())
            if s.index is not None:
                is_nan[node] = known
            elif k < len(node._edges) and node._edges[k] is not None:
                is_nan[producer(node._edges[k])] = known
        if node not in is_nan and len(node._edges) == 1 and kept and type(kept[0]) is Saved and node._fn.primitive:
            is_nan[node] = bool(np.isnan(node._fn.compute(bottom(kept[0].tensor)._a)).any())
    return next((node for node in nodes if is_nan.get(node)), None)


# ---------------------------------------------------------------------- anomaly mode
def watch(name: str, args: tuple, outs: tuple) -> None:
    """Look at every number: remember the operation if its result has NaN and no argument has, or one that was given NaN."""
    results = [o for o in outs if holds_nan(o)]
    if not results:
        return
    given = [a for a in args if isinstance(a, Tensor) and holds_nan(a)]
    new = [a for a in given if not made.spoilt.get(a)]
    if new:
        what = f"was given NaN in {count(new[0])} by a tensor of shape {tuple(new[0].shape)}"
    elif not given:
        shapes = " and ".join(str(tuple(a.shape)) for a in args if isinstance(a, Tensor))
        what = f"made NaN in {count(results[0])} of its result of shape {tuple(results[0].shape)}, and was given none"
        what += f" (in shapes {shapes})" if shapes else ""
    for t in given + results:
        made.spoilt[t] = True
    if new or not given:
        edge = results[0]._edge
        made.note("nan", name, -1 if edge is None else producer(edge)._seq, what, bool(new))


def holds_nan(t: Tensor) -> bool:
    """Whether a plain tensor has NaN among its elements."""
    return t._layer is None and t._np_dtype in FLOATS and has_numbers(t._a) and bool(np.isnan(t._a).any())


def count(t: Tensor) -> str:
    """How many elements are NaN, of how many."""
    return f"{int(np.isnan(t._a).sum())} of {t.numel()} elements"


def check_nan(node: Any, outs: tuple) -> None:
    """RuntimeError that names the operation whose backward first gave NaN, or the infinity that it was made of."""
    for i, o in enumerate(outs):
        if o is not None and holds_nan(o):
            name, what, place = blame(spoilers.get(running.get()) or {}, node)
            raise error(
                RuntimeError,
                name,
                f"{what}; Function '{name_of(node)}' returned nan values in its {i}th output: {count(o)} of a gradient of "
                f"shape {tuple(o.shape)}",
                advice(name, place),
                place,
                notes=noted("backward was called", user_place()),
            )


# ---------------------------------------------------------------------- remedies
BEFORE = "Choose safe arguments before it, {0}(where(mask, x, 1)), and not only its results after it"
SLOPE = (
    "keep {0}'s argument away from the place where its slope is infinite: add a small number (x + 1e-12), or "
    "clamp(min=1e-12). " + BEFORE
)
DOMAIN = "{0} is not defined there, so keep its argument inside: x.clamp(min=1e-12). " + BEFORE
SAFE_LOGARITHMS = (
    ". log_softmax(x) and nn.functional.logsigmoid(x) are safe forms of softmax(x).log() and sigmoid(x).log()"
)
LOGARITHMS = ("log", "log2", "log10", "log1p", "xlogy")
ROOTS = ("sqrt", "rsqrt", "norm", "vector_norm", "linalg_vector_norm", "pow")
FORWARD = {LOGARITHMS: DOMAIN + SAFE_LOGARITHMS, ROOTS: DOMAIN}
REMEDIES = {
    ROOTS: SLOPE,
    LOGARITHMS: SLOPE + SAFE_LOGARITHMS,
    ("std", "var"): "a single number needs {0}(correction=0); of equal numbers take (x.var() + 1e-12).sqrt()",
    ("div", "reciprocal"): (
        "keep the divisor from 0: x / y.clamp(min=1e-12). " + BEFORE + ". torch.softmax is a safe exp(x) / exp(x).sum()"
    ),
    ("mul",): (
        "0 * inf is NaN, so a product with a mask does not mask: use where(mask, x, 0). Keep a logarithm finite with "
        "x.clamp(min=1e-12).log(), or use nn.functional.binary_cross_entropy"
    ),
    ("acos", "asin", "atanh"): "keep the argument inside: x.clamp(-1 + 1e-6, 1 - 1e-6). " + BEFORE,
    ("softmax", "log_softmax"): (
        "see that not all places of a row are masked, with -inf; logits of inf have to be clamped"
    ),
    ("mean",): "take the mean only if there is something: if x.numel() > 0",
    ("exp", "expm1", "cosh", "sinh"): (
        "keep the argument small: x.clamp(max=80.0), or compute with logarithms (logsumexp)"
    ),
    ("cross_entropy", "mean_cross_entropy", "nll_loss", "mean_nll"): (
        "see that some target is not ignore_index, and that the logits are finite"
    ),
}
DATA = "look for it with x.isnan(), and leave out what is missing, or fill it in: x.nan_to_num()"
FINDING = "run it inside `with minigrad.autograd.detect_anomaly():`, which names the line of the operation"


def advice(name: str, place: Place | None, forward: bool = False) -> str:
    """What to do about a NaN, or an infinity, that the operation of this name makes, in its forward pass or in backward."""
    table = {**REMEDIES, **FORWARD} if forward else REMEDIES
    text = next((text.format(name) for names, text in table.items() if name in names), "")
    if place is not None:
        return text
    return f"{text}. {FINDING[0].upper()}{FINDING[1:]}" if text else FINDING
