"""The display of tensors, nodes and records in a notebook, for which the drawing package answers (minigrad/display.py)."""

from __future__ import annotations

from typing import Any

from ..events import intercept


def mimebundle(what: Any, include: Any = None, exclude: Any = None) -> dict:
    """Return the representations for IPython: text, and a picture if the drawing package is there."""
    return intercept.shown(what) or {"text/plain": repr(what)}
