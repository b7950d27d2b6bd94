"""The way into a GPU's memory; minigrad/kernels/cuda, which needs more time to load, is only imported by whoever goes there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.device import CPU, device


def count() -> int:
    """How many GPUs tensors can be on."""
    from ..kernels.cuda.device import count as found

    return found()


def check() -> None:
    """Raise RuntimeError where there is no GPU."""
    from ..kernels.cuda.device import current

    current()


def upload(a: np.ndarray) -> Any:
    """An array's elements in the memory of the GPU."""
    from ..kernels.cuda.array import to_device

    return to_device(a)


def stream(bits: np.random.Philox) -> Any:
    """What makes random numbers in the memory of the GPU."""
    from ..kernels.cuda.random import Stream

    return Stream(bits)


def placed(a: Any, place: device) -> Any:
    """An array that has just been made, where it is wanted."""
    if (place == CPU) == (type(a) is np.ndarray):
        return a
    return a.to_host() if place == CPU else upload(a)
