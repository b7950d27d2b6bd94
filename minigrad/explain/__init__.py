"""Explain how a number came about: the derivation of a gradient or tangent, and the history of a shape (docs/explain.md).

A derivation is read from a recording (record/recorder.py). lookup.py finds a recording that contains the number; recompute.py
rebuilds the graph if backward has freed it. links.py extracts the edges with their numbers, local_partials.py the partials of
single elements, derive.py the steps (steps.py) and paths, and blackboard.py writes the text. shape_history.py finds the
origins of a tensor's dimensions. All of this is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.tensor import Tensor
from ..errors import error
from ..places import user_frame
from ..record.recorder import Record

if TYPE_CHECKING:
    from .explanation import Explanation
    from .shape_history import ShapeExplanation

__all__ = ["explain", "explain_shape"]


def explain(
    what: Tensor | Callable | Record, *inputs: Any, of: Any = None, index: Any = None, tangents: tuple | None = None
) -> Explanation:
    """Derive a gradient or tangent step by step: the paths that lead to it, with their formulas and numbers.

    `explain(x.grad)`: a gradient or tangent that a recording in memory contains, or whose graph still exists. If backward has
    freed the graph, it is recomputed from its leaves, provided that this gives the same numbers.
    `explain(y, x)`: the derivative of y with respect to x, from y's graph; no `.grad` is touched.
    `explain(f, *inputs)`: the derivative of f's result with respect to its first input, or to the input `of` (a name or a
    number). With `tangents`, one for each input, the tangent of the result. If the result is itself a gradient, as for
    `func.grad(f)`, that gradient is explained.
    `explain(record, of=name)`: a gradient in a recording (`minigrad.record`).

    `index` selects one element. Without it, up to 4 elements are all explained, of more only the largest. A result with several
    elements is differentiated as their sum.

    Raise ValueError if the origin of the number is unknown, with code that makes it known; IndexError for an element that does
    not exist; TypeError for an object that is neither a tensor nor a function.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 2.], requires_grad=True)
    >>> h = x * 3
    >>> loss = h.sum()
    >>> print(explain(loss, x))
    ∂loss/∂x = [3, 3]: 1 path, 2 steps
    <BLANKLINE>
        ∂loss/∂loss = 1   (the derivation starts here)
      1 loss = h.sum()
          ∂loss/∂h: g.expand(2), where g = ∂loss/∂loss
        ∂loss/∂h = 1 × [1, 1] = [1, 1]
      2 h = x * 3
          ∂h/∂x = 3
        ∂loss/∂x = [1, 1] × [3, 3] = [3, 3]
    """
    from . import ask
    from .derive import Derivation

    frame = user_frame(2)
    if isinstance(what, Tensor):
        if len(inputs) > 1 or any(not isinstance(x, Tensor) for x in inputs):
            raise error(
                TypeError,
                "explain",
                f"a tensor takes at most one other tensor, to differentiate with respect to; got {len(inputs)} arguments",
                "call explain(loss, x) for each x, or explain(f, *inputs) with a function",
            )
        asked = ask.tensor(what, inputs, frame)
    elif isinstance(what, Record):
        asked = ask.recording(what, of)
    elif callable(what):
        asked = ask.function(what, inputs, of, tangents)
    else:
        problem = f"a {type(what).__name__} is neither a tensor nor a function"
        raise error(TypeError, "explain", problem, "call explain(x.grad), explain(loss, x) or explain(f, *inputs)")
    return Derivation(asked).explanation(index)


def explain_shape(y: Tensor) -> ShapeExplanation:
    """Return the origin of each dimension of a tensor, and the dimensions that were removed on the way.

    y must have a graph, or be the result of an operation in a recording in memory (`minigrad.record`); only a recording knows
    the lines. If no rule can follow a dimension, it is listed as set by its operation.

    Raise ValueError if there is neither a graph nor a recording, TypeError for an object that is not a tensor.

    >>> import minigrad
    >>> x, w = minigrad.ones(4, 3), minigrad.ones(3, 2, requires_grad=True)
    >>> y = (x @ w).flatten()
    >>> print(explain_shape(y))
    y has shape (8,)
      dimension 0 (8)
        4 · 2 = 8, merged by reshape
          - dimension 0 of v0 (4), through matmul
          - dimension 1 of w (2), through matmul
      removed dimensions:
        dimension 1 of v0 (3): summed over with the rows of the other operand by matmul
    """
    from . import shape_history

    if not isinstance(y, Tensor):
        why = ", and a shape does not know its tensor" if isinstance(y, tuple) else ""
        what = f"a {type(y).__name__} is not a tensor{why}"
        raise error(TypeError, "explain_shape", what, "call explain_shape(y), not explain_shape(y.shape)")
    return shape_history.shape_of(y, user_frame(2))
