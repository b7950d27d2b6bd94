"""The inside of a PyTorch custom Function: each of its methods runs under its own recording, nested in the outer one.

PyTorch looks up a method when it calls it.  So a class used under a recording gets methods that first check whether this
thread is recording.  The ctx, which is the node of the results, identifies the operation that a method ran for.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import torch

from minigrad.record import schema
from minigrad.record.inner_calls import parameters

from .torch_calls import REPLACED, RUNNING, watching
from .torch_document import Builder, Call, Noted
from .torch_graph import run_now
from .torch_words import tensors_in

if TYPE_CHECKING:
    from .torch_recorder import Recorder

ASKING: WeakSet = WeakSet()  # methods that `asking` has wrapped
METHODS = ("forward", "setup_context", "backward", "vjp", "jvp")
BACK = ("backward", "vjp")


class Inside:
    """One call of a method: its recording, and those of its values that also exist outside."""

    def __init__(self, name: str, ctx: Any, recorder: Recorder):
        self.name, self.ctx, self.recorder, self.run = name, ctx, recorder, run_now()
        self.gradients: list[Noted | None] = []  # for a backward, the gradient of each result
        self.outputs: list[Noted] = []
        self.same: dict[Noted, Noted] = {}

    def find(self, outer: Recorder) -> None:
        """Match values with values outside by their place in memory."""
        for value, t in self.recorder.held():
            if value not in self.same and (there := outer.known(t)) is not None:
                self.same[value] = there

    def document(self, builder: Builder, call: Call) -> schema.Method:
        """Return the method in the record's form."""
        inner = Builder(self.recorder.calls, self.outputs, self.recorder.backward)
        document = schema.Document(**inner.document({"file": "", "name": self.name}))
        inner.write_words(document, lambda record: record)
        same = {**self.same, **dict(self.passed(builder, call))}
        made = document.to_dict()
        both = [(inner.numbers.get(a), builder.numbers.get(b)) for a, b in same.items()]
        known = {a: b for a, b in both if a is not None and b is not None}
        return schema.Method(self.name, made["values"], made["ops"], made["outputs"], known)

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
    ran = Inside(name, args[0] if args and hasattr(args[0], "next_functions") else None, inner)
    try:
        with watching(inner):
            with inner.aside():
                for word, a in zip(parameters(method), args):
                    if isinstance(a, torch.Tensor):
                        inner.ref(a).name = word
                if name in BACK:
                    ran.gradients = [inner.ref(a) if isinstance(a, torch.Tensor) else None for a in args[1:]]
            result = method(*args)
            with inner.aside():
                ran.outputs = inner.returned(tensors_in(result))
    finally:
        inner.backward.close()
    outer.ran(ran)
    return result
