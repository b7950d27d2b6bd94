"""The kinds of arrays that tensors hold: NumPy's and, once minigrad/kernels/cuda is loaded, arrays in a GPU's memory."""

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ..errors import error
from .devices import CPU, CUDA, META, device
from .meta import is_meta

Array: TypeAlias = np.ndarray  # an array on a device has the same methods
KINDS: set[type] = {np.ndarray}


def zeros(shape: tuple, like: Any, dtype: Any = None) -> Any:
    """Return zeros on the device of `like`, of its dtype unless another is given."""
    dtype = like.dtype if dtype is None else dtype
    return np.zeros_like(like, dtype, shape=shape) if on_device(like) else np.zeros(shape, dtype)


def empty(shape: tuple, like: Any, dtype: Any = None) -> Any:
    """Return uninitialized row-major memory on the device of `like`, of its dtype unless another is given."""
    dtype = like.dtype if dtype is None else dtype
    return np.empty_like(like, dtype, "C", shape=shape) if on_device(like) else np.empty(shape, dtype)


def one(like: Any) -> Any:
    """Return the number 1 on the device of `like`, of its dtype."""
    return np.ones_like(like, shape=()) if on_device(like) else np.array(1, like.dtype)


@lru_cache(256)
def number(n: float, dtype: np.dtype) -> np.ndarray:
    """Return a number as an array, to read only: NumPy needs as long for its conversion as for a small operation."""
    return np.array(n, dtype)


def strided(a: Any, shape: tuple, strides: tuple) -> Any:
    """Return a view of an array's memory from its first element on, with other strides, in bytes."""
    if on_device(a):
        return a.laid_out(shape, strides)
    if a.flags.c_contiguous and a.dtype.kind in "biuf":  # takes an eighth of the time of NumPy's function
        return np.ndarray(shape, a.dtype, a, 0, strides)
    return np.lib.stride_tricks.as_strided(a, shape, strides)


def contiguous(a: Any) -> Any:
    """Return the array in row-major order: itself, if it already is."""
    return a if a.flags.c_contiguous else a.copy("C")


def as_array(raw: Any) -> Any:
    """Return a calculation's result as an array; NumPy's scalars become 0-d arrays."""
    return raw if type(raw) in KINDS else np.asarray(raw)


def host(a: Any) -> np.ndarray:
    """Return the array in the computer's memory, to read only: itself, or a copy of the array on the device."""
    return np.broadcast_to(distinct(a).to_host(), a.shape) if on_device(a) else a


def distinct(a: np.ndarray) -> np.ndarray:
    """Return an array without the elements that its expanded dimensions repeat, of which each keeps one.

    >>> distinct(np.broadcast_to(np.arange(3), (10**12, 3))).shape
    (1, 3)
    """
    return a if 0 not in a.strides else a[tuple([slice(1) if step == 0 else slice(None) for step in a.strides])]


def laid_out(memory: Any, shape: tuple, dtype: Any, offset: int, strides: tuple) -> Any:
    """Return the array with this layout in the bytes of another."""
    if on_device(memory):
        return memory.seen(np.ndarray(shape, dtype, memory.shadow, offset, strides))
    return np.ndarray(shape, dtype, memory, offset, strides)


def on_device(a: Any) -> bool:
    """Return True if a is an array in a GPU's memory."""
    return type(a) is not np.ndarray and type(a) in KINDS


def place(a: Any) -> device:
    """Return the device of an array."""
    return CPU if not on_device(a) else META if is_meta(a) else CUDA


def to_device_of(a: Any, like: Any) -> Any:
    """Return an auxiliary array of a calculation, such as indices, on the device of `like`."""
    if type(like) is np.ndarray or on_device(a) or not on_device(like):
        return a
    return like.placed(a)


def on_host(f: Any, *operands: Any) -> Any:
    """Run f on the operands in the computer's memory, and return its arrays on their device (on meta, only shapes)."""
    like = next((a for a in operands if on_device(a)), None)
    if like is None:
        return f(*operands)
    found = f(*[(np.ones(a.shape, a.dtype) if is_meta(a) else a.to_host()) if on_device(a) else a for a in operands])
    return tuple([to_device_of(a, like) for a in found]) if isinstance(found, tuple) else to_device_of(found, like)


def require_one_device(who: str, arrays: dict[str, Any], below: bool = False) -> None:
    """Raise RuntimeError for arrays that are on different devices; `below` as in MinigradError."""
    if mixed := on_two_devices(who, arrays):
        mixed.below = below
        try:
            raise mixed
        finally:
            del mixed  # as in raise_instead


def on_two_devices(who: str, arrays: dict[str, Any]) -> Any:
    """Return the error for arrays that are on different devices, else None.  Numbers may be anywhere but on meta."""
    first: dict = {}
    for name, a in arrays.items():
        if a.ndim or is_meta(a):
            first.setdefault(place(a), name)
    if len(first) < 2:
        return None
    other = next((name for name, a in arrays.items() if a.ndim and not on_device(a)), None)
    fix = f"move one of them: {other}.cuda(), or call .cpu() on the other"
    if META in first:  # nothing can be copied from meta
        other = next(name for name, a in arrays.items() if a.ndim and not is_meta(a))
        fix = f"create both on one device, or compute only the shape: {other}.to('meta')"
    found = [f"{name} of shape {arrays[name].shape} on {where}" for where, name in first.items()]
    what = f"expected all tensors to be on the same device, but found {' and '.join(found)}"
    return error(RuntimeError, who, what, fix)
