"""One step in time of recurrent networks: the next states, of which the first is the output.

A step takes what the input (x) and the state (s) contribute to the gates, which lie side by side, and the states.
recurrent.py and sequences.py call them, and recurrent_layer.py makes kernels of them.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.tensor import Tensor
from ..ops.nn.linear import linear


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


def projected(step: Callable, weight: Tensor) -> Callable:
    """Return a step whose output, and with it the state that goes on, is a linear map of the output of `step`."""

    def run(x: Tensor, s: Tensor, states: tuple) -> tuple:
        h, *others = step(x, s, states)
        return (linear(h, weight), *others)

    return run


RNN_STEPS = {"tanh": tanh_step, "relu": relu_step}
