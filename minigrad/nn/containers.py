"""Modules that hold modules or parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import operator
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
        return list(self._modules)[position(self, i)]

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add several modules at the end."""
        for m in members(self, "extend", modules, "modules"):
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
        self._known(key)
        return self._entries()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        raise NotImplementedError

    def __delitem__(self, key: str) -> None:
        self._known(key)
        del self._entries()[key]

    def _known(self, key: Any) -> None:
        """Raise KeyError, or TypeError for anything but a string, unless there is an entry of this name."""
        if not isinstance(key, str):
            what = f"keys are strings, but got {type(key).__name__}"
            raise error(TypeError, type(self).__name__, what, "write its name as a string, such as 'weight'")
        if key not in self._entries():
            have = ", ".join(map(repr, self._entries())) or "no entry"
            raise error(KeyError, type(self).__name__, f"has no entry {key!r}", f"it has {have}")

    def __len__(self) -> int:
        return len(self._entries())

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __contains__(self, key: str) -> bool:
        return key in self._entries()

    def update(self, given: Any) -> None:
        """Add the entries of a dictionary, or of an iterable of pairs."""
        pairs = given.items() if isinstance(given, (Mapping, Dictionary)) else members(self, "update", given, "pairs")
        for i, pair in enumerate(pairs):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                what = f"entry {i} is {type(pair).__name__}, not a pair of name and value"
                raise error(TypeError, type(self).__name__, what, "pass a dictionary, or a list of pairs (name, value)")
            self[pair[0]] = pair[1]

    def pop(self, key: str) -> T:
        """Remove an entry and return it."""
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self):
            del self[key]

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
    """Base class of ParameterList and ParameterDict: tensors become parameters, other values stay attributes as they are."""

    def _put(self, name: str, value: Any, replaces: bool) -> None:
        """Store an entry; a parameter that replaces a parameter has its position."""
        if not replaces:
            self._check_name(name, "parameter")
        setattr(self, name, as_parameter(value) if isinstance(value, Tensor) else value)

    def __repr__(self) -> str:
        lines = [
            f"({name}): Parameter containing: [{p.dtype} of size {'x'.join(map(str, p.shape))}]"
            if isinstance(p, Tensor)
            else f"({name}): Object of type: {type(p).__name__}"
            for name, p in self._pairs()
        ]
        return f"{self._get_name()}(" + "".join(f"\n    {line}" for line in lines) + ("\n)" if lines else ")")

    def _pairs(self) -> Iterable[tuple[str, Any]]:
        raise NotImplementedError


class ParameterList(Keyed):
    """A list of parameters; plain tensors become parameters, and other values stay as they are.

    >>> import minigrad
    >>> weights = minigrad.nn.ParameterList([minigrad.ones(2), minigrad.ones(3)])
    >>> weights[1].shape, weights[1].requires_grad
    (minigrad.Size([3]), True)
    """

    def __init__(self, values: Iterable[Any] | None = None):
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def __len__(self) -> int:
        return self._size

    def _pairs(self) -> Iterable[tuple[str, Any]]:
        return ((str(i), getattr(self, str(i))) for i in range(len(self)))

    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in self._pairs())

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            return ParameterList(list(self)[i])
        return getattr(self, str(position(self, i)))

    def __setitem__(self, i: int, value: Any) -> None:
        self._put(str(position(self, i)), value, True)

    def append(self, value: Any) -> ParameterList:
        """Add a parameter, or another value, at the end."""
        self._put(str(self._size), value, False)
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add several parameters or other values at the end."""
        for v in members(self, "extend", values, "parameters"):
            self.append(v)
        return self

    __iadd__ = extend


class ParameterDict(Keyed, Dictionary[Any]):
    """A dictionary of parameters; plain tensors become parameters, and other values stay as they are.

    >>> import minigrad
    >>> weights = minigrad.nn.ParameterDict({"a": minigrad.ones(2), "b": minigrad.ones(3), "steps": 4})
    >>> [name for name, _ in weights.named_parameters()], weights["steps"]
    (['a', 'b'], 4)
    """

    _store = "_keys"

    def __init__(self, parameters: Any = None):
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update({} if parameters is None else parameters)

    def _pairs(self) -> Iterable[tuple[str, Any]]:
        return ((key, getattr(self, key)) for key in self._keys)

    items = _pairs

    def values(self) -> Iterable[Any]:
        """Return the parameters and the other values."""
        return (value for _, value in self._pairs())

    def __getitem__(self, key: str) -> Any:
        self._known(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._put(key, value, key in self)
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        self._known(key)
        del self._keys[key]
        delattr(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value, or `default` if the name is missing."""
        return dict(self._pairs()).get(key, default)


def as_parameter(value: Tensor) -> Parameter:
    """Return the tensor itself if it is a parameter, else a parameter that shares its memory."""
    return value if isinstance(value, Parameter) else Parameter(value)


def members(module: Module, method: str, given: Any, what: str) -> list:
    """Return an iterable's members as a list; raise TypeError for anything else, and for a tensor."""
    if not isinstance(given, Iterable) or isinstance(given, Tensor):
        got = f"{method} needs an iterable of {what}, but got {type(given).__name__}"
        raise error(TypeError, type(module).__name__, got, f"write {method}([{what.rstrip('s')}, ...])")
    return list(given)


def position(module: Any, i: Any) -> int:
    """Return the index of a member, counted from 0; raise IndexError, or TypeError for anything but an int."""
    who, n = type(module).__name__, len(module)
    try:
        i = operator.index(i)
    except TypeError:
        raise error(TypeError, who, f"an index is an int or a slice, but got {type(i).__name__}", "write [0]") from None
    if not -n <= i < n:
        fix = f"use an index from {-n} to {n - 1}" if n else "append a member first"
        raise error(IndexError, who, f"index {i} is out of range for length {n}", fix)
    return i % n
