"""Find the origin of a NaN, at no cost until there is one.

NumPy signals a calculation that turns other numbers into an infinity or NaN.  The forward pass remembers the operation and
the user's line until the next backward (`made`); backward (core/engine.py) remembers the running node (`spoilers`).  Both
are read when a gradient is NaN or backward starts from NaN.  Compiled kernels, which compute large arrays, and kernels on a
GPU send no signal: detect_anomaly checks every number.
"""

import threading
from collections.abc import Iterable
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.meta import has_numbers
from ..core.engine import BackwardRun, reachable, running
from ..core.graph import Leaf, name_of, operation_of, producer
from ..core.saved import Saved, next_number, plain_tensor
from ..core.tensor import Tensor
from ..errors import are_suppressed, error, warn
from ..events import Observer, events
from ..places import Place, noted, user_place
from .cut_lines import line_of_only_call
from .report import Notes


class NaNEvent(NamedTuple):
    """An operation of the forward pass that produced a NaN or an infinity, with the user's line and the explanation.

    `number` is the creation number of its node, if it is tracked.
    """

    name: str
    place: Place | None
    number: int
    what: str = ""
    fix: str = ""


class FirstNaNs(threading.local):
    """First events of this thread since its last backward."""

    def __init__(self):
        self.nan: dict[int, NaNEvent] = {}
        self.inf: dict[int, NaNEvent] = {}
        self.spoilt = Notes()  # tensors that are known to hold NaN, in anomaly mode

    def note(self, kind: str, name: str, number: int, what: str = "", data: bool = False) -> None:
        """Remember an operation if it is among the first; `data` is True if its input has the NaN."""
        events.add(NAN_GRADIENTS)
        first = getattr(self, kind)
        if what or len(first) < ENOUGH:
            place = user_place()
            first[number] = NaNEvent(name, place, number, what, DATA if data else advice(name, place, kind == "nan"))

    def clear(self) -> None:
        """Forget the events."""
        self.nan.clear()
        self.inf.clear()


made = FirstNaNs()
ENOUGH = 20  # events that are remembered
spoilers = Notes()  # a backward that runs -> the nodes that made its first infinity and its first NaN


def noticed(who: str, what: str) -> None:
    """Remember the operation, or the node's backward, in which NumPy produced an infinity or a NaN."""
    kind, pending = "nan" if what.startswith("invalid") else "inf", running.get()
    if pending is None:
        if len(getattr(made, kind)) < ENOUGH:
            made.note(kind, who, next_number() + 1)
    elif kind not in (nodes := spoilers.get(pending) or {}) and pending.node is not None:
        events.add(NAN_GRADIENTS)
        spoilers[pending] = {**nodes, kind: pending.node}


class NanGradients(Observer):
    """Looks for NaN in the gradients of each backward, from the first infinity or NaN on."""

    def backward_ends(self, run: BackwardRun, found: dict) -> None:
        """Warn if a backward has produced NaN gradients; one whose warnings are suppressed leaves the events to the next."""
        if are_suppressed() or not spoilers.table and not made.nan:
            return
        nodes = spoilers.get(run) or {}
        if nodes or made.nan:
            if run.targets is None:
                tensors = [leaf._ref() for leaf in run.reaches() if type(leaf) is Leaf]
                found = {t: t._grad for t in tensors if t is not None and t._grad is not None}
            hint(nodes, [(g._sizes, g._a) for g in found.values() if type(g) is Tensor], run.reaches())


NAN_GRADIENTS = NanGradients()


# ---------------------------------------------------------------------- warnings
def hint(nodes: dict, gradients: Iterable[tuple], graph: Iterable) -> None:
    """Warn if one of the gradients (pairs of shape and array) has NaN that these nodes or `made` explain."""
    spoilt = [(shape, g) for shape, g in gradients if has_numbers(g) and np.isnan(g).any()]
    if not spoilt:
        made.clear()
        return
    shape, g = spoilt[0]
    reach = f"{int(np.isnan(g).sum())} of {g.size} elements of the gradient of a tensor of shape {shape} are NaN"
    event = None if "nan" in nodes else of_graph(made.nan, graph)
    if event is not None:
        what = "produces NaN in the forward pass, and 0 * NaN in backward is NaN"
        warn("nan-gradient", event.name, f"{what}; {reach}", event.fix, event.place)
    elif "nan" in nodes:
        name, what, place = blame(nodes, nodes["nan"])
        leaf = next(iter(reachable([e for e in nodes.get("inf", nodes["nan"])._edges if e is not None])[1]), None)
        place = place or line_of_only_call(name, leaf)
        warn("nan-gradient", name, f"{what}; {reach}", advice(name, place), place)
    made.clear()


def blame(nodes: dict, last: Any) -> tuple[str, str, Place | None]:
    """Return the operation at fault among the nodes that produced an infinity and a NaN, the reason, and its line."""
    node = nodes.get("inf", last)
    what = "its backward produces NaN (0 * inf, 0 / 0 or inf - inf)"
    if node is not last:
        what = f"its backward produces inf, which {operation_of(last)}'s backward turns into NaN (0 * inf or inf - inf)"
    return operation_of(node), what, forward_place(node)


def of_graph(events: dict, graph: Iterable) -> NaNEvent | None:
    """Return the first event in the forward pass of a graph, or None."""
    nodes = [node for node in graph if type(node) is not Leaf]
    ours = [e for e in events.values() if any([is_of(e, node) for node in nodes])]
    return next((e for e in ours if e.what), ours[0] if ours else None)


def forward_place(node: Any) -> Place | None:
    """Return the line that made a node, from its trace or from an event; None if it is unknown."""
    return node._trace or next((e.place for e in (*made.inf.values(), *made.nan.values()) if is_of(e, node)), None)


def is_of(event: NaNEvent, node: Any) -> bool:
    """Return True if the event belongs to the node, unless another thread took its number meanwhile."""
    return node._seq == event.number and node._fn.primitive and node._fn.function_name() == event.name


# ---------------------------------------------------------------------- the numbers
def example(name: str, args: Iterable, result: np.ndarray) -> str:
    """Return the first NaN of an elementwise result as a call with its numbers.

    >>> example("log", [np.array([1.0, -0.5])], np.array([0.0, np.nan]))
    ': log(-0.5) at index [1]'
    """
    index = tuple(int(i) for i in np.argwhere(np.isnan(result))[0])
    numbers = [float(np.broadcast_to(a, result.shape)[index]) for a in args]
    at = f" at index {list(index)}" if index else ""
    return f": {name}({', '.join(f'{n:.6g}' for n in numbers)}){at}"


def example_of(node: Any) -> str:
    """Return the first NaN of a node's result with its numbers, if its operation is elementwise and has saved its input."""
    kept = getattr(node, "_saved", ())
    if type(kept) is not tuple or not kept or type(kept[0]) is not Saved or kept[0].unpack is not None:
        return ""
    if not node._fn.primitive or not node._fn.elementwise:
        return ""
    array = plain_tensor(kept[0].tensor)._a
    if kept[0].index is not None or len(node._edges) > 1 or type(array) is not np.ndarray:
        return ""
    given = [array, *takewhile(lambda k: type(k) in (int, float), kept[1:])]
    with np.errstate(all="ignore"):
        result = np.asarray(node._fn.compute(*given))
    return example(operation_of(node), given, result) if np.isnan(result).any() else ""


# ---------------------------------------------------------------------- anomaly mode
def watch(name: str, args: tuple, outs: tuple, elementwise: bool = False) -> None:
    """Remember an operation that produces NaN, or that is the first to receive it."""
    results = [o for o in outs if holds_nan(o)]
    if not results:
        return
    given = [a for a in args if isinstance(a, Tensor) and holds_nan(a)]
    new = [a for a in given if not made.spoilt.get(a)]
    if new:
        what = f"receives NaN in {count(new[0])} of a tensor of shape {tuple(new[0].shape)}"
    elif not given:
        shapes = " and ".join(str(tuple(a.shape)) for a in args if isinstance(a, Tensor))
        what = f"produces NaN from inputs of shape {shapes} without NaN" if shapes else "produces NaN"
        if elementwise:
            what += example(name, [a._a if isinstance(a, Tensor) else a for a in args], results[0]._a)
        what += f"; {count(results[0])} of its result of shape {tuple(results[0].shape)} are NaN"
    for t in given + results:
        made.spoilt[t] = True
    if new or not given:
        edge = results[0]._edge
        made.note("nan", name, -1 if edge is None else producer(edge)._seq, what, bool(new))


def holds_nan(t: Tensor) -> bool:
    """Return True if a plain tensor has NaN among its elements."""
    return t._layer is None and t._np_dtype in FLOATS and has_numbers(t._a) and bool(np.isnan(t._a).any())


def count(t: Tensor) -> str:
    """Return a phrase with the number of NaN elements and of all elements."""
    return f"{int(np.isnan(t._a).sum())} of {t.numel()} elements"


def check_nan(node: Any, outs: tuple) -> None:
    """Raise a RuntimeError that names the operation whose backward first produced the NaN, or the infinity behind it."""
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
# {clamped}, {shifted} and {masked} are the operation with another argument, {0} its name
MASKED = "; or leave elements out before {0}, not after it: {masked}"
DOMAIN = "use {clamped}" + MASKED
SLOPE = "use {shifted} or {clamped}, as the slope of {0} is infinite at {edge}" + MASKED
SAFE_LOGARITHMS = "; for the logarithm of a softmax or sigmoid, use log_softmax(x) or nn.functional.logsigmoid(x)"
LOGARITHMS, ROOTS = ("log", "log2", "log10", "log1p", "xlogy"), ("sqrt", "rsqrt", "pow")
FORWARD = {LOGARITHMS: DOMAIN + SAFE_LOGARITHMS, ROOTS: DOMAIN}
REMEDIES = {
    ROOTS: SLOPE,
    LOGARITHMS: SLOPE + SAFE_LOGARITHMS,
    ("norm", "vector_norm", "linalg_vector_norm"): (
        "use (x.square().sum() + 1e-12).sqrt(), as the slope of {0} is infinite at {edge}"
    ),
    ("std", "var"): "use {0}(correction=0) for a single number, and (x.var() + 1e-12).sqrt() for equal numbers",
    ("div", "reciprocal"): (
        "keep the divisor away from 0, x / y.clamp(min=1e-12); or leave elements out before the division, not "
        "after it: x / minigrad.where(y != 0, y, 1); for exp(x) / exp(x).sum(), use minigrad.softmax"
    ),
    ("mul",): (
        "mask with minigrad.where(mask, x, 0) instead of a product, as 0 * inf is NaN; keep a logarithm finite, "
        "x.clamp(min=1e-12).log(), or use nn.functional.binary_cross_entropy"
    ),
    ("acos", "asin", "atanh"): (
        "use x.clamp(-1 + 1e-6, 1 - 1e-6).{0}(); or leave elements out before {0}, not after it: "
        "minigrad.where(x.abs() < 1, x, 0).{0}()"
    ),
    ("softmax", "log_softmax"): "leave at least one place of each row unmasked (not -inf), and clamp logits of inf",
    ("mean",): "take the mean only of a tensor that is not empty: if x.numel() > 0",
    ("exp", "expm1", "cosh", "sinh"): (
        "keep the argument small: x.clamp(max=80.0), or compute with logarithms (logsumexp)"
    ),
    ("cross_entropy", "mean_cross_entropy", "nll_loss", "mean_nll"): (
        "check that some target is not ignore_index, and that the logits are finite"
    ),
}
DATA = "find it with x.isnan(), then leave out the missing values or fill them in: x.nan_to_num()"
FINDING = "run it inside `with minigrad.autograd.detect_anomaly():`, which names the line of the operation"
CALLS = {"pow": "{0} ** p", "xlogy": "minigrad.xlogy(y, {0})"}  # the others are methods without further arguments
EDGES = {"log1p": ("-1 + 1e-6", "x + 1e-6", "-1")}  # smallest safe argument, a shifted one, and the edge of the domain


def advice(name: str, place: Place | None, forward: bool = False) -> str:
    """Return the fix for a NaN or an infinity that this operation produces, in its forward pass or in backward."""
    table = {**REMEDIES, **FORWARD} if forward else REMEDIES
    call, (low, shifted, edge) = CALLS.get(name, "{0}.{1}()"), EDGES.get(name, ("1e-12", "x + 1e-12", "0"))
    clamped, masked = f"x.clamp(min={low})", f"minigrad.where(x > {edge}, x, 1)"
    words = {"clamped": clamped, "shifted": f"({shifted})", "masked": masked}
    words = {word: call.format(x, name) for word, x in words.items()} | {"edge": edge}
    text = next((text.format(name, **words) for names, text in table.items() if name in names), "")
    if place is not None:
        return text
    return f"{text}. {FINDING[0].upper()}{FINDING[1:]}" if text else FINDING
