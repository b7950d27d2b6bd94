"""torch.jit: programs run as written, so `script` and `trace` return their argument.

To compile a program, use `minigrad.compile`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from ..errors import error
from ..nn import Module

__all__ = [
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

ScriptModule, ScriptFunction = Module, Callable
isinstance = isinstance


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the function, class or module itself.

    >>> import minigrad
    >>> minigrad.jit.script(minigrad.nn.ReLU())
    ReLU()
    """
    return obj


export = freeze = interface = optimize_for_inference = script_if_tracing = script_method = unused = script


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return the function or module itself; the example is not used.

    >>> import minigrad
    >>> double = minigrad.jit.trace(lambda x: 2 * x, minigrad.ones(2))
    >>> double(minigrad.ones(1))
    tensor([2.])
    """
    return func


trace_module = trace


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the decorated function; `ignore` may have parentheses or not."""
    return drop if callable(drop) else lambda function: function


def is_scripting() -> bool:
    """Return False: nothing is scripted.

    >>> is_scripting()
    False
    """
    return False


is_tracing = onednn_fusion_enabled = is_scripting


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value."""
    return the_value


def fork(func: Callable, *args: Any, **kwargs: Any) -> Any:
    """Return the result of the call, which runs at once."""
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    """Return the result of `fork`."""
    return future


def refuse(who: str, fix: str) -> Callable[..., NoReturn]:
    """Return a function that raises NotImplementedError: minigrad has no TorchScript to write or read."""

    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise error(NotImplementedError, who, "minigrad does not read or write TorchScript", fix)

    refused.__doc__ = "Raise NotImplementedError: minigrad does not read or write TorchScript."
    return refused


save = refuse("jit.save", "save the numbers: minigrad.save(model.state_dict(), path)")
load = refuse("jit.load", "in PyTorch, save model.state_dict(); here, load it into a module of the same structure")
