"""The transformer: layers of attention and a feed-forward network, stacks of layers, and encoder plus decoder.

Source: Vaswani et al., "Attention is all you need", 2017.  With `norm_first` each norm comes before its part, not after.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import full
from ..ops.join import room_for
from ..ops.nn import activation as activations
from . import init
from .basic_layers import Dropout, Linear
from .containers import ModuleList
from .module import Module
from .multihead_attention import MultiheadAttention
from .normalization import LayerNorm


class ResidualLayer(Module):
    """Base class of the encoder's and decoder's layers: the feed-forward network, and the residual connection."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        place: dict = {"device": device, "dtype": dtype}
        if isinstance(activation, str) and activation not in ("relu", "gelu"):
            what = f"activation should be relu/gelu, not {activation}"
            raise error(RuntimeError, type(self).__name__, what, "pass activation='relu', 'gelu' or a function")
        self.norm_first = norm_first
        self.activation = getattr(activations, activation) if isinstance(activation, str) else activation
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place)
        if self._crossing:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place)
        self.linear1, self.dropout = Linear(d_model, dim_feedforward, bias, **place), Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        numbers = (1, 2, 3) if self._crossing else (1, 2)
        for i in numbers:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for i in numbers:
            setattr(self, f"dropout{i}", Dropout(dropout))

    _crossing = False  # True if the layer attends to a second sequence

    def _added(self, x: Tensor, i: int, part: Callable, *args: Any) -> Tensor:
        """Return x plus part(x, *args), with norm number i before or after."""
        norm = getattr(self, f"norm{i}")
        return x + part(norm(x), *args) if self.norm_first else norm(x + part(x, *args))

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        """Attend to the sequence itself."""
        masks: dict = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        return self.dropout1(self.self_attn(x, x, x, need_weights=False, **masks)[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        """Apply the feed-forward network to each position."""
        drop = self.dropout3 if self._crossing else self.dropout2
        return drop(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(ResidualLayer):
    """Self-attention among the positions of one sequence, then a feed-forward network for each position.

    >>> import minigrad
    >>> minigrad.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(minigrad.ones(4, 5, 8)).shape
    minigrad.Size([4, 5, 8])
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return the encoded `src`; both are (length, batch, d_model), with batch_first (batch, length, d_model)."""
        x = self._added(src, 1, self._sa_block, src_mask, src_key_padding_mask, is_causal)
        return self._added(x, 2, self._ff_block)


class TransformerDecoderLayer(ResidualLayer):
    """Self-attention in one sequence, attention to another one (`memory`), then a feed-forward network.

    >>> import minigrad
    >>> layer = minigrad.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(minigrad.ones(4, 3, 8), minigrad.ones(4, 5, 8)).shape
    minigrad.Size([4, 3, 8])
    """

    _crossing = True

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return `tgt` after it attends to itself and to `memory`; shapes as in the encoder's layer."""
        x = self._added(tgt, 1, self._sa_block, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        x = self._added(x, 2, self._mha_block, memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        return self._added(x, 3, self._ff_block)

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        """Attend to the other sequence."""
        masks: dict = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask, "is_causal": is_causal}
        return self.dropout2(self.multihead_attn(x, mem, mem, need_weights=False, **masks)[0])


class LayerStack(Module):
    """Copies of a layer in a chain, with an optional norm at the end."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__()
        room_for(type(self).__name__, num_layers, "layers")
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def _through(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Pass x through all layers, each with the same further arguments."""
        for layer in self.layers:
            x = layer(x, *args, **kwargs)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(LayerStack):
    """A stack of encoder layers.

    >>> import minigrad
    >>> layer = minigrad.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> minigrad.nn.TransformerEncoder(layer, 2)(minigrad.ones(4, 5, 8)).shape
    minigrad.Size([4, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ):
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Pass `src` through all layers."""
        masks: dict = {"src_mask": mask, "src_key_padding_mask": src_key_padding_mask}
        return self._through(src, is_causal=bool(is_causal), **masks)


class TransformerDecoder(LayerStack):
    """A stack of decoder layers.

    >>> import minigrad
    >>> layer = minigrad.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> minigrad.nn.TransformerDecoder(layer, 2)(minigrad.ones(4, 3, 8), minigrad.ones(4, 5, 8)).shape
    minigrad.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Pass `tgt` through all layers; each layer attends to `memory`."""
        masks: dict = {"tgt_mask": tgt_mask, "memory_mask": memory_mask}
        masks |= {"tgt_key_padding_mask": tgt_key_padding_mask, "memory_key_padding_mask": memory_key_padding_mask}
        return self._through(tgt, memory, tgt_is_causal=bool(tgt_is_causal), memory_is_causal=memory_is_causal, **masks)


class Transformer(Module):
    """An encoder for one sequence and a decoder for another.

    >>> import minigrad
    >>> net = minigrad.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> net(minigrad.ones(4, 5, 8), minigrad.ones(4, 3, 8)).shape
    minigrad.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        place: dict = {"device": device, "dtype": dtype}
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norm = lambda: LayerNorm(d_model, layer_norm_eps, bias=bias, **place)
        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*settings, **place), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*settings, **place), num_decoder_layers, norm()
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw Xavier-uniform values for all matrices."""
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Return `tgt` decoded with the encoded `src` as memory."""
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise error(
                RuntimeError,
                "Transformer",
                f"the feature number of src {tuple(src.shape)} and tgt {tuple(tgt.shape)} must be equal to "
                f"d_model={self.d_model}",
                f"embed both with nn.Embedding(words, {self.d_model}), or build Transformer(d_model={src.shape[-1]})",
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        masks: dict = {"tgt_mask": tgt_mask, "memory_mask": memory_mask}
        masks |= {"tgt_key_padding_mask": tgt_key_padding_mask, "memory_key_padding_mask": memory_key_padding_mask}
        return self.decoder(tgt, memory, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal, **masks)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the causal mask, which hides later positions: -inf above the diagonal, else 0."""
        return full((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)
