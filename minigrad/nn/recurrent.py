"""Cells of recurrent networks: one step in time, from an input and a state to the next state.

Whole sequences are in sequences.py, with the same steps.
"""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import empty
from ..ops.nn.linear import linear
from . import init
from .module import Module
from .parameter import Parameter


class Cell(Module):
    """What the cells share: weights of `gates` blocks for the input and for the state."""

    gates = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self.gates * hidden_size
        self.weight_ih = Parameter(empty(rows, input_size, dtype=dtype, device=device))
        self.weight_hh = Parameter(empty(rows, hidden_size, dtype=dtype, device=device))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Everything uniform up to 1 / sqrt(hidden_size)."""
        init.reset_all_(self.parameters(), self.hidden_size)

    def parts(self, input: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """What the input and what the state contribute to all gates."""
        return linear(input, self.weight_ih, self.bias_ih), linear(state, self.weight_hh, self.bias_hh)

    def start(self, input: Tensor, state: Tensor | None) -> Tensor:
        """The given state, or zeros."""
        if input.ndim not in (1, 2) or input.shape[-1] != self.input_size:
            raise error(
                RuntimeError,
                type(self).__name__,
                f"expected an input of shape (batch, {self.input_size}) or ({self.input_size},), got {tuple(input.shape)}",
                f"make its last size {self.input_size}, or build it with input_size={input.shape[-1] if input.ndim else 1}",
            )
        return input.new_zeros((*input.shape[:-1], self.hidden_size)) if state is None else state

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(Cell):
    """tanh (or relu) of a linear map of input and state.  Source: Elman, "Finding structure in time", 1990.

    >>> import minigrad
    >>> minigrad.nn.RNNCell(3, 5)(minigrad.ones(2, 3)).shape
    minigrad.Size([2, 5])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ):
        super().__init__(input_size, hidden_size, bias, device, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise error(RuntimeError, "RNNCell", f"unknown nonlinearity: {nonlinearity}", "use 'tanh' or 'relu'")
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        h = self.start(input, hx)
        return RNN_STEPS[self.nonlinearity](*self.parts(input, h), (h,))[0]

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class LSTMCell(Cell):
    """A state (h, c) whose memory c is kept, written and shown through gates.

    Source: Hochreiter, Schmidhuber, "Long short-term memory", 1997, with the forget gate of Gers et al., 2000.

    >>> import minigrad
    >>> h, c = minigrad.nn.LSTMCell(3, 5)(minigrad.ones(2, 3))
    >>> h.shape, c.shape
    (minigrad.Size([2, 5]), minigrad.Size([2, 5]))
    """

    gates = 4

    def forward(self, input: Tensor, hx: tuple | None = None) -> tuple[Tensor, Tensor]:
        h, c = (self.start(input, s) for s in hx or (None, None))
        return lstm_step(*self.parts(input, h), (h, c))


class GRUCell(Cell):
    """A state that moves towards a new one by as much as a gate says.

    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.

    >>> import minigrad
    >>> minigrad.nn.GRUCell(3, 5)(minigrad.ones(2, 3)).shape
    minigrad.Size([2, 5])
    """

    gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        h = self.start(input, hx)
        return gru_step(*self.parts(input, h), (h,))[0]


# ---------------------------------------------------------------------- steps
# The next states, of which the first is the output, from what the input (x) and the state (s) contribute to the gates, which
# lie side by side, and from the states.  recurrent_layer.py makes kernels of them.
def tanh_step(x: Tensor, s: Tensor, states: tuple) -> tuple:
    """A step of RNN."""
    return ((x + s).tanh(),)


def relu_step(x: Tensor, s: Tensor, states: tuple) -> tuple:
    """A step of RNN with nonlinearity="relu"."""
    return ((x + s).relu(),)


def lstm_step(x: Tensor, s: Tensor, states: tuple) -> tuple:
    """A step of LSTM."""
    write, keep, new, show = (x + s).chunk(4, -1)
    c = keep.sigmoid() * states[1] + write.sigmoid() * new.tanh()
    return show.sigmoid() * c.tanh(), c


def gru_step(x: Tensor, s: Tensor, states: tuple) -> tuple:
    """A step of GRU."""
    (x_reset, x_keep, x_new), (s_reset, s_keep, s_new) = x.chunk(3, -1), s.chunk(3, -1)
    keep = (x_keep + s_keep).sigmoid()
    new = (x_new + (x_reset + s_reset).sigmoid() * s_new).tanh()
    return ((1 - keep) * new + keep * states[0],)


RNN_STEPS = {"tanh": tanh_step, "relu": relu_step}
