"""save and load: any Python object with tensors in it, as a file.

The file is a pickle.  A pickle can run any code when Python reads it, so `load` reads it by itself (pickle_reader.py), and
takes nothing but tensors, numbers, strings and the containers of Python, unless it is told that the file is trusted.
"""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from typing import Any

import numpy as np

from .arrays.devices import CPU, CUDA, device
from .arrays.kinds import kernels_there
from .core.tensor import Tensor
from .errors import MinigradError, error
from .files import written
from .ops import transfer
from .ops.copy import on_device
from .ops.storage import Storage
from .pickle_reader import Damaged, PickleReader, Unknown
from .tensors import conversion

PROTOCOL = 4
DEVICE_ARRAY = "minigrad.kernels.cuda.device_array"  # a module that only loads where there are such arrays


class Restorer:
    """Makes the tensors of a file, and puts their memory where `map_location` wants it."""

    def __init__(self, map_location: Any):
        self.map_location = map_location
        self.placed: dict[int, tuple] = {}  # id -> an array of the file, and what it has become: tensors may share it

    def restore(self, cls: type, array: Any, *rest: Any) -> Tensor:
        """A tensor that has an array of its own."""
        return conversion.restore(cls, self.memory(array), *rest)

    def restore_view(self, cls: type, whole: Any, *rest: Any) -> Tensor:
        """A tensor on a part of an array."""
        return conversion.restore_view(cls, self.memory(whole), *rest)

    def memory(self, whole: Any) -> Any:
        """An array that tensors are on, placed; if it was a GPU's, it has been already."""
        if self.map_location is None:
            return whole
        if id(whole) not in self.placed:
            self.placed[id(whole)] = whole, self.where_wanted(whole, CPU)
        return self.placed[id(whole)][1]

    def uploaded(self, a: np.ndarray) -> Any:
        """An array that was in the memory of a GPU, placed."""
        if self.map_location is None:
            return kernels_there("device_array").uploaded(a)
        made = self.where_wanted(a, CUDA)
        self.placed[id(made)] = made, made
        return made

    def where_wanted(self, a: np.ndarray, was: device) -> Any:
        """An array that was on this device when it was saved, on the device where it is wanted."""
        wanted = self.map_location
        if isinstance(wanted, dict):
            named = {(device(name).type, device(name).index or 0): to for name, to in wanted.items()}
            wanted = named.get((was.type, was.index or 0), was)
        elif callable(wanted):  # it gets the memory, and returns it, moved perhaps; None leaves it where it was
            try:
                found = wanted(Storage(a), str(was))
                wanted = was if found is None else found.device
            except Exception as e:
                what = f"map_location has raised {type(e).__name__}: {e}"
                raise error(RuntimeError, "load", what, "let it return the memory, moved or not, or None") from e
        return transfer.placed(a, on_device(wanted))


class Trusting(pickle.Unpickler):
    """Python's own way to read a pickle, which runs what the file says."""

    def __init__(self, file: Any, restorer: Restorer):
        super().__init__(file)
        self.restorer = restorer

    def find_class(self, module: str, name: str) -> Any:
        if module in (conversion.__name__, DEVICE_ARRAY):
            return getattr(self.restorer, name)
        return super().find_class(module, name)


def read(file: Any, restorer: Restorer) -> Any:
    """Read a file that nobody has to trust."""
    reader = PickleReader(file.read(), restorer.restore, restorer.restore_view, restorer.uploaded)
    try:
        return reader.read()
    except Unknown as e:
        fix = "pass weights_only=False if you trust whoever wrote the file: reading it may run any code"
        raise error(pickle.UnpicklingError, "load", f"the file has {e}", fix) from None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, EOFError) as e:
        if isinstance(e, MinigradError):
            raise
        reason = f"has {e}" if isinstance(e, Damaged) else f"cannot be followed ({type(e).__name__}: {e})"
        what = f"the file {reason}: it is damaged, or `save` did not write it"
        raise error(pickle.UnpicklingError, "load", what, "write it anew with minigrad.save") from e


def save(obj: Any, f: Any) -> None:
    """Write an object to `f`, a path or a file open for writing; tensors that share memory share it again when read.

    A file that was there is replaced when all has been written, so that a failure leaves it as it was.  Raises RuntimeError
    for tensors that are not leaves.

    >>> import io
    >>> import minigrad
    >>> file = io.BytesIO()
    >>> minigrad.save({"w": minigrad.tensor([1., 2.])}, file)
    >>> start = file.seek(0)
    >>> minigrad.load(file)
    {'w': tensor([1., 2.])}
    """
    with written(f) as file:
        pickle.dump(obj, file, PROTOCOL)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Read the object that `save` wrote to `f`, a path or a file open for reading.

    Tensors come to the device that they were on, or to `map_location`: a device, a dictionary from devices to devices, or a
    function of the memory and the name of its device.  With `weights_only`, raises pickle.UnpicklingError for anything but
    tensors, numbers, strings, lists, dicts and the like.

    >>> import minigrad
    >>> import io
    >>> file = io.BytesIO()
    >>> minigrad.save({"weight": minigrad.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> minigrad.load(file)
    {'weight': tensor([1., 1.])}
    """
    if map_location is not None and not isinstance(map_location, dict) and not callable(map_location):
        on_device(map_location)
    with nullcontext(f) if hasattr(f, "read") else open(f, "rb") as file:
        restorer = Restorer(map_location)
        return read(file, restorer) if weights_only else Trusting(file, restorer).load()
