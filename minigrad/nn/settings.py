"""Modules that call one function of nn.functional with settings: activations, losses, pools, paddings and others.

A class names the function and declares its settings by annotations, as a dataclass does:

    class LeakyReLU(ActivationModule, function=activation.leaky_relu):
        negative_slope: float = 0.01
        inplace: bool = False

Its __init__, forward and repr follow from that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, dataclass_transform

from ..core.tensor import Tensor
from ..diagnose.modules import made_of
from ..errors import error
from .module import Module


@dataclass_transform(eq_default=False)
class Functional(Module):
    """`function(input, **settings)`.  A tensor among the settings becomes a buffer."""

    _function: Any = None
    _settings: tuple = ()  # the parameter names of __init__
    _shown: Any = None  # the settings in the repr; None for all
    _no_tensor: tuple = ()  # how to call it, and the error for passing the input to __init__ instead

    def __init_subclass__(cls, function: Callable | None = None, kw_only: bool = False, **options: Any):
        super().__init_subclass__(**options)
        if function is not None:
            cls._function = staticmethod(function)
            declare(cls, kw_only)

    def __post_init__(self) -> None:
        """Check and complete the settings."""

    def forward(self, input: Tensor) -> Tensor:
        return type(self)._function(input, **{n: getattr(self, n) for n in self._settings})

    def extra_repr(self) -> str:
        names = self._settings if self._shown is None else self._shown
        return ", ".join(f"{n}={getattr(self, n)!r}" for n in names)


def declare(cls: type[Functional], kw_only: bool) -> None:
    """Give a class the __init__ for the settings that it and its bases declare."""
    bases = cls.__mro__[: cls.__mro__.index(Functional)]
    kinds: dict[str, Any] = {}
    for base in reversed(bases):
        kinds |= inspect.get_annotations(base)
    buffers = [n for n, kind in kinds.items() if "Tensor" in kind]
    for base in bases:
        for name in vars(base).keys() & buffers:
            delattr(base, name)  # the None default would hide the buffer
    empty = inspect.Parameter.empty
    kind = inspect.Parameter.KEYWORD_ONLY if kw_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    defaults = {n: None if n in buffers else getattr(cls, n, empty) for n in kinds}
    parameters = [inspect.Parameter(n, kind, default=defaults[n], annotation=kinds[n]) for n in kinds]
    signature = inspect.Signature(parameters)

    def __init__(self: Functional, *args: Any, **kwargs: Any) -> None:
        super(Functional, self).__init__()
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as e:
            taken = inspect.Signature([p.replace(annotation=empty) for p in parameters])
            raise error(TypeError, type(self).__name__, str(e), f"pass the settings {taken}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name in buffers:
                self.register_buffer(name, value)
            elif isinstance(value, Tensor) and self._no_tensor:
                raise made_of(self, value, *self._no_tensor)
            else:
                setattr(self, name, value)
        self.__post_init__()

    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = signature.replace(parameters=[first, *parameters])  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__, cls._settings = __init__, tuple(kinds)


def as_ntuple(value: Any, n: int) -> tuple:
    """Return a setting as a tuple with one value per dimension."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


def unusual(module: Module, usual: dict) -> str:
    """Return the settings that differ from their defaults, for a repr that shows other settings first."""
    return "".join(f", {n}={getattr(module, n)}" for n, value in usual.items() if getattr(module, n) != value)
