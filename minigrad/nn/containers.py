"""Modules that hold modules or parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Generic, TypeVar

from ..core.tensor import Tensor
from ..errors import error
from .module import Module, indented
from .parameter import Parameter

T = TypeVar("T")


class Numbered(Module):
    """Sub-modules under the names "0", "1", ..., like a list."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            picked = type(self).__new__(type(self))
            Module.__init__(picked)
            return picked.extend(list(self)[i])
        return self._modules[self._key(i)]

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, self._key(i), module)

    def __delitem__(self, i: int | slice) -> None:
        rest = list(self)
        del rest[i]
        self._modules.clear()
        self.extend(rest)

    def _key(self, i: int) -> str:
        """Return the name of module number i."""
        if not -len(self) <= i < len(self):
            raise error(
                IndexError,
                type(self).__name__,
                f"index {i} is out of range for {len(self)} modules",
                f"use an index from {-len(self)} to {len(self) - 1}" if len(self) else "append(module) first",
            )
        return list(self._modules)[i]

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several modules at the end."""
        if not isinstance(modules, Iterable):
            raise error(
                TypeError,
                type(self).__name__,
                f"extend needs an iterable of modules, but got {type(modules).__name__}",
                "write extend([module, ...])",
            )
        for m in list(modules):
            self.append(m)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before number `index`."""
        items = list(self)
        items.insert(index, module)
        self._modules.clear()
        return self.extend(items)

    def pop(self, index: int) -> Module:
        """Remove a module and return it."""
        module = self[index]
        del self[index]
        return module

    def __add__(self, other: Iterable[Module]) -> Any:
        return self[:].extend(other)

    def __iadd__(self, other: Iterable[Module]) -> Any:
        return self.extend(other)


class Sequential(Numbered):
    """Modules in a chain: each receives the output of the one before.

    >>> from minigrad import nn
    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *modules: Any):
        super().__init__()
        given = (
            modules[0].items()
            if len(modules) == 1 and isinstance(modules[0], Mapping)
            else ((str(i), m) for i, m in enumerate(modules))
        )
        for name, module in given:
            self.register_module(name, module)

    def forward(self, input: Any) -> Any:
        """Pass the input through all modules in order."""
        for module in self:
            input = module(input)
        return input

    def __mul__(self, times: int) -> Sequential:
        if not isinstance(times, int) or times <= 0:
            raise error(
                ValueError if isinstance(times, int) else TypeError,
                "Sequential",
                f"can only be repeated a positive whole number of times, got {times!r}",
                "multiply by an int of at least 1",
            )
        return self[:].extend(list(self) * (times - 1))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Sequential:
        return self.extend(list(self * times)[len(self) :])


class ModuleList(Numbered):
    """A list of modules, registered so that `parameters()` finds their parameters.

    >>> import minigrad
    >>> layers = minigrad.nn.ModuleList([minigrad.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None):
        super().__init__()
        self.extend(() if modules is None else modules)

    def __repr__(self) -> str:
        """Return the repr of a module, with equal neighbours folded into one line and counted."""
        lines = []
        for text, group in groupby(enumerate(map(repr, self)), key=lambda pair: pair[1]):
            numbers = [i for i, _ in group]
            first, last, n = numbers[0], numbers[-1], len(numbers)
            lines.append(f"({first}): {indented(text)}" if n == 1 else f"({first}-{last}): {n} x {indented(text)}")
        return f"{self._get_name()}(" + "".join(f"\n  {line}" for line in lines) + ("\n)" if lines else ")")


class Dictionary(Module, Generic[T]):
    """Base class of ModuleDict and ParameterDict: the methods of a dictionary on one of the module's stores."""

    _store = ""  # the attribute that holds the entries

    def _entries(self) -> dict[str, T]:
        return getattr(self, self._store)

    def __getitem__(self, key: str) -> T:
        return self._entries()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        raise NotImplementedError

    def __delitem__(self, key: str) -> None:
        del self._entries()[key]

    def __len__(self) -> int:
        return len(self._entries())

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __contains__(self, key: str) -> bool:
        return key in self._entries()

    def update(self, given: Any) -> None:
        """Add the entries of a dictionary, or of an iterable of pairs."""
        for name, value in given.items() if isinstance(given, (Mapping, Dictionary)) else given:
            self[name] = value

    def pop(self, key: str) -> T:
        """Remove an entry and return it."""
        return self._entries().pop(key)

    def clear(self) -> None:
        """Remove all entries."""
        self._entries().clear()

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._entries().keys()

    def values(self) -> Iterable[T]:
        """Return the modules or parameters."""
        return self._entries().values()

    def items(self) -> Iterable[tuple[str, T]]:
        """Return pairs of a name and its module or parameter."""
        return self._entries().items()


class ModuleDict(Dictionary[Module]):
    """A dictionary of modules, registered so that `parameters()` finds their parameters.

    >>> import minigrad
    >>> layers = minigrad.nn.ModuleDict({"first": minigrad.nn.Linear(2, 3), "last": minigrad.nn.Linear(3, 1)})
    >>> list(layers), len(list(layers.parameters()))
    (['first', 'last'], 4)
    """

    _store = "_modules"

    def __init__(self, modules: Any = None):
        super().__init__()
        self.update({} if modules is None else modules)

    def __setitem__(self, key: str, module: Module) -> None:
        self._modules.pop(key, None)
        self.register_module(key, module)


class Keyed(Module):
    """Base class of ParameterList and ParameterDict: their length and repr."""

    def __len__(self) -> int:
        return len(self._parameters)

    def __repr__(self) -> str:
        lines = [
            f"({name}): Parameter containing: [{p.dtype} of size {'x'.join(map(str, p.shape))}]"
            for name, p in self._parameters.items()
        ]
        return f"{self._get_name()}(" + "".join(f"\n    {line}" for line in lines) + ("\n)" if lines else ")")


class ParameterList(Keyed):
    """A list of parameters; plain tensors become parameters.

    >>> import minigrad
    >>> weights = minigrad.nn.ParameterList([minigrad.ones(2), minigrad.ones(3)])
    >>> weights[1].shape, weights[1].requires_grad
    (minigrad.Size([3]), True)
    """

    def __init__(self, values: Iterable[Tensor] | None = None):
        super().__init__()
        self.extend(() if values is None else values)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

    def __getitem__(self, i: int | slice) -> Any:
        found = list(self)[i]
        return ParameterList(found) if isinstance(i, slice) else found

    def __setitem__(self, i: int, value: Tensor) -> None:
        self._parameters[str(range(len(self))[i])] = as_parameter(value)

    def append(self, value: Tensor) -> ParameterList:
        """Add a parameter at the end."""
        self.register_parameter(str(len(self)), as_parameter(value))
        return self

    def extend(self, values: Iterable[Tensor]) -> ParameterList:
        """Add several parameters at the end."""
        for v in list(values):
            self.append(v)
        return self

    __iadd__ = extend


class ParameterDict(Keyed, Dictionary[Parameter]):
    """A dictionary of parameters; plain tensors become parameters.

    >>> import minigrad
    >>> weights = minigrad.nn.ParameterDict({"a": minigrad.ones(2), "b": minigrad.ones(3)})
    >>> [name for name, _ in weights.named_parameters()]
    ['a', 'b']
    """

    _store = "_parameters"

    def __init__(self, parameters: Any = None):
        super().__init__()
        self.update({} if parameters is None else parameters)

    def __setitem__(self, key: str, value: Tensor) -> None:
        self.register_parameter(key, as_parameter(value))

    def get(self, key: str, default: Any = None) -> Any:
        """Return the parameter, or `default` if the name is missing."""
        return self._parameters.get(key, default)


def as_parameter(value: Tensor) -> Parameter:
    """Return the tensor itself if it is a parameter, else a parameter that shares its memory."""
    return value if isinstance(value, Parameter) else Parameter(value)
