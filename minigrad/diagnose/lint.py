"""Debug mode's look at what is allowed, and seldom meant: each function warns where it is sure."""

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
    "round": "let the gradient pass by: y + (y.round() - y).detach()",
    "sign": "use a smooth function in its place: tanh(x)",
}


def look(cls: Any, args: tuple, outs: tuple) -> None:
    """Look at an operation that has just run on plain tensors."""
    if cls.function_name() in ("add", "sub", "mul"):
        overflow(cls, args, outs[0])
    if cls.function_name() == "sub" and all([isinstance(a, Tensor) for a in args]):
        column(args, outs[0])


def overflow(cls: Any, args: tuple, out: Tensor) -> None:
    """Warn where the result of integers does not fit their dtype."""
    if out._np_dtype.kind not in "iu" or out.itemsize == 8:
        return
    exact = cls.compute(*[a._a.astype(np.int64) if isinstance(a, Tensor) else a for a in args])
    wrong = int((exact != out._a).sum())
    if wrong:
        warn(
            "integer-overflow",
            cls.function_name(),
            f"{wrong} of {out.numel()} elements of the result do not fit {out.dtype}, and have wrapped around",
            "convert before computing: x.int(), or x.float()",
        )


def column(args: tuple, out: Tensor) -> None:
    """Warn where a model's output, a column, is compared with a row of data."""
    x, y = args if args[0].ndim == 2 else args[::-1]
    sizes = tuple(x.shape), tuple(y.shape)
    if sizes[0] != (*sizes[1], 1) or sizes[1] in ((), (1,)) or x._edge is None or y._edge is not None:
        return
    name = debug.made_by(x)
    if x._view is None and name in OUTPUTS:
        warn(
            "broadcast-column",
            "sub",
            f"a column of shape {sizes[0]}, made by {name}, and a row of shape {sizes[1]} are broadcast to {tuple(out.shape)}",
            f"give both one shape: x.squeeze(1), or y.reshape({list(x.shape)})",
            notes=[f"the column: {debug.origin(x)}"],
        )


def look_at_graph(roots: Sequence) -> None:
    """Warn of leaves that are reached only through operations that are flat everywhere: their gradient is always 0."""
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
            f"is flat everywhere, so the gradient of all that its input (of shape {node._shape}) was computed from is 0; "
            f"a leaf of shape {leaf._shape} is reached only through it",
            SMOOTH.get(name, "use a smooth function in its place"),
            node._trace,
        )


def flat(node: Any, i: int) -> bool:
    """Whether the derivative by argument number i is 0 whatever the values are."""
    fn = node._fn
    if type(node) is Leaf or not fn.primitive or node._edges[i] is None:
        return False
    f = fn.formulas.get(fn.parameter(i))
    return f is not None and not fn.reads[fn.parameter(i)] and f() == 0
