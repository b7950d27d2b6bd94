"""Whole slices by a vector of indices, and single elements by several: index_select, index_add, index_put and their
kin.

They are Take and Put of index.py.
"""

from __future__ import annotations

from typing import Any

from ..arrays.shapes import sketch
from ..core.tensor import Tensor
from ..errors import error
from .base.registry import op
from .copy import Copy
from .dimensions import axis
from .gather import check_index, check_range
from .grids import unravel_index
from .index import Put, Take, check_meeting, fitting, where_true, writes
from .index_parts import check_mask, check_real, is_mask
from .products import multiple


@op(
    "T(3, 4), 0, I(5, 3)",
    "T(3, 4), -1, I(2, 4)",
    "T(4, 3).mT, 1, torch.tensor([0, 0])",
    "T(3), 0, torch.tensor(1)",
    "T(3, 4), 0, I(0, 3)",
    out=True,
    node="IndexSelect",
)
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the slices of `input` at the indices along `dim`, as a copy.  Raises IndexError for indices out of range."""
    x, d, index = slices("index_select", input, dim, index, IndexError)
    return Take.apply(x, (d,), index if input.ndim else index.reshape(()))


@writes(
    "T(3, 4), 0, I(5, 3), T(5, 4)",
    "T(3, 4), 1, I(2, 4), T(3, 2), alpha=2",
    "T(3), 0, I(4, 3), T(4)",
    out=True,
    node="IndexAdd",
)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Any:
    """Add alpha times the slices of `source` to `input` at the indices along `dim`; repeated indices add up."""
    return sliced("index_add", input, dim, index, multiple(source, alpha), True)


@writes(
    "T(3, 4), 0, torch.tensor([2, 0]), T(2, 4)", "T(3, 4), 1, torch.tensor([3]), T(3, 1)", out=True, node="IndexCopy"
)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Any:
    """Write the slices of `source` into `input` at the indices along `dim`."""
    return sliced("index_copy", input, dim, index, source, False)


def index_fill_node(input: Tensor, dim: Any = None, index: Any = None, value: Any = None, **_: Any) -> str:
    """Return PyTorch's node of index_fill."""
    return f"IndexFillBackward{int(isinstance(value, Tensor))}"


@writes("T(3, 4), 0, torch.tensor([2, 0]), 1.5", "T(3, 4), 1, torch.tensor([3, 0]), T()", node=index_fill_node)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Any:
    """Write one value, a number or a 0-d tensor, into `input` at the indices along `dim`."""
    n = input.shape[axis(dim, input.ndim, "index_fill")] if input.ndim else 1
    x, d, index = slices("index_fill", input, dim, index, IndexError, -n)
    check_real("index_fill", value)
    if isinstance(value, Tensor):
        if value.ndim:
            what = f"only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)"
            fix = "pass a number, or use index_copy with a slice for each index"
            raise error(RuntimeError, "index_fill", what, fix)
        value = value.to(x.dtype).expand((*x.shape[:d], index.numel(), *x.shape[d + 1 :]))
    return Put, (x, value, (d,), False, index)


@op(
    "T(6), I(2, 3, 6)",
    "T(2, 3), torch.tensor([0, -1, 5])",
    "T(4, 3).mT, I(2, 12)",
    "T(3), torch.tensor(2)",
    out=True,
    node="Take",
)
def take(input: Tensor, index: Tensor) -> Tensor:
    """Return the elements at `index` of the flattened `input`, in the shape of `index`."""
    check_index("take", index, RuntimeError, ("i8",))
    if index.numel() and not input.numel():
        raise error(IndexError, "take", "cannot take elements from an empty tensor", "skip the call for it")
    return Take.apply(input.reshape(-1), (0,), index)


@writes(
    "T(3, 4), torch.tensor([1, 11, -3]), T(3)",
    "T(4, 3).mT, torch.tensor([[0, 5], [0, 2]]), T(4), True",
    "T(3), torch.tensor(2), T()",
    node="Put",
)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Any:
    """Write the elements of `source` at `index` of the flattened `input`; with `accumulate` add them."""
    check_index("put", index, RuntimeError, ("i8",))
    if source._np_dtype != input._np_dtype:
        what = f"self ({input.dtype}) and source ({source.dtype}) must have the same dtype"
        raise error(RuntimeError, "put", what, "write source.to(input.dtype)")
    if source.numel() != index.numel():
        what = f"expected as many elements in source as in index, but got {source.numel()} and {index.numel()}"
        raise error(IndexError, "put", what, "pass one element for each index")
    x = input if input.ndim else input.reshape(1)
    check_range("put", index, x.numel(), 0, IndexError, -x.numel())
    places = (index.reshape(-1),) if x.ndim == 1 else unravel_index(index.reshape(-1), x.shape)
    return Put, (x, source.reshape(-1), tuple(range(x.ndim)), bool(accumulate), *places)


@writes(
    "T(3, 4), (I(5, 3), I(5, 4)), T(5), True",
    "T(3, 4), (torch.tensor([2, 0]),), T(4)",
    "T(3, 4), (torch.tensor([[0], [2]]), torch.tensor([1, 2])), T(2)",
    "T(3, 4), (torch.tensor([True, False, True]),), T(2, 4)",
)
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Any:
    """Set input[indices] = values; with `accumulate` add them, where repeated indices add up."""
    flags = [i for i in indices if isinstance(i, Tensor) and is_mask(i) and not i.ndim]  # masks of the whole tensor
    if flags:
        indices = [i for i in indices if all(i is not flag for flag in flags)]
        if not all(flags):
            return Copy, (input, input)
        if not indices:
            return Copy, (input, input + values if accumulate else values)
    dims, found, d = [], [], 0
    for place, i in enumerate(indices):
        if not (i is None or isinstance(i, Tensor)):
            raise error(
                TypeError, "index_put", f"expected tensors as indices, got {type(i).__name__}", "write x[...] = values"
            )
        if i is not None and not is_mask(i):
            check_index("index_put", i, IndexError)
        elif i is not None:
            check_mask("index_put", i, input, d, place)
        columns = () if i is None else where_true(i) if is_mask(i) else (i,)
        dims += range(d, d + len(columns))
        found += columns
        d += len(columns) or 1
    if d > input.ndim:
        what = f"too many indices for tensor of dimension {input.ndim} (got {d})"
        raise error(IndexError, "index_put", what, f"pass at most {input.ndim} tensors of indices")
    if not found:
        raise error(TypeError, "index_put", "needs at least one tensor of indices", "write x[...] = values")
    check_meeting("index_put", found)
    return Put, (input, fitting(input, values, tuple(dims), tuple(found)), tuple(dims), accumulate, *found)


def slices(who: str, x: Tensor, dim: int, index: Tensor, kind: type, low: int = 0) -> tuple:
    """Return (x, dim from the front, index of one dimension), checked, with 0-d tensors as shape (1,)."""
    d = axis(dim, x.ndim, who)
    check_index(who, index, RuntimeError)
    if len(index._sizes) > 1:
        what = f"index is supposed to be a vector, got shape {tuple(index.shape)}"
        raise error(IndexError, who, what, "write index.flatten()")
    x, index = [t if t._sizes else t.reshape(1) for t in (x, index)]
    check_range(who, index, x._sizes[d], d, kind, low)
    return x, d, index


def sliced(who: str, x: Tensor, dim: int, index: Tensor, source: Tensor, accumulate: bool) -> tuple:
    """Return the operands of the write in index_add and index_copy."""
    if accumulate and source.ndim != x.ndim:
        what = f"source and input should have as many dimensions, got shapes {tuple(source.shape)} and {tuple(x.shape)}"
        raise error(RuntimeError, who, what, f"pass source.reshape({', '.join(['-1'] * (x.ndim > 0)) or '()'})")
    x, d, index = slices(who, x, dim, index, RuntimeError if accumulate else IndexError)
    source = source if source._sizes else source.reshape(1)
    size = (*x._sizes[:d], index._sizes[0], *x._sizes[d + 1 :])
    if source._sizes != size:
        kind = RuntimeError if accumulate or source.ndim == x.ndim else IndexError
        raise error(
            kind,
            who,
            f"the source must have shape {size}, one slice for each of the {size[d]} indices, got "
            f"{tuple(source.shape)}",
            f"pass a source of shape {size}: source.expand({', '.join(map(str, size))}) repeats a smaller one",
            notes=[sketch({"wanted": size, "source": tuple(source.shape)})],
        )
    if source._np_dtype != x._np_dtype:
        what = f"self ({x.dtype}) and source ({source.dtype}) must have the same dtype"
        raise error(RuntimeError, who, what, "write source.to(input.dtype)")
    return Put, (x, source, (d,), accumulate, index)
