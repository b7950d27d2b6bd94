"""Misspelt attributes of tensors: assigning to one is an error instead of a silent no-op.

Users may set their own attributes on tensors, so a misspelt `requires_grad` would pass unnoticed.  A `__setattr__` that
checks names would cost more than an operation; descriptors under the wrong names cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import config
from ..errors import Unread, error
from . import missing_names
from .ctx import PROTOCOL

MISSPELT = {
    **dict.fromkeys(
        "require_grad required_grad requires_gradient require_gradient requires_grads require_grads requiresgrad "
        "requiregrad requiresGrad requireGrad required_gradient need_grad needs_grad".split(),
        "requires_grad",
    ),
    **dict.fromkeys("gradient grads gradients".split(), "grad"),
    **dict.fromkeys("retains_gradient retain_grads retain_gradient retains_grads".split(), "retain_grad()"),
}


class Misspelt:
    """A misspelt name; assigning to it raises an AttributeError with the right one."""

    def __init__(self, name: str, right: str):
        self.name, self.right = name, right

    def __get__(self, t: Any, cls: type) -> Any:
        raise Unread(self.name, lambda: (f"tensors have no attribute {self.name}", f"use x.{self.right}"))

    def __set__(self, t: Any, value: Any) -> None:
        fix = f"call x.{self.right}" if self.right.endswith(")") else f"write x.{self.right} = {value!r}"
        raise error(
            AttributeError, self.name, f"tensors have no attribute {self.name}, and assigning it does nothing", fix
        )


class Called:
    """A method with the name of a setting; assigning to it raises an AttributeError."""

    def __init__(self, method: Callable):
        self.method = method

    def __get__(self, t: Any, cls: type) -> Any:
        return self.method if t is None else self.method.__get__(t, cls)

    def __set__(self, t: Any, value: Any) -> None:
        name = self.method.__name__
        raise error(
            AttributeError, name, f"{name} is a method; assigning {value!r} to it does nothing", f"call x.{name}()"
        )


def not_there(t: Any, name: str) -> Any:
    """Raise for an attribute that a tensor lacks, as `Tensor.__getattr__`."""
    cls = type(t)
    for c in cls.__mro__:
        if name in c.__dict__:  # a property raised an AttributeError, which Python has dropped
            return c.__dict__[name].__get__(t, cls)
    if name.startswith("_") or name in PROTOCOL:  # code probes for such names; method_errors explains those of a ctx
        raise AttributeError(f"'{type(t).__name__}' object has no attribute '{name}'", name=name, obj=t)
    raise missing_names.absent(AttributeError, f"{config.library_name}.Tensor.{name}")


def install(tensor: Any) -> None:
    """Install the descriptors in the class of tensors, and hide them from its `dir`."""
    for name, right in MISSPELT.items():
        setattr(tensor, name, Misspelt(name, right))
    for method in (tensor.retain_grad, tensor.requires_grad_):
        setattr(tensor, method.__name__, Called(method))
    tensor.__getattr__ = not_there
    tensor.__dir__ = lambda t: [n for n in object.__dir__(t) if n not in MISSPELT]
