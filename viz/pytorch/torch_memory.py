"""The values of a PyTorch program while it runs: which value a tensor has, by its identity and its place in memory."""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from minigrad.record.gradient_flow import GradientFlow
from minigrad.record.kept_bytes import LARGE
from minigrad.record.values import OpEntry

from .torch_values import Noted, bottom, edges_of, has_memory, is_leaf, memory, version


class Memory(GradientFlow):
    """The part of a recording that knows the value of each tensor."""

    small = LARGE
    values: list[Any]
    cuts: Any  # torch_recorder.py defines these
    seen_again: Any

    def __init__(self):
        super().__init__()
        self.tensors: dict[int, torch.Tensor] = {}  # of leaves, and of values that no recorded operation made
        self._known: dict[int, tuple] = {}  # id -> (tensor, state of its memory, value)
        self._places: dict[tuple, int] = {}  # place in memory -> the value last read there
        self._extents: dict[tuple, int] = {}  # the same, regardless of shape
        self._writers: dict[int, OpEntry] = {}  # memory -> the operation that wrote there last
        self._writes: dict[int, int] = {}  # memory -> number of writes: `.data` has a separate version counter

    def add(self, t: torch.Tensor, kind: str, array: np.ndarray | None = None) -> int:
        """Note a value, and return its number."""
        self.values.append(Noted(len(self.values), t, kind, array))
        self.weigh()
        return len(self.values) - 1

    def array(self, value: int) -> Any:
        """Return the elements of a value."""
        return self.values[value].array

    def ref(self, t: torch.Tensor, kind: str = "", edge: Any = None) -> int:
        """Return the current value of a tensor."""
        t = bottom(t)
        if (cut := self.cuts.of(t)) is not None:
            return self.cuts.behind(cut)
        _, at, value = self._known.get(id(t), (None, None, None))
        here = value if at == self.state(t) else self._places.get(self.place(t) or ())
        if here is not None and (not is_leaf(t) or self.is_of(here, t)):
            return self.assign(t, here)
        if here is None and value is not None:
            return self.seen_again(t)
        made = self.add(t, "parameter" if is_leaf(t) else "computed" if edges_of(t) else "input")
        self.tensors[made] = t
        return self.assign(t, made)

    def is_of(self, value: int, t: torch.Tensor) -> bool:
        """Return True if a value belongs to a leaf; `requires_grad_` turns an input or a computed value into one.

        One that `detach` computed stays: the leaf is another value, as the gradient of one is none of the other.
        """
        known = self.values[value]
        own = known.owner is t and value not in self.cuts.tensors
        if known.kind == "input" or known.kind == "computed" and own:
            known.kind = "parameter"
            known.tensor = self.tensors[value] = t
        return known.kind == "parameter" and known.owner is t

    def assign(self, t: torch.Tensor, value: int) -> int:
        """Assign a value to a tensor until its next write.  The tensor is kept alive, so its memory is not reused."""
        t = bottom(t)
        self._known[id(t)] = (t, self.state(t), value)
        if (known := self.values[value]).owner is None:
            known.tensor = t
        if (at := self.place(t)) is not None and not self.cuts.is_apart(t):
            self._places[at] = value
            self._extents[self.extent(t)] = value
        return value

    def known(self, t: torch.Tensor) -> int | None:
        """Return the known value at a tensor's place in memory, or None."""
        return self._known[id(bottom(t))][2] if self.has_current_value(t) else self._places.get(self.place(t) or ())

    def has_current_value(self, t: torch.Tensor) -> bool:
        """Return True if a tensor's value is known and current."""
        t = bottom(t)
        return id(t) in self._known and self._known[id(t)][1] == self.state(t)

    def state(self, t: torch.Tensor) -> tuple[int, int]:
        """Return the number of writes to a tensor's memory: by its own version, and by recorded operations."""
        return version(t), self._writes.get(memory(t), 0)

    def place(self, t: torch.Tensor) -> tuple | None:
        """Return a tensor's place in memory and the number of writes to it; None if it has no memory or no elements."""
        t = bottom(t)
        known = has_memory(t) and t.numel()
        return (t.data_ptr(), t.shape, t.stride(), t.dtype, t.device, *self.state(t)) if known else None

    def extent(self, t: torch.Tensor) -> tuple:
        """Return a tensor's place in memory, regardless of shape, and the number of writes to it."""
        t = bottom(t)
        return t.data_ptr(), t.numel(), t.dtype, t.device, *self.state(t)

    def result(self, t: torch.Tensor, call: OpEntry | None) -> int:
        """Make the value of a tensor that a call returned or wrote."""
        if call is not None:
            self._writers[memory(t)] = call
        value = self.assign(t, self.add(t, "parameter" if is_leaf(t) else "computed"))
        if is_leaf(t):
            self.tensors[value] = bottom(t)
        return value

    def held(self) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the values that tensors have now, and earlier values of leaves."""
        yield from self.tensors.items()
        for t, at, value in self._known.values():
            if at == self.state(t):
                yield value, t

    def owners(self) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield all values, with the tensors that had them first."""
        yield from [(v.index, v.owner) for v in self.values if v.owner is not None]

    def name_values(self, names: dict[int, str]) -> None:
        """Name the unnamed values, by the ids of their tensors; a tensor that was written had several values."""
        for value, t in (*self.held(), *self.owners()):
            self.values[value].name = self.values[value].name or names.get(id(t), "")
