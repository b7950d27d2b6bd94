"""Cells of recurrent networks: one time step, from an input and a state to the next state.

sequences.py runs whole sequences with the same steps (time_steps.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import empty
from ..ops.nn.linear import linear
from . import init
from .module import Module
from .parameter import Parameter
from .recurrent_layer import as_one_operation
from .time_steps import RNN_STEPS, gru_step, lstm_step


class RNNCellBase(Module):
    """Base class of the cells: weights of `num_chunks` blocks, one for each gate, for the input and for the state.

    >>> import minigrad
    >>> isinstance(minigrad.nn.GRUCell(2, 3), minigrad.nn.RNNCellBase)
    True
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty(rows, input_size, dtype=dtype, device=device))
        self.weight_hh = Parameter(empty(rows, hidden_size, dtype=dtype, device=device))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, dtype=dtype, device=device)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights and biases uniformly from -1 / sqrt(hidden_size) to 1 / sqrt(hidden_size)."""
        init.reset_all_(self.parameters(), self.hidden_size)

    def _run(self, step: Callable, input: Tensor, states: tuple) -> tuple:
        """Return the next states."""
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        if input.ndim == 2 and all([s.ndim == 2 for s in states]):
            found = as_one_operation(step, input.unsqueeze(0), states, *weights)
            if found is not None:
                return found[1]
        from_input = linear(input, self.weight_ih, self.bias_ih)
        return step(from_input, linear(states[0], self.weight_hh, self.bias_hh), states)

    def _start(self, input: Tensor, state: Tensor | None) -> Tensor:
        """Return the given state, or zeros."""
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


class RNNCell(RNNCellBase):
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
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise error(RuntimeError, "RNNCell", f"unknown nonlinearity: {nonlinearity}", "use 'tanh' or 'relu'")
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._run(RNN_STEPS[self.nonlinearity], input, (self._start(input, hx),))[0]

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class LSTMCell(RNNCellBase):
    """A state (h, c): gates decide how much of the memory c to keep, to write and to show as h.

    Source: Hochreiter, Schmidhuber, "Long short-term memory", 1997, with the forget gate of Gers et al., 2000.

    >>> import minigrad
    >>> h, c = minigrad.nn.LSTMCell(3, 5)(minigrad.ones(2, 3))
    >>> h.shape, c.shape
    (minigrad.Size([2, 5]), minigrad.Size([2, 5]))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple | None = None) -> tuple[Tensor, Tensor]:
        h, c = self._run(lstm_step, input, tuple([self._start(input, s) for s in hx or (None, None)]))
        return h, c


class GRUCell(RNNCellBase):
    """A state that moves towards a new one; a gate decides how far.

    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.

    >>> import minigrad
    >>> minigrad.nn.GRUCell(3, 5)(minigrad.ones(2, 3)).shape
    minigrad.Size([2, 5])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._run(gru_step, input, (self._start(input, hx),))[0]
