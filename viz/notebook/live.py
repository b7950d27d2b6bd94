"""`live`: the viewer's page in a notebook, whose numbers Python reads, sets and observes."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..drawing import Drawing, draw
from ..viewer import live_of

if TYPE_CHECKING:
    from .widget import Live

MISSING = "Python cannot read or set these numbers here: pip install anywidget."


def live(what: Any, *args: Any, passes: str | tuple[str, ...] = "all", **options: Any) -> Live | Drawing:
    """Draw a function or a tensor as a page whose numbers are traits of a widget: Python reads, sets and observes them.

    In JupyterLab, VS Code, Colab and marimo, a drag on the page changes `values`, `grads`, `tangents` and `step` of the
    result, and callbacks of `observe` run; what Python sets moves the picture.  On a page without a kernel, the same
    output computes alone.  Without anywidget, the result is the `Drawing` with this page, and a sentence below it.

    Args:
        what: a function, a tensor with a graph, or a record with contents; as for `viz.draw`.
        args: the function's arguments.
        passes: any of "forward", "backward", "jvp"; "all" for all three.
        options: `name`, `depth`, `open`, `tangent` and `grad` of `viz.draw`.

    Returns:
        A widget of anywidget with the traits `values`, `grads` and `tangents`, which map the names in the picture to nested
        lists in the shape of the tensor, `step`, the number of the step on the page from 0, and `note`, a text below the
        drawing.  A value that the page has not computed yet raises KeyError when it is read.

    Raises ValueError for a program whose numbers a page cannot compute, with the reason, and where `viz.draw` raises.
    Setting a value raises ValueError for an unknown name, the result of an operation, a wrong shape, and what is no number.

    >>> from minigrad import tensor
    >>> d = live(lambda w, x: (w * x).tanh(), tensor(0.5), tensor(2.0))
    >>> d.values["w"], d.grads["w"]
    (0.5, 0.8399486541748047)
    >>> d.observe(lambda change: print("w is", change.new["w"]), "values")
    >>> d.values["w"] = 0.25
    w is 0.25
    """
    drawing = draw(what, *args, passes=passes, **options)
    if isinstance(why := live_of(drawing.whole), str):
        raise ValueError(f"live: a page cannot compute these numbers: {why}. viz.draw shows them.")
    if find_spec("anywidget") is None:
        drawing.remark = MISSING
        return drawing
    from .widget import Live

    return Live(drawing)
