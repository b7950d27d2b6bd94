"""NumPy inside a PyTorch custom Function: the operation NumPy, as in minigrad's (minigrad/record/numpy_box.py).

The recorder of the method passes the calls that turn tensors into arrays, and arrays into tensors.
"""

# pyright: reportMissingImports=false, reportPrivateImportUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from minigrad.record.numpy_box import NumPyLines
from minigrad.record.schema import Where

from .torch_document import Call

if TYPE_CHECKING:
    from .torch_recorder import Recorder

READS = ("numpy", "__array__")
MAKES = ("tensor", "as_tensor", "asarray", "new_tensor", "from_numpy", "__array_wrap__")


class Crossings(NumPyLines):
    """Notes where the values of one method become arrays, and arrays tensors."""

    def __init__(self, recorder: Recorder, method: Callable):
        super().__init__(method)
        self.recorder = recorder

    def concerns(self, name: str, args: tuple) -> bool:
        """Return True if a call reads a tensor as an array, or makes a tensor of an array."""
        return name in READS or name in MAKES and any(isinstance(a, (np.ndarray, np.generic)) for a in args)

    def crossed(self, name: str, args: tuple, out: Any) -> Any:
        """Note a call of this kind, and return its result."""
        with self.recorder.aside():
            if name in READS:
                self.leaves(self.recorder.ref(args[0]), self.line(), self.is_running())
            elif self.recorder.known(out) is None:
                self.returns(out)
        return out

    def returns(self, t: torch.Tensor) -> None:
        """Note that an array becomes a tensor: an output of the operation that is running, or of a new one."""
        if not self.is_running() or self.before:
            self.box = Call("forward", "NumPy", Where())
            self.box.inputs = self.begin()
            self.box.formula, self.box.word, self.box.cut = "NumPy(inputs)", "", "NumPy"
            self.recorder.calls.append(self.box)
        self.lines.append(self.line())
        self.box.outputs.append(self.recorder.result(t, self.box))
        self.box.where = self.where()

    def is_running(self) -> bool:
        """Return True if the last operation of the method is its operation NumPy."""
        return self.box is not None and self.recorder.calls[-1:] == [self.box]
