"""Split an index into a view and a selection by tensors, and check both."""

from __future__ import annotations

from types import NoneType
from typing import Any

import numpy as np

from ..arrays.dtypes import BOOL, I8
from ..core.tensor import Box, Tensor, wrap
from ..errors import error
from ..events import intercept
from ..tensors.printing import error_notes
from .from_data import tensor
from .index_places import WHOLE

MASKS = (BOOL, np.dtype(np.uint8))
INDICES = (I8, np.dtype(np.int32), *MASKS)
BOUNDS = {int, NoneType}  # the types of plain bounds of slices


def is_plain(index: Any) -> bool:
    """Return True for integers, None and slices without steps, which NumPy takes as PyTorch does."""
    for i in index if type(index) is tuple else (index,):
        kind = type(i)
        if kind is slice:
            if type(i.start) not in BOUNDS or type(i.stop) not in BOUNDS or i.step is not None:
                return False
        elif kind is not int and i is not None:
            return False
    return True


def parse(x: Tensor, index: Any) -> tuple:
    """Return (the basic part, [(dimension of the basic part's result, index tensor or mask), ...])."""
    items = index if type(index) is tuple else as_items(index)
    shape, advanced, basic = x._sizes, [], []
    items = [i if type(i) is int or type(i) is slice else item_of(i) for i in items]
    used = sum([1 if type(i) is int or type(i) is slice else consumed(i) for i in items])
    if used > len(shape):
        what = f"too many indices for tensor of dimension {len(shape)}: the index takes {used}"
        fix = f"write at most {len(shape)} of them: the shape is {shape}" if shape else "use .item() for its value"
        raise error(IndexError, "index", what, fix)
    d = r = 0  # dimensions of x consumed, and of the basic part's result
    spare = len(shape) - used
    for item in items:
        if item is Ellipsis:
            basic += [WHOLE] * spare
            d, r, spare = d + spare, r + spare, 0
        elif item is None:
            basic.append(None)
            r += 1
        elif type(item) is bool:
            basic.append(None)
            advanced.append((r, wrap(np.zeros(int(item), np.int64))))
            r += 1
        elif type(item) is int:
            if not -shape[d] <= item < shape[d]:
                what = f"index {item} is out of bounds for dimension {d} with size {shape[d]}"
                fix = f"use an index from {-shape[d]} to {shape[d] - 1}: the shape is {shape}"
                raise error(IndexError, "index", what, fix)
            basic.append(item)
            d += 1
        elif type(item) is slice:
            basic.append(bounds(item))
            d, r = d + 1, r + 1
        else:
            n = consumed(item)
            if is_mask(item):
                check_mask("index", item, x, d, len(basic))
            basic += [WHOLE] * n
            advanced.append((r, item))
            d, r = d + n, r + n
    return tuple(basic), advanced


def as_items(index: Any) -> tuple:
    """Return the parts of an index that is not a tuple.  A list with sequences or slices counts as one, as in PyTorch."""
    if isinstance(index, list) and any(
        isinstance(i, (list, tuple, slice, Tensor, np.ndarray)) or i is None or i is Ellipsis for i in index
    ):
        return tuple(index)
    return (index,)


def item_of(i: Any) -> Any:
    """Return one part of an index as one of: int, bool, slice, None, Ellipsis, integer tensor, mask."""
    if i is None or i is Ellipsis or isinstance(i, (slice, bool)):
        return i
    if isinstance(i, (int, np.integer)):
        return int(i)
    if isinstance(i, np.ndarray):
        i = wrap(i)
    elif isinstance(i, (list, tuple, range)):
        i = tensor(list(i), device="cpu") if len(i) else wrap(np.zeros(0, np.int64))
    if not isinstance(i, Tensor):
        raise error(
            TypeError if isinstance(i, str) else IndexError,
            "index",
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte tensors are valid indices, "
            f"got {type(i).__name__}",
            "write x[i], x[i:j] or x[mask] with integers, or x[minigrad.tensor(indices)]",
        )
    if i._np_dtype not in INDICES and not (i.ndim == 0 and i._np_dtype.kind == "i"):
        raise error(
            IndexError,
            "index",
            f"tensors used as indices must be of int64, int32, uint8 or bool, not {i.dtype}",
            "convert: index.long()",
            notes=intercept.origins({"index": i}) or (),
        )
    if i.ndim == 0 and (is_mask(i) or not differs_between_examples(i)):
        return bool(i.item()) if is_mask(i) else int(i.item())
    return i


def differs_between_examples(i: Tensor) -> bool:
    """Return True if vmap's examples have different values of an index, so that it is not a number."""
    while type(i) is Box:
        if hasattr(i._layer, "size"):
            return True
        i = i._value
    return False


def is_mask(i: Tensor) -> bool:
    """Return True if an index tensor is a mask, with one truth value per element."""
    return i._np_dtype in MASKS


def consumed(item: Any) -> int:
    """Return the number of dimensions of the tensor that a part of an index consumes."""
    if item is None or item is Ellipsis or type(item) is bool:
        return 0
    return item.ndim if isinstance(item, Tensor) and is_mask(item) else 1


def bounds(s: slice) -> slice:
    """Return a slice with Python integers and a positive step."""
    start, stop, step = [None if i is None else index_of(i) for i in (s.start, s.stop, s.step)]
    if step is not None and step <= 0:
        what = f"step must be greater than zero, got {step}"
        raise error(ValueError, "index", what, "write x.flip(dim) to reverse a dimension")
    return slice(start, stop, step)


def index_of(i: Any) -> int:
    """Return one bound of a slice as an integer."""
    try:
        return i.__index__()
    except AttributeError:
        what = f"slice indices must be integers or None or have an __index__ method, got {type(i).__name__}"
        raise error(TypeError, "index", what, "write int(i)") from None


def check_mask(who: str, mask: Tensor, x: Tensor, d: int, place: int) -> None:
    """Raise IndexError if a mask's sizes differ from the indexed dimensions: those of x from d on."""
    sizes = x._sizes[d : d + mask.ndim]
    if mask._sizes != sizes:
        raise error(
            IndexError,
            who,
            f"the shape of the mask {list(mask.shape)} at index {place} does not match the shape of the indexed tensor "
            f"{list(x._sizes)} at dimension {d}",
            "make the mask from the tensor itself, x[x > 0], or index the other dimensions by `:`",
            notes=error_notes({"tensor": x, "mask": mask}, {"tensor": sizes, "mask": tuple(mask.shape)}),
        )


def check_real(who: str, value: Any, name: str = "value") -> None:
    """Raise RuntimeError for a complex number, of which NumPy would write the real part, TypeError for text and lists."""
    if isinstance(value, complex):
        raise error(RuntimeError, who, f"{name} {value} cannot be converted to a real number", "pass value.real")
    if not isinstance(value, (Tensor, int, float, np.generic, np.ndarray)):
        what = f"{name} must be a number or a tensor, not {type(value).__name__}"
        raise error(TypeError, who, what, "pass a number, such as 0.0")
