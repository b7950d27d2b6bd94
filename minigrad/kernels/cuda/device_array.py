"""DeviceArray: an n-dimensional array in a GPU's memory, of which NumPy knows the layout and nothing more.

`shadow` is a NumPy array over the device's addresses. Its elements are never read. It answers questions that need no
elements: shapes and strides of views, their order in memory, whether two overlap. So a view here is a view of the shadow.
Computations go through NumPy's protocols to kernels (functions.py), so the formulas of operations, written for NumPy arrays,
run here unchanged; `isinstance(a, np.ndarray)` holds for the same reason.

Nothing is copied to main memory implicitly: `to_host` and `item` copy, `np.asarray` raises.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from operator import attrgetter, getitem, setitem
from typing import Any

import numpy as np

from ...arrays import dlpack, kinds
from ...arrays.dtypes import BF2, with_own_dtype
from ...arrays.memory import order_in_memory
from ...arrays.meta import ITEM, entered, inside, is_meta, no_numbers
from ...errors import error
from . import machine, staging
from .allocator import ALLOCATOR, MemoryBlock
from .functions import kernel_of
from .pinned import pinned_like


def of_shadow(name: str) -> Callable:
    """Return a method that applies the NumPy method of that name to the shadow and wraps the view."""
    return lambda a, *args, **kwargs: a.seen(getattr(a.shadow, name)(*args, **kwargs))


LAYOUTS: dict[tuple, int] = {}  # numbers of dtypes, shapes and strides, which are compared quickly
MOST_LAYOUTS = 1 << 16
numbers = itertools.count(1)


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on the device: its `shadow`, the `block` of memory, and, for a view, its `base`."""

    __slots__ = ("__weakref__", "base", "begin", "block", "known_layout", "shadow")
    __class__ = property(lambda a: np.ndarray)  # type: ignore[assignment]

    def __init__(self, shadow: np.ndarray, block: MemoryBlock, base: DeviceArray | None = None, begin: int | None = None,
                 layout: int = 0):  # fmt: skip
        self.shadow, self.block, self.base, self.begin, self.known_layout = shadow, block, base, begin, layout

    # ------------------------------------------------------------------ properties
    shape, dtype, ndim, size, strides, itemsize, nbytes, flags = [
        property(attrgetter(f"shadow.{name}")) for name in "shape dtype ndim size strides itemsize nbytes flags".split()
    ]

    @property
    def address(self) -> int:
        """Address of the first element; NumPy takes microseconds for it, so it is cached."""
        if self.begin is None:
            self.begin = self.shadow.__array_interface__["data"][0]
        return self.begin

    @property
    def layout(self) -> int:
        """A number for its dtype, shape and strides: arrays with the same number have the same layout."""
        if not self.known_layout:
            key = self.shadow.dtype, self.shadow.shape, self.shadow.strides
            if len(LAYOUTS) >= MOST_LAYOUTS:
                LAYOUTS.clear()  # numbers are not given twice
            self.known_layout = LAYOUTS.get(key) or LAYOUTS.setdefault(key, next(numbers))
        return self.known_layout

    def __len__(self) -> int:
        return len(self.shadow)

    def __repr__(self) -> str:
        return f"DeviceArray({self.to_host()!r})"

    # ------------------------------------------------------------------ views
    T = property(lambda a: a.seen(a.shadow.T))
    mT = property(lambda a: a.seen(a.shadow.mT))

    def seen(self, shadow: np.ndarray, begin: int | None = None) -> DeviceArray:
        """Return the view of this memory that the shadow describes; `begin` is its address, if known."""
        return DeviceArray(shadow, self.block, self if self.base is None else self.base, begin)

    def placed(self, a: Any) -> DeviceArray:
        """Return an array in main memory on this array's device."""
        if not is_meta(self):
            return to_device(a)
        with entered():
            return like(np.asarray(a))

    def laid_out(self, shape: tuple, strides: tuple) -> DeviceArray:
        """Return a view of the memory from the first element on, with other strides, in bytes."""
        begin, block = self.address, self.block
        return self.seen(np.ndarray(shape, self.shadow.dtype, block.memory, begin - block.address, strides), begin)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> DeviceArray:
        """Return the elements in another shape: a view if the layout allows it, else a copy, or ValueError if copy is False."""
        shape = shape[0] if len(shape) == 1 else shape
        try:
            return self.seen(self.shadow.reshape(shape, copy=False), self.begin)
        except ValueError:
            if copy is False:
                raise
            whole = self.copy("C")
            return whole.seen(whole.shadow.reshape(shape, copy=False))

    view, transpose, swapaxes, squeeze, diagonal = map(of_shadow, "view transpose swapaxes squeeze diagonal".split())

    def __getitem__(self, index: Any) -> Any:
        return self.seen(self.shadow[basic(index)]) if is_basic(index) else kernel_of(getitem)(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if is_basic(index):
            kernel_of(np.copyto)(self.seen(self.shadow[basic(index)]), value)
        else:
            kernel_of(setitem)(self, index, value)

    # ------------------------------------------------------------------ copies
    def copy(self, order: str = "C") -> DeviceArray:
        """Return a copy with its own memory; order K keeps the order of the dimensions in memory."""
        return self.astype(self.dtype, order)

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", copy: bool = True) -> DeviceArray:
        """Return the elements converted; the array itself if nothing changes and `copy` is False."""
        if not copy and (dtype is self.shadow.dtype or dtype == self.shadow.dtype):
            return self
        dtype = np.dtype(dtype)
        out = like(self, dtype=dtype, order=order)
        kernel_of(np.copyto)(out, self)
        return out

    def fill(self, value: Any) -> None:
        """Write one value everywhere."""
        kernel_of(np.copyto)(self, value)

    # ------------------------------------------------------------------ main memory
    def host(self) -> np.ndarray:
        """Return the memory itself, for kernels in the simulator."""
        return machine.current().host(self.address, self.shape, self.dtype, self.strides)

    def to_host(self, pin: bool = False) -> np.ndarray:
        """Return a NumPy array with these elements, in their order in memory, pinned if `pin`; waits for pending kernels."""
        if is_meta(self):
            raise no_numbers(self.shape)
        out = pinned_like(self.shadow) if pin else np.empty_like(self.shadow)
        whole = self if out.strides == self.strides else self.copy("K")
        if out.size:
            staging.download(whole.address, out.ravel("K"))
        return out

    def item(self, *index: Any) -> Any:
        """Return one element as a Python number."""
        if is_meta(self):
            raise no_numbers(self.shape, ITEM, RuntimeError, "item")
        return self.to_host().item(*index)

    def tolist(self) -> Any:
        return self.to_host().tolist()

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return self.to_host().__index__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, 0

    def __reduce__(self) -> tuple:
        return uploaded, (self.to_host(),)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        what = f"an array of shape {self.shape} on cuda:0 cannot become a NumPy array without a copy"
        raise error(TypeError, "numpy", what, "copy it first, with x.cpu(), or x.item() for a number")

    # ------------------------------------------------------------------ NumPy's protocols and methods
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return kernel_of(np.ufunc)(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        return kernel_of(function)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Return NumPy's function of that name, bound to the array: the other methods, such as sum and argmax."""
        function = METHODS.get(name)
        if function is None:
            raise AttributeError(f"an array on the device has no attribute {name!r}")
        return lambda *args, **kwargs: function(self, *args, **kwargs)


METHODS = {name: getattr(np, name) for name in "sum prod min max any all argmax argmin argsort dot take".split()}
kinds.KINDS.add(DeviceArray)


def plain(a: Any) -> Any:
    """Return an array as kernels see it: bfloat16 as its bits (device_functions.py), all else unchanged."""
    return a.view(np.uint16) if a.dtype == BF2 else a


BASIC = (slice, int, np.integer, type(None), type(...))


def as_tuple(index: Any) -> tuple:
    """Return an index as a tuple."""
    return index if isinstance(index, tuple) else (index,)


def is_basic(index: Any) -> bool:
    """Return True if an index gives a view: integers, slices, None and ..., but no arrays, lists or bools."""
    return all([isinstance(i, BASIC) and not isinstance(i, bool) for i in as_tuple(index)])


def basic(index: Any) -> tuple:
    """Return an index as a tuple with ..., so that a single element is a view as well."""
    index = as_tuple(index)
    return index if any([i is Ellipsis for i in index]) else (*index, ...)


def empty(shape: Any, dtype: Any) -> DeviceArray:
    """Return an uninitialised array in C order."""
    shape, dtype = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,), np.dtype(dtype)
    return placed(ALLOCATOR.take(math.prod(shape) * dtype.itemsize), shape, dtype)


def full(shape: Any, value: Any, dtype: Any) -> DeviceArray:
    """Return an array in C order filled with one value."""
    out = empty(shape, dtype)
    out.fill(value)
    return out


def placed(block: MemoryBlock, shape: tuple, dtype: np.dtype, strides: tuple | None = None) -> DeviceArray:
    """Return an array at the beginning of a block."""
    return DeviceArray(np.ndarray(shape, dtype, block.memory, 0, strides), block, None, block.address)


def like(a: Any, shape: Any = None, dtype: Any = None, order: str = "K") -> DeviceArray:
    """Return an uninitialised array of a's shape and dtype; order K keeps its order in memory."""
    if is_meta(a) and not inside.active:
        with entered():
            return like(a, shape, dtype, order)
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    if shape is not None or order == "C" or a.flags.c_contiguous:
        return empty(a.shape if shape is None else shape, dtype)
    if inside.active:  # NumPy could run out of memory here
        return placed(ALLOCATOR.take(a.size * dtype.itemsize), a.shape, dtype, dense_strides(a, dtype.itemsize))
    layout = np.empty_like(a.shadow if type(a) is DeviceArray else a, dtype)  # untouched memory costs nothing
    return placed(ALLOCATOR.take(layout.nbytes), a.shape, dtype, layout.strides)


def dense_strides(a: Any, itemsize: int) -> tuple:
    """Return the strides of an array without gaps whose dimensions have the order in memory of another."""
    strides, step = [0] * a.ndim, itemsize
    for d in reversed(order_in_memory(a)):
        strides[d], step = step, step * max(a.shape[d], 1)
    return tuple(strides)


def to_device(a: Any, wait: bool = True) -> DeviceArray:
    """Return a NumPy array's elements in device memory, in the same order; see staging.upload for `wait`."""
    a = np.asarray(a)
    out = like(a)
    whole = a if out.strides == a.strides else a.copy("K")
    if a.size:
        staging.upload(out.address, whole.ravel("K"), wait)
    return out


def uploaded(a: np.ndarray) -> Any:
    """Return a GPU array that pickle rebuilds."""
    if not machine.count():
        what = f"the file holds a tensor of {a.size} elements on cuda:0, but there is no CUDA device"
        raise error(RuntimeError, "load", what, "pass map_location='cpu' to minigrad.load")
    return to_device(with_own_dtype(a))
