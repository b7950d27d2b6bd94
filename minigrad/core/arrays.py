"""The kinds of arrays that tensors hold: NumPy's, and, once minigrad/kernels/cuda is loaded, those in a GPU's memory."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

KINDS: set[type] = {np.ndarray}


def as_array(raw: Any) -> Any:
    """What a calculation gave as an array: NumPy's scalars become 0-d ones."""
    return raw if type(raw) in KINDS else np.asarray(raw)


def on_device(a: Any) -> bool:
    """Whether it is an array in a GPU's memory."""
    return type(a) is not np.ndarray and type(a) in KINDS


@cache
def kernels_there(name: str) -> Any:
    """The file of that name in minigrad/kernels/cuda, which nobody loads who stays on the processor."""
    return import_module(f"minigrad.kernels.cuda.{name}")
