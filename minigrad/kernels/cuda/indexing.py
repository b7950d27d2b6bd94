"""Indices that are arrays: the elements they select, and kernels that read and write them.

An index is parsed by NumPy's rules (`parse`): slices and None give a view, and index arrays belong to some of the view's
dimensions; masks become the indices of their True elements. A kernel sees the array in the shape of the selection, with
strides of 0 along the indices, followed by the indexed dimensions: x[i0, i1, p0] is the element, whatever the strides are.

Indices out of range are not followed. If they were not checked before, the kernel stores one in `wrong`, and a single read
shows whether there are any; during a capture that read comes later (outside.py).
"""

import functools
import math
import operator
from typing import Any, NamedTuple

import numpy as np

from ...arrays.dtypes import BF2
from ...arrays.kinds import strided, to_device_of, zeros
from ...errors import error
from ..cpu import index_cpu
from . import flat, kernel_modules, pointwise_cuda
from .device_array import DeviceArray, as_tuple, empty, plain
from .functions import of_arrays
from .index_errors import cells_to_check

WHOLE = slice(None)

HEAD = '''"""{title}"""

from numba import cuda
from numpy import int64
{imports}

@cuda.jit
def visit({args}):
'''
PLACE = ["p{k} = int64(index{k}_[{at}])", "inside{k} = {low} <= p{k} < x_.shape[{d}]"]
COMPLAIN = ["if not inside{k}:", "    cuda.atomic.exch(wrong_, {k}, p{k})"]
FROM_END = ["if p{k} < 0:", "    p{k} += x_.shape[{d}]"]


class Action(NamedTuple):
    """The action of a kernel on x at a place and on its partner there, with its imports."""

    title: str
    does: str
    imports: str = ""


READ = Action("reading at indices", "{other} = x_[{at}]")
WRITE = Action("writing at indices", "x_[{at}] = {other}")
LOOK = Action("looking at indices", "pass")


class SelectedElements(NamedTuple):
    """Elements of an array: their shape, the strides of dimensions without index, and index arrays for dimensions `dims`."""

    shape: tuple
    steps: tuple
    dims: tuple
    indices: list


# ---------------------------------------------------------------------- kernels
def visit(
    action: Action, x: DeviceArray, at: SelectedElements, other: Any, checked: bool = True, signed: bool = True
) -> None:
    """Apply `action` to every selected element of x and to `other`: an array of that shape, or a number.

    Raises IndexError for indices out of range if `checked`; else those are skipped. `signed` ones may be negative.
    """
    outside = visited(action, x, at, other, checked, signed)
    try:
        if outside is not None:
            raise outside
    finally:
        del outside  # as in raise_instead


def visited(
    action: Action, x: DeviceArray, at: SelectedElements, other: Any, checked: bool, signed: bool
) -> Exception | None:
    """Do the same, and return the error for an index out of range instead of raising it."""
    if not math.prod(at.shape):
        return None
    is_array = isinstance(other, DeviceArray)
    # x, the indices and the other in the shape of the selection, then with as few dimensions as possible
    arrays = [strided(x, at.shape, at.steps), *at.indices, *[other] * is_array]
    shape, steps = pointwise_cuda.walked(at.shape, arrays)
    if not shape:
        shape, steps = (1,), [(0,)] * len(arrays)
    sizes, jumps = [x.shape[d] for d in at.dims], [x.strides[d] for d in at.dims]
    seen = [strided(a, shape, s) for a, s in zip(arrays, steps)]
    seen[0] = strided(x, (*shape, *sizes), (*steps[0], *jumps))
    seen = [plain(a) for a in seen]  # kernels compute with at least 4 bytes; halves are only moved
    late = (
        cells_to_check(tuple([f"index for dimension {d} of size {n}" for d, n in zip(at.dims, sizes)]))
        if checked
        else None
    )
    wrong = [zeros((len(sizes),), x, np.int64) if late is None else late] * checked
    chosen = kernel(action, len(shape), len(sizes), checked, signed, is_array)
    chosen[kernel_modules.threads(math.prod(shape))](*wrong, *seen, *[other] * (not is_array))
    return out_of_range(wrong[0], at.dims, sizes, signed) if checked and late is None else None


@functools.cache
def kernel(action: Action, rank: int, number: int, checked: bool, signed: bool, is_array: bool) -> Any:
    """Return the kernel for `number` index arrays of `rank` dimensions."""
    args = ["wrong_"] * checked + ["x_", *[f"index{k}_" for k in range(number)], "other_" if is_array else "other"]
    at = ", ".join([f"i{d}" for d in range(rank)])
    lines = flat.coordinates("index0_", rank)
    for k in range(number):
        names = {"k": k, "d": rank + k, "at": at, "low": f"-x_.shape[{rank + k}]" if signed else "0"}
        lines += [line.format(**names) for line in PLACE + COMPLAIN * checked + FROM_END * signed]
    lines.append(f"if {' and '.join([f'inside{k}' for k in range(number)])}:")
    place = ", ".join([at] + [f"p{k}" for k in range(number)])
    does = action.does.format(at=place, other=f"other_[{at}]" if is_array else "other")
    lines += [f"    {line}" for line in does.splitlines()]
    head = HEAD.format(title=action.title, imports=action.imports, args=", ".join(args))
    return kernel_modules.load("indexing", head + flat.loop("index0_.size", lines)).visit


def out_of_range(wrong: DeviceArray, dims: tuple, sizes: list, signed: bool) -> Exception | None:
    """Return the error for an index that a kernel stored."""
    for found, d, n in zip(wrong.tolist(), dims, sizes):
        if not (-n if signed else 0) <= found < n:
            return index_cpu.out_of_range(found, d, n)
    return None


# ---------------------------------------------------------------------- selections
def selected(x: DeviceArray, dims: tuple, indices: Any) -> SelectedElements:
    """Return the selection by index arrays; their shape takes the place of `dims` if these are adjacent, else the front."""
    indices = [to_device_of(i, x) for i in indices]
    size = np.broadcast_shapes(*[i.shape for i in indices])
    rest = [d for d in range(x.ndim) if d not in dims]
    lead = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    before, behind = rest[:lead], rest[lead:]
    shape = (*[x.shape[d] for d in before], *size, *[x.shape[d] for d in behind])
    steps = (*[x.strides[d] for d in before], *[0] * len(size), *[x.strides[d] for d in behind])
    wide = [i.reshape(*i.shape, *[1] * len(behind)) for i in indices]
    return SelectedElements(shape, steps, tuple(dims), [np.broadcast_to(i, shape) for i in wide])


def along(x: DeviceArray, dim: int, index: DeviceArray) -> SelectedElements:
    """Return the selection by an index for each element: x[index[i, j], j] for dim 0."""
    steps = tuple([0 if d == dim else s for d, s in enumerate(x.strides)])
    return SelectedElements(index.shape, steps, (dim,), [index])


def parse(x: DeviceArray, index: Any) -> tuple[DeviceArray, SelectedElements]:
    """Return the view that the basic part of an index gives, and the selection of its arrays from that view.

    As in NumPy, integers next to arrays count as arrays, and a mask counts as one array per dimension.
    """
    items = [np.asarray(i) if isinstance(i, (list, bool, np.bool_)) else i for i in as_tuple(index)]
    columns: list = []  # number of x's dimensions that each item indexes
    for i in items:
        is_mask = isinstance(i, np.ndarray) and i.dtype.kind == "b"
        columns.append(i.ndim if is_mask else 0 if i is None or i is Ellipsis else 1)
    spare = x.ndim - sum(columns)
    if spare < 0:
        what = f"too many indices: the array has {x.ndim} dimensions, but {sum(columns)} are indexed"
        raise error(IndexError, "index", what, f"write at most {x.ndim} of them: the shape is {x.shape}")
    if not any([i is Ellipsis for i in items]):
        items, columns = [*items, Ellipsis], [*columns, 0]
    basic: list = []
    dims: list = []
    arrays: list = []
    for i, n in zip(items, columns):
        if i is Ellipsis:
            basic += [WHOLE] * spare
        elif i is None or isinstance(i, slice):
            basic.append(i)
        else:
            found = where_true(to_device_of(i, x)) if isinstance(i, np.ndarray) and i.dtype.kind == "b" else (i,)
            dims += range(len(basic), len(basic) + len(found))
            arrays += found
            basic += [WHOLE] * n or [None]  # a single True adds a dimension
    view = x[tuple(basic)]
    return view, selected(view, tuple(dims), arrays)


def where_true(mask: DeviceArray) -> tuple:
    """Return for each dimension the indices of the True elements; a 0-d mask has one or none."""
    return np.nonzero(mask.reshape(1) if not mask.ndim else mask)


# ---------------------------------------------------------------------- reading and writing
def read(x: DeviceArray, at: SelectedElements, checked: bool = True, signed: bool = True) -> DeviceArray:
    """Return the selected elements in a new array."""
    out = empty(at.shape, x.dtype)
    visit(READ, x, at, out, checked, signed)
    return out


def write(x: DeviceArray, at: SelectedElements, value: Any, checked: bool = True) -> None:
    """Write one value, or one for each, over the selected elements."""
    visit(WRITE, x, at, partner(value, x, at), checked)


def partner(value: Any, x: DeviceArray, at: SelectedElements) -> Any:
    """Return the value to write into x in the shape of the selection; numbers unchanged."""
    if isinstance(value, DeviceArray) or isinstance(value, np.ndarray) and value.ndim:
        value = to_device_of(value, x).astype(x.dtype, copy=False)
        value = value.copy() if np.may_share_memory(value.shadow, x.shadow) else value
        return np.broadcast_to(value, at.shape)
    number = np.asarray(value).astype(x.dtype)
    return number.view(np.uint16)[()] if x.dtype == BF2 else number.astype(pointwise_cuda.computed_in(x.dtype))[()]


@of_arrays(operator.getitem)
def take(x: DeviceArray, index: Any) -> DeviceArray:
    """Return x[index]."""
    return read(*parse(x, index))


@of_arrays(operator.setitem)
def put(x: DeviceArray, index: Any, value: Any) -> None:
    """Write value to x[index]."""
    masks = [i for i in as_tuple(index) if isinstance(i, np.ndarray) and i.dtype.kind == "b"]
    if len(as_tuple(index)) == len(masks) == 1 and np.ndim(value) == 0 and masks[0].shape == x.shape[: masks[0].ndim]:
        wide = to_device_of(masks[0], x)
        np.copyto(x, value, where=wide.reshape(*wide.shape, *[1] * (x.ndim - wide.ndim)))
        return
    write(*parse(x, index), value)


@of_arrays(np.take)
def take_slices(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
    """Return the slices at indices along an axis."""
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis % a.ndim)
    return read(a, selected(a, (axis,), (indices,)))


@of_arrays(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int = -1) -> DeviceArray:
    """Return for each place the element at its index."""
    return read(*broadcast_index(arr, to_device_of(indices, arr), axis % arr.ndim))


@of_arrays(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int) -> None:
    """Write one element for each index."""
    write(*broadcast_index(arr, to_device_of(indices, arr), axis % arr.ndim), values)


def broadcast_index(x: DeviceArray, index: DeviceArray, dim: int) -> tuple:
    """Return x and the selection by the index, broadcast to each other in the other dimensions."""
    size = np.broadcast_shapes(*[(*a.shape[:dim], 1, *a.shape[dim + 1 :]) for a in (x, index)])
    x, index = [np.broadcast_to(a, (*size[:dim], a.shape[dim], *size[dim + 1 :])) for a in (x, index)]
    return x, along(x, dim, index)


# ---------------------------------------------------------------------- called by minigrad/kernels/cpu/index_cpu.py
def gather(x: DeviceArray, dim: int, index: DeviceArray) -> DeviceArray:
    """Return the elements at `index` along dim; the indices were checked before."""
    return read(x, along(x, dim, index), checked=False, signed=False)


def slices(x: DeviceArray, dim: int, index: Any, signed: bool) -> DeviceArray | None:
    """Return the slices at indices along dim; None if one is out of range, which the caller reports."""
    at = selected(x, (dim,), (index,))
    out = empty(at.shape, x.dtype)
    return out if visited(READ, x, at, out, True, signed) is None else None


def in_range(index: DeviceArray, n: int) -> bool:
    """Return True if all indices are between 0 and n - 1; waits for the device, except in a capture, which checks later."""
    flat = index.reshape(-1)
    x = strided(flat, (n,), (0,))  # only its size matters
    return visited(LOOK, x, along(x, 0, flat), 0, True, False) is None
