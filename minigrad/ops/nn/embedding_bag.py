"""Bags of embeddings: the sum, mean or maximum of the table rows in each bag.

All bags are concatenated, and every index carries the number of its bag.  So the rows are read as in embedding, and combined
by bag number; derivatives of any order follow from these steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.dtypes import FLOATS
from ...arrays.kinds import on_device, place, zeros
from ...arrays.meta import is_meta
from ...core.tensor import Tensor, wrap
from ...errors import OutsideError, error
from ...kernels.cpu import index_cpu as kernels
from ...layers.batching import front
from ..base.families import Linear, NonDifferentiable
from ..compare import where
from ..create import arange
from ..gather import Gather
from ..join import cat
from ..scattering import ScatterExtreme
from ..sort import searchsorted
from ..transfer import placed
from .embedding import AddRows, Embed, padding_row, shorten, steps
from .entry import functional

WHO = "embedding_bag"


@functional(
    "I(3, 4, 5), T(5, 2)",
    "I(7, 5), T(5, 2), torch.tensor([0, 3, 3]), mode='sum', per_sample_weights=T(7)",
    "I(3, 4, 5), T(5, 2), mode='max', padding_idx=1",
    "I(7, 5), T(5, 2), torch.tensor([0, 3, 6]), mode='max', include_last_offset=True",
    "I(7, 5), T(5, 2), torch.tensor([0, 2]), mode='mean', padding_idx=0",
    node="EmbeddingBag",
)
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return for each bag of integers the "sum", "mean" or "max" (`mode`) of its rows of `weight` (n, d).

    The bags are the rows of `input` (bags, length), or the parts of `input` (length) that begin at `offsets`; with
    `include_last_offset` the last offset is the end of the last bag.  An empty bag gives zeros.  Row `padding_idx` takes no
    part.  `per_sample_weights`, of the shape of input, multiply the rows that are summed.  `max_norm` and
    `scale_grad_by_freq` act as in `embedding`; of equal maxima the first one gets the gradient.

    Raises ValueError and RuntimeError for arguments that do not fit, NotImplementedError for sparse=True.

    >>> import minigrad
    >>> table = minigrad.tensor([[1.], [10.], [100.]])
    >>> embedding_bag(minigrad.tensor([0, 1, 2, 2]), table, minigrad.tensor([0, 3]), mode="sum").tolist()
    [[111.0], [100.0]]
    """
    check(input, weight, offsets, mode, sparse, scale_grad_by_freq, per_sample_weights)
    if offsets is None:
        n_bags, length = input.shape
        bags = wrap(placed(np.repeat(np.arange(n_bags), length), input.device))
        include_last_offset, input = False, input.reshape(-1)
    else:
        bags, n_bags, length = BagNumbers.apply(offsets, input.shape[0]), offsets.shape[0], None
    padding = None if padding_idx is None else padding_row(WHO, padding_idx, weight.shape[0], RuntimeError)
    if max_norm is not None:
        shorten(weight, input, max_norm, norm_type)
    whole = mode != "max" and padding is per_sample_weights is None and not scale_grad_by_freq
    try:
        if whole:
            out = MoveRows.apply(weight, input, bags, n_bags)
        else:
            rows = Embed.apply(weight, input, padding, bool(scale_grad_by_freq))
    except OutsideError:  # of an earlier call
        raise
    except IndexError as e:
        raise error(
            RuntimeError, WHO, getattr(e, "problem", str(e)), "make the table larger, or the indices smaller"
        ) from None
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    there = None if padding is None else input.ne(padding).unsqueeze(1)
    if not whole:
        out = largest(rows, bags, n_bags, there) if mode == "max" else summed(rows, bags, n_bags, there)
    if mode == "mean" and there is None and length is not None:
        out = out / max(length, 1)
    elif mode == "mean":
        ones = weight.new_ones((len(input), 1)) if there is None else there.to(weight.dtype)
        out = out / AddRows.apply(ones, bags, n_bags).clamp(min=1)
    return out[:-1] if include_last_offset else out


class BagNumbers(NonDifferentiable):
    """Number of the bag of each of n positions, for bags that begin at `offsets`."""

    name = WHO

    @staticmethod
    def impl(offsets: Any, n: int) -> np.ndarray:
        if is_meta(offsets):
            return np.empty_like(offsets, shape=(*offsets.shape[:-1], n))
        starts = offsets.to_host() if on_device(offsets) else offsets
        rows = starts.reshape(-1, starts.shape[-1] or 1).astype(np.int64, copy=False)
        ends = np.full_like(rows, n)
        ends[:, :-1] = rows[:, 1:]
        lengths = ends - rows
        if (rows[:, 0].any() or (lengths < 0).any()) if rows.size else n:
            what = (
                f"offsets must begin with 0, grow, and end at most at the input's length {n}, but are {starts.tolist()}"
            )
            raise error(RuntimeError, WHO, what, "pass the index in input at which each bag begins")
        found = [np.repeat(np.arange(some.size), some) for some in lengths]
        return placed(np.array(found, np.int64).reshape(*starts.shape[:-1], n), place(offsets))

    batch = lambda offsets, n: (offsets, n)

    definition = lambda offsets, n: searchsorted(offsets, arange(n, device=offsets.device), right=True) - 1


class MoveRows(Linear):
    """n rows, in which row target[i] is the sum of all x[source[i]].  Its transpose exchanges source and target."""

    name = WHO
    integers = ("source", "target")

    @staticmethod
    def impl(x: Any, source: Any, target: Any, n: int) -> Any:
        out = zeros((n, *x.shape[1:]), x)
        if type(x) is np.ndarray and kernels.add_moved(out, target, x, source):
            return out
        return AddRows.impl(Embed.impl(x, source, None, False), target, n)

    dx = lambda g, source, target, shape: MoveRows.apply(g, target, source, shape[0])

    def vmap(info: Any, in_dims: tuple, x: Tensor, source: Tensor, target: Tensor, n: int) -> tuple:
        """Treat a batch of tables as one long table, with shifted indices."""
        b = info.batch_size
        x, source, target = (front(t, d, b) for t, d in zip((x, source, target), in_dims))
        source, target = source + steps(b, x.shape[1], source), target + steps(b, n, target)
        return MoveRows.apply(x.flatten(0, 1), source.flatten(), target.flatten(), b * n).unflatten(0, (b, n)), 0

    definition = lambda x, source, target, n: x.new_zeros((n, *x.shape[1:])).index_add(
        0, target, x.index_select(0, source)
    )


def summed(rows: Tensor, bags: Tensor, n_bags: int, there: Tensor | None) -> Tensor:
    """Return the sum of each bag's rows, without padding rows."""
    return AddRows.apply(rows if there is None else where(there, rows, 0.0), bags, n_bags)


def largest(rows: Tensor, bags: Tensor, n_bags: int, there: Tensor | None) -> Tensor:
    """Return the maximum of each bag's rows per column, without padding rows, from the first row that attains it."""
    n, width = rows.shape
    spots = bags.unsqueeze(1).expand(n, width)
    values = rows.detach() if there is None else where(there, rows.detach(), -np.inf)
    peaks = ScatterExtreme.apply(rows.new_full((n_bags, width), -np.inf), 0, spots, values, True, False)
    found = (values == Gather.apply(peaks, 0, spots)) | (values != values)
    places = wrap(placed(np.arange(n).reshape(-1, 1), rows.device))
    places = where(found if there is None else found & there, places, n)
    first = ScatterExtreme.apply(places.new_full((n_bags, width), n), 0, spots, places, False, False)
    return Gather.apply(cat([rows, rows.new_zeros((1, width))]), 0, first)  # the last row is for empty bags


def check(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    mode: str,
    sparse: bool,
    scale_grad_by_freq: bool,
    per_sample_weights: Tensor | None,
) -> None:
    """Raise an error for arguments that do not fit together."""
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        what = f"per_sample_weights have shape {tuple(per_sample_weights.shape)}, the input {tuple(input.shape)}"
        raise error(ValueError, WHO, what, "pass one weight for each index")
    if weight.ndim != 2:
        what = f"weight must be a 2D tensor, but has shape {tuple(weight.shape)}"
        raise error(ValueError, WHO, what, "pass a weight of shape (num_embeddings, embedding_dim)")
    dtypes = {weight.dtype.name} | ({per_sample_weights.dtype.name} if per_sample_weights is not None else set())
    if weight._np_dtype not in FLOATS or len(dtypes) > 1:
        what = f"expected floats of one dtype as weight and per_sample_weights, got {' and '.join(sorted(dtypes))}"
        raise error(RuntimeError, WHO, what, "convert them first: weight.float()")
    if input.ndim not in (1, 2):
        raise error(
            ValueError, WHO, f"input must be 1D or 2D, but has shape {tuple(input.shape)}", "pass (bags, length)"
        )
    if input.ndim == 2 and offsets is not None:
        raise error(ValueError, WHO, "got offsets for a 2D input, whose rows are the bags", "leave offsets out")
    if input.ndim == 1 and (offsets is None or offsets.ndim != 1):
        what = f"offsets must be a 1D tensor, got {None if offsets is None else tuple(offsets.shape)}"
        raise error(ValueError, WHO, what, "pass the start of each bag, or all bags as rows: input.unsqueeze(0)")
    for name, t in (("input", input), ("offsets", offsets)):
        if t is not None and t._np_dtype.kind not in "iu":
            raise error(RuntimeError, WHO, f"expected integers as {name}, got {t.dtype}", "convert with .long()")
    if mode not in ("sum", "mean", "max"):
        raise error(ValueError, WHO, f"mode must be one of sum, mean or max, got {mode!r}", "write mode='mean'")
    if mode == "max" and scale_grad_by_freq:
        raise error(
            ValueError, WHO, "max mode does not support scaling the gradient by the frequency", "use mode='sum'"
        )
    if sparse:
        raise error(NotImplementedError, WHO, "sparse gradients are not supported", "leave sparse=True out")
    if per_sample_weights is not None and mode != "sum":
        what = f"per_sample_weights are for mode='sum', got mode={mode!r}"
        raise error(NotImplementedError, WHO, what, "write mode='sum', and divide by the weights' sums for a mean")
