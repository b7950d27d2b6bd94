"""A loss that is NaN or infinite when backward begins: the operation that made it so, with its numbers.

The forward pass has remembered the first operations that produced NaN (nan.py).  Compiled functions send no signal, so they
run once more while every number is checked.  A parameter with huge values explains the rest.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.meta import has_numbers
from ..core.engine import reachable
from ..core.graph import Leaf, operation_of, producer
from ..core.saved import Saved, plain_tensor
from ..core.tensor import Tensor
from ..errors import error, warn
from ..places import noted
from .debug import anomaly, mode
from .nan import FINDING, NaNEvent, advice, example_of, is_of, made, of_graph
from .observer import switch
from .report import explains, searches
from .trained_models import alive

DIVERGING = 1e6  # a leaf with such values explains an infinite loss
DIVERGED = "an earlier step made it so: use a smaller learning rate, or clip gradients: nn.utils.clip_grad_norm_(parameters, 1)"


@explains("root is not finite")
def hint_at_loss(t: Tensor) -> None:
    """Warn about a root that is NaN or infinite, and name the operation that made it so.

    In anomaly mode NaN is an error.
    """
    value = t._a.item()
    kind, word = ("nan", "NaN") if math.isnan(value) else ("inf", str(value))
    nodes, leaves = reachable([t._edge])
    graph = [*nodes, *leaves]
    event = of_graph(getattr(made, kind), graph)
    node = None if event or kind == "inf" else origin(t._edge)
    if event is None and node is None and kind == "nan":
        event = replayed(graph)
    made.clear()
    notes: list[str] = []
    what = f"the loss{f' of shape {tuple(t.shape)}' if t.ndim else ''} is {word}"
    if event is not None:
        name, place, fix = event.name, event.place, event.fix
        cause = next((n for n in graph if type(n) is not Leaf and is_of(event, n)), None)
        what = f"{event.what or f'produces the first {word}{example_of(cause)}'}; {what}"
    elif node is not None:
        name, place = operation_of(node), node._trace
        what = f"produces the first NaN{example_of(node)}; {what}"
        fix = advice(name, place, True)
    elif leaf := next((n for n in graph if type(n) is Leaf and not largest(n) < DIVERGING), None):
        name, place, fix = "backward", None, DIVERGED
        high = largest(leaf)
        values = "NaN among its values" if math.isnan(high) else f"values up to {high:.3g}"
        what = f"{what}: a leaf of shape {leaf._shape} has {values} before this computation"
        notes = optimizer_of(leaf)
    else:
        name, place, fix = "backward", None, FINDING
    if kind == "nan" and anomaly.on and anomaly.nan:
        raise error(RuntimeError, name, what, fix, place)
    warn("nan-loss" if kind == "nan" else "infinite-loss", name, what, fix, place, notes)


def origin(edge: Any) -> Any:
    """Return the oldest node behind an edge whose result is known to be NaN; None if no saved tensor tells."""
    is_nan: dict = {}
    nodes = sorted(reachable([edge])[0], key=lambda n: n._seq)
    for node in nodes:
        kept = node._saved if type(node._saved) is tuple else ()
        for k, s in enumerate(kept):
            if type(s) is not Saved or s.unpack is not None:
                continue
            known = s.tensor._np_dtype in FLOATS and bool(np.isnan(plain_tensor(s.tensor)._a).any())
            if s.index is not None:
                is_nan[node] = known
            elif k < len(node._edges) and node._edges[k] is not None:
                is_nan[producer(node._edges[k])] = known
        there = bool(kept) and type(kept[0]) is Saved and kept[0].unpack is None  # not a value that a hook packed
        if node not in is_nan and len(node._edges) == 1 and there and node._fn.primitive:
            is_nan[node] = bool(np.isnan(node._fn.compute(plain_tensor(kept[0].tensor)._a)).any())
    return next((node for node in nodes if is_nan.get(node)), None)


def optimizer_of(leaf: Leaf) -> list[str]:
    """Return a note with the line that made the optimizer of a leaf, where its learning rate is."""
    t = leaf._ref()
    found = [o for o in list(alive) if any(p is t for group in o.param_groups for p in group["params"])]
    return (
        noted(f"its optimizer, {type(found[0]).__name__}, is made", found[0]._earlier.place) if len(found) == 1 else []
    )


def largest(leaf: Leaf) -> float:
    """Return the largest absolute value of a leaf; NaN if it has one, and 0 if there are no values to read."""
    t = leaf._ref()
    known = t is not None and t._np_dtype in FLOATS and has_numbers(t._a) and t._a.size
    return float(abs(t._a).max()) if known else 0.0


@searches()
def replayed(graph: Iterable) -> NaNEvent | None:
    """Return the operation in a compiled function that produces NaN, from a second, observed run of it; None if there is none.

    Compiled kernels send no signal.  A function with effects, or whose inputs have changed since, does not run again.
    """
    compiled = [node for node in graph if type(node) is not Leaf and hasattr(node._fn, "replay")]
    for node in sorted(compiled, key=lambda n: n._seq):
        before = mode.on, anomaly.on, anomaly.nan
        made.clear()
        switch(before[0], True, True)
        try:
            node._fn.replay(node)
        finally:
            switch(*before)
        if event := next((e for e in made.nan.values() if e.what), None):
            return event
    return None
