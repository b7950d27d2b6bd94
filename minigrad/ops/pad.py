"""Padding and repeating: larger tensors made of the elements of smaller ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.dtypes import int64
from ..arrays.kinds import to_device_of
from ..core.tensor import Tensor, wrap
from ..errors import error
from .base.families import Linear
from .base.layouts import channels_last
from .base.registry import op
from .copy import fitting
from .dimensions import axis
from .index import Index, Take, Unindex, Untake, data_dependent, reading
from .index_places import WHOLE
from .shape import expand, layout, reshape, shape_from, unshared, unsqueeze
from .slices import index_select
from .transfer import placed
from .windows import padded as surrounded


class Pad(Linear):
    """The tensor padded with a number, before and after each dimension by `widths`."""

    dimensions = "padding"
    call = lambda widths, value: f"pad(x, {flat(widths)}{', value=value' if value else ''})"
    node = "ConstantPadNd"

    @staticmethod
    def impl(x: np.ndarray, widths: tuple, value: Any) -> np.ndarray:
        before, after = ([w[k] for w in widths] for k in (0, 1))
        if type(value) is not int or value:
            value = float(value) if x.dtype.kind == "u" else value  # as in PyTorch, where -1 is not a valid byte here
            value = fitting(value, x.dtype, "pad")
        out = surrounded(x, before, after, value)  # half of np.pad's time
        return x.copy() if out is x else out

    dx = lambda g, widths: Index.apply(g, tuple([slice(a, n - b) for (a, b), n in zip(widths, g.shape)]))
    batch = lambda x, widths, value: (x, ((0, 0), *widths), value)

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        return cls.apply(tangents[0], primals[1], 0)


class Surround(Linear):
    """The last two dimensions padded with their own elements, as `mode` selects; `widths` are not negative."""

    call = lambda widths: f"pad(x, {flat(widths)}, mode)"
    layout = channels_last
    depends_on_operand = True

    @staticmethod
    def impl(x: np.ndarray, widths: tuple, mode: str) -> np.ndarray:
        rows, columns = sources(x.shape[-2:], widths, mode)
        return np.take(np.take(x, rows, -2), columns, -1)  # a quarter of the time of x[..., rows[:, None], columns]

    batch = lambda x, widths, mode: (x, widths, mode)

    @staticmethod
    def dx(g: Tensor, x: Tensor, widths: tuple, mode: str) -> Tensor:
        """Give each element the gradients of all its copies: first those in its column, then those in its row."""
        shape, n = x._sizes, len(x._sizes)
        rows, columns = sources(shape[-2:], widths, mode)
        g = Untake.apply(g, (*g.shape[:-1], shape[-1]), (n - 1,), wrap(columns)) if any(widths[1]) else g
        return Untake.apply(g, shape, (n - 2,), wrap(rows)) if any(widths[0]) else g


class Wrapped(Surround):
    """Surround in mode "circular", which PyTorch composes of slices."""

    depends_on_operand = False


def sources(size: tuple, widths: tuple, mode: str) -> list:
    """Return, for each dimension, the source positions of the elements along its padded form."""
    return [SOURCES[mode](np.arange(-a, n + b), n) for n, (a, b) in zip(size, widths)]


# ---------------------------------------------------------------------- padding
def pad_node(input: Tensor, pad: Sequence, mode: str = "constant", value: float | None = None) -> str:
    """Return PyTorch's node of pad; for zeros, the node already has its name, and circular padding is no single operation."""
    names = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}
    return f"{names[mode]}{len(pad) // 2}D" if mode in names else ""


@op(
    "T(2, 3), (1, 2)",
    "T(2, 3), (1, 0, 0, 2), 'constant', 1.5",
    "T(2, 4), (-1, 1)",
    "T(1, 2, 4), (2, 1), 'reflect'",
    "T(1, 4), (3, 3), 'reflect'",
    "T(1, 2, 3, 4), (1, 2, 2, 0), 'replicate'",
    "T(1, 2, 4), (2, 3), 'circular'",
    "T(1, 1, 3, 3), (1, 2, 1, 2), 'reflect'",
    torch="nn.functional.pad",
    method=False,
    node=pad_node,
)
def pad(input: Tensor, pad: Sequence, mode: str = "constant", value: float | None = None) -> Tensor:
    """Pad `input` at its ends by `pad`: (left, right, top, bottom, ...), from the last dimension on.

    The new elements are `value` (0), or by mode "reflect", "replicate" or "circular" elements of `input`.  Negative numbers
    crop.
    """
    widths, rank = [int(n) for n in pad], input.ndim
    check_lengths(widths, rank)
    pairs = [(0, 0)] * (rank - len(widths) // 2) + list(zip(widths[::2], widths[1::2]))[::-1]
    if mode == "constant":
        return padded(input, pairs, 0 if value is None else value)
    check_mode(input, widths, mode, value)
    check_limits(input, pairs, mode)
    if mode == "circular" and min(widths, default=0) < 0:  # crop first, then wrap the rest
        input = padded(input, [(min(a, 0), min(b, 0)) for a, b in pairs], 0)
        pairs = [(max(a, 0), max(b, 0)) for a, b in pairs]
        check_limits(input, pairs, mode)
    if not any(map(any, pairs)):
        return input.clone()
    if rank > 1 and not any([w for pair in pairs[:-2] for w in pair]) and min(widths) >= 0:  # images
        return (Wrapped if mode == "circular" else Surround).apply(input, tuple(pairs[-2:]), mode)
    for d, widths_of_d in enumerate(pairs):
        if any(widths_of_d):
            (places,) = sources((input.shape[d],), (widths_of_d,), mode)
            input = Take.apply(input, (d,), wrap(places))
    return input


def check_lengths(widths: list, rank: int) -> None:
    """Raise RuntimeError unless there are two numbers for each of the last dimensions."""
    if len(widths) % 2:
        raise error(
            RuntimeError,
            "pad",
            f"padding length must be divisible by 2, got {len(widths)} numbers",
            "write two numbers, before and after, for each dimension, the last one first: pad(x, (left, right, top, bottom))",
        )
    if len(widths) > 2 * rank:
        what = f"padding length {len(widths)} is more than twice the number of dimensions, {rank}"
        fix = f"write at most {2 * rank} numbers, two for each dimension, the last one first"
        raise error(RuntimeError, "pad", what, fix)


def check_mode(input: Tensor, widths: list, mode: str, value: float | None) -> None:
    """Raise an error for a mode that does not exist, or does not support the number of dimensions or a value."""
    if mode not in SOURCES:
        what = f"unrecognised padding mode {mode!r}"
        raise error(NotImplementedError, "pad", what, "use constant, reflect, replicate or circular")
    if value is not None and value != 0:
        what = f"padding mode {mode!r} doesn't take in value argument"
        raise error(RuntimeError, "pad", what, "leave value= out, or write mode='constant'")
    if input.ndim - len(widths) // 2 not in (1, 2) or len(widths) > 6:
        raise error(
            NotImplementedError,
            "pad",
            f"padding mode {mode!r} pads the last 1, 2 or 3 dimensions of a tensor with one or two more, got "
            f"{len(widths)} numbers for shape {tuple(input.shape)}",
            "add a batch or channel dimension with input.unsqueeze(0), or write mode='constant'",
        )


def check_limits(input: Tensor, pairs: list, mode: str) -> None:
    """Raise RuntimeError if an end is padded by more elements than the mode can take from the dimension."""
    for d, (before, after) in enumerate(pairs):
        if before or after:
            n = input.shape[d]
            limit = {"reflect": n - 1, "circular": n, "replicate": max(before, after) if n else 0}[mode]
            if max(before, after) > limit:
                raise error(
                    RuntimeError,
                    "pad",
                    f"padding ({before}, {after}) at dimension {d} of size {n} is too much for mode {mode!r}: at most "
                    f"{limit}",
                    "pad less, or write mode='constant' or 'replicate'",
                )


# the source of position i of a padded dimension of size n
SOURCES = {
    "reflect": lambda i, n: n - 1 - np.abs(n - 1 - np.abs(i)),
    "replicate": lambda i, n: np.clip(i, 0, n - 1),
    "circular": lambda i, n: i % n,
}


def padded(x: Tensor, pairs: list, value: Any) -> Tensor:
    """Pad with a number, and crop where a width is negative."""
    for d, (n, (a, b)) in enumerate(zip(x.shape, pairs)):
        if n + a + b < 0 or n + min(a, 0) + min(b, 0) < 0:
            raise error(
                RuntimeError,
                "pad",
                f"the input size {n}, plus negative padding {a} and {b}, resulted in a negative output size, which is "
                f"invalid. Check dimension {d} of your input.",
                "crop less than the size",
            )
    if any(a < 0 or b < 0 for a, b in pairs):
        x = Index.apply(x, tuple([slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, pairs)]))
    return Pad.apply(x, tuple([(max(a, 0), max(b, 0)) for a, b in pairs]), value)


# ---------------------------------------------------------------------- repeating
@op(
    "T(2, 3), (2, 1)",
    "T(3), (2, 2)",
    "T(), (3,)",
    "T(2, 3), (0, 1)",
    "T(2, 3), 1, 2",
    torch="Tensor.repeat",
    node="Repeat",
)
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """Tile copies of the tensor, `repeats[d]` of them along each dimension; new dimensions come in front."""
    times = shape_from(repeats)
    lead = len(times) - input.ndim
    if lead < 0:
        raise error(
            RuntimeError,
            "repeat",
            f"number of dimensions of repeat dims {times} can not be smaller than number of dimensions of the "
            f"tensor, {input.ndim}",
            "use tile, or prepend ones",
        )
    if any(n < 0 for n in times):
        what = f"negative numbers of copies in {times}"
        raise error(RuntimeError, "repeat", what, "pass numbers of copies that are not negative")
    shape = (1,) * lead + tuple(input.shape)
    columns = reshape(input, [m for n in shape for m in (1, n)])
    copies = expand(columns, [m for r, n in zip(times, shape) for m in (r, n)])
    return unshared(copies, tuple([r * n for r, n in zip(times, shape)]))


@op("T(2, 3), (2,)", "T(3), (2, 2)", "T(), (3,)", "T(2, 3), (2, 1, 1)", node="Repeat")
def tile(input: Tensor, *dims: Any) -> Tensor:
    """Repeat the tensor as `repeat` does, but let a short `dims` count from the last dimension."""
    times = shape_from(dims)
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


@op(
    "T(2, 3), 2",
    "T(2, 3), 2, 1",
    "T(2, 3), torch.tensor([1, 3]), 0",
    "T(), 3",
    "T(2, 3), 0, -1",
    "T(3), torch.tensor([2])",
    "torch.tensor([1, 0, 2])",
)
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each element (slice along `dim`), by a number or a tensor with one for each; flattened without `dim`.

    `repeat_interleave(repeats)` of an integer tensor alone returns indices: each position, repeated by its number.
    """
    if repeats is None:
        if input.is_floating_point():
            fix = "write repeat_interleave(input, repeats), or pass a tensor of integers"
            raise error(NotImplementedError, "repeat_interleave", f"repeats must be integers, not {input.dtype}", fix)
        input, repeats = wrap(placed(np.arange(input.numel()), input.device)), input
    if dim is None:
        input, dim = reshape(input, -1), 0
    d = axis(dim, input.ndim, "repeat_interleave")
    input = input if input.ndim else reshape(input, 1)
    if isinstance(repeats, Tensor) and repeats.numel() != 1:
        counts, lead = layout(repeats)
        if lead:  # each example would have a result of another length
            raise data_dependent("repeat_interleave")
        reading("repeat_interleave", repeats)
        if counts.shape != (input.shape[d],):
            raise error(
                RuntimeError,
                "repeat_interleave",
                f"repeats must have the same size as input along dim, but repeats.size(0) = "
                f"{counts.size} and input.size({d}) = {input.shape[d]}",
                f"pass one number, or {input.shape[d]} of them",
            )
        if (counts < 0).any():
            what = f"repeats can not be negative: {int(counts.min())}"
            raise error(RuntimeError, "repeat_interleave", what, "write repeats.clamp(min=0)")
        return index_select(input, d, wrap(np.repeat(to_device_of(np.arange(counts.size), counts), counts)))
    n = int(repeats)
    if n < 0:
        raise error(
            RuntimeError, "repeat_interleave", f"repeats can not be negative: {n}", "write repeats.clamp(min=0)"
        )
    copies = expand(unsqueeze(input, d + 1), (*input.shape[: d + 1], n, *input.shape[d + 1 :]))
    return reshape(copies.clone(), (*input.shape[:d], input.shape[d] * n, *input.shape[d + 1 :]))


def flat(widths: tuple) -> tuple:
    """Return the arguments of pad for pairs of widths: from the last dimension on, without trailing zeros."""
    found = [n for pair in reversed(widths) for n in pair]
    while len(found) > 2 and found[-2:] == [0, 0]:
        found = found[:-2]
    return tuple(found)


# ---------------------------------------------------------------------- the transpose of a basic index, as padding
def unindexed(x: Tensor, size: tuple, parts: tuple) -> Tensor:
    """Pad with zeros along one dimension after the other, starting with the last."""
    sizes, d = list(size), 0
    plan = []
    for part in parts:
        if part is None:
            plan.append((None, None, None))
        else:
            plan.append((part, d, sizes[d]))
            d += 1
    plan += [(WHOLE, k, sizes[k]) for k in range(d, len(sizes))]
    here = sum(not isinstance(part, int) for part, _, _ in plan)
    for part, _, n in reversed(plan):
        if part is None:
            here -= 1
            x = x.squeeze(here)
        elif isinstance(part, slice):
            here -= 1
            start, stop, step = part.indices(n)
            if step != 1:
                x = spread_out(x, here, start, step, n)
            else:
                x = with_zeros(x, here, start, n - start - x.shape[here])
        else:
            part = part + n if part < 0 else part
            x = with_zeros(x.unsqueeze(here), here, part, n - part - 1)
    return x


def with_zeros(x: Tensor, dim: int, before: int, behind: int) -> Tensor:
    """Return x padded with zeros along a dimension."""
    return pad(x, [0] * (2 * (x.ndim - dim - 1)) + [before, behind]) if before or behind else x


def spread_out(x: Tensor, dim: int, start: int, step: int, n: int) -> Tensor:
    """Return x with zeros between its elements along a dimension of size n, beginning at `start`."""
    zeros = x.new_zeros((*x.shape[:dim], n, *x.shape[dim + 1 :]))
    places = x.new_tensor(range(start, start + step * x.shape[dim], step), dtype=int64)
    return zeros.index_copy(dim, places, x)


Unindex.definition = staticmethod(unindexed)
