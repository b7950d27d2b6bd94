"""Leaves whose gradient is always 0, because an operation with derivative 0 stands on every path to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..arrays.kinds import on_device
from ..arrays.meta import has_numbers
from ..core.engine import reachable
from ..core.graph import Leaf, producer
from ..core.saved import Saved, plain_tensor
from ..errors import warn
from ..ops.compare import ClampBetween
from ..ops.random import Draw
from .cut_lines import line_of_call
from .cut_reasons import DRAWN
from .wording import built_in

THROUGH = "compute the loss without {name}; or pass the gradient straight through: y + (y.{name}() - y).detach()"
SMOOTH = {
    **{name: THROUGH.format(name=name) for name in ("round", "floor", "ceil", "trunc")},
    "sign": "use a smooth function instead: tanh(x)",
    **dict.fromkeys(("bernoulli", "poisson"), DRAWN[1]),
    "normal": "draw noise and transform it: mean + std * minigrad.randn_like(std)",
    "clamp": "begin inside the bounds, or use a function that is never flat: lo + (hi - lo) * sigmoid(x)",
    "floor_divide": "divide without rounding: x / y",
    "softmax": "use sigmoid for one score, or give the dimension more than one element",
    "log_softmax": "use sigmoid for one score, or give the dimension more than one element",
}


def check_zeros(roots: Sequence, limit: float = float("inf"), first: bool = False) -> None:
    """Warn about leaves that only flat operations lead to; a larger graph than `limit` nodes in front of them is left out.

    At a line's `first` backward, also warn if nothing but clamped elements leads to the leaves.
    """
    reached, ends, stack = set(), [], [producer(e) for e in roots]
    while stack:
        node = stack.pop()
        if node in reached:
            continue
        reached.add(node)
        if len(reached) > limit:
            return
        for i, e in enumerate(node._edges):
            if e is not None and (flat(node, i) or first and clamped(node, i)):
                ends.append((node, e))
            elif e is not None:
                stack.append(producer(e))
    found: dict[Any, set] = {}
    others = any([type(node) is Leaf for node in reached])
    for node, e in ends:
        if others and not flat(node, 0):  # a bound that holds now
            continue
        if others and issubclass(node._fn, Draw):  # data for the others, such as actions for a critic
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
    always = "" if clamped(node, 0) else "always "
    tracked = next(edge for edge in node._edges if edge is not None)
    warn(
        "zero-gradient",
        name,
        f"{why(node)}, so no gradient passes to its input of shape {tracked._shape}: the {which} {always}0",
        SMOOTH.get(name, "use a smooth function instead"),
        node._trace or line_of_call(name, leaves[0]),
    )


def why(node: Any) -> str:
    """Return the reason why a node's derivative is 0."""
    if alone(node):
        return "has a dimension of size 1, where its result is always the same"
    if clamped(node, 0):
        x, (lo, hi) = values(node, 0), node._saved[1:3]
        return f"all {x.size} elements of its input, {x.min():g} to {x.max():g}, are outside of the bounds {lo:g} and {hi:g}"
    if issubclass(node._fn, Draw):
        return "draws random numbers, which have no derivative with respect to its parameters"
    return "has derivative 0 everywhere"


def flat(node: Any, i: int) -> bool:
    """Return True if the derivative with respect to argument number i is 0 for all values."""
    if type(node) is Leaf or not node._fn.primitive or node._edges[i] is None:
        return False
    return flat_formula(node._fn, i) or alone(node)


@lru_cache(1024)
def flat_formula(fn: Any, i: int) -> bool:
    """Return True if an operation draws random numbers, or its formula for argument number i is the number 0."""
    f = fn.formulas.get(fn.parameter(i))
    return issubclass(fn, Draw) or f is not None and not fn.reads[fn.parameter(i)] and f() == 0


def alone(node: Any) -> bool:
    """Return True for a softmax of one score, from a layer, for each of several examples: its result is always 1.

    Attention to a single token is a softmax of size 1, too, but its scores are products.
    """
    if built_in(node) not in ("softmax", "log_softmax") or node._shape[1:] != (1,) or node._shape[0] < 2:
        return False
    dims = next((d for d in node._saved if type(d) is tuple), ()) if type(node._saved) is tuple else ()
    return dims in ((1,), (-1,)) and built_in(producer(node._edges[0])) in ("linear", "addmm", "affine")


def clamped(node: Any, i: int) -> bool:
    """Return True for a clamp between two numbers if all elements of its input are outside of them."""
    x = values(node, 0) if node._fn is ClampBetween else None
    if x is None:
        return False
    lo, hi = node._saved[1:3]
    return bool(((x < lo) | (x > hi)).all())


def values(node: Any, i: int) -> Any:
    """Return the array of a node's saved tensor number i, if its numbers can be read without waiting; else None."""
    saved = node._saved[i] if type(node._saved) is tuple and len(node._saved) > i else None
    if type(saved) is not Saved or saved.unpack is not None:
        return None
    a = plain_tensor(saved.tensor)._a
    return a if a.size and has_numbers(a) and not on_device(a) else None
