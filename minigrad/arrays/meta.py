"""The device `meta`: arrays with a shape, a dtype and a memory layout, but without memory.

A meta array is a GPU array (kernels/cuda/device_array.py) whose block is nowhere.  The kernel files run on the processor as
they do for a GPU: they read shapes, and choose the results' shapes.  Their requests to the machine (memory, copies,
launches) go to `NOWHERE` while `inside.active` is set, which does nothing.  So no GPU is needed.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..errors import error

FIRST, LAST = 1 << 56, (1 << 63) - 1  # addresses without memory behind them
_lock, _free = threading.Lock(), FIRST


class MetaFlag(threading.local):
    """Hold a flag, True while this thread's requests go nowhere, and one for all threads, True once any did."""

    active = False
    used = False


inside = MetaFlag()


class Nowhere:
    """The machine of meta arrays, which does nothing."""

    name, arch, capability, processors, stream, asked = "meta", "none", (0, 0), 1, 0, None

    def __getattr__(self, name: str) -> Callable:
        return lambda *args: None


NOWHERE = Nowhere()


def fresh_address(nbytes: int) -> int:
    """Return the address of the next array: arrays do not overlap until addresses repeat, after nine million TB."""
    global _free
    with _lock:
        begin = _free if _free + nbytes < LAST else FIRST
        _free = begin + -(-nbytes // 64) * 64 + 64
    return begin


def is_meta(a: Any) -> bool:
    """Return True if an array is nowhere."""
    return type(a) is not np.ndarray and getattr(getattr(a, "block", None), "owner", None) is NOWHERE


def has_numbers(a: Any) -> bool:
    """Return True if the numbers of an array can be read."""
    return not is_meta(a)


def among(values: Any) -> bool:
    """Return True if a meta array is among the arguments, or in their tuples, lists and dictionaries."""
    inner = lambda v: v.values() if type(v) is dict else v if isinstance(v, (tuple, list)) else ()
    return any([is_meta(v) or among(inner(v)) for v in values])


@contextmanager
def entered() -> Iterator[None]:
    """Send this thread's requests nowhere inside the block."""
    before, inside.active = inside.active, True
    MetaFlag.used = True
    try:
        yield
    finally:
        inside.active = before


def call(f: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function of arrays; its requests go nowhere if one of them is a meta array."""
    if not MetaFlag.used or inside.active or not (among(args) or among(kwargs.values())):
        return f(*args, **kwargs)
    with entered():
        return f(*args, **kwargs)


def guarded(f: Callable) -> Callable:
    """Return f, wrapped in `call` once there are meta arrays."""
    return functools.partial(call, f) if MetaFlag.used else f


class Guarded:
    """A module whose functions are guarded."""

    def __init__(self, module: ModuleType):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return guarded(found) if isinstance(found, FunctionType) else found


DATA = "Cannot copy out of meta tensor; no data! It has the shape {} but no numbers"
SIZE = "the size of the result depends on numbers, and this meta tensor of shape {} has none"
ITEM = "Tensor.item() cannot be called on meta tensors: this one of shape {} has no numbers"


def no_numbers(shape: tuple, what: str = DATA, kind: type[Exception] = NotImplementedError, who: str = "meta") -> Any:
    """Return the error for a calculation that needs the numbers of a meta array."""
    fix = "compute on a device, for example after model.to_empty(device='cpu'), or use only the shapes"
    e = error(kind, who, what.format(tuple(shape)), fix)
    e.below = True
    return e
