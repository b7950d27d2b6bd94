"""Kernels that a program writes itself: a function that runs in many threads, launched with tensors on the device.

On a GPU Numba compiles it for the types of the arguments.  In the simulator it runs as it stands, with the device functions
that it calls, and `watch` sees its threads.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from .core.frames import current
from .core.tensor import Tensor
from .errors import error
from .kernels.cuda import kernel_modules, simulator


class OwnKernel(kernel_modules.Kernel):
    """A function as a kernel: `kernel[grid, block](*args)`, whose arguments are tensors on the device, and numbers."""

    def __init__(self, function: Callable):
        self.py_func, self.name, self.__doc__ = function, function.__name__, function.__doc__
        self.module, self.source, self.compiled = function.__module__, "", {}
        self.names = list(signature(function).parameters)

    @property
    def function(self) -> Callable:
        """What is run or compiled; the simulator looks up anew what the function calls."""
        return simulator.simulated(self.py_func) if simulator.SIMULATED else self.py_func

    def launch(self, grid: Any, block: Any, *args: Any) -> None:
        """Run it in so many blocks of so many threads."""
        if len(args) != len(self.names):
            raise error(TypeError, f"kernel {self.name}", f"it takes {len(self.names)} arguments, got {len(args)}",
                        f"pass {', '.join(self.names)}")  # fmt: skip
        super().launch(grid, block, *[self.given(name, a) for name, a in zip(self.names, args)])

    def given(self, name: str, a: Any) -> Any:
        """An argument as kernels take it; RuntimeError for a tensor elsewhere, or one whose gradient would be lost."""
        if isinstance(a, (bool, int, float, np.generic)):
            return a
        if not isinstance(a, Tensor):
            raise error(TypeError, f"kernel {self.name}", f"{name} is of type {type(a).__name__}",
                        "pass tensors on the device and numbers; minigrad.as_tensor(a, device='cuda') makes one")  # fmt: skip
        if a.device.type != "cuda":
            raise error(RuntimeError, f"kernel {self.name}", f"{name}, of shape {tuple(a.shape)}, is on {a.device}",
                        f"move it to the device: {name}.cuda()")  # fmt: skip
        if current().grad and a.requires_grad:
            raise error(RuntimeError, f"kernel {self.name}", f"{name}, of shape {tuple(a.shape)}, requires grad, and what a "
                        "kernel does is not recorded", "launch it in the forward of a Function that has a backward, or pass "
                        f"{name}.detach()")  # fmt: skip
        return a._a

    def machine_code(self, types: tuple, arch: str) -> tuple[str, bytes]:
        """It is compiled anew in each process, since what the function reads from outside may differ."""
        return kernel_modules.machine_code(self.function, types, arch)[:2]
