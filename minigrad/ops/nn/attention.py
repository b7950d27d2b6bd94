"""Scaled dot-product attention, and gumbel_softmax, a differentiable random draw."""

from __future__ import annotations

import math

from ...arrays import dtypes
from ...core.tensor import Tensor
from ...errors import error
from ...tensors.printing import error_notes
from ..compare import where
from ..create import ones
from ..random import exponentials
from .dropout import dropout
from .entry import functional
from .softmax import softmax


@functional(
    "T(2, 3, 4), T(2, 5, 4), T(2, 5, 6)",
    "T(2, 2, 3, 4), T(2, 2, 3, 4), T(2, 2, 3, 4), is_causal=True",
    "T(3, 4), T(3, 4), T(3, 2)",
    "T(2, 3, 4), T(2, 5, 4), T(2, 5, 4), B(3, 5)",
    "T(2, 3, 4), T(2, 5, 4), T(2, 5, 4), attn_mask=T(2, 3, 5), scale=0.3",
    "T(1, 4, 3, 2), T(1, 2, 3, 2), T(1, 2, 3, 2), enable_gqa=True",
)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return softmax(query @ key.mT * scale + mask) @ value: (..., l, e), (..., s, e) and (..., s, v) give (..., l, v).

    `scale` defaults to 1 / sqrt(e).  A boolean mask is True at positions that take part in attention; any other mask is added.
    With `is_causal` no position sees a later one.  A position that sees none gets zeros.  With `enable_gqa` several heads
    (dimension -3) of the query share one head of key and value.
    Raises RuntimeError for a mask with is_causal, and for heads that cannot be shared evenly.
    Source: Vaswani et al., "Attention is all you need", 2017.
    """
    who = "scaled_dot_product_attention"
    if (
        min(query.ndim, key.ndim, value.ndim) < 2
        or query.shape[-1] != key.shape[-1]
        or key.shape[-2] != value.shape[-2]
    ):
        raise error(
            RuntimeError,
            who,
            f"query {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)} do not fit: query "
            "and key need the same last size, key and value the same size before it",
            "make query (..., l, e), key (..., s, e) and value (..., s, v)",
            notes=error_notes({"query": query, "key": key, "value": value}, marked=()),
        )
    if is_causal and attn_mask is not None:
        what = "explicit attn_mask should not be set when is_causal=True"
        raise error(RuntimeError, who, what, "leave one of them out: is_causal=True makes its own mask")
    if attn_mask is not None and dtypes.kind(attn_mask._np_dtype) not in "bf":
        what = f"expected attn_mask dtype to be bool or float, but got {attn_mask.dtype}"
        fix = "use .bool() for a mask of allowed positions, .float() for one to add to the scores"
        raise error(RuntimeError, who, what, fix)
    if enable_gqa:
        key, value = repeated_heads(query, key, value)
    scores = query @ key.mT * (1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale)
    if is_causal:
        attn_mask = ones(*scores.shape[-2:], dtype=bool, device=scores.device).tril()
    if attn_mask is not None:
        scores = where(attn_mask, scores, -math.inf) if attn_mask._np_dtype.kind == "b" else scores + attn_mask
        nothing = (scores == -math.inf).all(-1, True)
        weights = where(nothing, 0.0, softmax(where(nothing, 0.0, scores), -1))
    else:
        weights = softmax(scores, -1)
    return (dropout(weights, dropout_p) if dropout_p else weights) @ value


def repeated_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Return key and value, with each head repeated for the query heads that share it."""
    heads = [t.shape[-3] if t.ndim > 2 else 0 for t in (query, key, value)]
    if not all(heads) or heads[0] % heads[1] or heads[0] % heads[2]:
        what = f"the {heads[0]} query heads are not a multiple of the {heads[1]} key and {heads[2]} value heads"
        fix = "give all three a head dimension, (..., heads, length, features), or leave enable_gqa out"
        raise error(RuntimeError, "scaled_dot_product_attention", what, fix)
    repeated = [t.repeat_interleave(heads[0] // t.shape[-3], -3) for t in (key, value)]
    return repeated[0], repeated[1]


@functional(
    "T(3, 4)",
    "T(3, 4), 0.5, True, dim=0",
    differentiable=False,
)
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw a random class for each row of logits: softmax((logits + noise) / tau), with Gumbel noise.

    With `hard` the result is one-hot, with the gradient of the soft result.
    Source: Jang, Gu, Poole, "Categorical reparameterization with Gumbel-softmax", 2017.
    """
    noise = -exponentials("gumbel_softmax", logits.shape, None, logits.device).to(logits.dtype).log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, True)
    one_hot = soft.new_zeros(soft.shape).scatter(dim, index, 1.0)
    return one_hot - soft.detach() + soft
