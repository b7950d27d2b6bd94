"""The inside of a PyTorch custom Function: each of its methods runs under its own recording, nested in the outer one.

PyTorch looks up a method when it calls it.  So a class used under a recording gets methods that first check whether this
thread is recording.  The ctx, which is the node of the results, identifies the operation that a method ran for.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import torch

from minigrad.record import schema
from minigrad.record.inner_calls import parameters, unpacked_names

from .torch_calls import REPLACED, RUNNING, watching
from .torch_document import Builder, Call, Noted, bottom, numbers
from .torch_graph import same
from .torch_numpy import Crossings
from .torch_words import tensors_in

if TYPE_CHECKING:
    from .torch_recorder import Recorder

ASKING: WeakSet = WeakSet()  # methods that `asking` has wrapped
METHODS = ("forward", "setup_context", "backward", "vjp", "jvp")
BACK = ("backward", "vjp")


class Inside:
    """One call of a method: its recording, and those of its values that also exist outside."""

    def __init__(self, name: str, ctx: Any, recorder: Recorder):
        self.name, self.ctx, self.recorder = name, ctx, recorder
        self.run = 0  # the backward in which it ran
        self.kept: tuple = ()  # of a jvp, the saved tensors
        self.unpacked: tuple[str, ...] = ()  # the names that a backward gives to the saved tensors
        self.gradients: list[Noted | None] = []  # for a backward, the gradient of each result
        self.inputs: list[Noted | None] = []  # the arguments without ctx, None for those that are no tensors
        self.outputs: list[Noted] = []
        self.same: dict[Noted, Noted] = {}

    def find(self, outer: Recorder) -> None:
        """Match values with values outside by their place in memory."""
        for value, t in self.recorder.held():
            if value not in self.same and (there := outer.known(t)) is not None:
                self.same[value] = there

    def match(self, twins: Iterable[tuple[torch.Tensor, Noted]], call: Call, place: Callable) -> None:
        """Match values with values outside that a second run of the operation had in other memory, or computed again."""
        left = [value for value, *_ in call.kept]
        there = {}
        for t in self.kept:
            if t is not None and (found := [one for one in left if same(one.array, numbers(bottom(t)))]):
                left.remove(found[0])
                there[place(t)] = found[0]
        there |= {place(t): value for t, value in twins}
        for value, t in self.recorder.held():
            if self.recorder.known(t) is value and (known := there.get(place(t))) is not None:
                self.same.setdefault(value, known)

    def builder(self, call: Call) -> Builder:
        """Return the builder of the method's record, with a draft of that."""
        kept = [value for value, *_ in call.kept]
        if len(self.unpacked) == len(kept):
            names = dict(zip(kept, self.unpacked))
            for value, there in self.same.items():
                value.name = value.name or names.get(there, "")
        inner = Builder(self.recorder.calls, self.outputs, self.recorder.backward)
        inner.draft({"file": "", "name": self.name}, (), self.same)
        return inner

    def document(self, builder: Builder, inner: Builder, call: Call) -> schema.Method:
        """Return the method in the record's form."""
        inner.add_methods()
        inner.write_words(document := inner.made, lambda record: record)
        same = {**self.same, **dict(self.passed(builder, call))}
        made = document.to_dict()
        both = [(inner.numbers.get(a), builder.numbers.get(b)) for a, b in same.items()]
        known = {a: b for a, b in both if a is not None and b is not None}
        inputs = [None if a is None else inner.numbers.get(a) for a in self.inputs]
        return schema.Method(self.name, made["values"], made["ops"], made["outputs"], known, inputs, run=self.run)

    def passed(self, builder: Builder, call: Call) -> Iterator[tuple[Noted, Noted]]:
        """Yield pairs of inner and outer values for the gradients that a run of backward passed in and out."""
        tops = {nr: value for (node, nr), value in call.boundary.items() if node is self.ctx}
        for nr, inner in enumerate(self.gradients):
            arrived = builder.backward.arrived.get(tops[nr], {}) if nr in tops else {}
            if inner is not None and self.run in arrived:
                yield inner, arrived[self.run]
        sent = [gives for run, _, _, gives in call.flows if run == self.run]
        if self.name in BACK and len(sent) == len(self.outputs):
            yield from zip(self.outputs, sent)


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


def watched(outer: Recorder, name: str, method: Callable, args: tuple) -> Any:
    """Run a method under a recording, and pass that to the outer recording."""
    inner = type(outer)(jvp=False)
    inner.crossings = Crossings(inner, method)
    ran = Inside(name, args[0] if args and hasattr(args[0], "next_functions") else None, inner)
    ran.run = outer.backward.run()
    try:
        with watching(inner), torch._C._EnableTorchFunction():  # PyTorch calls jvp without
            names = {id(a): word for word, a in zip(parameters(method), args) if isinstance(a, torch.Tensor)}
            with inner.aside():
                for a in args:
                    if id(a) in names:
                        inner.ref(a).name = names[id(a)]
                given = args if ran.ctx is None else args[1:]
                ran.inputs = [inner.ref(a) if isinstance(a, torch.Tensor) else None for a in given]
                if name == "jvp":
                    ran.kept = getattr(ran.ctx, "saved_for_forward", None) or ()
                if name in BACK:
                    ran.gradients, ran.unpacked = ran.inputs, unpacked_names(method)
            result = method(*args)
            with inner.aside():
                ran.outputs = inner.returned(tensors_in(result))
                for value, t in inner.owners():  # also what is written to an argument
                    value.name = value.name or names.get(id(t), "")
    finally:
        inner.backward.close()
    outer.ran(ran)
    return result
