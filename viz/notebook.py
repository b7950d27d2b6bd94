"""How a tensor and a record show themselves in a notebook: by the graph that computed them."""

from __future__ import annotations

from typing import Any

from .drawing import draw

SMALL = 300  # operations: larger graphs are not drawn unasked


def mimebundle(what: Any) -> dict[str, str]:
    """What a notebook shows for a tensor or a record: its text, and its picture if it has a graph of a size to look at.

    >>> from minigrad import tensor
    >>> w = tensor(2.0, requires_grad=True)
    >>> sorted(mimebundle(w * w)), sorted(mimebundle(tensor(1.0)))
    (['image/svg+xml', 'text/plain'], ['text/plain'])
    """
    shown = {"text/plain": repr(what)}
    if hasattr(what, "to_dict") or what.grad_fn is not None:
        drawing = draw(what)
        if len(drawing.graph.ops) <= SMALL:
            shown["image/svg+xml"] = drawing.svg()
    return shown
