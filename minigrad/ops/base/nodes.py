"""Nodes of built-in operations: saved tensors by PyTorch's names, and what is saved of arguments that no formula reads."""

from __future__ import annotations

from ...core.graph import FullNode, Node, name_of
from ...core.saved import Freed, Saved, unpack
from ...core.tensor import Tensor
from ..node_names import numbers_among, renamed


class ShapeOf(tuple):
    """Placeholder in a node for a tensor argument whose value no formula reads: only its shape is saved."""


class PrimitiveNode(Node):
    """Node of a built-in operation.  It finds its saved tensors by PyTorch's names."""

    __slots__ = ()

    _saved_self = property(lambda node: node._saved_as("_saved_self"), doc="The first operand, if backward needs it.")
    _saved_other = property(
        lambda node: node._saved_as("_saved_other"), doc="The second operand, if backward needs it."
    )
    _saved_result = property(lambda node: node._saved_as("_saved_result"), doc="The result, if backward needs it.")

    def _shown(self) -> PrimitiveNode:
        """Return the node, whose class gets its name, too."""
        if (name := name_of(self)) != type(self).__name__:
            self.__class__ = renamed(type(self), name)
        return self

    def tensor_inputs(self) -> list:
        """Return the positions of the operands, except numbers for which PyTorch has another node."""
        numbers = numbers_among(self)
        return [i for i in super().tensor_inputs() if i not in numbers]

    def __dir__(self) -> list:
        found = self._tensors_by_name(self._saved) if type(self._saved) is tuple else {}
        return [n for n in super().__dir__() if n in found or not n.startswith("_saved_")]

    def _saved_as(self, name: str) -> Tensor:
        """Return the saved tensor of this name, or raise AttributeError."""
        if name not in (found := self._tensors_by_name(self._alive())):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return unpack(found[name], self)

    def _tensors_by_name(self, saved: tuple) -> dict:
        """Return PyTorch's name -> saved tensor: of the first and the second operand with a formula, and of the result."""
        names = ("_saved_result", "_saved_self", "_saved_other") if self._fn.formulas else ()
        places = zip(names, (len(self._edges), *sorted(self._fn.formulas)))
        return {name: saved[i] for name, i in places if type(saved[i]) is Saved}


class FullPrimitiveNode(PrimitiveNode, FullNode):
    """PrimitiveNode with all slots; the classes that fast/ generates have fewer."""

    __slots__ = ("_constants_of_freed",)

    @property
    def _constants(self) -> dict:
        """The arguments that are not tensors, by position."""
        if type(self._saved) is not tuple:
            return self._constants_of_freed
        found = {}
        for i, (e, s) in enumerate(zip(self._edges, self._saved)):
            if e is None and type(s) is not Saved and type(s) is not ShapeOf:
                found[i] = s
        return found

    def _free(self, freed: Freed) -> None:
        """Free the saved tensors, but not the plain arguments, which later explanations of eager code need."""
        constants = self._constants if self._layer is None else {}
        super()._free(freed)
        self._constants_of_freed = constants
