"""How tensors, nodes and records show themselves in a notebook, and `%load_ext minigrad`.

The drawing package is looked up by name when something is to be shown, so that minigrad itself never depends on it; without
it there is text.
"""

from __future__ import annotations

import importlib
from typing import Any


def mimebundle(what: Any, include: Any = None, exclude: Any = None) -> dict:
    """What IPython asks an object for: its text, and the picture of its graph where there is one."""
    try:
        notebook = importlib.import_module("viz.notebook")
    except ImportError:
        return {"text/plain": repr(what)}
    return notebook.mimebundle(what)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext minigrad` calls: the notebook gets `%%trace`, which records a cell and draws its passes.

    >>> get_ipython().run_line_magic("load_ext", "minigrad")  # doctest: +SKIP
    """
    importlib.import_module("viz.notebook").load(shell)
