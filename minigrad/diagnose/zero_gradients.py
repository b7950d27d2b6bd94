"""Leaves whose gradient is always 0, because an operation with derivative 0 stands on every path to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..core.engine import reachable
from ..core.graph import Leaf, producer
from ..errors import warn
from .cut_lines import line_of_call
from .wording import built_in

THROUGH = "compute the loss without {name}; or pass the gradient straight through: y + (y.{name}() - y).detach()"
SMOOTH = {
    **{name: THROUGH.format(name=name) for name in ("round", "floor", "ceil", "trunc")},
    "sign": "use a smooth function instead: tanh(x)",
    "normal": "draw noise and transform it: mean + std * minigrad.randn_like(std)",
    "floor_divide": "divide without rounding: x / y",
    "softmax": "use sigmoid for one score, or give the dimension more than one element",
    "log_softmax": "use sigmoid for one score, or give the dimension more than one element",
}


def check_zeros(roots: Sequence, limit: float = float("inf")) -> None:
    """Warn about leaves that only flat operations lead to; a larger graph than `limit` nodes in front of them is left out."""
    reached, ends, stack = set(), [], [producer(e) for e in roots]
    while stack:
        node = stack.pop()
        if node in reached:
            continue
        reached.add(node)
        if len(reached) > limit:
            return
        for i, e in enumerate(node._edges):
            if e is not None and flat(node, i):
                ends.append((node, e))
            elif e is not None:
                stack.append(producer(e))
    found: dict[Any, set] = {}
    others = any([type(node) is Leaf for node in reached])
    for node, e in ends:
        if others and draws(node._fn):  # data for the others, such as actions for a critic
            continue
        if leaves := reachable([e])[1] - reached:
            found.setdefault(node, set()).update(leaves)
    for node, leaves in found.items():
        warn_zero(node, sorted(leaves, key=lambda leaf: leaf._seq))


def warn_zero(node: Any, leaves: list) -> None:
    """Warn about leaves whose gradient is 0 because of a node."""
    name = node._fn.function_name()
    shapes = ", ".join(map(str, dict.fromkeys(leaf._shape for leaf in leaves)))
    which = (
        f"gradient of a leaf of shape {shapes} is"
        if len(leaves) == 1
        else f"gradients of {len(leaves)} leaves, {shapes}, are"
    )
    warn(
        "zero-gradient",
        name,
        f"{why(node)}, so no gradient passes to its input of shape {node._edges[0]._shape}: the {which} always 0",
        SMOOTH.get(name, "use a smooth function instead"),
        node._trace or line_of_call(name, leaves[0]),
    )


def why(node: Any) -> str:
    """Return the reason why a node's derivative is 0."""
    if alone(node):
        return "has a dimension of size 1, where its result is always the same"
    if draws(node._fn):
        return "draws random numbers, which have no derivative with respect to its parameters"
    return "has derivative 0 everywhere"


def flat(node: Any, i: int) -> bool:
    """Return True if the derivative with respect to argument number i is 0 for all values."""
    if type(node) is Leaf or not node._fn.primitive or node._edges[i] is None:
        return False
    return flat_formula(node._fn, i) or alone(node)


@lru_cache(1024)
def flat_formula(fn: Any, i: int) -> bool:
    """Return True if an operation's formula for argument number i is the number 0."""
    f = fn.formulas.get(fn.parameter(i))
    if fn.name == "normal" and draws(fn):
        return True
    return f is not None and not fn.reads[fn.parameter(i)] and f() == 0


def draws(fn: Any) -> bool:
    """Return True if an operation draws random numbers, whose parameters get gradients of 0."""
    return any([getattr(f, "of_draw", False) for f in fn.formulas.values()])


def alone(node: Any) -> bool:
    """Return True for a softmax of one score, from a layer, for each of several examples: its result is always 1.

    Attention to a single token is a softmax of size 1, too, but its scores are products.
    """
    if built_in(node) not in ("softmax", "log_softmax") or node._shape[1:] != (1,) or node._shape[0] < 2:
        return False
    dims = next((d for d in node._saved if type(d) is tuple), ()) if type(node._saved) is tuple else ()
    return dims in ((1,), (-1,)) and built_in(producer(node._edges[0])) in ("linear", "addmm", "affine")
