"""Kernels that a program defines: functions that run in many threads, launched with tensors on the device.

On a GPU, Numba compiles the function for the types of its arguments.  The simulator runs it unchanged, with the device
functions that it calls, and `watch` records its threads.
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


class OwnKernel(kernel_modules.CudaKernel):
    """A function as a kernel, launched as `kernel[grid, block](*args)` with numbers and with tensors on the device."""

    def __init__(self, function: Callable):
        self.py_func, self.name, self.__doc__ = function, function.__name__, function.__doc__
        self.module, self.source, self.compiled = function.__module__, "", {}
        self.names = list(signature(function).parameters)

    @property
    def function(self) -> Callable:
        """The function to run or compile; for the simulator, its callees are looked up again each time."""
        return simulator.simulated(self.py_func) if simulator.SIMULATED else self.py_func

    def launch(self, grid: Any, block: Any, *args: Any) -> None:
        """Run the kernel in a grid of blocks of threads."""
        if len(args) != len(self.names):
            raise error(TypeError, f"kernel {self.name}", f"takes {len(self.names)} arguments, got {len(args)}",
                        f"pass {', '.join(self.names)}")  # fmt: skip
        super().launch(grid, block, *[self.given(name, a) for name, a in zip(self.names, args)])

    def given(self, name: str, a: Any) -> Any:
        """Return an argument as kernels take it.  Raises RuntimeError for a tensor that is elsewhere or requires grad."""
        if isinstance(a, (bool, int, float, np.generic)):
            return a
        if not isinstance(a, Tensor):
            raise error(TypeError, f"kernel {self.name}", f"{name} is of type {type(a).__name__}",
                        "pass tensors on the device and numbers; minigrad.as_tensor(a, device='cuda') makes one")  # fmt: skip
        if a.device.type != "cuda":
            raise error(RuntimeError, f"kernel {self.name}", f"{name}, of shape {tuple(a.shape)}, is on {a.device}",
                        f"move it to the device: {name}.cuda()")  # fmt: skip
        if current().grad and a.requires_grad:
            raise error(RuntimeError, f"kernel {self.name}", f"{name}, of shape {tuple(a.shape)}, requires grad, but "
                        "kernels are not recorded", "launch it in the forward of a Function that has a backward, or pass "
                        f"{name}.detach()")  # fmt: skip
        return a._a

    def machine_code(self, types: tuple, arch: str) -> tuple[str, bytes]:
        """Compile the function, separately in each process, because globals that it reads may differ."""
        return kernel_modules.machine_code(self.function, types, arch)[:2]
