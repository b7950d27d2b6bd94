"""Embedding: rows of a table by index, and its transpose, which adds up rows by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.kinds import zeros
from ...core.frames import current, use
from ...core.tensor import Tensor, wrap
from ...errors import error
from ...kernels.cpu import index_cpu as kernels
from ...layers.batching import front
from ..base.families import Linear
from ..compare import where
from ..transfer import placed
from .entry import functional


class Embed(Linear):
    """Rows of a table by index.  The row `padding` (or None) gets no gradient; with `even`, each row gets the mean of its
    uses' gradients, not their sum."""

    dimensions = "lookup"
    call = "embedding(indices, weight)"
    node = "Embedding"
    integers = ("indices",)
    quiet = True

    @staticmethod
    def impl(weight: np.ndarray, indices: np.ndarray, padding: int | None, even: bool) -> np.ndarray:
        if (found := kernels.take(weight, 0, indices, signed=False)) is not None:
            return found
        if kernels.in_range(indices, len(weight)):
            return weight.take(indices, axis=0)
        low, high = (int(indices.min()), int(indices.max())) if indices.size else (0, -1)
        if low < 0 or high >= len(weight):
            what = f"index out of range: found {low} to {high} for a table of {len(weight)} rows"
            fix = f"indices are 0 to {len(weight) - 1}: make the table large enough, Embedding({high + 1}, ...)"
            raise error(IndexError, "embedding", what, fix)
        return weight[indices]

    dweight = lambda g, indices, shape, padding, even: AddRows.apply(
        without(averaged(g, indices, shape[0]) if even else g, indices, padding), indices, shape[0]
    )

    def vmap(info: Any, in_dims: tuple, weight: Tensor, indices: Tensor, padding: int | None, even: bool) -> tuple:
        """Treat a batch of tables as one long table, with shifted indices."""
        if in_dims[0] is None and not even:
            return Embed.apply(weight, indices.movedim(in_dims[1], 0), padding, even), 0
        b = info.batch_size
        weight, indices = (front(t, d, b) for t, d in zip((weight, indices), in_dims))
        rows = Embed.apply(weight.flatten(0, 1), indices + steps(b, weight.shape[1], indices), None, even)
        return (rows if padding is None else where((indices == padding).unsqueeze(-1), rows.detach(), rows)), 0


class AddRows(Linear):
    """n rows, in which row indices[i] is the sum of all x[i]: the transpose of Embed."""

    integers = ("indices",)

    @staticmethod
    def impl(x: np.ndarray, indices: np.ndarray, n: int) -> np.ndarray:
        out = zeros((n, *x.shape[indices.ndim :]), x)
        if kernels.add(out, (0,), (indices,), x, known=True):
            return out
        flat, rows = indices.reshape(-1), x.reshape(indices.size, *out.shape[1:])
        if flat.size:
            order = np.argsort(flat, kind="stable")
            ordered = flat[order]
            first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
            out[ordered[first]] = np.add.reduceat(rows[order], first, axis=0)
        return out

    dx = lambda g, indices: Embed.apply(g, indices, None, False)

    def vmap(info: Any, in_dims: tuple, x: Tensor, indices: Tensor, n: int) -> tuple:
        """Treat a batch of tables as one long table."""
        b = info.batch_size
        x, indices = (front(t, d, b) for t, d in zip((x, indices), in_dims))
        out = AddRows.apply(x, indices + steps(b, n, indices), b * n)
        return out.unflatten(0, (b, n)), 0

    @staticmethod
    def definition(x: Tensor, indices: Tensor, n: int) -> Tensor:
        rows = x.new_zeros((n, *x.shape[indices.ndim :]))
        if indices.ndim == 1:
            return rows.index_add(0, indices, x)
        return rows.index_put((indices,), x, accumulate=True)


@functional("I(2, 3, 5), T(5, 4)", "I(3), T(5, 2)", "I(0, 4), T(4, 2)")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return rows of `weight` (n, d) by the integers in `input`: (...) gives (..., d).  Row `padding_idx` gets no gradient.

    With `max_norm`, rows that are read are first scaled, in place and unrecorded, to at most this norm of order `norm_type`.
    With `scale_grad_by_freq`, the gradient of each row is divided by the number of its reads.
    Raises IndexError for indices outside the table, NotImplementedError for sparse=True.

    >>> import minigrad
    >>> embedding(minigrad.tensor([2, 0]), minigrad.tensor([[1.], [2.], [3.]]))
    tensor([[3.],
            [1.]])
    """
    if sparse:
        raise error(NotImplementedError, "embedding", "sparse gradients are not supported", "leave sparse=True out")
    if input._np_dtype.kind not in "iu":
        raise error(RuntimeError, "embedding", f"expected integer indices, got {input.dtype}", "convert with .long()")
    if weight.ndim != 2:
        what = f"'weight' must be 2-D, got shape {tuple(weight.shape)}"
        raise error(RuntimeError, "embedding", what, "pass a weight of shape (num_embeddings, embedding_dim)")
    padding = padding_row("embedding", padding_idx, weight._sizes[0])
    if max_norm is not None:
        shorten(weight, input, max_norm, norm_type)
    return Embed.apply(weight, input, padding, bool(scale_grad_by_freq))


def padding_row(who: str, padding_idx: int | None, n: int, kind: type[Exception] = AssertionError) -> int | None:
    """Return the index of the padding row, counted from the first of n rows, or None."""
    if padding_idx is None:
        return None
    if not -n <= padding_idx < n:
        what = f"padding_idx={padding_idx} must be within num_embeddings={n}"
        raise error(kind, who, what, f"choose it from {-n} to {n - 1}")
    return padding_idx % n


def shorten(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows that are read, in place, to a norm of at most `max_norm`."""
    with use(current().all_grad(False)):
        rows = indices.unique()
        read = Embed.apply(weight.detach(), rows, None, False)
        norms = read.norm(norm_type, 1, True)
        weight.index_copy_(0, rows.long(), where(norms > max_norm, read * (max_norm / (norms + 1e-7)), read))


def averaged(g: Tensor, indices: Tensor, n: int) -> Tensor:
    """Return the gradient divided by the number of reads of each of the n rows."""
    ones = g.new_ones((*indices.shape, 1))
    return g / Embed.apply(AddRows.apply(ones, indices, n), indices, None, False)


def without(g: Tensor, indices: Tensor, padding: int | None) -> Tensor:
    """Return the gradient with zeros at reads of the padding row."""
    return g if padding is None else where((indices == padding).unsqueeze(-1), 0.0, g)


def steps(b: int, n: int, like: Tensor) -> Tensor:
    """Return 0, n, 2n, ... as a column that broadcasts against b rows of indices."""
    return wrap(placed(np.arange(b).reshape(b, *[1] * (like.ndim - 1)) * n, like.device))
