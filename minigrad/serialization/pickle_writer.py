"""Writes a pickle with PyTorch's names for tensors, dtypes, shapes and devices, and tensor memory next to it.

Python's C pickler looks up every name that it writes, and PyTorch may be missing. So this is a subclass of the pickler written
in Python, which can write a name without looking it up.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any

from ..arrays.devices import Size, device, layout
from ..arrays.dtypes import dtype
from ..arrays.memory import begin, storage
from ..core.tensor import Tensor, wrap
from ..errors import error
from ..events import events
from ..nn.parameter import Parameter
from ..ops.as_strided import memory_of
from ..ops.storage import Storage
from .rebuild import STORAGE_OF, TENSOR, Name

REBUILD_TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
REBUILD_PARAMETER = Name("torch._utils", "_rebuild_parameter")
REBUILD_WITH_STATE = Name("torch._utils", "_rebuild_parameter_with_state")
REBUILD_NOTED = Name("torch._tensor", "_rebuild_from_type_v2")
REBUILD_META = Name("torch._utils", "_rebuild_meta_tensor_no_storage")
SIZE, DEVICE, LAYOUT = Name("torch", "Size"), Name("torch", "device"), Name("torch.serialization", "_get_layout")


class Memories:
    """The storages that a pickle refers to, in the order of their numbers."""

    def __init__(self) -> None:
        self.storages: list[Storage] = []
        self.numbers: dict[int, int] = {}  # id of the array that owns the memory -> number
        self.owners: list[Any] = []  # keeps the arrays alive, so that no id is reused

    def number(self, owner: Any, memory: Storage) -> int:
        """Return the number of an array's memory; raise RuntimeError if it was used with another dtype before."""
        number = self.numbers.setdefault(id(owner), len(self.storages))
        if number == len(self.storages):
            self.storages.append(memory)
            self.owners.append(owner)
        first, second = self.storages[number]._array.dtype, memory._array.dtype
        if first != second:
            what = f"two tensors use the same memory as {first} and as {second}, but a file has one dtype for it"
            raise error(RuntimeError, "save", what, "save a copy of one of them: x.clone()")
        return number

    def pid(self, memory: Storage) -> tuple:
        """Return a pickle's reference to a storage."""
        flat = memory._array
        number = self.number(storage(flat), memory)
        return "storage", STORAGE_OF[flat.dtype], str(number), str(memory.device), flat.size


def writer(memories: Memories, module: Any) -> type:
    """Return a class of picklers that keep storages in `memories`; `module` is pickle or a replacement."""
    base = getattr(module, "_Pickler", getattr(module, "Pickler", None))
    if base is None or not issubclass(base, pickle._Pickler):  # type: ignore[attr-defined]
        what = f"pickle_module={getattr(module, '__name__', module)!r} has no Pickler written in Python"
        raise error(TypeError, "save", what, "pass pickle or dill, or omit the argument")

    class TensorPickler(base):
        dispatch = {**base.dispatch, Name: save_name, dtype: save_dtype}

        def persistent_id(self, obj: Any) -> Any:
            return memories.pid(obj) if isinstance(obj, Storage) else None

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, Tensor):
                return reduced(obj)
            for kind, form in FORMS.items():
                if isinstance(obj, kind):
                    return form(obj)
            return NotImplemented

    return TensorPickler


FORMS: dict[type, Any] = {
    Size: lambda s: (SIZE, (tuple(s),)),
    device: lambda d: (DEVICE, (d.type,) if d.index is None else (d.type, d.index)),
    layout: lambda _: (LAYOUT, ("torch.strided",)),
}


def save_name(pickler: Any, name: Name) -> None:
    """Write a name without looking it up."""
    pickler.write(pickle.GLOBAL + f"{name.module}\n{name.name}\n".encode())
    pickler.memoize(name)


def save_dtype(pickler: Any, kind: dtype) -> None:
    """Write a dtype as a name."""
    pickler.write(pickle.GLOBAL + f"torch\n{kind.name}\n".encode())
    pickler.memoize(kind)


def reduced(t: Tensor) -> tuple:
    """Return the call that recreates a tensor; results of operations become leaves."""
    events.read(t, "save")
    notes = t.__dict__ or None
    tracked = t.requires_grad
    if t.is_meta and type(t) is not Parameter:
        return REBUILD_META, (t.dtype, tuple(t.shape), t.stride(), tracked)
    if type(t) is Parameter:
        args = wrap(t._a), tracked, OrderedDict()
        return (REBUILD_WITH_STATE, (*args, notes)) if notes else (REBUILD_PARAMETER, args)
    args = on_storage(t._a, tracked)
    if type(t) is Tensor and not notes:
        return REBUILD_TENSOR, args
    return REBUILD_NOTED, (REBUILD_TENSOR, TENSOR if type(t) is Tensor else type(t), args, notes or {})


def on_storage(a: Any, tracked: bool) -> tuple:
    """Return the arguments that recreate a tensor: its storage, and the layout of its elements in it.

    Layouts that PyTorch does not have, such as negative strides or misaligned offsets, are copied first.
    """
    owner, size = storage(a), a.itemsize
    dense = owner.flags.c_contiguous or owner.flags.f_contiguous
    places = (begin(a, owner), owner.nbytes, *a.strides)
    if not dense or any([place < 0 or place % size for place in places]):
        a = owner = a.copy("C")
    memory = Storage(memory_of(owner).view(a.dtype))
    return memory, begin(a, owner) // size, a.shape, tuple([s // size for s in a.strides]), tracked, OrderedDict()
