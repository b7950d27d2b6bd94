"""Compiled code: from the source of formulas to kernels for the processor, and for GPUs (cuda/)."""

import functools
from importlib import import_module
from typing import Any

from ..arrays.meta import Guarded, MetaFlag


def cuda_kernels(name: str) -> Any:
    """Return the module of that name in cuda/, which programs on the processor never load."""
    module = unguarded(name)
    return Guarded(module) if MetaFlag.used else module


@functools.cache
def unguarded(name: str) -> Any:
    """Return the module itself, which computes meta arrays only inside `entered`."""
    return import_module(f"{__name__}.cuda.{name}")
