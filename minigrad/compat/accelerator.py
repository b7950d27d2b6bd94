"""torch.accelerator: the GPU, if there is one, without its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import cuda
from ..arrays.devices import CUDA, device

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "device_count",
    "device_index",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "memory_allocated",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    """Return True if there is a GPU.

    >>> import minigrad
    >>> minigrad.accelerator.is_available() == minigrad.cuda.is_available()
    True
    """
    return cuda.is_available()


def current_accelerator(check_available: bool = False) -> device | None:
    """Return the GPU as a device, or None."""
    return device(CUDA.type) if cuda.is_available() else None


def device_count() -> int:
    """Return the number of GPUs.

    >>> import minigrad
    >>> minigrad.accelerator.device_count() == minigrad.cuda.device_count()
    True
    """
    return cuda.device_count() if cuda.is_available() else 0


def current_device_index() -> int:
    """Return the index of the GPU in use: 0, because minigrad computes on the first one."""
    return cuda.current_device()


def set_device_index(device: Any, /) -> None:
    """Choose a GPU; only the first is allowed."""
    cuda.set_device(device)


@contextmanager
def device_index(device: int | None, /) -> Iterator[None]:
    """Compute on this GPU in the block; only the first is allowed."""
    if device is not None and cuda.is_available():
        cuda.set_device(device)
    yield


def synchronize(device: Any = None, /) -> None:
    """Wait until the GPU has finished all its work; without a GPU, do nothing."""
    if cuda.is_available():
        cuda.synchronize(device)


current_device_idx, set_device_idx = current_device_index, set_device_index
empty_cache, memory_allocated = cuda.empty_cache, cuda.memory_allocated
max_memory_allocated, reset_peak_memory_stats = cuda.max_memory_allocated, cuda.reset_peak_memory_stats
