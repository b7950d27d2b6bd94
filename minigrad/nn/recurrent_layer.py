"""A recurrent layer over a whole sequence as one operation, on the CPU.

The definition is a loop of operations: `steps` below.  The fast path computes the input's part of all gates as one product
for all time steps, then per step one product with the state and one pass over memory; the gradients of the weights are one
product for all steps.  The passes are generated from the step (compile/recurrent_kernels.py).  Transforms, recordings,
captures, GPUs and a backward that is differentiated again run the definition instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compile import recurrent_kernels
from ..core.frames import OFF, ON, current
from ..core.graph import Node
from ..core.saved import save, unpack
from ..core.tensor import Tensor, wrap
from ..func.reverse import vjp
from ..kernels.fallback import only_definitions
from ..ops.base.primitive import Primitive
from ..ops.join import stack
from ..ops.nn.linear import linear
from .time_steps import gru_step, lstm_step, relu_step, tanh_step

FROM = 2048  # elements of all gates at all time steps; smaller layers are not worth a compilation
COPY_FROM = 8  # from this many time steps on, a contiguous copy of the state's weights saves a tenth of the time
DTYPES = tuple(map(np.dtype, ("f4", "f8")))


def steps(step: Callable, x: Tensor, states: tuple, w_x: Tensor, w_h: Tensor, b_x: Any, b_h: Any) -> tuple:
    """Return a layer's outputs at all time steps and its last states; x is (length, batch, width), states (batch, size)."""
    outs = []
    for part in linear(x, w_x, b_x).unbind(0):
        states = step(part, linear(states[0], w_h, b_h), states)
        outs.append(states[0])
    return stack(outs), states


def run_layer(step: Callable, x: Tensor, states: tuple, w_x: Tensor, w_h: Tensor, b_x: Any, b_h: Any) -> tuple:
    """Return the same as `steps`, by one operation where possible."""
    found = as_one_operation(step, x, states, w_x, w_h, b_x, b_h)
    return steps(step, x, states, w_x, w_h, b_x, b_h) if found is None else found


def as_one_operation(
    step: Callable, x: Tensor, states: tuple, w_x: Tensor, w_h: Tensor, b_x: Any, b_h: Any
) -> tuple | None:
    """Return the same by one operation, or None where that is impossible."""
    frame, dtype = current(), w_h._np_dtype
    if (frame is not ON and frame is not OFF) or step not in SIZES or dtype not in DTYPES or only_definitions():
        return None
    if len(x) * x.shape[1] * len(w_h) < FROM:
        return None
    shape, rows = (x.shape[1], w_h.shape[1]), len(w_h)
    fit = all([s._sizes == shape for s in states]) and w_x._sizes == (rows, x._sizes[2])
    tensors = [t for t in (x, *states, w_x, w_h, b_x, b_h) if t is not None]
    if not fit or any([t._layer is not None or type(t._a) is not np.ndarray or t._np_dtype != dtype for t in tensors]):
        return None
    outs, last, _ = RecurrentLayer.apply(x, stack(list(states)), w_x, w_h, b_x, b_h, step)
    return outs, last.unbind(0)


class RecurrentLayer(Primitive):
    """All steps of a layer: its outputs, its last states, and the numbers that the steps save for backward.

    The initial `states` and the last ones are stacked: (number of states, batch, size).
    """

    n_internal = 1

    @staticmethod
    def impl(x: Any, states: Any, w_x: Any, w_h: Any, b_x: Any, b_h: Any, step: Callable) -> tuple:
        if not only_definitions():
            return forward(step, x, states, w_x, w_h, b_x, b_h)
        biases = [b if b is None else wrap(b) for b in (b_x, b_h)]
        outs, last = steps(step, wrap(x), tuple(map(wrap, states)), wrap(w_x), wrap(w_h), *biases)
        return outs._a, np.stack([s._a for s in last]), np.empty(0)

    @classmethod
    def keep(cls, args: tuple, outs: tuple, edges: tuple) -> tuple:
        """Save everything, and which gradients are needed."""
        *tensors, step = args
        saved = [save(t) if isinstance(t, Tensor) else None for t in tensors]
        return (*saved, (step, tuple([e is not None for e in edges[:-1]])), save(outs[0], 0), None, save(outs[2], 2))

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """Return the needed gradients, from those of the outputs and last states."""
        *tensors, (step, wanted), outs, _, kept = bound
        if gs[2] is not None or only_definitions() or not kept.size:
            return None
        return (*backward(step, wanted, tensors, outs, kept, *gs[:2]), None)

    @staticmethod
    def backward(ctx: Node, *grads: Tensor | None) -> tuple:
        """Compute the same by the definition, so that it can be differentiated again."""
        *tensors, (step, wanted), _, _, _ = [unpack(s, ctx) for s in ctx._alive()]
        places = [i for i, want in enumerate(wanted) if want]

        def run(*given: Tensor) -> tuple:
            x, states, *weights = [given[places.index(i)] if i in places else t for i, t in enumerate(tensors)]
            outs, last = steps(step, x, states.unbind(0), *weights)
            return outs, stack(list(last))

        results, pull = vjp(run, *[tensors[i] for i in places])
        found = pull(tuple([r.new_zeros(r.shape) if g is None else g for r, g in zip(results, grads)]))
        return (*[found[places.index(i)] if want else None for i, want in enumerate(wanted)], None)


# the steps that have kernels: (number of gates, number of states)
SIZES: dict[Callable, tuple[int, int]] = {lstm_step: (4, 2), gru_step: (3, 1), tanh_step: (1, 1), relu_step: (1, 1)}


def by_gate(w: np.ndarray, n_gates: int) -> np.ndarray:
    """Return a weight or a bias with a leading dimension for the gates; each gate is contiguous in memory."""
    return w.reshape(n_gates, -1, *w.shape[1:])


def forward(step: Callable, x: np.ndarray, states: np.ndarray, w_x: Any, w_h: Any, b_x: Any, b_h: Any) -> tuple:
    """Return the outputs at all time steps, the last states, and the numbers saved at each step."""
    (n_gates, n_states), (length, batch, width), size = SIZES[step], x.shape, w_h.shape[1]
    kernels = recurrent_kernels.kernels(step, n_gates, n_states, x.dtype)
    n, sums = batch * size, [i == k for i, k in zip(kernels.gradients[:n_gates], kernels.gradients[n_gates:])]
    parts, left = np.matmul(x.reshape(length * batch, width), by_gate(w_x, n_gates).swapaxes(1, 2)), []
    if b_x is not None:  # gates that use only the sum of both parts get the state's bias for all time steps at once
        parts += by_gate(np.where(np.repeat(sums, size), b_x + b_h, b_x), n_gates)[:, None]
        left = [(k, by_gate(b_h, n_gates)[k]) for k in range(n_gates) if not sums[k]]
    parts = parts.reshape(n_gates, length, n).swapaxes(0, 1)
    outs, kept = np.empty((length, n), x.dtype), np.empty((kernels.n_kept, length, n), x.dtype)
    w, part = by_gate(w_h, n_gates).swapaxes(1, 2), np.empty((n_gates, batch, size), x.dtype)
    w = np.ascontiguousarray(w) if length >= COPY_FROM else w
    flat, old = list(part.reshape(n_gates, n)), list(states.reshape(n_states, n))
    memory = [list(m) for m in np.empty((2, n_states - 1, n), x.dtype)]
    for t, (out, given, saved) in enumerate(zip(outs, parts, kept.swapaxes(0, 1))):
        np.matmul(old[0].reshape(batch, size), w, out=part)
        for k, b in left:
            part[k] += b
        new = [out, *memory[t % 2]]
        kernels.forward(*given, *flat, *old, *new, *saved)
        old = new
    return outs.reshape(length, batch, size), np.stack(old).reshape(n_states, batch, size), kept


def backward(step: Callable, wanted: tuple, tensors: Sequence, outs: Any, kept: Any, g: Any, g_last: Any) -> list:
    """Return the needed gradients of input, first states, weights and biases, from those of outputs and last states."""
    (x, states, w_x, w_h, _, _), (n_gates, n_states), (length, batch, size) = tensors, SIZES[step], outs.shape
    kernels = recurrent_kernels.kernels(step, n_gates, n_states, x.dtype)
    n, places = batch * size, kernels.gradients
    for_x, for_h, for_states = places[:n_gates], places[n_gates:-n_states], places[-n_states:]
    made, zeros, w = (
        np.empty((kernels.n_gradients, length, n), x.dtype),
        np.zeros((n_states, n), x.dtype),
        by_gate(w_h, n_gates),
    )
    g = None if g is None else np.ascontiguousarray(g).reshape(length, n)
    old = list(zeros if g_last is None else np.ascontiguousarray(g_last).reshape(n_states, n))
    for t in range(length - 1, -1, -1):
        if g is not None:
            old[0] = old[0] + g[t]
        now = made[:, t]
        kernels.backward(*kept[:, t], *old, *now)
        old = [zeros[0] if k is None else now[k] for k in for_states]
        through = np.add.reduce(np.matmul(taken(now, for_h).reshape(n_gates, batch, size), w)).reshape(n)
        old[0] = through if for_states[0] is None else old[0] + through
    rows = length * batch
    d_parts = d_from_state = taken(made, for_x).reshape(n_gates, rows, size)
    if for_h != for_x:
        d_from_state = taken(made, for_h).reshape(n_gates, rows, size)
    before, ones = np.concatenate([states[:1], outs[:-1]]), np.ones(rows, x.dtype)
    by = {
        0: lambda: np.add.reduce(np.matmul(d_parts, by_gate(w_x, n_gates))).reshape(x.shape),
        1: lambda: np.stack(old).reshape(states.shape),
        2: lambda: np.matmul(d_parts.swapaxes(1, 2), x.reshape(rows, -1)).reshape(w_x.shape),
        3: lambda: np.matmul(d_from_state.swapaxes(1, 2), before.reshape(rows, size)).reshape(w_h.shape),
        4: lambda: np.matmul(ones, d_parts).reshape(-1),  # a fifth of the time of a sum
        5: lambda: np.matmul(ones, d_from_state).reshape(-1),
    }
    return [f() if want else None for want, f in zip(wanted, by.values())]


def taken(made: np.ndarray, places: list) -> np.ndarray:
    """Return some of the gradients: a view if they are adjacent in memory, else a copy."""
    first = places[0]
    return made[first : first + len(places)] if places == list(range(first, first + len(places))) else made[places]
