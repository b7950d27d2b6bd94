"""The inside of a PyTorch custom Function: each of its methods runs under its own recording, nested in the outer one.

PyTorch looks up a method when it calls it.  So a class used under a recording gets methods that first check whether this
thread is recording.  The ctx, which is the node of the results, identifies the operation that a method ran for.  What a method
computes with NumPy is one operation of it, as in minigrad's (minigrad/record/numpy_box.py).
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import torch

from minigrad.record import inner_calls
from minigrad.record.assignments import names_in
from minigrad.record.inner_calls import is_attribute, nodes_of, parameters
from minigrad.record.method_formulas import BACK
from minigrad.record.numpy_box import NumPyLines, is_running, opened

from .torch_calls import REPLACED, RUNNING, watching
from .torch_graph import same
from .torch_values import Call, bottom, numbers
from .torch_words import tensors_in

if TYPE_CHECKING:
    from .torch_recorder import Recorder

ASKING: WeakSet = WeakSet()  # methods that `asking` has wrapped
METHODS = ("forward", "setup_context", "backward", "vjp", "jvp")
READS = ("numpy", "__array__")
MAKES = ("tensor", "as_tensor", "asarray", "new_tensor", "from_numpy", "__array_wrap__")


@dataclass(eq=False)
class Inside(inner_calls.Inside):
    """One call of a method: its recording, and those of its values that also exist outside."""

    record: Any
    group: Any = None
    kept: tuple = ()  # of a jvp, the saved tensors
    unpacked: tuple[str, ...] = ()  # the names that a backward gives to the saved tensors
    gradients: list[int | None] = field(default_factory=list)  # for a backward, the gradient of each result

    def find(self, outer: Recorder) -> None:
        """Match values with values outside by their place in memory."""
        for value, t in self.record.held():
            if value not in self.same and (there := outer.known(t)) is not None:
                self.same[value] = there

    def match(self, twins: Iterable[tuple[torch.Tensor, int]], call: Call, outer: Recorder) -> None:
        """Match values with values outside that a second run of the operation had in other memory, or computed again."""
        left = [value for value, *_ in call.kept]
        there = {}
        for t in self.kept:
            if t is not None and (found := [one for one in left if same(outer.array(one), numbers(bottom(t)))]):
                left.remove(found[0])
                there[outer.place(t)] = found[0]
        there |= {outer.place(t): value for t, value in twins}
        for value, t in self.record.held():
            if self.record.known(t) == value and (known := there.get(outer.place(t))) is not None:
                self.same.setdefault(value, known)

    def settle(self, outer: Recorder) -> None:
        """Give the values that also exist outside their identity there, and their names in a backward."""
        call, values = self.group, self.record.values
        names = dict(zip([value for value, *_ in call.kept], self.unpacked))
        for value, there in self.same.items() if len(call.kept) == len(self.unpacked) else ():
            values[value].name = values[value].name or names.get(there, "")
        for value, there in [*self.same.items(), *self.passed(outer)]:
            values[value].key = outer.values[there].key

    def passed(self, outer: Recorder) -> Iterator[tuple[int, int]]:
        """Yield pairs of inner and outer values for the gradients that a run of backward passed in and out."""
        tops = {nr: value for (node, nr), value in self.group.boundary.items() if node is self.ctx}
        for nr, inner in enumerate(self.gradients):
            arrived = outer.whole.get(tops[nr], {}) if nr in tops else {}
            if inner is not None and self.run in arrived:
                yield inner, arrived[self.run]
        sent = [flow.gives for flow in self.group.edges if flow.run == self.run]
        if self.name in BACK and len(sent) == len(self.record.outputs):
            yield from zip(self.record.outputs, sent)


class Crossings(NumPyLines):
    """Notes where the values of one method become arrays, and arrays tensors."""

    def __init__(self, recorder: Recorder, method: Callable):
        super().__init__(method)
        self.recorder = recorder

    def concerns(self, name: str, args: tuple) -> bool:
        """Return True if a call reads a tensor as an array, or makes a tensor of an array."""
        return name in READS or name in MAKES and any(isinstance(a, (np.ndarray, np.generic)) for a in args)

    def crossed(self, name: str, args: tuple, out: Any) -> Any:
        """Note a call of this kind, and return its result."""
        with self.recorder.aside():
            if name in READS:
                self.leaves(self.recorder.ref(args[0]), self.line(), is_running(self.recorder, self))
            elif self.recorder.known(out) is None:
                event = opened(self.recorder, self, self.line())
                event.outputs.append(self.recorder.result(out, event.group))
        return out


def look_into(cls: Any) -> None:
    """Patch a Function's methods to check for a recording, until the last recording ends."""
    for name in METHODS:
        own = getattr(cls, name, None)
        if own is None or own is getattr(torch.autograd.Function, name, None) or own in ASKING:
            continue
        before = cls.__dict__.get(name)
        setattr(cls, name, staticmethod(asking(name, own)))
        REPLACED.append((cls, name, before))


def asking(name: str, method: Callable) -> Callable:
    """Wrap a method to run under its own recording if its thread is recording."""

    @wraps(method)
    def run(*args: Any) -> Any:
        return watched(RUNNING.recorders[-1], name, method, args) if RUNNING.recorders else method(*args)

    ASKING.add(run)
    return run


@cache
def unpacked_names(method: Any) -> tuple[str, ...]:
    """Return the names to which a method assigns `ctx.saved_tensors`."""
    assigned = [node for node in nodes_of(method) if isinstance(node, ast.Assign)]
    found = [node.targets[0] for node in assigned if is_attribute(node.value, "saved_tensors")]
    return tuple(names_in(found[0])) if found else ()


def watched(outer: Recorder, name: str, method: Callable, args: tuple) -> Any:
    """Run a method under a recording, and pass that to the outer recording."""
    inner = outer.nested(name)
    inner.crossings = Crossings(inner, method)
    ran = Inside(name, args[0] if args and hasattr(args[0], "next_functions") else None, inner)
    ran.run = outer.run_number()
    try:
        with watching(inner), torch._C._EnableTorchFunction():  # PyTorch calls jvp without
            names = {id(a): word for word, a in zip(parameters(method), args) if isinstance(a, torch.Tensor)}
            with inner.aside():
                for a in args:
                    if id(a) in names:
                        inner.values[inner.ref(a)].name = names[id(a)]
                given = args if ran.ctx is None else args[1:]
                ran.inputs = [inner.ref(a) if isinstance(a, torch.Tensor) else None for a in given]
                if name == "jvp":
                    ran.kept = getattr(ran.ctx, "saved_for_forward", None) or ()
                if name in BACK:
                    ran.gradients, ran.unpacked = ran.inputs, unpacked_names(method)
            result = method(*args)
            with inner.aside():
                inner.returned(tensors_in(result))
                inner.name_values(names)  # also what is written to an argument
    finally:
        inner.close()
    outer.ran(ran)
    return result
