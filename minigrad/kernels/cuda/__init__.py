"""CUDA: arrays in a GPU's memory, and the kernels that compute on them.

machine.py finds the GPU (or the simulator), allocator.py manages its memory, device_array.py is an array there, functions.py
maps NumPy's functions to code for such arrays, and kernel_modules.py compiles and launches kernels. The kernels themselves
are in the other files, one file for each kind.
"""

from functools import cache
from importlib import import_module
from typing import Any

from ...arrays.meta import Guarded, MetaFlag


def cuda_kernels(name: str) -> Any:
    """Return the module of that name in this folder, which programs on the processor never load."""
    module = unguarded(name)
    return Guarded(module) if MetaFlag.used else module


@cache
def unguarded(name: str) -> Any:
    """Return the module itself, which computes meta arrays only inside `entered`."""
    return import_module(f"{__name__}.{name}")
