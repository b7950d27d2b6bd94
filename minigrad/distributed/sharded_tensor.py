"""Tensors that are sharded over ranks: each rank holds some boxes of the whole tensor.

A box has an offset and a size for each dimension.  Consecutive rows of a matrix are a box, and so are consecutive columns
and a whole tensor.  A run of elements in the middle of a tensor is a few boxes (`boxes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

from ..arrays.devices import Size
from ..autograd import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..nn.state import as_tensor
from ..ops.create import zeros
from .collectives import all_reduce

Box = tuple[tuple[int, ...], tuple[int, ...]]  # offsets and sizes


class Shard(NamedTuple):
    """A box of a tensor that this rank holds, and its offsets in the whole tensor."""

    tensor: Tensor
    offsets: tuple[int, ...]


class ShardedTensor:
    """A tensor of which this rank holds some boxes, and the other ranks hold the others.

    `size` is the shape of the whole tensor; `group` contains the ranks that hold it together, or is None for all ranks.
    Raises ValueError for a shard that does not lie inside the whole tensor.

    >>> import minigrad
    >>> from minigrad.distributed.sharded_tensor import Shard, ShardedTensor
    >>> ShardedTensor((4, 3), minigrad.float32, [Shard(minigrad.ones(2, 3), (2, 0))])
    ShardedTensor(shape=(4, 3), dtype=minigrad.float32, here: (2, 3) at (2, 0))
    """

    def __init__(self, size: Sequence[int], dtype: Any, shards: Sequence[Shard], group: Any = None):
        self.shape, self.dtype, self._shards, self.group = Size(size), dtype, list(shards), group
        for t, offsets in self._shards:
            fits = len(offsets) == t.ndim == len(size) and all(
                [o >= 0 and o + n <= whole for o, n, whole in zip(offsets, t.shape, size)]
            )
            if not fits or t.dtype != dtype:
                what = f"a {t.dtype} shard of shape {tuple(t.shape)} at {tuple(offsets)} does not fit into "
                raise error(ValueError, "ShardedTensor", f"{what}a {dtype} tensor of shape {tuple(size)}")

    def size(self) -> Size:
        """Return the shape of the whole tensor."""
        return self.shape

    def local_shards(self) -> list[Shard]:
        """Return the shards that this rank holds; their tensors share its memory."""
        return list(self._shards)

    def full_tensor(self) -> Tensor:
        """Return the whole tensor on each rank of the group; all its ranks call this, and no two hold the same element."""
        device = self._shards[0].tensor.device if self._shards else None
        whole = zeros(self.shape, dtype=self.dtype, device=device)
        if whole.is_floating_point():
            whole.neg_()  # x + -0.0 is x for all x, and -0.0 + 0.0 is not -0.0
        with no_grad():
            for t, offsets in self._shards:
                inside(whole, (0,) * t.ndim, (tuple(offsets), tuple(t.shape))).copy_(t)
        all_reduce(whole, group=self.group)
        return whole

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self.needs_whole("cannot become an array")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self.needs_whole("cannot be pickled")

    def needs_whole(self, what: str) -> Exception:
        """Return the error for an operation that needs the whole tensor."""
        fix = (
            "call .full_tensor() on all ranks, or use distributed.checkpoint, which saves and loads each rank's shards"
        )
        return error(TypeError, "ShardedTensor", f"{self!r} {what}: this rank does not hold all of it", fix)

    def __repr__(self) -> str:
        here = ", ".join(f"{tuple(t.shape)} at {tuple(offsets)}" for t, offsets in self._shards) or "nothing"
        return f"ShardedTensor(shape={tuple(self.shape)}, dtype={self.dtype}, here: {here})"


class Part(NamedTuple):
    """The part of a named whole tensor that a tensor of this rank holds: its elements from `start` on, box by box."""

    name: str
    size: tuple[int, ...]
    start: int
    boxes: list[Box]
    group: Any = None  # the ranks that hold the whole tensor together; None where each rank holds all of it

    def of(self, local: Tensor) -> ShardedTensor:
        """Return the ShardedTensor whose shards are views of `local`, a tensor of this rank."""
        local = local.detach()
        if [sizes for _, sizes in self.boxes] == [tuple(local.shape)]:  # one box, in whatever strides it has
            return ShardedTensor(self.size, local.dtype, [Shard(local, self.boxes[0][0])], self.group)
        flat, at, shards = local.view(-1), self.start, []
        for offsets, sizes in self.boxes:
            shards.append(Shard(flat[at : at + prod(sizes)].view(sizes), offsets))
            at += prod(sizes)
        return ShardedTensor(self.size, local.dtype, shards, self.group)


class HoldsParts:
    """A module whose parameters hold parts of tensors of the state_dict, which the ranks hold together."""

    def held_parts(self) -> dict[str, list[Part]]:
        """Return, by name of a parameter, the parts of tensors of the state_dict that it holds."""
        raise NotImplementedError


def boxes(shape: Sequence[int], start: int, stop: int) -> Iterator[Box]:
    """Divide the elements of a tensor from `start` to `stop`, counted row by row, into boxes, and yield these in order.

    >>> list(boxes((3, 4), 2, 9))
    [((0, 2), (1, 2)), ((1, 0), (1, 4)), ((2, 0), (1, 1))]
    """
    if start >= stop:
        return
    if not shape:
        yield (), ()
        return
    row = prod(shape[1:])
    first, last = -(-start // row), stop // row  # the whole rows

    def within(i: int, start: int, stop: int) -> Iterator[Box]:
        for offsets, sizes in boxes(shape[1:], start, stop):
            yield (i, *offsets), (1, *sizes)

    if first > last:
        yield from within(last, start - last * row, stop - last * row)
        return
    yield from within(first - 1, start - (first - 1) * row, row if start < first * row else 0)
    if first < last:
        yield (first, *[0] * (len(shape) - 1)), (last - first, *shape[1:])
    yield from within(last, 0, stop - last * row)


def overlap(a: Box, b: Box) -> Box | None:
    """Return the intersection of two boxes; None where it is empty.

    >>> overlap(((0, 0), (2, 4)), ((1, 2), (5, 5)))
    ((1, 2), (1, 2))
    """
    offsets = tuple([max(o, p) for o, p in zip(a[0], b[0])])
    sizes = tuple([min(o + n, p + m) - start for o, n, p, m, start in zip(*a, *b, offsets)])
    return (offsets, sizes) if all([n > 0 for n in sizes]) else None


def inside(t: Tensor, offsets: Sequence[int], box: Box) -> Tensor:
    """Return the view of a shard, which begins at `offsets`, on a box of the whole tensor."""
    return t[tuple([slice(o - begin, o - begin + n) for begin, o, n in zip(offsets, *box)])]


def fill(mine: ShardedTensor, source: Any) -> str:
    """Copy a tensor, whole or sharded in the same way, into this rank's shards; return a description of the mismatch, or ""."""
    source = source if isinstance(source, ShardedTensor) else as_tensor(source)
    if tuple(source.shape) != tuple(mine.shape):
        theirs, ours = tuple(source.shape), tuple(mine.shape)
        return f"copying a param with shape {theirs} from checkpoint, the shape in current model is {ours}"  # PyTorch's words
    shards = None
    if isinstance(source, ShardedTensor):
        shards = {(s.offsets, tuple(s.tensor.shape)): s.tensor for s in source.local_shards()}
        if [(s.offsets, tuple(s.tensor.shape)) for s in mine.local_shards()] != list(shards):
            return "the state_dict has other shards on this rank; distributed.checkpoint.load reads any shards"
    with no_grad():
        for t, offsets in mine.local_shards():
            box = offsets, tuple(t.shape)
            t.copy_(inside(source, (0,) * t.ndim, box) if shards is None else shards[box])  # type: ignore[arg-type]
    return ""
