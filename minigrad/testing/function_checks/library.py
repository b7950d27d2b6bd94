"""minigrad or PyTorch: the checks use the names that both have, and this file contains all differences."""

import math
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from ... import config
from ...core.frames import OFF, use
from ...core.tensor import levels


class Library:
    """The module that a Function belongs to, and the operations that differ between the two.

    >>> import minigrad
    >>> Library(minigrad).tensor(np.ones(2))
    tensor([1., 1.], dtype=minigrad.float64)
    """

    def __init__(self, module: ModuleType):
        self.module: Any = module
        self.name = module.__name__
        self.written = config.library_name if self.name == "minigrad" else self.name  # in code to paste
        self.Function: Any = module.autograd.Function
        self.Tensor: Any = module.Tensor

    def tensor(self, array: np.ndarray, requires_grad: bool = False) -> Any:
        """Return a new tensor with the array's numbers and dtype."""
        return self.module.tensor(array, requires_grad=requires_grad)

    def array(self, tensor: Any) -> np.ndarray:
        """Return a copy of a tensor's numbers."""
        return np.array(self.array_view(tensor))

    def array_view(self, tensor: Any) -> np.ndarray:
        """Return a view of a tensor's memory."""
        return tensor.detach().numpy(force=True)  # PyTorch's zero tensors have no memory without force

    def noted(self, tensor: Any, needs: bool) -> Any:
        """Return a copy of a tensor without history; inside transforms, of one example's numbers, as a Function sees it."""
        shape, inner = tuple(tensor.shape), tensor
        if self.name == "minigrad":
            *_, inner = levels(tensor)
            outside: Any = use(OFF)
        else:
            outside, functorch = outside_of_functorch(), self.module._C._functorch
            while functorch.is_functorch_wrapped_tensor(inner):
                inner = functorch.get_unwrapped(inner)
        with outside:
            part = inner.detach().reshape(-1)[: math.prod(shape)]
            return part.reshape(shape).clone().requires_grad_(needs)

    def overlap(self, t: Any, other: Any) -> bool:
        """Return True if two tensors share memory."""
        return np.shares_memory(self.array_view(t), self.array_view(other))

    def tensors_in(self, value: Any) -> list:
        """Return the tensors in nested tuples, lists and dicts."""
        if isinstance(value, self.Tensor):
            return [value]
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
        return [t for part in parts for t in self.tensors_in(part)]

    def grad(self, outputs: Any, inputs: list, weights: Any = None, **options: Any) -> list:
        """Return the gradients of the inputs, None for those that the outputs do not depend on."""
        return list(self.module.autograd.grad(outputs, inputs, weights, allow_unused=True, **options))

    def owns(self, function: Any, name: str) -> bool:
        """Return True if a Function defines a method itself instead of inheriting the base class's."""
        return getattr(function, name, None) is not getattr(self.Function, name, None)

    def dirty(self, ctx: Any) -> tuple:
        """Return the tensors that forward has marked as modified in place."""
        return (ctx._dirty if self.name == "minigrad" else ctx.dirty_tensors) or ()

    def seed(self) -> None:
        """Reset all random seeds, so that a Function draws the same numbers again."""
        self.module.manual_seed(0)
        np.random.seed(0)
        random.seed(0)

    @contextmanager
    def own_random_numbers(self) -> Iterator[None]:
        """Restore the program's random number generators afterwards."""
        of_numpy, of_python = np.random.get_state(), random.getstate()
        try:
            with self.module.random.fork_rng():
                yield
        finally:
            np.random.set_state(of_numpy)
            random.setstate(of_python)


def outside_of_functorch() -> Any:
    """Return a context manager in which no transform of PyTorch is active."""
    from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack  # type: ignore[import-not-found]

    return temporarily_clear_interpreter_stack()


def library_of(function: Any) -> Library | None:
    """Return the library whose autograd.Function is the base class, or None.

    PyTorch counts only if the program has imported it.
    """
    for name in ("minigrad", "torch"):
        module = sys.modules.get(name)
        if module is not None and isinstance(function, type) and issubclass(function, module.autograd.Function):
            return Library(module)
    return None
