"""The device `meta`: arrays with a shape, a dtype and an order in memory, and no memory.

An array there is one of a GPU's (kernels/cuda/device_array.py) whose block is nowhere.  What the files of kernels do on the
processor they do as for a GPU: look at shapes, and choose those of the results.  What they ask of the machine - memory,
copies, launches - they ask of `NOWHERE` while `inside.yes` holds, and nothing is done.  No GPU has to be there.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..errors import error

FIRST, LAST = 1 << 56, (1 << 63) - 1  # addresses where no memory is
_lock, _free = threading.Lock(), FIRST


class Inside(threading.local):
    """Say whether this thread asks for nothing at present; and, for all threads, whether one ever did."""

    yes = False
    ever = False


inside = Inside()


class Nowhere:
    """The machine of meta arrays, which does nothing."""

    name, arch, capability, processors, stream, asked = "meta", "none", (0, 0), 1, 0, None

    def __getattr__(self, name: str) -> Callable:
        return lambda *args: None


NOWHERE = Nowhere()


def fresh_address(nbytes: int) -> int:
    """Return where the next array begins: arrays do not overlap, until addresses are given again after nine million TB."""
    global _free
    with _lock:
        begin = _free if _free + nbytes < LAST else FIRST
        _free = begin + -(-nbytes // 64) * 64 + 64
    return begin


def is_meta(a: Any) -> bool:
    """Return whether an array is nowhere."""
    return type(a) is not np.ndarray and getattr(getattr(a, "block", None), "owner", None) is NOWHERE


def has_numbers(a: Any) -> bool:
    """Return whether somebody who wants to look at numbers can do so."""
    return not is_meta(a)


def among(values: Any) -> bool:
    """Return whether there is a meta array among arguments, and in tuples, lists and dictionaries of them."""
    inner = lambda v: v.values() if type(v) is dict else v if isinstance(v, (tuple, list)) else ()
    return any([is_meta(v) or among(inner(v)) for v in values])


@contextmanager
def entered() -> Iterator[None]:
    """Ask for nothing meanwhile."""
    before, inside.yes = inside.yes, True
    Inside.ever = True
    try:
        yield
    finally:
        inside.yes = before


def call(f: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function of arrays, which asks for nothing where one of them is nowhere."""
    if not Inside.ever or inside.yes or not (among(args) or among(kwargs.values())):
        return f(*args, **kwargs)
    with entered():
        return f(*args, **kwargs)


def guarded(f: Callable) -> Callable:
    """Return a function that is called so."""
    return functools.partial(call, f) if Inside.ever else f


class Guarded:
    """A module whose functions are guarded."""

    def __init__(self, module: ModuleType):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return guarded(found) if isinstance(found, FunctionType) else found


DATA = "Cannot copy out of meta tensor; no data! It has the shape {}, and its numbers are needed"
SIZE = "how large the result is depends on numbers, and a meta tensor, this one of shape {}, has none"
ITEM = "Tensor.item() cannot be called on meta tensors, and this one of shape {} is one: it has no numbers"


def no_numbers(shape: tuple, what: str = DATA, kind: type[Exception] = NotImplementedError, who: str = "meta") -> Any:
    """Return the error for a calculation that needs the numbers of a meta array."""
    fix = "compute on a device, with model.to_empty(device='cpu') say, or with shapes alone"
    told = error(kind, who, what.format(tuple(shape)), fix)
    told.below = True
    return told
