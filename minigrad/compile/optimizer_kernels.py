"""Kernels for optimizers: the update of one parameter, written as one pass over memory.

The update is captured on small examples, with symbols for the numbers in the settings and for the counters in the state. So
one kernel serves all parameters at all steps; the numbers it takes are computed by the expressions that the capture finds.
optim/one_pass.py calls these kernels.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Box, Tensor, wrap
from ..ops.base.families import Pointwise
from ..ops.copy import Copy
from .captured_steps import CapturedValue, Refused
from .eager_kernels import captured, compiled
from .symbols import Reads, SymbolicFloat
from .trace import CaptureTrace

EXAMPLE = (7,)  # the shape of a parameter in the capture


class UpdateKernel(NamedTuple):
    """The generated kernel of an update for one set of decisions; `entry` is None if the update is not one elementwise pass.

    The functions take the numbers of the settings and the counters, as one tuple.
    """

    fits: Callable  # returns for each decision whether it is the one of the capture
    entry: Callable | None = None  # takes arrays and numbers, and writes to some of the arrays
    arrays: Sequence[int] = ()  # which of parameter, gradient and state it takes
    written: Sequence[int] = ()  # which of them it writes to
    numbers: Callable = lambda leaves: ()  # returns the numbers that it takes
    counters: Callable = lambda leaves: ()  # returns the counters after the update


class Capture:
    """The capture of an update, with symbols for its numbers: those of the settings, then the counters."""

    def __init__(self, names: list[str], values: tuple, state: dict[str, bool], dtype: np.dtype):
        self.names, self.values, self.state, self.dtype = names, values, state, dtype
        self.counters = [name for name, counts in state.items() if counts]
        self.examples: dict[int, int] = {}  # id of a counter's tensor -> its position among the numbers

    def number(self, i: int) -> SymbolicFloat:
        """Return the symbol of number i."""
        return SymbolicFloat(self.values[i], f"leaves[{i}]", frozenset([i]), self.reads)

    def of_input(self, t: Tensor) -> SymbolicFloat | None:
        """Return the result of item() for a counter, for the trace."""
        return self.number(self.examples[id(t)]) if id(t) in self.examples else None

    def of_result(self, b: Box, v: CapturedValue) -> None:
        """Return None: the update must not read a value that it computes."""

    def take(self, trace: CaptureTrace, name: str) -> Box:
        """Return the box for the parameter, its gradient or a tensor of the state."""
        example = wrap(np.ones(() if name in self.counters else EXAMPLE, self.dtype))
        if name in self.counters:
            self.examples[id(example)] = len(self.names) + self.counters.index(name)
        return trace.argument(example, name, "")

    def run(self, trace: CaptureTrace, update: Callable, group: Callable) -> list[tuple[CapturedValue, CapturedValue]]:
        """Run the update; return the values of parameter, gradient and state before and after it."""
        self.reads = Reads([*self.names, *self.counters], trace.depends)
        p, grad, *others = boxes = [self.take(trace, name) for name in ("p", "grad", *self.state)]
        given = dict(zip(self.state, others))
        update(p, grad, kept := dict(given), group([self.number(i) for i in range(len(self.names))]))
        if list(kept) != list(given) or any(kept[name] is not given[name] for name in given):
            raise Refused("it replaces a tensor in its state", None, False)
        return [(v, trace.held(b)) for (v, _, _), b in zip(trace.inputs, boxes, strict=True)]

    def kernel(self, trace: CaptureTrace, *found: tuple) -> UpdateKernel:
        """Return the update as one elementwise pass; raise Refused if that is impossible."""
        counters = [new.content for name, (_, new) in zip(self.state, found[2:]) if name in self.counters]
        if not all(issubclass(step.cls, (Pointwise, Copy)) for step in trace.steps):
            raise Refused("it is not elementwise", None, False)
        if self.reads.touched or not all(type(n) is SymbolicFloat for n in counters):
            raise Refused("it computes with numbers in a way that no expression describes", None, False)
        fits = self.fits()  # before generating: the program contains the same symbols
        written = [(i, pair) for i, pair in enumerate(found) if pair[0] is not pair[1] and pair[1].shape]
        program, load = compiled(
            self.dtype, trace.steps, [v for v, _ in found], [], [p for _, p in written], "update", False
        )
        kinds = {kind: [x for k, x in program.params if k == kind] for kind in ("input", "number", "constant")}
        if program.statics or kinds["constant"]:
            raise Refused("it reads arrays that are not its inputs", None, False)
        numbers, counts = function(kinds["number"]), function([n.name for n in counters])
        return UpdateKernel(fits, load(), kinds["input"], [i for i, _ in written], numbers, counts)

    def fits(self) -> Callable:
        """Return a function of the numbers that checks whether they lead to the same decisions."""
        return function([f"({text}) == {value!r}" for text, (value, _) in self.reads.decided.items()])


def kernel(update: Callable, names: list, values: tuple, state: dict, group: Callable, dtype: np.dtype) -> UpdateKernel:
    """Return the kernel of `update(p, grad, state, group(numbers))` for the decisions that the given numbers lead to.

    `names` belong to the settings' numbers; `values` are these numbers, then the counters; `state` maps each tensor name of the
    state to True for a counter.
    """
    capture = Capture(names, values, state, dtype)
    try:
        return captured(lambda trace: capture.run(trace, update, group), capture.kernel, capture)
    except Refused:
        return UpdateKernel(capture.fits())


def function(texts: list[str]) -> Callable[[tuple], Any]:
    """Return a function of the numbers that evaluates some expressions."""
    return eval(f"lambda leaves: ({''.join(text + ', ' for text in texts)})", {"math": math})
