"""The kinds of arrays that tensors hold: NumPy's, and, once minigrad/kernels/cuda is loaded, those in a GPU's memory."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from ..errors import error
from .devices import CPU, CUDA, META, device
from .nowhere import Guarded, Inside, entered, is_meta

Array: TypeAlias = np.ndarray  # an array on a device has the same methods
KINDS: set[type] = {np.ndarray}


def zeros(shape: tuple, like: Any, dtype: Any = None) -> Any:
    """Zeros where `like` is, of its dtype if no other is named."""
    dtype = like.dtype if dtype is None else dtype
    return np.zeros_like(like, dtype, shape=shape) if on_device(like) else np.zeros(shape, dtype)


def empty(shape: tuple, like: Any, dtype: Any = None) -> Any:
    """Memory that is not set, where `like` is, row by row, of its dtype if no other is named."""
    dtype = like.dtype if dtype is None else dtype
    return np.empty_like(like, dtype, "C", shape=shape) if on_device(like) else np.empty(shape, dtype)


def one(like: Any) -> Any:
    """The number 1 where `like` is, of its dtype."""
    return np.ones_like(like, shape=()) if on_device(like) else np.array(1, like.dtype)


def strided(a: Any, shape: tuple, strides: tuple) -> Any:
    """The memory of an array from its first element on, with other steps, in bytes."""
    if on_device(a):
        return a.seen(np.lib.stride_tricks.as_strided(a.shadow, shape, strides))
    if a.flags.c_contiguous and a.dtype.kind in "biuf":  # an eighth of the time of NumPy's function
        return np.ndarray(shape, a.dtype, a, 0, strides)
    return np.lib.stride_tricks.as_strided(a, shape, strides)


def contiguous(a: Any) -> Any:
    """The array in row-major order: itself, where it lies so."""
    return a if a.flags.c_contiguous else a.copy("C")


def as_array(raw: Any) -> Any:
    """What a calculation gave as an array: NumPy's scalars become 0-d ones."""
    return raw if type(raw) in KINDS else np.asarray(raw)


def host(a: Any) -> np.ndarray:
    """The array in the computer's memory: itself, or a copy of what is on the device."""
    return a.to_host() if on_device(a) else a


def laid_out(memory: Any, shape: tuple, dtype: Any, offset: int, strides: tuple) -> Any:
    """The array that lies so in the bytes of another."""
    if on_device(memory):
        return memory.seen(np.ndarray(shape, dtype, memory.shadow, offset, strides))
    return np.ndarray(shape, dtype, memory, offset, strides)


def on_device(a: Any) -> bool:
    """Whether it is an array in a GPU's memory."""
    return type(a) is not np.ndarray and type(a) in KINDS


def kernels_there(name: str) -> Any:
    """The file of that name in minigrad/kernels/cuda, which nobody loads who stays on the processor."""
    module = kernels_in(name)
    return Guarded(module) if Inside.ever else module


@cache
def kernels_in(name: str) -> Any:
    """The file itself."""
    return import_module(f"minigrad.kernels.cuda.{name}")


def place(a: Any) -> device:
    """Return the device of an array."""
    return CPU if not on_device(a) else META if is_meta(a) else CUDA


def near(a: Any, like: Any) -> Any:
    """What was made beside a calculation, indices say, as an array where `like` is."""
    if type(like) is np.ndarray or on_device(a) or not on_device(like):
        return a
    there = kernels_there("device_array")
    if not is_meta(like):
        return there.to_device(a)
    with entered():
        return there.like(np.asarray(a))


def on_host(f: Any, *operands: Any) -> Any:
    """Return f of operands in the computer's memory, its arrays where the operands are; on meta they have shapes alone."""
    like = next((a for a in operands if on_device(a)), None)
    if like is None:
        return f(*operands)
    found = f(*[(np.ones(a.shape, a.dtype) if is_meta(a) else a.to_host()) if on_device(a) else a for a in operands])
    return tuple([near(a, like) for a in found]) if isinstance(found, tuple) else near(found, like)


def on_two_devices(who: str, arrays: dict[str, Any]) -> Any:
    """Return the error where arrays do not lie on one device; None where they do.  Numbers may lie anywhere but on meta."""
    first: dict = {}
    for name, a in arrays.items():
        if a.ndim or is_meta(a):
            first.setdefault(place(a), f"{name} of shape {a.shape} on {place(a)}")
    if len(first) < 2:
        return None
    other = next((name for name, a in arrays.items() if a.ndim and not on_device(a)), None)
    fix = f"move one of them: {other}.cuda(), or the other one with .cpu()"
    if META in first:  # from where nothing comes back
        other = next(name for name, a in arrays.items() if a.ndim and not is_meta(a))
        fix = f"make both on one device, or compute the shape alone: {other}.to('meta')"
    what = f"expected all tensors to be on the same device, but found {' and '.join(first.values())}"
    return error(RuntimeError, who, what, fix)
