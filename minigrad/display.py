"""Show tensors, nodes, records and explanations in notebooks; `%load_ext minigrad`.

The drawing package is imported by name when something is shown, so that the engine does not depend on it; without it, there
is only text.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from .events import Interceptor, events


class Notebook(Interceptor):
    """Draws what a notebook shows."""

    def shown(self, what: Any) -> dict | None:
        """Return the representations for IPython: text, and a picture of the graph if there is one."""
        try:
            notebook = importlib.import_module("viz.notebook")
        except ImportError:
            return None
        return notebook.mimebundle(what)


def install() -> None:
    """Let notebooks draw tensors and their graphs."""
    events.add(Notebook())


def draw_at_exit() -> None:
    """Draw the last backward of the program at its exit, if `MINIGRAD_VIZ=1` or `MINIGRAD_VIZ=name.svg` asks for it."""
    wish = os.environ.get("MINIGRAD_VIZ", "")
    if wish not in ("", "0"):
        importlib.import_module("viz.programs.last_backward").begin(wish)


def load_ipython_extension(shell: Any) -> None:
    """Add `%%trace` to the notebook, which records a cell and draws its passes; `%load_ext minigrad` calls this.

    >>> get_ipython().run_line_magic("load_ext", "minigrad")  # doctest: +SKIP
    """
    importlib.import_module("viz.notebook").load(shell)
