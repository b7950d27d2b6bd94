"""torch.compiler and torch._dynamo: decorators that steer PyTorch's compiler, and queries about it.

`minigrad.compile` runs a function that it cannot compile unchanged, so no code has to be marked.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "disallow_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "mark_dynamic",
    "mark_static",
    "reset",
    "set_stance",
    "substitute_in_graph",
]

config = SimpleNamespace()  # settings of PyTorch's compiler: stored, never read


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function, or a decorator that returns it.

    >>> import minigrad
    >>> @minigrad.compiler.disable
    ... def f(x):
    ...     return 2 * x
    >>> f(minigrad.ones(1))
    tensor([2.])
    """
    return fn if fn is not None else lambda function: function


allow_in_graph = assume_constant_result = disallow_in_graph = disable


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Any:
    """Return a decorator that returns the function."""
    return lambda function: function


def reset(*args: Any, **kwargs: Any) -> None:
    """Do nothing."""


cudagraph_mark_step_begin = graph_break = mark_dynamic = mark_static = set_stance = reset


def is_compiling() -> bool:
    """Return False: a function that `minigrad.compile` traces runs as it does eagerly.

    >>> is_compiling()
    False
    """
    return False


is_dynamo_compiling = is_exporting = is_compiling
