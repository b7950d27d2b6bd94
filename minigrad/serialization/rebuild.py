"""PyTorch's names in files and their counterparts here: dtypes, storages, functions that rebuild tensors.

Every function checks its arguments, because the file may be damaged or malicious. A pickle's name of a function or class is
never looked up, but refers to an entry of the tables here.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import dtypes
from ..arrays.devices import CPU, META, Size, device, strided
from ..arrays.dtypes import dtype
from ..arrays.kinds import laid_out
from ..core.tensor import Tensor
from ..errors import MinigradError, error
from ..nn.parameter import Parameter
from ..ops import transfer
from ..ops.copy import on_device
from ..ops.storage import Storage
from ..tensors import conversion


class Damaged(ValueError):
    """Raised for a file with content that `save` never writes; its `str` names the content."""


class Unknown(Damaged):
    """Raised for a name that files of tensors and plain values do not need."""


class NotHere(Damaged):
    """Raised for features of PyTorch that minigrad does not have."""


class Name(NamedTuple):
    """The name of a function or class in a file."""

    module: str
    name: str

    def __repr__(self) -> str:
        return f"{self.module}.{self.name}"

    def __call__(self) -> None:
        """Raise TypeError; pickle's writer requires that the objects it writes as calls are callable."""
        raise TypeError(f"{self} is only a name")


def need(condition: object, what: str, *values: object) -> None:
    """Raise Damaged unless a condition holds; only then are the values quoted, each at a {} of `what`."""
    if not condition:
        raise Damaged(what.format(*map(quote, values)))


def quote(value: object) -> str:
    """Return the text of a value from a file, shortened and without control characters for the terminal."""
    return QUOTES.repr(value)


class Quotes(reprlib.Repr):
    """Short texts of values: of an object that may hold others, shared or nested, only its class."""

    repr_OrderedDict = repr_Counter = reprlib.Repr.repr_dict

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, (np.dtype, type)):
            return x.__name__ if isinstance(x, type) else str(x)
        short = isinstance(x, (Name, bytes, bytearray, np.generic, dtype, device, int, float, complex, type(None)))
        return super().repr_instance(x, level) if short else f"<{type(x).__name__}>"


QUOTES = Quotes()


# ---------------------------------------------------------------------- names
TENSOR, PARAMETER = Name("torch", "Tensor"), Name("torch.nn.parameter", "Parameter")
CLASSES: dict[Any, type] = {TENSOR: Tensor, PARAMETER: Parameter}
STORAGES = {
    name + "Storage": d
    for name, d in {
        "Float": dtypes.float32, "Double": dtypes.float64, "Half": dtypes.float16, "BFloat16": dtypes.bfloat16,
        "Byte": dtypes.uint8, "Char": dtypes.int8, "Short": dtypes.int16, "Int": dtypes.int32, "Long": dtypes.int64,
        "Bool": dtypes.bool_, "Untyped": dtypes.uint8,
    }.items()
}  # fmt: skip
STORAGE_OF = {d.dtype: Name("torch", name) for name, d in STORAGES.items() if name != "UntypedStorage"}
DTYPES = {Name("torch", d.name): d for d in dtypes.ALL}
UNLIKE = {  # features of PyTorch's files that minigrad does not have
    **{Name("torch", n): f"the dtype torch.{n}" for n in "complex32 complex64 complex128 uint16 uint32 uint64".split()},
    **{
        Name("torch", n): f"numbers of torch.{n}"
        for n in "ComplexFloatStorage ComplexDoubleStorage QInt8Storage".split()
    },
    Name("torch._utils", "_rebuild_sparse_tensor"): "a sparse tensor",
    Name("torch._utils", "_rebuild_nested_tensor"): "a nested tensor",
    Name("torch._utils", "_rebuild_qtensor"): "a quantized tensor",
}


def storage_dtype(name: Any) -> dtype | None:
    """Return the dtype of a class of storages; None for other names."""
    known = type(name) is Name and name.module in ("torch", "torch.storage", "torch.cuda")
    return STORAGES.get(name.name) if known else None


# ---------------------------------------------------------------------- memory
class Storages:
    """The memory of a file's tensors: each storage is read once and placed according to `map_location`."""

    def __init__(self, read: Callable, map_location: Any):
        self.read = read  # key, bytes -> the bytes, as an array
        self.map_location = map_location
        self.found: dict[str, Storage] = {}
        self.dtypes: dict[str, dtype] = {}

    def of(self, pid: Any) -> Storage:
        """Return the storage that a file refers to: ("storage", class, key, location, number of elements)."""
        need(is_pid(pid), "the reference {} to a storage", pid)
        need(pid[5:] in ((), (None,)), "a view of a storage, as PyTorch wrote them before 0.4")
        key, location, numel = pid[2:5]
        kind: Any = storage_dtype(pid[1])
        if key not in self.found:
            memory = self.read(key, numel * kind.itemsize, kind.dtype)
            self.found[key], self.dtypes[key] = placed(Storage(memory), location, self.map_location), kind
        storage = self.found[key]
        need(self.dtypes[key] is kind and storage.size() >= numel, "two dtypes or sizes of the storage {}", key)
        return storage


def is_pid(pid: Any) -> bool:
    """Return True for a reference to a storage: ("storage", class, key, location, elements), optionally a view."""
    if type(pid) is not tuple or len(pid) not in (5, 6) or pid[0] != "storage" or storage_dtype(pid[1]) is None:
        return False
    return type(pid[2]) is type(pid[3]) is str and type(pid[4]) is int and pid[4] >= 0


def as_numbers(memory: np.ndarray, kind: np.dtype, swapped: bool) -> np.ndarray:
    """Return bytes as numbers, swapped if they come from a machine of the other byte order."""
    flat = memory.view(kind)
    need(kind != dtypes.BOOL or not (memory > 1).any(), "a bool that is neither 0 nor 1")
    if swapped and kind.itemsize > 1:
        flat.view(f"u{kind.itemsize}").byteswap(inplace=True)
    return flat


def placed(memory: Storage, location: str, wanted: Any) -> Storage:
    """Return memory moved from its location to the requested one: None, a device, a dictionary or a function."""
    if isinstance(wanted, dict):
        names = {str(name): to for name, to in wanted.items()}
        wanted = names.get(location, names.get(location.removesuffix(":0")))
    elif callable(wanted):  # it receives the memory and returns it, possibly moved; None leaves it in place
        try:
            found: Any = wanted(memory, location)
        except Exception as e:
            what = f"map_location raised {type(e).__name__}: {e}"
            raise error(RuntimeError, "load", what, "let it return the memory, moved or not, or None") from e
        if found is not None:
            return found
        wanted = None
    place = available_device(location, memory) if wanted is None else on_device(wanted)
    return memory if place == CPU else Storage(transfer.placed(memory._array, place))


def available_device(location: str, memory: Storage) -> device:
    """Return the device that a file names, if this machine has it."""
    try:
        return on_device(location)
    except MinigradError as e:
        what = f"the file holds a tensor of {memory.size()} elements on {quote(location)[1:-1]}, not available here"
        raise error(RuntimeError, "load", what, "pass map_location='cpu' to minigrad.load") from e


# ---------------------------------------------------------------------- functions that files call
def tensor(
    storage: Any, offset: int, shape: tuple, stride: tuple, tracked: Any, hooks: Any, metadata: Any = None
) -> Tensor:
    """Return a tensor on a part of a storage, checked with Python's integers, which do not overflow."""
    need(isinstance(storage, Storage), "a tensor without a storage")
    need(
        isinstance(shape, tuple) and isinstance(stride, tuple) and len(shape) == len(stride), "a tensor without a shape"
    )
    need(all(type(n) is int and n >= 0 for n in (offset, *shape, *stride)), "an invalid size, stride or offset")
    need(not metadata, "a conjugated tensor")
    memory = storage._array
    last = offset + sum((n - 1) * s for n, s in zip(shape, stride)) if 0 not in shape else offset - 1
    need(last < memory.size, "a tensor up to element {} of a storage of {}", last, memory.size)
    need(tracked is False or tracked is True and memory.dtype in dtypes.FLOATS, "{} that requires grad", memory.dtype)
    size = memory.dtype.itemsize
    a = laid_out(memory, shape, memory.dtype, offset * size, tuple([s * size for s in stride]))
    return conversion.restore(Tensor, a, tracked, None)


def plain_tensor(storage: Any, offset: int, shape: tuple, stride: tuple) -> Tensor:
    """Return a tensor as PyTorch's oldest files describe it."""
    return tensor(storage, offset, shape, stride, False, None)


def meta_tensor(kind: Any, shape: tuple, stride: tuple, tracked: Any) -> Tensor:
    """Return a tensor that has only a shape."""
    need(type(kind) is dtype and isinstance(shape, tuple), "a tensor without a shape")
    need(all(type(n) is int and n >= 0 for n in shape), "an invalid size")
    need(tracked is False or tracked is True and kind.is_floating_point, "{} that requires grad", kind)
    return conversion.restore(Tensor, transfer.blank(shape, None, kind.dtype, META), tracked, None)


def other_dtype(*args: Any) -> None:
    """Reject a tensor of a dtype that PyTorch added later."""
    raise NotHere("a tensor of a dtype such as torch.uint16")


def parameter(data: Any, tracked: Any, hooks: Any, state: Any = None) -> Parameter:
    """Return a parameter made from a tensor."""
    need(type(data) is Tensor, "a parameter without a tensor")
    need(tracked is False or tracked is True and data.is_floating_point(), "a parameter of integers that requires grad")
    return note(conversion.restore(Parameter, data._a, tracked, None), state)


def with_attributes(function: Any, cls: Any, args: tuple, state: Any) -> Tensor:
    """Return a tensor with the user's attributes, or of the user's class."""
    function = MADE.get(function) if type(function) is Name else function
    cls = CLASSES.get(cls, cls) if type(cls) is Name else cls  # only the hash of a name takes no time
    need(
        callable(function) and function is not with_attributes and type(args) is tuple,
        "a tensor without a function to make it",
    )
    t: Any = function(*args)
    need(isinstance(t, Tensor), "a value that is not a tensor")
    need(isinstance(cls, type) and issubclass(cls, Tensor), "a tensor of {}", cls)
    return note(t if type(t) is cls else conversion.restore(cls, t._a, t.requires_grad, None), state)


def note(t: Tensor, state: Any) -> Any:
    """Set the user's attributes on a tensor; none may replace a method."""
    notes = state[0] if type(state) is tuple and len(state) == 2 and state[1] in (None, {}) else state
    need(not notes or type(notes) is dict, "tensor attributes that are not a dict")
    for name in notes or ():
        need(type(name) is str and not hasattr(type(t), name), "a tensor's attribute {}", name)
    t.__dict__.update(notes or {})
    return t


def size(sizes: tuple = ()) -> Size:
    """Return a shape."""
    need(all([type(n) is int and n >= 0 for n in sizes]), "sizes that are not numbers")
    return Size(sizes)


def a_device(kind: str, index: Any = None) -> device:
    """Return a device."""
    need(isinstance(kind, str) and (index is None or type(index) is int and index >= 0), "the device {}", kind)
    try:
        return device(kind) if index is None else device(kind, index)
    except MinigradError:
        raise NotHere(f"the device {quote(kind)}") from None


def a_layout(name: str) -> Any:
    """Return the layout, if it is the one that minigrad has."""
    if name != "torch.strided":
        raise NotHere(f"the layout {quote(name)}")
    return strided


MADE: dict[Any, Callable] = {
    Name("torch._utils", "_rebuild_tensor_v2"): tensor,
    Name("torch._utils", "_rebuild_tensor_v3"): other_dtype,
    Name("torch._utils", "_rebuild_tensor"): plain_tensor,
    Name("torch._utils", "_rebuild_meta_tensor_no_storage"): meta_tensor,
    Name("torch._utils", "_rebuild_parameter"): parameter,
    Name("torch._utils", "_rebuild_parameter_with_state"): parameter,
    Name("torch._tensor", "_rebuild_from_type_v2"): with_attributes,
    Name("torch", "Size"): size,
    Name("torch", "device"): a_device,
    Name("torch.serialization", "_get_layout"): a_layout,
}
MADE[Name("torch.tensor", "_rebuild_from_type_v2")] = with_attributes  # before PyTorch 1.9
