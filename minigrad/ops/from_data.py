"""Tensors from data: Python numbers and nested lists, NumPy arrays, other tensors.

The dtype is inferred as in PyTorch: Python floats become the default dtype, integers int64; arrays and tensors keep
theirs.  Tensors from a shape alone are in create.py.
"""

from __future__ import annotations

from collections import UserList, deque
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.devices import default_device
from ..arrays.memory import storage, unmasked
from ..core.frames import EAGER, current
from ..core.saved import INFERENCE
from ..core.tensor import Box, Tensor, wrap
from ..errors import error, warn
from ..events import events, intercept
from . import transfer
from .copy import filled, fitting, on_device, to
from .pin import pinned

NUMBERS = {bool, int, float}
SEQUENCES = list, tuple, range, deque, UserList


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """Return a new leaf with a copy of `data`: a number, nested sequences of numbers or 0-d tensors, an array, a tensor.

    Lists of different lengths raise ValueError; anything but numbers raises TypeError or RuntimeError.

    >>> import minigrad
    >>> minigrad.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> minigrad.tensor([1, 2.5]).dtype, minigrad.tensor([True, False]).dtype
    (minigrad.float32, minigrad.bool)
    """
    if isinstance(data, Tensor):
        warn_copy("tensor(t)")
        t = copied(data, dtype, False, device)
    else:
        t = leaf(array_of(data, dtype, "tensor"), False, device)
        if isinstance(data, (np.ndarray, np.generic)):
            events.built(t)
    t = pinned(t, "tensor") if pin_memory else t
    return t.requires_grad_() if requires_grad else t


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Return `data` as a tensor, without copying if possible: a tensor is returned unchanged, an array shares its memory.

    >>> import minigrad
    >>> x = minigrad.ones(2)
    >>> minigrad.as_tensor(x) is x
    True
    >>> minigrad.as_tensor([1, 2], dtype=minigrad.float32)
    tensor([1., 2.])
    """
    if isinstance(data, Tensor):
        return to(data, dtype=dtype, device=device)
    if isinstance(data, np.ndarray):
        return to(from_numpy(data), dtype=dtype, device=default_device() if device is None else device)
    if hasattr(data, "__cuda_array_interface__"):
        return to(on_gpu(data), dtype=dtype, device=device)
    return leaf(array_of(data, dtype, "as_tensor"), False, device)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """Return a 1-d tensor that shares the memory of a buffer (a bytearray, an array.array).

    It has `count` elements, or all, from the byte `offset` on.  Raises ValueError if the buffer is too short.

    >>> import minigrad
    >>> minigrad.frombuffer(bytearray([1, 2, 3]), dtype=minigrad.uint8)
    tensor([1, 2, 3], dtype=minigrad.uint8)
    """
    kind = dtypes.numpy_dtype(dtype)
    length = memoryview(buffer).nbytes
    if not 0 <= offset < length:
        what = f"offset {offset} is not within the buffer of {length} bytes"
        raise error(ValueError, "frombuffer", what, f"pass an offset from 0 to {max(length - 1, 0)}")
    if count < 0 and (length - offset) % kind.itemsize or count >= 0 and offset + count * kind.itemsize > length:
        raise error(
            ValueError,
            "frombuffer",
            f"{length - offset} bytes from offset {offset} do not hold "
            f"{'whole' if count < 0 else count} elements of {kind.itemsize} bytes",
            f"pass count={max(length - offset, 0) // kind.itemsize}",
        )
    return from_numpy(np.frombuffer(buffer, kind, count, offset)).requires_grad_(requires_grad)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """Return `obj` as a tensor; `copy=True` always copies, `copy=False` raises ValueError if sharing is impossible.

    The history of a tensor is kept unless `requires_grad=False`.

    >>> import minigrad
    >>> import numpy as np
    >>> a = np.zeros(2)
    >>> x = minigrad.asarray(a)
    >>> a[0] = 1.
    >>> x
    tensor([1., 0.], dtype=minigrad.float64)
    """
    if isinstance(obj, (bytes, bytearray, memoryview)):
        obj = np.frombuffer(obj, chosen(dtype))
    if not isinstance(obj, Tensor) and hasattr(obj, "__cuda_array_interface__"):
        obj = on_gpu(obj)
    shared = isinstance(obj, (Tensor, np.ndarray, np.generic)) or hasattr(obj, "__dlpack__")
    if shared and not isinstance(obj, (Tensor, np.ndarray)):
        obj = np.asarray(obj) if isinstance(obj, np.generic) else from_dlpack(obj)
    out = as_tensor(obj, dtype, device)
    same = out is obj or isinstance(obj, np.ndarray) and np.may_share_memory(out._a, obj)
    if copy is False and not same:
        what = f"can't alias a {type(obj).__name__} as a tensor of {out.dtype} without copying"
        raise error(ValueError, "asarray", what, "leave copy=False out")
    if copy and same:
        out = to(out, copy=True)
    if requires_grad is None or requires_grad == out.requires_grad:
        return out
    return (out.detach() if isinstance(obj, Tensor) else out).requires_grad_(requires_grad)


def from_numpy(array: np.ndarray) -> Tensor:
    """Return a tensor that shares the array's memory: writing to either changes both.

    >>> import minigrad
    >>> import numpy as np
    >>> a = np.zeros(2)
    >>> x = minigrad.from_numpy(a)
    >>> a[0] = 1.
    >>> x
    tensor([1., 0.], dtype=minigrad.float64)
    """
    if not isinstance(array, np.ndarray):
        raise error(
            TypeError, "from_numpy", f"expected np.ndarray (got {type(array).__name__})", "use minigrad.tensor(data)"
        )
    if not array.dtype.isnative:
        what = f"the array's byte order, {array.dtype.str}, is not the machine's"
        raise error(ValueError, "from_numpy", what, "pass array.astype(array.dtype.newbyteorder('='))")
    array = dtypes.with_own_dtype(unmasked(array, "from_numpy"))
    if any(s < 0 for s in array.strides):
        what = "at least one stride in the given numpy array is negative, which tensors do not support"
        raise error(ValueError, "from_numpy", what, "pass array.copy()")
    if not array.flags.writeable:
        warn(
            "read-only-array",
            "from_numpy",
            "the array is read-only, so writing to the tensor fails",
            "pass array.copy()",
        )
    events.lent(storage(array), "from_numpy")
    t = made(array)
    events.built(t)
    return t


def on_gpu(data: Any) -> Tensor:
    """Return a tensor on the memory of another library's object, by __cuda_array_interface__."""
    array = transfer.from_cuda_interface(data)
    dtypes.of_numpy(array.dtype)
    return made(array)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor on the memory of another library's tensor, by `__dlpack__`.

    >>> import minigrad
    >>> import numpy as np
    >>> minigrad.from_dlpack(np.ones(2))
    tensor([1., 1.], dtype=minigrad.float64)
    """
    if isinstance(ext_tensor, Tensor) and not ext_tensor.is_cuda:
        ext_tensor = ext_tensor.numpy()
    array = ext_tensor if isinstance(ext_tensor, np.ndarray) else transfer.from_library(ext_tensor)
    return to(from_numpy(array.copy() if copy or not array.flags.writeable and copy is None else array), device=device)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Return a 0-d tensor of the number `s`, in the default dtype unless another is given.

    >>> import minigrad
    >>> minigrad.scalar_tensor(3)
    tensor(3.)
    """
    number = s if isinstance(s, (bool, int, float)) else np.asarray(s).item()
    if isinstance(number, (str, bytes)):
        raise error(TypeError, "scalar_tensor", f"must be a number, not {type(s).__name__}", "write scalar_tensor(3.)")
    return leaf(fitting(plain_numbers(number), chosen(dtype), "scalar_tensor"), requires_grad, device)


def array_of(data: Any, dtype: Any, who: str) -> np.ndarray:
    """Return `data` as a new array."""
    if isinstance(data, (np.ndarray, np.generic)):
        target = native(data) if dtype is None else dtypes.numpy_dtype(dtype)
        return dtypes.with_own_dtype(np.array(unmasked(data, who), dtype=target, order="C"))
    if type(data) not in NUMBERS and not isinstance(data, (*SEQUENCES, int, float)):
        if hasattr(data, "__cuda_array_interface__"):
            array = on_gpu(data)._a
            return array.astype(array.dtype if dtype is None else dtypes.numpy_dtype(dtype), "C")
        if hasattr(data, "__array__"):
            return array_of(np.asarray(data), dtype, who)
        refuse(data, who)
    found = kinds(data, who)
    if not found <= NUMBERS:
        data, found = plain(data, who), found - {Tensor}
    check_lengths(data, who)
    target = inferred_dtype(found) if dtype is None else dtypes.numpy_dtype(dtype)
    return filled(plain_numbers(data), target, who)


def plain_numbers(data: Any) -> Any:
    """Return numbers, or nested lists, with those that a capture follows as Python numbers."""
    known = intercept.numbers(data)
    return data if known is None else known


def native(array: Any) -> np.dtype:
    """Return the dtype of an array, in the machine's byte order; raise TypeError if tensors do not support it."""
    return dtypes.of_numpy(array.dtype.newbyteorder("=")).dtype


def kinds(data: Any, who: str) -> set:
    """Return the kinds of the leaves of nested lists: the types bool, int, float, Tensor, or NumPy's dtypes."""
    if type(data) in NUMBERS:
        return {type(data)}
    if isinstance(data, SEQUENCES):
        types = set(map(type, data))
        if types <= NUMBERS:
            return types
        return set().union(*[kinds(d, who) for d in data])
    if isinstance(data, Tensor):
        return {Tensor, data._np_dtype}
    if isinstance(data, (np.ndarray, np.generic)):
        unmasked(data, who)
        return {Tensor, native(data)}
    for t in (bool, int, float):
        if isinstance(data, t):
            return {t}
    return refuse(data, who, ValueError)


def refuse(data: Any, who: str, kind: type[Exception] = TypeError) -> Any:
    """Raise an error for data that is not numbers; `kind` is for strings, which PyTorch rejects differently in lists."""
    if isinstance(data, (str, bytes)):
        raise error(kind, who, f"invalid data type {type(data).__name__!r}: {data!r}", "pass numbers")
    what = f"could not infer dtype of {type(data).__name__}"
    raise error(RuntimeError, who, what, "pass numbers, lists of numbers, an array or a tensor")


def plain(data: Any, who: str) -> Any:
    """Return nested lists with tensors and arrays of one element as numbers, and larger arrays as lists."""
    if isinstance(data, SEQUENCES):
        return [plain(d, who) for d in data]
    if isinstance(data, Tensor):
        if data.numel() != 1:
            what = f"a list of data may hold only tensors of one element, found one of shape {tuple(data.shape)}"
            raise error(ValueError, who, what, "use minigrad.stack(tensors)")
        if current().grad and data.requires_grad:
            warn(
                "tensor-in-list",
                who,
                "a tensor that requires grad becomes a plain number here and loses its gradient",
                "use minigrad.stack(tensors) to keep it, or detach() the tensor",
            )
        return data.item()
    return data.tolist() if isinstance(data, (np.ndarray, np.generic)) else data


def check_lengths(data: Any, who: str) -> None:
    """Raise an error unless all lists of a level of nesting have the same length."""
    if type(data) in NUMBERS or type(data) in (list, tuple) and set(map(type, data)) <= NUMBERS:
        return
    dim, level = 0, [data]
    while any(isinstance(d, SEQUENCES) for d in level):
        lengths = {len(d) if isinstance(d, SEQUENCES) else None for d in level}
        if None in lengths:
            raise error(TypeError, who, f"mixes numbers and lists at dim {dim}", "give every row the same depth")
        if len(lengths) > 1:
            what = f"expected sequences of equal length at dim {dim}, got lengths {sorted(lengths)}"
            raise error(ValueError, who, what, "give every row the same length")
        if all(set(map(type, d)) <= NUMBERS for d in level):
            return
        level, dim = [x for d in level for x in d], dim + 1


def inferred_dtype(found: set) -> np.dtype:
    """Return the dtype for leaves of these kinds, all with equal weight."""
    of = {bool: dtypes.BOOL, int: dtypes.I8, float: dtypes.default()}
    result = None
    for kind in found:
        d = of.get(kind, kind)
        result = d if result is None else dtypes.promote_types(result, d).dtype
    return dtypes.default() if result is None else result


def copied(t: Tensor, dtype: Any, requires_grad: bool, device: Any = None) -> Tensor:
    """Return a copy of t without its history."""
    t = t.detach()
    out = to(t, device=device, dtype=dtype, copy=True)
    copy = out if type(out) is Box else made(out._a)
    return copy.requires_grad_() if requires_grad else copy


def warn_copy(what: str) -> None:
    """Warn that copying a tensor by a constructor loses its history, which few users know."""
    warn(
        "copy-of-tensor",
        what,
        "copies a tensor's values without its history",
        "write t.detach().clone(), followed by .requires_grad_() if you need gradients",
    )


def made(array: np.ndarray, requires_grad: bool = False, batches: Any = (), device: Any = None) -> Tensor:
    """Return the array as a new leaf, which inside transforms belongs to the innermost one.

    `batches` are the vmap layers, outermost first, for which the array has a leading batch dimension.
    """
    t = wrap(array if device is None else transfer.placed(array, on_device(device)))
    frame = current()
    if frame.inference:
        t._ver = INFERENCE
    for layer in () if frame.layer is EAGER else frame.layers():
        t = Box(layer, t, 0) if layer in batches else layer.adopt(t)
    return t.requires_grad_() if requires_grad else t


def leaf(array: np.ndarray, requires_grad: bool, device: Any) -> Tensor:
    """Return the array as a leaf on a device, by default the one where tensors are created at present."""
    return made(array, requires_grad, device=default_device() if device is None else device)


def chosen(dtype: Any) -> np.dtype:
    """Return the requested dtype, or the default."""
    return dtypes.default() if dtype is None else dtypes.numpy_dtype(dtype)
