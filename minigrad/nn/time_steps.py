"""One time step of recurrent networks: it returns the next states, the first of which is the output.

A step takes the contributions of the input (x) and of the state (s) to the gates, which are side by side, and the states.
recurrent.py and sequences.py call the steps; recurrent_layer.py makes kernels from them.
"""

from __future__ import annotations

from collections.abc import Callable

from ..core.tensor import Tensor
from ..ops.nn.linear import linear


def tanh_step(x: Tensor, s: Tensor, states: tuple) -> tuple:
    """Return the next state of an RNN."""
    return ((x + s).tanh(),)


def relu_step(x: Tensor, s: Tensor, states: tuple) -> tuple:
    """Return the next state of an RNN with nonlinearity="relu"."""
    return ((x + s).relu(),)


def lstm_step(x: Tensor, s: Tensor, states: tuple) -> tuple:
    """Return the next states (h, c) of an LSTM."""
    write, keep, new, show = (x + s).chunk(4, -1)
    c = keep.sigmoid() * states[1] + write.sigmoid() * new.tanh()
    return show.sigmoid() * c.tanh(), c


def gru_step(x: Tensor, s: Tensor, states: tuple) -> tuple:
    """Return the next state of a GRU."""
    (x_reset, x_keep, x_new), (s_reset, s_keep, s_new) = x.chunk(3, -1), s.chunk(3, -1)
    keep = (x_keep + s_keep).sigmoid()
    new = (x_new + (x_reset + s_reset).sigmoid() * s_new).tanh()
    return ((1 - keep) * new + keep * states[0],)


def projected(step: Callable, weight: Tensor) -> Callable:
    """Return a step whose output, also used as the next state, is a linear map of the output of `step`."""

    def run(x: Tensor, s: Tensor, states: tuple) -> tuple:
        h, *others = step(x, s, states)
        return (linear(h, weight), *others)

    return run


RNN_STEPS = {"tanh": tanh_step, "relu": relu_step}
