"""Kernels for optimizers: what a step does to one parameter, written as one pass over memory.

The update is captured on small examples, with the numbers among the settings and the counters in the state as symbols: so one
kernel serves all parameters at all steps.  The numbers that it takes are computed from these by the expressions that the
capture has found.  optim/one_pass.py calls what is made here.
"""

from __future__ import annotations

import contextvars
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Box, Tensor, wrap
from ..kernels import cache
from ..ops.base.families import Pointwise
from ..ops.copy import Copy
from .capture import tracing
from .captured_steps import Refused, Value
from .guards import Environment
from .symbols import Number, Reads
from .trace import Trace

EXAMPLE = (7,)  # the shape of a parameter in the capture


class Kernel(NamedTuple):
    """Hold the generated kernel of an update for one set of its decisions; none where it is not one pass over elements.

    The functions take the settings' numbers and the counters, as one tuple.
    """

    fits: Callable  # gives for each decision whether it is that of the capture
    entry: Callable | None = None  # takes arrays and numbers, and writes to some of the arrays
    arrays: Sequence[int] = ()  # which of parameter, gradient and state it takes
    written: Sequence[int] = ()  # which of them it writes to
    numbers: Callable = lambda leaves: ()  # gives the numbers that it takes
    counters: Callable = lambda leaves: ()  # gives what the counters are afterwards


class Capture:
    """The capture of an update, whose numbers are symbols: those of the settings, then the counters."""

    def __init__(self, names: list[str], values: tuple, state: dict[str, bool], dtype: np.dtype):
        self.names, self.values, self.state, self.dtype = names, values, state, dtype
        self.counters = [name for name, counts in state.items() if counts]
        self.trace = Trace(Environment({}), self)
        self.trace.phase = "backward"  # no line of the user's is meant
        self.reads = Reads([*names, *self.counters], self.trace.depends)
        self.examples: dict[int, int] = {}  # id of a counter's tensor -> which of the numbers it is

    def number(self, i: int) -> Number:
        """Return one of the numbers."""
        return Number(self.values[i], f"leaves[{i}]", frozenset([i]), self.reads)

    def of_input(self, t: Tensor) -> Number | None:
        """Return what item() gives of a counter; the trace asks."""
        return self.number(self.examples[id(t)]) if id(t) in self.examples else None

    def of_result(self, b: Box, v: Value) -> None:
        """Refuse to know what the update computes."""

    def take(self, name: str) -> Box:
        """Return what stands for the parameter, its gradient or a tensor of the state."""
        example = wrap(np.ones(() if name in self.counters else EXAMPLE, self.dtype))
        if name in self.counters:
            self.examples[id(example)] = len(self.names) + self.counters.index(name)
        return self.trace.argument(example, name, "")

    def run(self, update: Callable, group: Callable) -> list[tuple[Value, Value]]:
        """Run the update; return what parameter, gradient and state held before and afterwards."""
        with tracing(self.trace, False):
            p, grad, *others = boxes = [self.take(name) for name in ("p", "grad", *self.state)]
            given = dict(zip(self.state, others))
            update(p, grad, kept := dict(given), group([self.number(i) for i in range(len(self.names))]))
            if list(kept) != list(given) or any(kept[name] is not given[name] for name in given):
                raise Refused("it puts another tensor into its state", None, False)
            return [(v, self.trace.held(b)) for (v, _, _), b in zip(self.trace.inputs, boxes, strict=True)]

    def kernel(self, update: Callable, group: Callable) -> Kernel:
        """Return the update as one pass over elements; raise Refused where it is none."""
        from .emit.from_capture import generate

        found = self.run(update, group)
        counters = [new.content for name, (_, new) in zip(self.state, found[2:]) if name in self.counters]
        if not all(issubclass(step.cls, (Pointwise, Copy)) for step in self.trace.steps):
            raise Refused("it looks at more than one element", None, False)
        if self.reads.touched or not all(type(n) is Number for n in counters):
            raise Refused("it computes with numbers in a way that no expression says", None, False)
        fits = self.fits()  # the program is made of the same symbols
        written = [(i, pair) for i, pair in enumerate(found) if pair[0] is not pair[1] and pair[1].shape]
        program = generate(self.trace.steps, [old for old, _ in found], [], [p for _, p in written], "update", False)
        kinds = {kind: [x for k, x in program.params if k == kind] for kind in ("input", "number", "constant")}
        if program.statics or kinds["constant"]:
            raise Refused("it takes arrays from elsewhere", None, False)
        entry = getattr(cache.load(f"{program.name}_{self.dtype.name}", program.text), program.name)
        numbers, counts = function(kinds["number"]), function([n.name for n in counters])
        return Kernel(fits, entry, kinds["input"], [i for i, _ in written], numbers, counts)

    def fits(self) -> Callable:
        """Return the function of the numbers that tells whether they lead to the same decisions."""
        return function([f"({text}) == {value!r}" for text, (value, _) in self.reads.decided.items()])


def kernel(update: Callable, names: list, values: tuple, state: dict, group: Callable, dtype: np.dtype) -> Kernel:
    """Return the kernel of `update(p, grad, state, group(numbers))` for the decisions that some numbers lead to.

    `names` are those of the settings' numbers; `values` these numbers, then the counters; `state` says of each tensor
    in the state whether it is a counter.
    """
    capture = Capture(names, values, state, dtype)
    try:
        return contextvars.Context().run(capture.kernel, update, group)
    except Refused:
        return Kernel(capture.fits())
    finally:
        capture.trace.forget()


def function(texts: list[str]) -> Callable[[tuple], Any]:
    """Return the function of the numbers that gives what some expressions of them come to."""
    return eval(f"lambda leaves: ({''.join(text + ', ' for text in texts)})", {"math": math})
