"""save and load: any Python object with tensors in it, as a file.

The file is a pickle.  A pickle can run any code when it is read, so `load` takes nothing but tensors, numbers, strings
and the containers of Python unless it is told that the file is trusted.
"""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from typing import Any

from .errors import error
from .ops.memory import on_device

PROTOCOL = 4
# what the pickles of tensors, dtypes, devices and state dictionaries name, by module
HARMLESS = {
    "collections": {"OrderedDict"},
    "minigrad.core.convert": {"restore", "restore_view"},
    "minigrad.core.device": {"Size", "device"},
    "minigrad.core.dtypes": {"of_numpy"},
    "minigrad.core.tensor": {"Tensor"},
    "minigrad.nn.parameter": {"Parameter"},
    "numpy": {"dtype", "ndarray"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
}


class Reader(pickle.Unpickler):
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

    With `weights_only`, raises pickle.UnpicklingError for anything but tensors, numbers, strings, lists, dicts and the like.

    >>> import minigrad
    >>> import io
    >>> file = io.BytesIO()
    >>> minigrad.save({"weight": minigrad.ones(2)}, file)
    >>> _ = file.seek(0)
    >>> minigrad.load(file)
    {'weight': tensor([1., 1.])}
    """
    if map_location is not None:
        on_device(map_location)
    with opened(f, "rb") as file:
        return (Reader if weights_only else pickle.Unpickler)(file).load()
