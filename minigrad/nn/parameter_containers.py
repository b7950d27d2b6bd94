"""Modules that hold parameters: ParameterList and ParameterDict.  All items are read with `self[key]`, as in PyTorch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from .containers import Dictionary, Positions
from .module import Module
from .parameter import Parameter


class ParameterList(Positions, Module):
    """A list of parameters; plain tensors become parameters.

    >>> import minigrad
    >>> weights = minigrad.nn.ParameterList([minigrad.ones(2), minigrad.ones(3)])
    >>> weights[1].shape, weights[1].requires_grad
    (minigrad.Size([3]), True)
    """

    _held = "parameters"

    def __init__(self, values: Iterable[Any] | None = None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __getitem__(self, i: int | slice) -> Any:
        if not isinstance(i, slice):
            return getattr(self, self._get_abs_string_index(i))
        picked = type(self)()
        for k in range(len(self))[i]:
            picked.append(self[k])
        return picked

    def __setitem__(self, i: int, value: Any) -> None:
        setattr(self, self._get_abs_string_index(i), as_parameter(value))

    def append(self, value: Any) -> ParameterList:
        """Add a parameter at the end."""
        self._size += 1
        self[len(self) - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add several parameters at the end."""
        for v in self._iterable(values):
            self.append(v)
        return self

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join(described(str(i), v, getattr(v, "dtype", None)) for i, v in enumerate(self))


class ParameterDict(Dictionary[Any]):
    """A dictionary of parameters; plain tensors become parameters.

    >>> import minigrad
    >>> weights = minigrad.nn.ParameterDict({"a": minigrad.ones(2), "b": minigrad.ones(3)})
    >>> [name for name, _ in weights.named_parameters()]
    ['a', 'b']
    """

    def __init__(self, parameters: Any = None):
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _names(self) -> dict[str, Any]:
        return self._keys

    def _key_to_attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise error(TypeError, type(self).__name__, f"the key {key!r} is no string", "write str(key)")
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._key_to_attr(key), as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def update(self, given: Any) -> None:
        """Add the entries of a dictionary, in the order of its names as PyTorch does, or of an iterable of pairs."""
        plain = isinstance(given, Mapping) and not isinstance(given, OrderedDict)
        super().update(sorted(given.items()) if plain else given)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the parameter, or `default` if the name is missing."""
        return self[key] if key in self else default  # noqa: SIM401  as PyTorch's, so that a subclass may override it

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the parameter, which is `default` if the name was missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Remove the last entry and return its name and parameter."""
        key = next(reversed(self._keys))
        value = self[key]
        del self[key]
        return key, value

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self._keys):
            del self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a ParameterDict that has one value under several names."""
        return ParameterDict((key, default) for key in keys)

    def copy(self) -> ParameterDict:
        """Return a ParameterDict with the same parameters."""
        return ParameterDict([(key, self[key]) for key in self._keys])

    def __or__(self, other: ParameterDict) -> ParameterDict:
        both = self.copy()
        both.update(other)
        return both

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def values(self) -> Iterable[Any]:
        """Return the parameters."""
        return (self[key] for key in self._keys)

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return pairs of a name and its parameter."""
        return ((key, self[key]) for key in self._keys)

    def extra_repr(self) -> str:
        return "\n".join(described(name, v, isinstance(v, Tensor) and v.type()) for name, v in self.items())


def as_parameter(value: Any) -> Any:
    """Return a plain tensor as a parameter that shares its memory, any other value unchanged."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def described(name: str, value: Any, kind: Any) -> str:
    """Return the line of a repr for an entry of a ParameterList or ParameterDict."""
    if isinstance(value, Tensor):
        return f"  ({name}): Parameter containing: [{kind} of size {'x'.join(map(str, value.shape))}]"
    return f"  ({name}): Object of type: {type(value).__name__}"
