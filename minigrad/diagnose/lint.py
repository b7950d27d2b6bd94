"""Warnings of debug mode about code that is allowed but rarely intended; each function warns only when it is sure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.engine import behind
from ..core.graph import Leaf, producer
from ..core.tensor import Tensor
from ..errors import warn
from . import debug

OUTPUTS = ("affine", "linear", "matmul", "mm", "addmm", "add", "sigmoid", "tanh", "relu", "exp", "softplus", "prelu")
SMOOTH = {
    "round": "pass the gradient straight through: y + (y.round() - y).detach()",
    "sign": "use a smooth function instead: tanh(x)",
}


def look(cls: Any, args: tuple, outs: tuple) -> None:
    """Check an operation that has just run on plain tensors."""
    if cls.function_name() in ("add", "sub", "mul"):
        overflow(cls, args, outs[0])
    if cls.function_name() == "sub" and all([isinstance(a, Tensor) for a in args]):
        column(args, outs[0])


def overflow(cls: Any, args: tuple, out: Tensor) -> None:
    """Warn if integers overflow their dtype."""
    if out._np_dtype.kind not in "iu" or out.itemsize == 8:
        return
    exact = cls.compute(*[a._a.astype(np.int64) if isinstance(a, Tensor) else a for a in args])
    wrong = int((exact != out._a).sum())
    if wrong:
        warn(
            "integer-overflow",
            cls.function_name(),
            f"{wrong} of {out.numel()} elements overflow {out.dtype} and wrap around",
            "convert before computing: x.int() or x.float()",
        )


def column(args: tuple, out: Tensor) -> None:
    """Warn if a model's output, a column, is subtracted from a row of data."""
    x, y = args if args[0].ndim == 2 else args[::-1]
    sizes = tuple(x.shape), tuple(y.shape)
    if sizes[0] != (*sizes[1], 1) or sizes[1] in ((), (1,)) or x._edge is None or y._edge is not None:
        return
    name = debug.made_by(x)
    if x._view is None and name in OUTPUTS:
        warn(
            "broadcast-column",
            "sub",
            f"broadcasts a column of shape {sizes[0]} (made by {name}) and a row of shape {sizes[1]} to {tuple(out.shape)}",
            f"give both the same shape: x.squeeze(1) or y.reshape({list(x.shape)})",
            notes=[f"the column: {debug.origin(x)}"],
        )


def look_at_graph(roots: Sequence) -> None:
    """Warn about leaves whose gradient is always 0, because every path to them has a flat operation."""
    nodes, leaves = behind(roots)
    if not any([flat(node, i) for node in nodes for i in range(len(node._edges))]):
        return
    reached, stack = set(), [producer(e) for e in roots]
    while stack:
        node = stack.pop()
        if node not in reached:
            reached.add(node)
            stack += [producer(e) for i, e in enumerate(node._edges) if e is not None and not flat(node, i)]
    for leaf in leaves - reached:
        node = next(
            n for n in nodes & reached if any(flat(n, i) and leaf in behind([e])[1] for i, e in enumerate(n._edges))
        )
        name = node._fn.function_name()
        warn(
            "zero-gradient",
            name,
            f"has derivative 0 everywhere, so no gradient passes to its input of shape {node._shape}: the gradient of a leaf "
            f"of shape {leaf._shape} is always 0",
            SMOOTH.get(name, "use a smooth function instead"),
            node._trace,
        )


def flat(node: Any, i: int) -> bool:
    """Return True if the derivative by argument number i is 0 for all values."""
    fn = node._fn
    if type(node) is Leaf or not fn.primitive or node._edges[i] is None:
        return False
    f = fn.formulas.get(fn.parameter(i))
    return f is not None and not fn.reads[fn.parameter(i)] and f() == 0
