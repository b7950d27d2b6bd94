"""Parameter: a tensor that a Module finds by itself."""

from __future__ import annotations

from typing import Any

from ..core.saved import memory
from ..core.tensor import Tensor
from ..fast import PLAIN
from ..ops.create import zeros


class Parameter(Tensor):
    """A leaf that wants a gradient; assigned to an attribute of a Module, it becomes one of the module's parameters.

    `Parameter(tensor)` shares the tensor's memory.

    >>> import minigrad
    >>> minigrad.nn.Parameter(minigrad.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    # _path its name in the module whose parameters() have given it | _replaced what has taken its place there, and the line
    __slots__ = ("_path", "_replaced")
    _is_param = True

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True):
        held: Any = zeros(0) if data is None else data
        self._a = held._a
        self._edge = self._view = self._tan = self._grad = None
        self._ver = memory(held)
        if requires_grad:
            self.requires_grad_()

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


PLAIN.add(Parameter)
