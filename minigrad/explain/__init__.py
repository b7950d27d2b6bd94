"""How a number came about: the derivation of a gradient or tangent, and the history of a shape (docs/explain.md).

A derivation is read off a recording (record/recorder.py): lookup.py looks for the one that knows the number, recompute.py
makes one where backward has freed the graph, links.py has its edges with their numbers, local_partials.py the partials of
single elements, derive.py makes the steps (steps.py) and paths, blackboard.py the words.  shape_history.py tells where the
dimensions of a tensor come from.  Nothing here is loaded before it is asked for.
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
    """Derive a gradient or tangent step by step: which paths lead to it, by which formulas, and their numbers.

    `explain(x.grad)`: a gradient or tangent that a living recording has seen, or whose graph is there; one that backward
    has freed is computed again from its leaves, where that gives the same numbers.
    `explain(y, x)`: the derivative of y by x, from y's graph; nothing is accumulated.
    `explain(f, *inputs)`: the derivative of f's result by its first input, or by the one that `of` names or counts; with
    `tangents`, one for each input, the tangent of the result.  A result that is itself a gradient, as that of
    `func.grad(f)` is, is explained as such.
    `explain(record, of=name)`: a gradient of a recording (`minigrad.record`).

    `index` asks for one element.  Without it all are explained where they are at most 4, else the largest.  A result of
    several elements is differentiated as its sum.

    Raises ValueError where nothing is known of the number, with the code that makes it known; IndexError for an element
    that is not there; TypeError for what is neither a tensor nor a function.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 2.], requires_grad=True)
    >>> h = x * 3
    >>> loss = h.sum()
    >>> print(explain(loss, x))
    ∂loss/∂x = [3, 3]: 1 path, 2 steps
    <BLANKLINE>
        ∂loss/∂loss = 1   (it begins here)
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
                f"a tensor takes at most one other tensor, to be differentiated by; got {len(inputs)} arguments",
                "explain(loss, x) for each x, or explain(f, *inputs) with a function",
            )
        asked = ask.tensor(what, inputs, frame)
    elif isinstance(what, Record):
        asked = ask.recording(what, of)
    elif callable(what):
        asked = ask.function(what, inputs, of, tangents)
    else:
        raise error(
            TypeError,
            "explain",
            f"a {type(what).__name__} is neither a tensor nor a function",
            "explain(x.grad), explain(loss, x) or explain(f, *inputs)",
        )
    return Derivation(asked).explanation(index)


def explain_shape(y: Tensor) -> ShapeExplanation:
    """Say for each dimension of a tensor where it came from, and which dimensions are gone.

    y is a tensor with a graph, or one that a living recording (`minigrad.record`) has seen an operation make; only a
    recording knows the lines.  A dimension that no rule follows is said to be set by its operation.

    Raises ValueError where neither is there, TypeError for what is no tensor.

    >>> import minigrad
    >>> x, w = minigrad.ones(4, 3), minigrad.ones(3, 2, requires_grad=True)
    >>> y = (x @ w).flatten()
    >>> print(explain_shape(y))
    y has shape (8,)
      dimension 0 (8)
        4 · 2 = 8, merged by reshape
          - dimension 0 of v0 (4), through matmul
          - dimension 1 of w (2), through matmul
      not there any more:
        dimension 1 of v0 (3): summed over with the rows of the other by matmul
    """
    from . import shape_history

    if not isinstance(y, Tensor):
        why = ", and a shape does not know its tensor" if isinstance(y, tuple) else ""
        what = f"a {type(y).__name__} is no tensor{why}"
        raise error(TypeError, "explain_shape", what, "explain_shape(y), not explain_shape(y.shape)")
    return shape_history.shape_of(y, user_frame(2))
