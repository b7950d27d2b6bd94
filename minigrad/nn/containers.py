"""Modules that hold modules: Sequential, ModuleList, ModuleDict; parameter_containers.py has those for parameters.

Methods call each other as PyTorch's do, so that a subclass overrides the same ones: `extend` of a Sequential calls `append`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import Any, Generic, TypeVar

from ..core.tensor import Tensor
from ..errors import error
from .module import Module, indented

T = TypeVar("T")


class Positions:
    """The names "0", "1", ... of modules or parameters in a list."""

    __len__: Any

    def _get_abs_string_index(self, idx: int) -> str:
        """Return the name of number idx."""
        if not -len(self) <= idx < len(self):
            what = f"index {idx} is out of range for {len(self)} {self._held}"
            fix = f"use an index from {-len(self)} to {len(self) - 1}" if len(self) else "append first"
            raise error(IndexError, type(self).__name__, what, fix)
        return str(range(len(self))[idx])

    _held = "modules"

    def _iterable(self, values: Any) -> Iterable:
        """Return the argument of extend.  Raises TypeError unless it is an iterable."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            what = f"extend needs an iterable of {self._held}, but got {type(values).__name__}"
            raise error(TypeError, type(self).__name__, what, f"write extend([{self._held[:-1]}, ...])")
        return list(values)


class Numbered(Positions, Module):
    """Base class of Sequential and ModuleList: sub-modules, read and changed like a list's items."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            return self._picked(list(self._modules.items())[i])
        return self._modules[self._key(i)]

    def _picked(self, items: list[tuple[str, Module]]) -> Any:
        """Return a list of the class with some of the modules."""
        raise NotImplementedError

    def __setitem__(self, i: int, module: Module) -> None:
        setattr(self, self._key(i), module)

    def __delitem__(self, i: int | slice) -> None:
        for key in list(self._modules)[i] if isinstance(i, slice) else [self._key(i)]:
            delattr(self, key)
        self._renumber(self._modules.values())

    def _key(self, i: int) -> str:
        """Return the name of module number i: a Sequential may have others than "0", "1", ..."""
        return list(self._modules)[int(self._get_abs_string_index(i))]

    def _renumber(self, modules: Iterable[Module]) -> None:
        self._modules = {str(i): m for i, m in enumerate(modules)}

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Insert a module before number `index`."""
        items = list(self._modules.values())
        items.insert(index, module)
        self._renumber(items)
        return self

    def pop(self, index: int) -> Module:
        """Remove a module and return it."""
        module = self[index]
        del self[index]
        return module

    def _added(self, modules: Iterable[Module]) -> Any:
        """Add modules under the next numbers."""
        for number, module in enumerate(self._iterable(modules), len(self)):
            self.add_module(str(number), module)
        return self


class Sequential(Numbered):
    """Modules in a chain: each receives the output of the one before.

    A slice keeps the names of its modules: `net[1:]` has the parameter "1.weight".

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
            self.add_module(name, module)

    def _picked(self, items: list[tuple[str, Module]]) -> Any:
        return type(self)(OrderedDict(items))

    def forward(self, input: Any) -> Any:
        """Pass the input through all modules in order."""
        for module in self:
            input = module(input)
        return input

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several modules at the end."""
        for module in self._iterable(modules):
            self.append(module)
        return self

    def __add__(self, other: Iterable[Module]) -> Sequential:
        return Sequential(*chain(self, other))

    def __iadd__(self, other: Iterable[Module]) -> Any:
        return self._added(other)

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*[module for _ in range(self._times(times)) for module in self])

    def __rmul__(self, times: int) -> Sequential:
        return self.__mul__(times)

    def __imul__(self, times: int) -> Sequential:
        return self._added(list(self._modules.values()) * (self._times(times) - 1))

    @staticmethod
    def _times(times: Any) -> int:
        if not isinstance(times, int) or times <= 0:
            what = f"can only be repeated a positive whole number of times, got {times!r}"
            fix = "multiply by an int of at least 1"
            raise error(ValueError if isinstance(times, int) else TypeError, "Sequential", what, fix)
        return times


class ModuleList(Numbered):
    """A list of modules, registered so that `parameters()` finds their parameters.

    >>> import minigrad
    >>> layers = minigrad.nn.ModuleList([minigrad.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None):
        super().__init__()
        if modules is not None:
            self += modules

    def _picked(self, items: list[tuple[str, Module]]) -> Any:
        return type(self)([m for _, m in items])

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several modules at the end."""
        return self._added(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, other: Iterable[Module]) -> Any:
        return self.extend(other)

    def __repr__(self) -> str:
        """Return the repr of a module, with equal neighbours folded into one line and counted."""
        lines = []
        for text, group in groupby(enumerate(map(repr, self)), key=lambda pair: pair[1]):
            numbers = [i for i, _ in group]
            first, last, n = numbers[0], numbers[-1], len(numbers)
            lines.append(f"({first}): {indented(text)}" if n == 1 else f"({first}-{last}): {n} x {indented(text)}")
        return f"{self._get_name()}(" + "".join(f"\n  {line}" for line in lines) + ("\n)" if lines else ")")


class Dictionary(Module, Generic[T]):
    """Base class of ModuleDict and ParameterDict: the methods of a dictionary."""

    def _names(self) -> dict[str, Any]:
        """Return a dictionary that has the names, in order."""
        raise NotImplementedError

    def __getitem__(self, key: str) -> T:
        raise NotImplementedError

    def __setitem__(self, key: str, value: Any) -> None:
        raise NotImplementedError

    def __delitem__(self, key: str) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._names())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __contains__(self, key: str) -> bool:
        return key in self._names()

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._names().keys()

    def update(self, given: Any) -> None:
        """Add the entries of a dictionary, or of an iterable of pairs."""
        for name, value in given.items() if isinstance(given, (Mapping, Dictionary)) else given:
            self[name] = value

    def pop(self, key: str) -> T:
        """Remove an entry and return it."""
        value = self[key]
        del self[key]
        return value


class ModuleDict(Dictionary[Module]):
    """A dictionary of modules, registered so that `parameters()` finds their parameters.

    >>> import minigrad
    >>> layers = minigrad.nn.ModuleDict({"first": minigrad.nn.Linear(2, 3), "last": minigrad.nn.Linear(3, 1)})
    >>> list(layers), len(list(layers.parameters()))
    (['first', 'last'], 4)
    """

    def __init__(self, modules: Any = None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def _names(self) -> dict[str, Any]:
        return self._modules

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def clear(self) -> None:
        """Remove all entries."""
        self._modules.clear()

    def values(self) -> Iterable[Module]:
        """Return the modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Return pairs of a name and its module."""
        return self._modules.items()
