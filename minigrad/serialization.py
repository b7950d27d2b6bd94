"""save and load: any Python object with tensors in it, as a file.

The file is a pickle.  A pickle can run any code when it is read, so `load` takes nothing but tensors, numbers, strings
and the containers of Python unless it is told that the file is trusted.
"""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from typing import Any

import numpy as np

from .arrays.devices import CPU, CUDA, device
from .core.tensor import Tensor
from .errors import error
from .ops import transfer
from .ops.copy import on_device
from .ops.storage import Storage
from .tensors import conversion

PROTOCOL = 4
DEVICE_ARRAY = "minigrad.kernels.cuda.device_array"  # a module that only loads where there are such arrays
# what the pickles of tensors, dtypes, devices and state dictionaries name, by module
HARMLESS = {
    "collections": {"OrderedDict"},
    DEVICE_ARRAY: {"uploaded"},
    "minigrad.tensors.conversion": {"restore", "restore_view"},
    "minigrad.arrays.devices": {"Size", "device"},
    "minigrad.arrays.dtypes": {"of_numpy"},
    "minigrad.core.tensor": {"Tensor"},
    "minigrad.nn.parameter": {"Parameter"},
    "ml_dtypes": {"bfloat16"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
}


class Trusting(pickle.Unpickler):
    """An Unpickler that puts the memory of tensors where `map_location` wants it."""

    def __init__(self, file: Any, map_location: Any):
        super().__init__(file)
        self.map_location = map_location
        self.placed: dict[int, tuple] = {}  # id -> an array of the file, and what it has become: tensors may share it

    def find_class(self, module: str, name: str) -> Any:
        placed = {"restore": self.restore, "restore_view": self.restore_view, "uploaded": self.uploaded}
        if module in (conversion.__name__, DEVICE_ARRAY) and self.map_location is not None:
            return placed[name]
        return super().find_class(module, name)

    def restore(self, cls: type, array: Any, *rest: Any) -> Tensor:
        """A tensor that has an array of its own."""
        return conversion.restore(cls, self.memory(array), *rest)

    def restore_view(self, cls: type, whole: Any, *rest: Any) -> Tensor:
        """A tensor on a part of an array."""
        return conversion.restore_view(cls, self.memory(whole), *rest)

    def memory(self, whole: Any) -> Any:
        """An array that tensors are on, placed; if it was a GPU's, it has been already."""
        if id(whole) not in self.placed:
            self.placed[id(whole)] = whole, self.where_wanted(whole, CPU)
        return self.placed[id(whole)][1]

    def uploaded(self, a: np.ndarray) -> Any:
        """An array that was in the memory of a GPU, placed."""
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
            found = wanted(Storage(a), str(was))
            wanted = was if found is None else found.device
        return transfer.placed(a, on_device(wanted))


class Reader(Trusting):
    """An Unpickler that knows only what HARMLESS names."""

    def find_class(self, module: str, name: str) -> Any:
        if name not in HARMLESS.get(module, ()):
            raise error(
                pickle.UnpicklingError,
                "load",
                f"the file names {module}.{name}, which is neither a tensor nor a plain container",
                "pass weights_only=False if you trust whoever wrote the file: reading it may run any code",
            )
        return super().find_class(module, name)


def opened(f: Any, mode: str) -> Any:
    """A file for a path, and a file that is open already as it is."""
    return nullcontext(f) if hasattr(f, "read") or hasattr(f, "write") else open(f, mode)


def save(obj: Any, f: Any) -> None:
    """Write an object to `f`, a path or a file open for writing; tensors that share memory share it again when read.

    Raises RuntimeError for tensors that are not leaves.

    >>> import io
    >>> import minigrad
    >>> file = io.BytesIO()
    >>> minigrad.save({"w": minigrad.tensor([1., 2.])}, file)
    >>> start = file.seek(0)
    >>> minigrad.load(file)
    {'w': tensor([1., 2.])}
    """
    with opened(f, "wb") as file:
        pickle.dump(obj, file, PROTOCOL)


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """The object that `save` wrote to `f`, a path or a file open for reading.

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
    with opened(f, "rb") as file:
        return (Reader if weights_only else Trusting)(file, map_location).load()
