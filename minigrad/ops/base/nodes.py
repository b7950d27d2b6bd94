"""Nodes of built-in operations: saved tensors by PyTorch's names, and what is saved of arguments that no formula reads."""

from ...core.graph import FullNode, Node
from ...core.saved import Freed, Saved
from ..node_names import attributes, numbers_among, saved_as, under_its_name


class ShapeOf(tuple):
    """Placeholder in a node for a tensor argument whose value no formula reads: only its shape is saved."""


class PrimitiveNode(Node):
    """Node of a built-in operation.  It finds its saved tensors by PyTorch's names."""

    __slots__ = ()

    _saved_self, _saved_other, _saved_result = map(saved_as, ("_saved_self", "_saved_other", "_saved_result"))
    _shown, __dir__ = under_its_name, attributes

    def tensor_inputs(self) -> list:
        """Return the positions of the operands, except numbers for which PyTorch has another node."""
        numbers = numbers_among(self)
        return [i for i in super().tensor_inputs() if i not in numbers]


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
