"""The display of tensors, nodes and records in a notebook, and `%load_ext minigrad`.

The drawing package is imported by name when something is displayed, so that minigrad itself does not depend on it; without
it, there is only text.
"""

from __future__ import annotations

import importlib
from typing import Any


def mimebundle(what: Any, include: Any = None, exclude: Any = None) -> dict:
    """Return the representations for IPython: text, and a picture of the graph if there is one."""
    try:
        notebook = importlib.import_module("viz.notebook")
    except ImportError:
        return {"text/plain": repr(what)}
    return notebook.mimebundle(what)


def load_ipython_extension(shell: Any) -> None:
    """Add `%%trace` to the notebook, which records a cell and draws its passes; `%load_ext minigrad` calls this.

    >>> get_ipython().run_line_magic("load_ext", "minigrad")  # doctest: +SKIP
    """
    importlib.import_module("viz.notebook").load(shell)
