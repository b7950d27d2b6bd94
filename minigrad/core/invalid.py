"""Where a NaN came from: a hint that costs nothing until there is one.

While gradients travel back (sweep.py) NumPy tells when a calculation makes an infinity or a NaN of other numbers, and the
node that was at work is remembered.  A loss that is NaN already is noticed when backward begins, while its graph still
holds what the operations have saved.  Compiled kernels, which large arrays take, do not tell: detect_anomaly looks at every
number.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..errors import Place, warn
from .edges import producer
from .quiet import listen
from .saved import Saved
from .tensor import Tensor, bottom

found: ContextVar[dict | None] = ContextVar(
    "minigrad.invalid", default=None
)  # "inf", "nan": the nodes that made the first
FINDING = "run it inside `with minigrad.autograd.detect_anomaly():`, which names the line of the operation"


def noticed(what: str, flag: int) -> None:
    """NumPy has made an infinity or a NaN: remember the node whose backward is running."""
    kind, nodes = "nan" if what.startswith("invalid") else "inf", found.get()
    if nodes is None or kind in nodes:
        return
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "walk":
        frame = frame.f_back
    if frame is not None:
        nodes[kind] = frame.f_locals["node"]


listening = listen(noticed)


def hint(nodes: dict, gradients: Iterable[tuple]) -> None:
    """Warn if one of the gradients, pairs of shape and array, has become NaN, which these nodes have made."""
    spoilt = [(shape, g) for shape, g in gradients if np.isnan(g).any()]
    if not spoilt or "nan" not in nodes:
        return
    (shape, g), last = spoilt[0], nodes["nan"]
    node = nodes.get("inf", last)
    made = "its backward made a NaN of other numbers (0 * inf, 0 / 0 or inf - inf)"
    if node is not last:
        made = f"its backward made an infinity, of which {type(last).__name__} made NaN (0 * inf or inf - inf)"
    warn(
        "nan-gradient",
        type(node).__name__,
        f"{made}; it reaches {int(np.isnan(g).sum())} of {g.size} elements of the gradient of a tensor of shape {shape}",
        advice(node),
        notes=made_at(node),
    )


def advice(node: Any) -> str:
    """What to do about a NaN in this node's backward."""
    name = node._fn.name if node._fn.primitive else ""
    if name in ("sqrt", "rsqrt", "norm", "vector_norm", "linalg_vector_norm", "std", "pow", "log", "div", "reciprocal"):
        return (
            f"keep {name}'s argument away from the place where its slope is infinite: add a small number "
            "(x + 1e-12), clamp(min=...), or choose safe arguments before it, "
            f"{name}(where(mask, x, 1)), and not only its results after it; detect_anomaly() names the line"
        )
    return FINDING


def made_at(node: Any) -> list[str]:
    """A line that says where the node was made, if that was noted."""
    return [] if node._trace is None else [f"the forward call was at {node._trace}"]


def hint_at_loss(t: Tensor) -> None:
    """Warn that what is about to be differentiated is NaN, and which operation made it so, as far as its graph can tell."""
    node = origin(t._edge)
    who, made = ("backward", "") if node is None else (type(node).__name__, "; this operation made the first NaN")
    place: Place | None = None if node is None else node._trace
    warn(
        "nan-loss",
        who,
        f"the tensor of shape {tuple(t.shape)} that backward starts from is NaN{made}",
        "look for the logarithm or root of a negative number, 0 / 0 or inf - inf"
        + ("" if place else "; inside `with minigrad.debug():` its line is named"),
        notes=[] if place is None else [f"the forward call was at {place}"],
    )


def origin(edge: Any) -> Any:
    """The oldest node behind an edge whose result is known to be NaN; None where nothing that was saved tells."""
    from .engine import behind

    is_nan: dict = {}
    nodes = sorted(behind([edge])[0], key=lambda n: n._seq)
    for node in nodes:
        kept = node._saved if type(node._saved) is tuple else ()
        for k, s in enumerate(kept):
            if type(s) is not Saved or s.unpack is not None:
                continue
            known = s.tensor._np_dtype.kind == "f" and bool(np.isnan(bottom(s.tensor)._a).any())
            if s.index is not None:
                is_nan[node] = known
            elif k < len(node._edges) and node._edges[k] is not None:
                is_nan[producer(node._edges[k])] = known
        if node not in is_nan and len(node._edges) == 1 and kept and type(kept[0]) is Saved and node._fn.primitive:
            is_nan[node] = bool(np.isnan(node._fn.compute(bottom(kept[0].tensor)._a)).any())
    return next((node for node in nodes if is_nan.get(node)), None)
