"""Reads a pickle as Python does, which runs its code. PyTorch's classes in it become minigrad's of the same name."""

from __future__ import annotations

import pickle
from importlib import import_module
from typing import IO, Any

from ..errors import error
from .rebuild import CLASSES, DTYPES, MADE, UNLIKE, Name, NotHere, Storages, storage_dtype

PACKAGE = __name__.partition(".")[0]
ALIKE = {"NonDynamicallyQuantizableLinear": "Linear"}  # PyTorch's classes that compute the same as another one


def read_trusted(file: IO[bytes], storages: Storages, module: Any, options: dict) -> Any:
    """Read one pickle with the Unpickler of a module."""

    class Trusting(module.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            found = Name(module, name)
            return of_torch(found) if module.partition(".")[0] == "torch" else super().find_class(module, name)

        def persistent_load(self, pid: Any) -> Any:
            return storages.of(pid)

    return Trusting(file, **options).load()


def of_torch(name: Name) -> Any:
    """Return minigrad's counterpart of one of PyTorch's names; raise UnpicklingError if there is none."""
    if storage_dtype(name) is not None:
        return name
    for table in (MADE, CLASSES, DTYPES):
        if name in table:
            return table[name]
    if name in UNLIKE:
        raise NotHere(UNLIKE[name])
    path = name.module.split(".")
    for n in range(len(path), 1 if len(path) > 1 and not path[1].startswith("_") else 0, -1):
        try:
            space = import_module(".".join([PACKAGE, *path[1:n]]))
        except ImportError:
            continue
        if (found := getattr(space, ALIKE.get(name.name, name.name), None)) is not None:
            return found
    what = f"the file has an object of {name}, which minigrad does not have"
    fix = "save the state_dict in PyTorch: torch.save(model.state_dict(), path)"
    raise error(pickle.UnpicklingError, "load", what, fix)
