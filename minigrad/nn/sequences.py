"""Recurrent networks over whole sequences: RNN, LSTM and GRU, in several layers and both directions.

The input's part of all gates is one matrix product for the whole sequence; each step adds only the state's product.
Names and layout of the weights are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import empty
from ..ops.join import cat, room_for, stack
from ..ops.nn.dropout import check_probability, dropout
from . import init
from .module import Module
from .parameter import Parameter
from .recurrent_layer import SIZES, run_layer
from .settings import unusual
from .time_steps import gru_step, lstm_step, projected, relu_step, tanh_step
from .utils.rnn import PackedSequence, run_packed

MODES = {"LSTM": lstm_step, "GRU": gru_step, "RNN_TANH": tanh_step, "RNN_RELU": relu_step}


class RNNBase(Module):
    """Base class of recurrent layers, run over time.  `mode` is "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".

    >>> import minigrad
    >>> isinstance(minigrad.nn.LSTM(2, 3), minigrad.nn.RNNBase)
    True
    """

    _n_directions = property(lambda m: 2 if m.bidirectional else 1)
    _n_states = property(lambda m: SIZES[MODES[m.mode]][1])
    _flat_weights_names = property(lambda m: list(m._parameters))  # programs loop over these to draw initial values
    _flat_weights = property(
        lambda m: list(m._parameters.values()),
        lambda m, weights: m._parameters.update(zip(m._flat_weights_names, weights, strict=True)),
    )

    @property
    def all_weights(self) -> list:
        """The parameters of each layer and direction, as lists."""
        ends = [end for layer in range(self.num_layers) for end in self._endings(layer)]
        return [[p for name, p in self._parameters.items() if name.partition("_l")[2] == end[2:]] for end in ends]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__()
        who = type(self).__name__
        if hidden_size <= 0 or num_layers <= 0:
            what = f"hidden_size={hidden_size} and num_layers={num_layers} must be greater than zero"
            raise error(ValueError, who, what, "pass positive integers, such as hidden_size=16, num_layers=1")
        if not 0 <= proj_size < hidden_size:
            what = f"proj_size has to be smaller than hidden_size: it is {proj_size}, and hidden_size is {hidden_size}"
            raise error(ValueError, who, what, f"pass a number from 1 to {hidden_size - 1}, or 0 for no projection")
        if mode not in MODES:
            raise error(ValueError, who, f"unrecognized RNN mode {mode!r}", f"use {', '.join(map(repr, MODES))}")
        if proj_size and mode != "LSTM":
            what = "proj_size argument is only supported for LSTM, not RNN or GRU"
            raise error(ValueError, who, what, "leave it out, or put a Linear after the layer")
        check_probability(who, dropout)
        room_for(type(self).__name__, num_layers, "layers")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        rows, size = SIZES[MODES[mode]][0] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            width = size * self._n_directions if layer else input_size
            for end in self._endings(layer):
                shapes: dict = {f"weight_ih{end}": (rows, width), f"weight_hh{end}": (rows, size)}
                shapes |= {f"bias_ih{end}": (rows,), f"bias_hh{end}": (rows,)} if bias else {}
                shapes |= {f"weight_hr{end}": (proj_size, hidden_size)} if proj_size else {}
                for name, shape in shapes.items():
                    setattr(self, name, Parameter(empty(*shape, dtype=dtype, device=device)))
        self._init_flat_weights()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights and biases uniformly from -1 / sqrt(hidden_size) to 1 / sqrt(hidden_size)."""
        init.reset_all_(self.parameters(), self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing: PyTorch's name for a memory layout that only GPUs need."""

    def _init_flat_weights(self) -> None:
        self.flatten_parameters()

    def _apply(self, fn: Callable, recurse: bool = True) -> RNNBase:
        super()._apply(fn, recurse)
        self._init_flat_weights()
        return self

    def _endings(self, layer: int) -> list:
        """Return the suffixes of one layer's weight names, one for each direction."""
        return [f"_l{layer}{reverse}" for reverse in ("", "_reverse")[: self._n_directions]]

    def _step(self, end: str) -> Callable:
        """Return the step (from time_steps.py) of the layer whose weight names have this suffix."""
        step = MODES[self.mode]
        return projected(step, getattr(self, f"weight_hr{end}")) if self.proj_size else step

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Any]:
        """Return the last layer's outputs at all time steps, and the last states of all layers and directions.

        `input` is (length, batch, input_size), with `batch_first` (batch, length, input_size), unbatched (length,
        input_size), or a PackedSequence; the outputs have the same form.
        """
        if isinstance(input, PackedSequence):
            return run_packed(self, input, hx)
        if input.ndim not in (2, 3):
            raise self._misfit(ValueError, f"got {tuple(input.shape)}", input)
        single = input.ndim == 2
        x = input.unsqueeze(0 if self.batch_first else 1) if single else input
        states, ends = self._start(x, self._batched(hx) if single else hx), []
        x = x.transpose(0, 1) if self.batch_first else x
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = dropout(x, self.dropout, self.training)
            outs = []
            for d, end in enumerate(self._endings(layer)):
                first = tuple([s[layer * self._n_directions + d] for s in states])
                out, last = self._walk(x.flip(0) if d else x, first, end)
                outs.append(out.flip(0) if d else out)
                ends.append(last)
            x = outs[0] if len(outs) == 1 else cat(outs, -1)
        last = tuple([stack(list(s)) for s in zip(*ends)])
        if single:
            x, last = x.squeeze(1), tuple([s.squeeze(1) for s in last])
        hx = self.permute_hidden(last[0] if self._n_states == 1 else last, None)
        return x.transpose(0, 1) if self.batch_first and not single else x, hx

    def _batched(self, hx: Any) -> Any:
        """Return the states of a single sequence with a dimension for the batch."""
        if isinstance(hx, (tuple, list)):
            return tuple(map(self._batched, hx))
        return hx if hx is None or hx.ndim != 2 else hx.unsqueeze(1)

    def _start(
        self, x: Tensor, hx: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None
    ) -> tuple:
        """Return the given first states, each (layers * directions, batch, hidden_size), or zeros; h may have proj_size."""
        if hx is None:
            h = self._state_shape(x, batch_sizes, self.proj_size or self.hidden_size)
            shapes = (h, self._state_shape(x, batch_sizes, self.hidden_size))[: self._n_states]
            hx = tuple([x.new_zeros(shape) for shape in shapes])
            hx = hx[0] if self._n_states == 1 else hx
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(x, hx, batch_sizes)
        return (hx,) if self._n_states == 1 else tuple(hx)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise an error unless input and states have the right shapes; `batch_sizes` are those of a packed input."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise RuntimeError for an input of the wrong rank or width."""
        if input.ndim != (3 if batch_sizes is None else 2):
            raise self._misfit(RuntimeError, f"got {tuple(input.shape)}", input)
        if input.shape[-1] != self.input_size:
            raise self._misfit(RuntimeError, f"but its last size is {input.shape[-1]}", input)

    def _misfit(self, kind: type[Exception], got: str, input: Tensor) -> Exception:
        n, given = self.input_size, input.shape[-1] if input.ndim else 1
        what = f"expected an input of shape (length, batch, {n}) or (length, {n}), {got}"
        return error(kind, type(self).__name__, what, f"make its last size {n}, or build it with input_size={given}")

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the state h."""
        return self._state_shape(input, batch_sizes, self.proj_size or self.hidden_size)

    def _state_shape(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> tuple[int, int, int]:
        batch = input.shape[0 if self.batch_first else 1] if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * self._n_directions, batch, size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple, msg: str = "expected a hidden state of shape {}, got {}"
    ) -> None:
        """Raise RuntimeError for a state of another shape."""
        shape = tuple(expected_hidden_size)
        if tuple(hx.shape) != shape:
            fix = f"pass zeros({', '.join(map(str, shape))}), or leave it out for zeros"
            raise error(RuntimeError, type(self).__name__, msg.format(shape, tuple(hx.shape)), fix)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return states with the sequences of the batch in another order."""
        if permutation is None:
            return hx
        if isinstance(hx, (tuple, list)):
            return tuple([h.index_select(1, permutation) for h in hx])
        return hx.index_select(1, permutation)

    def _walk(self, x: Tensor, states: tuple, end: str) -> tuple:
        """Run one layer in one direction; return its outputs and its last states."""
        if not len(x):
            what = "expected a sequence length larger than 0"
            raise error(RuntimeError, type(self).__name__, what, "skip empty sequences: if len(input): ...")
        weights = getattr(self, f"weight_ih{end}"), getattr(self, f"weight_hh{end}")
        biases = (getattr(self, f"bias_ih{end}"), getattr(self, f"bias_hh{end}")) if self.bias else (None, None)
        return run_layer(self._step(end), x, states, *weights, *biases)

    def extra_repr(self) -> str:
        usual = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
        }
        return f"{self.input_size}, {self.hidden_size}" + unusual(self, usual)


class RNN(RNNBase):
    """h = tanh (or relu) of a linear map of input and state.  Source: Elman, "Finding structure in time", 1990.

    >>> import minigrad
    >>> outputs, h = minigrad.nn.RNN(3, 5, bidirectional=True)(minigrad.ones(7, 2, 3))
    >>> outputs.shape, h.shape
    (minigrad.Size([7, 2, 10]), minigrad.Size([2, 2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise error(ValueError, "RNN", f"unknown nonlinearity {nonlinearity!r}", "use 'tanh' or 'relu'")
        mode, place = f"RNN_{nonlinearity.upper()}", {"device": device, "dtype": dtype}
        super().__init__(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, **place)
        self.nonlinearity = nonlinearity


class Gated(RNNBase):
    """Base class of LSTM and GRU: the mode is the class's."""

    _mode = ""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ):
        sizes = (input_size, hidden_size, num_layers)
        super().__init__(self._mode, *sizes, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)


class LSTM(Gated):
    """A state (h, c): gates decide how much of the memory c to keep, to write and to show as h.

    With `proj_size`, h is a linear map of the gates' output to `proj_size` numbers (Sak et al., 2014).

    Source: Hochreiter, Schmidhuber, "Long short-term memory", 1997, with the forget gate of Gers et al., 2000.

    >>> import minigrad
    >>> outputs, (h, c) = minigrad.nn.LSTM(3, 5, num_layers=2)(minigrad.ones(7, 2, 3))
    >>> outputs.shape, h.shape
    (minigrad.Size([7, 2, 5]), minigrad.Size([2, 2, 5]))
    >>> outputs, (h, c) = minigrad.nn.LSTM(3, 5, proj_size=2)(minigrad.ones(7, 1, 3))
    >>> outputs.shape, h.shape, c.shape
    (minigrad.Size([7, 1, 2]), minigrad.Size([1, 1, 2]), minigrad.Size([1, 1, 5]))
    """

    _mode = "LSTM"

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        for i, expected in enumerate((self.get_expected_hidden_size, self.get_expected_cell_size)):
            what = f"expected hidden[{i}], a hidden state, of shape {{}}, got {{}}"
            self.check_hidden_size(hidden[i], expected(input, batch_sizes), what)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the state c."""
        return self._state_shape(input, batch_sizes, self.hidden_size)


class GRU(Gated):
    """A state that moves towards a new one; a gate decides how far.

    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.

    >>> import minigrad
    >>> outputs, h = minigrad.nn.GRU(3, 5, batch_first=True)(minigrad.ones(2, 7, 3))
    >>> outputs.shape, h.shape
    (minigrad.Size([2, 7, 5]), minigrad.Size([1, 2, 5]))
    """

    _mode = "GRU"
