"""Helpers for your own distributions, under the names of `torch.distributions.utils`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..arrays import dtypes
from ..arrays.dtypes import finfo
from ..core.frames import use
from ..core.tensor import Tensor
from ..errors import error
from ..layers.transform import layers_of, recording
from ..ops.broadcast import broadcast_tensors
from ..ops.create import full, ones, zeros
from ..ops.nn.softmax import softmax

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Return tensors and numbers as tensors of one shape; numbers take the dtype and device of the first tensor.

    Raises ValueError for anything else.

    >>> import minigrad as torch
    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    wrong = [v for v in values if not isinstance(v, (Tensor, int, float))]
    if wrong:
        what = f"takes tensors and numbers, but got {type(wrong[0]).__name__}"
        raise error(ValueError, "broadcast_all", what, "pass minigrad.tensor(value)")
    like = next((v for v in values if isinstance(v, Tensor)), zeros(()))
    tensors = [v if isinstance(v, Tensor) else full((), v, dtype=like.dtype, device=like.device) for v in values]
    return tuple(broadcast_tensors(*tensors))


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities by one rounding away from 0 and 1, so that their logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return log(p), or log(p / (1 - p)) for binary outcomes; finite for 0 and 1 too.

    >>> import minigrad as torch
    >>> torch.distributions.utils.probs_to_logits(torch.tensor([0.5, 0.75]), is_binary=True)
    tensor([0.0000, 1.0986])
    """
    p = clamp_probs(probs)
    return p.log() - (-p).log1p() if is_binary else p.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return the softmax over the last dimension, or the sigmoid for binary outcomes.

    >>> import minigrad as torch
    >>> torch.distributions.utils.logits_to_probs(torch.tensor([0.0, 1.0986]))
    tensor([0.2500, 0.7500])
    """
    return logits.sigmoid() if is_binary else softmax(logits, -1)


class lazy_property:
    """Compute a property on first use and cache it; the graph is built even inside `no_grad()` and `inference_mode()`.

    A result that only a running transform can use is computed again each time.

    >>> class D:
    ...     @lazy_property
    ...     def probs(self):
    ...         return print("computed")
    >>> d = D()
    >>> d.probs, d.probs
    computed
    (None, None)
    """

    def __init__(self, method: Callable[[Any], Any]):
        self.method, self.__doc__ = method, method.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with use(recording()):
            value = self.method(instance)
        own = [layers_of(t) for t in vars(instance).values() if isinstance(t, Tensor)]
        if not isinstance(value, Tensor) or layers_of(value) <= set().union(*own):
            vars(instance)[self.method.__name__] = value
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the entries on and below a diagonal as vectors, row by row.

    Raises ValueError for a diagonal that the matrix does not have.

    >>> import minigrad as torch
    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        what = f"expected a diagonal from {-n} to {n - 1} for shape {tuple(mat.shape)}, got diag={diag}"
        raise error(ValueError, "tril_matrix_to_vec", what, "write diag=0 for the main diagonal")
    return mat[..., below(n, diag, mat)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return square matrices with vectors as their entries on and below a diagonal, row by row, and 0 elsewhere.

    Raises ValueError for a vector whose length fits no matrix.

    >>> import minigrad as torch
    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1., 3., 4.]))
    tensor([[1., 0.],
            [3., 4.]])
    """
    size = vec.shape[-1]
    # n (n + 1) / 2 + n diag - |diag| (diag + 1) / 2 entries are on or below the diagonal; solved for n
    n = (-(1 + 2 * diag) + math.isqrt((1 + 2 * diag) ** 2 + 8 * size + 4 * abs(diag) * (diag + 1))) // 2
    mask = below(n, diag, vec)
    if mask.sum().item() != size:
        what = f"{size} numbers do not fill the part of a matrix on and below diagonal {diag}"
        raise error(ValueError, "vec_to_tril_matrix", what, f"pass {int(mask.sum())} numbers for a matrix of {n} rows")
    found = vec.new_zeros((*vec.shape[:-1], n, n))
    found[..., mask] = vec
    return found


def below(n: int, diag: int, near: Tensor) -> Tensor:
    """Return a mask of the entries of an n x n matrix on or below a diagonal."""
    return ones((n, n), dtype=dtypes.bool_, device=near.device).tril(diag)
