"""Embeddings: tables of rows, read by index.  Embedding returns a row per index, EmbeddingBag a row per bag of indices."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import empty
from ..ops.nn import embedding, embedding_bag
from . import init
from .module import Module
from .parameter import Parameter
from .settings import unusual


class Table(Module):
    """Base class of the embeddings: a table of rows, drawn at random or given, with an optional padding row."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _make(
        self,
        rows: int,
        columns: int,
        padding_idx: int | None,
        given: Tensor | None,
        learns: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        who = type(self).__name__
        self.num_embeddings, self.embedding_dim = rows, columns
        self.padding_idx = embedding.padding_row(who, padding_idx, rows)
        if given is not None and tuple(given.shape) != (rows, columns):
            raise error(
                AssertionError,
                who,
                f"shape of weight {tuple(given.shape)} does not match num_embeddings={rows} and embedding_dim={columns}",
                f"pass a weight of shape ({rows}, {columns})",
            )
        start = empty(rows, columns, dtype=dtype, device=device) if given is None else given
        self.weight = Parameter(start, requires_grad=learns)
        if given is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw normal rows; set the padding row to zeros."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            init.zeros_(self.weight.data[self.padding_idx])


def sizes(who: str, embeddings: Tensor) -> tuple[int, int]:
    """Return the number of rows and of columns of a table."""
    if embeddings.ndim != 2:
        what = f"embeddings parameter is expected to be 2-dimensional, got shape {tuple(embeddings.shape)}"
        raise error(AssertionError, who, what, "pass a matrix (num_embeddings, embedding_dim)")
    return embeddings.shape[0], embeddings.shape[1]


class Embedding(Table):
    """A table of rows, read by index.

    >>> import minigrad
    >>> words = minigrad.nn.Embedding(10, 4)
    >>> words(minigrad.tensor([[1, 2, 2]])).shape
    minigrad.Size([1, 3, 4])
    """

    _usual = {"padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False}

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._make(num_embeddings, embedding_dim, padding_idx, _weight, not _freeze, device, dtype)

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, *args: Any, **kwargs: Any
    ) -> Embedding:
        """Return an Embedding of the given table, frozen if `freeze`; further arguments are those of Embedding."""
        rows, columns = sizes("Embedding", embeddings)
        return cls(rows, columns, padding_idx, *args, **kwargs, _weight=embeddings, _freeze=freeze)

    def forward(self, input: Tensor) -> Tensor:
        return embedding.embedding(input, self.weight, **{n: getattr(self, n) for n in self._usual})

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}" + unusual(self, self._usual)


class EmbeddingBag(Table):
    """A table of rows that returns the sum, the mean or the maximum of the rows of each bag of indices.

    >>> import minigrad
    >>> texts = minigrad.nn.EmbeddingBag(10, 4, mode="sum")
    >>> texts(minigrad.tensor([1, 2, 2, 5]), offsets=minigrad.tensor([0, 3])).shape
    minigrad.Size([2, 4])
    """

    _usual = {"max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False}

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self._make(num_embeddings, embedding_dim, padding_idx, _weight, True, device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Return an EmbeddingBag of the given table, frozen if `freeze`."""
        rows, columns = sizes("EmbeddingBag", embeddings)
        settings = (max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset, padding_idx)
        bags = cls(rows, columns, *settings)
        bags.weight.requires_grad_(not freeze)
        return bags

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Return a row per bag: a bag is a row of `input`, or a part of a 1-D `input` that starts at one of `offsets`."""
        return embedding_bag.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{unusual(self, self._usual)}, mode={self.mode!r}{padding}"
