"""How a tensor shows itself in a notebook: by the graph that computed it."""

from __future__ import annotations

from typing import Any

SMALL = 300  # operations: larger graphs are not drawn unasked


def mimebundle(tensor: Any) -> dict[str, str]:
    """What a notebook shows for a tensor: its text, and the picture of its graph if it has one of a size to look at.

    >>> from minigrad import tensor
    >>> w = tensor(2.0, requires_grad=True)
    >>> sorted(mimebundle(w * w)), sorted(mimebundle(tensor(1.0)))
    (['image/svg+xml', 'text/plain'], ['text/plain'])
    """
    from .drawing import draw

    shown = {"text/plain": repr(tensor)}
    if tensor.grad_fn is not None:
        drawing = draw(tensor)
        if len(drawing.graph.ops) <= SMALL:
            shown["image/svg+xml"] = drawing.svg()
    return shown
