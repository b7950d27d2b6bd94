"""Multi-head attention as a module."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.compare import where
from ..ops.create import empty
from ..ops.join import cat
from ..ops.nn.dropout import dropout
from ..ops.nn.linear import linear
from ..ops.nn.softmax import softmax
from ..ops.pad import pad
from . import init
from .basic_layers import Linear
from .module import Module
from .parameter import Parameter


class MultiheadAttention(Module):
    """softmax(q @ k.mT / sqrt(d)) @ v in each of `num_heads` slices of the projected query, key and value; then a projection.

    Inputs are (length, batch, embed_dim), with `batch_first` (batch, length, embed_dim), or unbatched (length, embed_dim).
    In boolean masks True marks positions that may *not* be attended to, as in PyTorch; other masks are added to the scores.
    Source: Vaswani et al., "Attention is all you need", 2017.

    >>> import minigrad
    >>> attend = minigrad.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = minigrad.randn(4, 5, 8)
    >>> result, weights = attend(x, x, x)
    >>> result.shape, weights.shape
    (minigrad.Size([4, 5, 8]), minigrad.Size([4, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise error(
                ValueError if embed_dim <= 0 or num_heads <= 0 else AssertionError,
                "MultiheadAttention",
                f"embed_dim={embed_dim} must be divisible by num_heads={num_heads}",
                f"choose embed_dim as a multiple of num_heads, such as embed_dim={max(num_heads, 1) * 64}",
            )
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.head_dim, self.add_zero_attn = embed_dim // num_heads, add_zero_attn
        new = lambda *shape: Parameter(empty(*shape, dtype=dtype, device=device))
        together = self.kdim == self.vdim == embed_dim  # one weight for the three projections, as in PyTorch
        widths = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        for name, width in widths.items():
            self.register_parameter(name, None if together else new(embed_dim, width))
        self.register_parameter("in_proj_weight", new(3 * embed_dim, embed_dim) if together else None)
        self.register_parameter("in_proj_bias", new(3 * embed_dim) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, new(1, 1, embed_dim) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw Xavier-uniform weights for the input projections; set biases to zero."""
        for w in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if w is not None:
                init.xavier_uniform_(w)
        for b in (self.in_proj_bias, self.out_proj.bias):
            if b is not None:
                init.zeros_(b)
        for b in (self.bias_k, self.bias_v):
            if b is not None:
                init.xavier_normal_(b)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the result and, with `need_weights`, the attention weights: averaged over the heads, or one set per head.

        `attn_mask` is (l, s) or (batch * heads, l, s), `key_padding_mask` is (batch, s).  `is_causal` is a hint that
        `attn_mask` is causal, and requires one.
        """
        if is_causal and attn_mask is None:
            what = "need attn_mask if specifying the is_causal hint"
            fix = "pass attn_mask=nn.Transformer.generate_square_subsequent_mask(length), or is_causal=False"
            raise error(RuntimeError, "MultiheadAttention", what, fix)
        single = query.ndim == 2
        apart = {id(t): t for t in (query, key, value)}  # a single tensor for self-attention
        in_front = {i: t.unsqueeze(0) if single else self._turned(t) for i, t in apart.items()}
        inputs = [in_front[id(t)] for t in (query, key, value)]
        if self.in_proj_weight is not None and len(apart) == 1:
            q, k, v = linear(inputs[0], self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
            weights = weights if self.in_proj_weight is None else self.in_proj_weight.chunk(3)
            biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
            q, k, v = (linear(t, w, b) for t, w, b in zip(inputs, weights, biases, strict=True))
        k, v = self._longer(k, self.bias_k), self._longer(v, self.bias_v)
        added = k.shape[1] - inputs[1].shape[1]  # positions outside the masks; all positions may attend to them
        attn_mask, key_padding_mask = (
            m if m is None or not added else pad(m, (0, added)) for m in (attn_mask, key_padding_mask)
        )
        q, k, v = (t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for t in (q, k, v))
        scores = q * (1 / math.sqrt(q.shape[-1])) @ k.mT
        if attn_mask is not None:
            scores = masked(scores, attn_mask if attn_mask.ndim == 2 else attn_mask.reshape(scores.shape))
        if key_padding_mask is not None:
            padding = key_padding_mask.unsqueeze(0) if single else key_padding_mask
            scores = masked(scores, padding.unsqueeze(1).unsqueeze(1))
        shares = dropout(softmax(scores, -1), self.dropout, self.training)
        out = self.out_proj((shares @ v).transpose(1, 2).flatten(2))
        shown = (shares.mean(1) if average_attn_weights else shares) if need_weights else None
        if single:
            return out[0], None if shown is None else shown[0]
        return self._turned(out), shown

    def _turned(self, t: Tensor) -> Tensor:
        """Swap the batch and length dimensions, unless `batch_first`."""
        return t if self.batch_first else t.transpose(0, 1)

    def _longer(self, t: Tensor, bias: Tensor | None) -> Tensor:
        """Return keys or values with the learned position and the zero position appended, if requested."""
        if bias is not None:
            t = cat([t, bias.expand(t.shape[0], 1, t.shape[2])], 1)
        return cat([t, t.new_zeros(t.shape[0], 1, t.shape[2])], 1) if self.add_zero_attn else t


def masked(scores: Tensor, mask: Tensor) -> Tensor:
    """Set scores to -inf where a boolean mask is True, or add any other mask."""
    return where(mask, -math.inf, scores) if mask.dtype.name == "bool" else scores + mask
