"""Storage: the memory that a tensor shares with its views, behind `untyped_storage()` and `storage()`."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from ..arrays import dtypes
from ..arrays.devices import device
from ..arrays.kinds import on_device, place
from ..arrays.memory import address
from ..arrays.memory import storage as owner
from ..arrays.meta import is_meta
from ..core.tensor import Tensor
from ..errors import error
from . import transfer
from .as_strided import memory_of

emptied: dict[int, ref] = {}  # id of a memory whose storage was resized to 0 -> the memory


class Storage:
    """A row of elements (or, untyped, of bytes) in memory, which tensors view.

    >>> import minigrad
    >>> x = minigrad.tensor([[1, 2], [3, 4]])
    >>> x.T.storage().tolist(), x.untyped_storage().nbytes()
    ([1, 2, 3, 4], 32)
    """

    def __init__(self, array: np.ndarray):
        self._array = array

    def row(self, dtype: np.dtype, who: str) -> np.ndarray:
        """Return the elements as an array of this dtype, not copied; raise RuntimeError if they are of another one."""
        if self._array.dtype != dtype:
            what = f"expected a storage of {dtype} or an untyped one, but got one of {self._array.dtype}"
            raise error(RuntimeError, who, what, "convert the tensor first, or use its untyped_storage()")
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.cpu()._array, dtype, copy=bool(copy or dtype))

    def data_ptr(self) -> int:
        """Return the address of the first byte; 0 on the device meta."""
        return 0 if is_meta(self._array) else address(self._array)

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return 0 if id(owner(self._array)) in emptied else self._array.nbytes

    def size(self) -> int:
        """Return the number of elements."""
        return 0 if id(owner(self._array)) in emptied else self._array.size

    __len__ = size

    def element_size(self) -> int:
        """Return the number of bytes of an element."""
        return self._array.itemsize

    is_shared = is_pinned = lambda self: False
    is_cuda = property(lambda self: on_device(self._array), doc="True for GPU memory.")

    @property
    def device(self) -> device:
        """The device of the memory."""
        return place(self._array)

    def cpu(self) -> Storage:
        """Return the same elements in CPU memory: itself, if they are there."""
        return type(self)(self._array.to_host()) if on_device(self._array) else self

    def cuda(self, device: Any = None) -> Storage:
        """Return the same elements in GPU memory: itself, if they are there."""
        return self if on_device(self._array) else type(self)(transfer.upload(self._array))

    def resize_(self, size: int) -> Storage:
        """Set the number of elements to 0, or back to those of the memory, and return the storage.

        The contents are undefined after that, and the memory stays as long as a tensor uses it: PyTorch frees it.
        Raises RuntimeError for another size.
        """
        if size not in (0, self._array.size):
            what = f"a storage of {self._array.size} elements cannot be resized to {size}: tensors use its memory"
            raise error(RuntimeError, "resize_", what, "resize it to 0 and back, or make a new tensor")
        memory = owner(self._array)
        if size:
            emptied.pop(id(memory), None)
        else:
            key = id(memory)
            emptied[key] = ref(memory, lambda _: emptied.pop(key, None))
        return self

    def tolist(self) -> list:
        """Return the elements as Python numbers."""
        return self._array.tolist()

    def __getitem__(self, i: Any) -> Any:
        found = self._array[i]
        return type(self)(found) if isinstance(i, slice) else found.item()

    def __setitem__(self, i: Any, value: Any) -> None:
        self._array[i] = value

    def fill_(self, value: Any) -> Storage:
        """Set all elements to a number, and return the storage."""
        self._array[:] = value
        return self

    def copy_(self, source: Storage) -> Storage:
        """Copy the elements of another storage of this size, and return this one."""
        self._array[:] = source._array
        return self

    def clone(self) -> Storage:
        """Return a copy."""
        return type(self)(self._array.copy())

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Storage) and (self.data_ptr(), self.nbytes()) == (other.data_ptr(), other.nbytes())

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))

    def __repr__(self) -> str:
        shown = "..." if is_meta(self._array) else self.cpu()._array
        return f"<minigrad.Storage of {self.size()} elements of {self._array.dtype}: {shown}>"


class TypedStorage(Storage):
    """A storage of elements."""

    dtype = property(lambda self: dtypes.of_numpy(self._array.dtype), doc="The type of the elements.")


class UntypedStorage(Storage):
    """A storage of bytes."""

    def row(self, dtype: np.dtype, who: str) -> np.ndarray:
        """Return the bytes as elements of this dtype."""
        return self._array[: self._array.size // dtype.itemsize * dtype.itemsize].view(dtype)


def untyped_storage(self: Tensor) -> UntypedStorage:
    """Return the memory that the tensor shares with its views, byte by byte."""
    return UntypedStorage(memory_of(owner(self._a)))


def storage(self: Tensor) -> TypedStorage:
    """Return the memory that the tensor shares with its views, element by element."""
    return TypedStorage(memory_of(owner(self._a)).view(self._np_dtype))


METHODS = {f.__name__: f for f in (untyped_storage, storage)}
