"""Kernels for recurrent networks: one time step, and its gradients, each as one pass over memory.

A step is captured on small examples, with one tensor per gate. This gives two programs, the step and its backward; the step
saves the values that the backward reads. nn/recurrent_layer.py runs them along a sequence.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ..core.tensor import wrap
from .captured_steps import CapturedValue
from .eager_kernels import captured, compiled, memory
from .trace import CaptureTrace

EXAMPLE = (7,)


class Kernels(NamedTuple):
    """The two kernels of a step. All arguments are flat arrays; the last ones are memory for the results.

    `gradients` gives, for each gate of the input, each gate of the state and each state, the index of its gradient among the
    results of `backward`. The input and the state share a gradient where only the sum of their gates matters.
    """

    forward: Callable  # takes gates of the input and of the state, and states; gives states and saved values
    backward: Callable  # takes saved values and gradients of the new states; gives gradients
    n_kept: int
    n_gradients: int
    gradients: list[int | None]


class GateTuple(tuple):
    """A tuple of one tensor per gate, in place of a single tensor with all gates side by side."""

    def __add__(self, other: tuple) -> GateTuple:
        return GateTuple(map(operator.add, self, other))

    def chunk(self, chunks: int, dim: int) -> GateTuple:
        """Return the gates."""
        return self


@cache
def kernels(step: Callable, n_gates: int, n_states: int, dtype: np.dtype) -> Kernels:
    """Return the kernels of `step(gates of the input, gates of the state, states)`, which returns the new states."""

    kinds = (("input", n_gates), ("state", n_gates), ("old", n_states))
    examples = [(wrap(np.ones(EXAMPLE, dtype)).requires_grad_(), f"{kind}{i}") for kind, n in kinds for i in range(n)]

    def code(trace: CaptureTrace) -> tuple:
        given = [trace.argument(t, name, "") for t, name in examples]
        gates = given[:n_gates], given[n_gates:-n_states]
        outs = list(step(*[GateTuple(g) if n_gates > 1 else g[0] for g in gates], tuple(given[-n_states:])))
        inputs, results, n = [trace.value(b) for b in given], [trace.value(o) for o in outs], len(trace.steps)
        return n, inputs, results, *trace.differentiate(outs, given)

    def make(trace: CaptureTrace, n: int, inputs: list, results: list, seeds: list, gradients: list) -> Kernels:
        there, back = trace.steps[:n], trace.steps[n:]
        made = {*inputs, *[v for s in there for v in s.outs]}
        read = [a for s in back for a in s.args if isinstance(a, CapturedValue)]
        kept = list(dict.fromkeys([v for v in (*read, *gradients) if v in made]))
        distinct = list(dict.fromkeys([g for g in gradients if g is not None]))
        return Kernels(
            entry(f"{step.__name__}", there, inputs, [*results, *kept], dtype),
            entry(f"{step.__name__}_backward", back, [*kept, *seeds], distinct, dtype),
            len(kept),
            len(distinct),
            [None if g is None else distinct.index(g) for g in gradients],
        )

    return captured(code, make, grad=True)


def entry(name: str, steps: list, inputs: list, results: list, dtype: np.dtype) -> Callable:
    """Return the compiled function of some steps; it takes the inputs, then memory for the results."""
    given = [*inputs, *[memory(EXAMPLE, dtype) for _ in results]]
    program, load = compiled(dtype, steps, given, [], list(zip(given[len(inputs) :], results)), name, False)
    f, read = load(), operator.itemgetter(*[x for _, x in program.params])
    return f if len(program.params) == len(given) else lambda *arrays: f(*read(arrays))
