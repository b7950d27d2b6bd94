"""Masks: boolean tensors, and the operations on the elements where they are true."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.kinds import zeros
from ..arrays.meta import has_numbers
from ..core.inplace import inplace
from ..core.tensor import Tensor
from ..errors import error
from ..kernels.cpu.index_cpu import in_range
from .base.families import NonDifferentiable
from .base.registry import op
from .broadcast import broadcast_shapes
from .index import MaskedFill, NonZero, Put, Take, data_dependent, reading, where_true
from .index_parts import check_real
from .shape import layout


class OneHot(NonDifferentiable):
    """A one-hot row for each class number: zeros with a one at that index."""

    @staticmethod
    def impl(x: np.ndarray, n: int) -> np.ndarray:
        out = zeros((*x.shape, n), x, np.int64)
        if type(x) is np.ndarray:
            out.reshape(-1, n)[np.arange(x.size), x.reshape(-1)] = 1
        else:
            np.put_along_axis(out, x[..., None], 1, axis=-1)
        return out

    batch = lambda x, n: (x, n)


@op(
    "T(3, 4), B(3, 4), 1.5",
    "T(3, 4), B(4), T()",
    "T(4), B(3, 1), 0",
    "T(), torch.tensor(True), 2.0",
    "T(4, 3).mT, B(3, 4), -1.0",
)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Replace elements where `mask` holds by one value, a number or a 0-d tensor; input and mask are broadcast.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 2., 3.])
    >>> x.masked_fill(minigrad.tensor([True, False, True]), 0)
    tensor([0., 2., 0.])
    """
    check_fill("masked_fill", mask, value)
    size = common_size(input, mask)
    return MaskedFill.apply(input if input._sizes == size else input.expand(size), mask, value)


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """In-place form of masked_fill."""
    check_fill("masked_fill_", mask, value)
    return inplace(MaskedFill, self, mask, value)


@op("T(3, 4), B(3, 4), T(12)", "T(3, 4), torch.tensor([True, False, True, False]), T(2, 3)", node="MaskedScatter")
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Replace elements where `mask` holds by the elements of `source`, in order."""
    size = broadcast_shapes(input.shape, mask.shape)
    x = input if tuple(input.shape) == size else input.expand(size)
    out = Put.apply(*put_operands(x, mask, source))
    return out if size else out.reshape(())


def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """In-place form of masked_scatter."""
    inplace(Put, *put_operands(self, mask, source))
    return self


def put_operands(x: Tensor, mask: Tensor, source: Tensor) -> tuple:
    """Return the operands of Put for both forms of masked_scatter; a 0-d tensor has shape (1,) in them."""
    check_mask("masked_scatter", mask)
    if source._np_dtype != x._np_dtype:
        what = f"expected self and source to have same dtypes but got {x.dtype} and {source.dtype}"
        raise error(RuntimeError, "masked_scatter", what, "write source.to(self.dtype)")
    x, mask = (x, mask.expand(x.shape)) if x.ndim else (x.reshape(1), mask.reshape(1))
    places = where_true(mask)
    n = places[0].numel()
    if source.numel() < n:
        what = f"number of elements of source ({source.numel()}) < number of ones in mask ({n})"
        raise error(RuntimeError, "masked_scatter", what, "pass at least one value for each one in the mask")
    return x, source.reshape(-1)[:n], tuple(range(x.ndim)), False, *places


@op(
    "T(3, 4), torch.tensor([[True, False, True, False]])",
    "T(4), torch.tensor([[True], [False]])",
    "T(), torch.tensor(True)",
    out=True,
    node="MaskedSelect",
)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where `mask` holds, in one dimension; input and mask are broadcast."""
    check_mask("masked_select", mask)
    size = common_size(input, mask) or (1,)
    x, mask = [t if t._sizes == size else t.expand(size) for t in (input, mask)]
    return Take.apply(x, tuple(range(len(size))), *where_true(mask))


@op(
    "torch.tensor([[0, 1], [2, 0]])",
    "B(3, 4)",
    "T(3)",
    "torch.tensor(2)",
    "torch.tensor([0, 3]), as_tuple=True",
    differentiable=False,
    out=True,
)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Return the indices of the elements that are not zero, one row each; with `as_tuple` one tensor per dimension.

    >>> import minigrad
    >>> minigrad.nonzero(minigrad.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    return where_true(input if input.ndim else input.reshape(1)) if as_tuple else NonZero.apply(input)


@op("torch.tensor([[0, 1], [2, 0]])", "B(3, 4)", "torch.tensor(2)", differentiable=False)
def argwhere(input: Tensor) -> Tensor:
    """Return the indices of the elements that are not zero, one row each."""
    return NonZero.apply(input)


@op(
    "I(4, 3), 3",
    "I(2, 3, 4), num_classes=6",
    "torch.tensor([0, 2, 1])",
    "torch.tensor(1), 3",
    torch="nn.functional.one_hot",
    method=False,
    differentiable=False,
)
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Return a row of zeros with a one at its index for each class number: shape (*, num_classes), int64.

    `num_classes` defaults to the largest number plus one.  Raises RuntimeError for numbers out of range.
    """
    if input._np_dtype != np.int64:
        what = f"one_hot is only applicable to index tensor of type LongTensor, got {input.dtype}"
        raise error(RuntimeError, "one_hot", what, "use .long()")
    a, lead = layout(input)
    if num_classes == -1:
        if lead:
            raise data_dependent("one_hot")
        reading("one_hot", input)
        if not a.size:
            raise error(
                RuntimeError, "one_hot", "can not infer total number of classes from empty tensor", "pass num_classes"
            )
        num_classes = int(a.max()) + 1
    outside = a.size and has_numbers(a) and not in_range(a, num_classes)
    low, high = (int(a.min()), int(a.max())) if outside else (0, -1)
    if low < 0:
        what = f"class values must be non-negative, got {low}"
        raise error(RuntimeError, "one_hot", what, "write input.clamp(min=0), or input[input >= 0]")
    if num_classes < 1 or high >= num_classes:
        what = f"class values must be smaller than num_classes, {num_classes}" + (f", got {high}" if a.size else "")
        raise error(RuntimeError, "one_hot", what, f"write num_classes={high + 1 if a.size else 1}, or -1 to infer it")
    return OneHot.apply(input, int(num_classes))


def check_mask(who: str, mask: Tensor) -> None:
    """Raise RuntimeError unless the mask is boolean."""
    if mask._np_dtype.kind != "b":
        what = f"only supports boolean masks, but got mask with dtype {mask.dtype}"
        raise error(RuntimeError, who, what, "compare first: mask != 0")


def common_size(input: Tensor, mask: Tensor) -> tuple:
    """Return the size to which both broadcast."""
    return input._sizes if input._sizes == mask._sizes else broadcast_shapes(input._sizes, mask._sizes)


def check_fill(who: str, mask: Tensor, value: Any) -> None:
    """Raise RuntimeError unless the mask is boolean and the value a single real number."""
    check_mask(who, mask)
    check_real(who, value)
    if isinstance(value, Tensor) and value.ndim:
        what = f"only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)"
        raise error(RuntimeError, who, what, "use where(mask, values, input)")


METHODS = {f.__name__: f for f in (masked_fill_, masked_scatter_)}
