"""A PyTorch recording as a minigrad recording, so that `minigrad.explain` can derive its gradients step by step.

The operations behind the results run again in minigrad, each on the results of the previous ones.  An operation that minigrad
lacks, or that gives different numbers, becomes a Function that returns the recorded numbers, without a known rule.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import minigrad
from minigrad.core.frames import ON, use
from minigrad.core.tensor import wrap
from minigrad.errors import suppressed_warnings
from minigrad.record.cuts import Detach
from minigrad.record.kept_bytes import KEPT
from minigrad.record.recorder import Record
from minigrad.record.unseen import as_far_as_memory_goes
from minigrad.record.values import OpEntry, elements
from minigrad.tensors.nested import tensors_in

from .torch_graph import Backward
from .torch_replay import array, function_of, instead, largest, near
from .torch_values import Call, inputs_of


class Chain:
    """The operations behind some results, run again in minigrad."""

    def __init__(self, theirs: Backward):
        theirs.settle()
        self.theirs, self.tensors, self.runs = theirs, {}, theirs.shown_runs()
        self.gradients = theirs.gradients_in(self.runs)
        self.rec = Record()
        with suppressed_warnings(), minigrad.random.fork_rng(), use(ON), self.rec:
            for group in operations_behind(theirs.groups, theirs.outputs):
                self.run(group)
            with as_far_as_memory_goes(self.rec):
                self.pull(theirs.outputs)
        self.rec.outputs = [self.rec.ref(self.tensor(o)) for o in theirs.outputs]
        self.rec.settle()
        for value, t in self.tensors.items():
            self.rec.values[self.rec.ref(t)].name = theirs.values[value].name

    def held(self, value: int) -> np.ndarray:
        """Return the elements of a value; raise ValueError if minigrad does not support them."""
        noted = self.theirs.values[value]
        if noted.lost:
            raise ValueError(
                f"explain: PyTorch's contents are kept up to {KEPT >> 20} MB, and the derivation needs others. "
                "To fix: explain the program on smaller tensors, or a part of it."
            )
        if noted.array is None or noted.array.dtype.kind == "c":
            raise ValueError("explain: minigrad does not support the program's complex numbers or meta tensors")
        return noted.array

    def tensor(self, value: int) -> Any:
        """Return the tensor for a value; a value that no operation here made becomes a leaf."""
        if value not in self.tensors:
            t, kind = wrap(np.array(self.held(value))), self.theirs.values[value].kind
            begins = kind == "computed" and value in self.gradients
            self.tensors[value] = t.requires_grad_() if kind == "parameter" or begins else t
            self.rec.ref(t)
        return self.tensors[value]

    def run(self, group: OpEntry) -> None:
        """Run an operation, and attribute it to the user's line."""
        self.rec.settle()
        before = len(self.rec.groups)
        try:
            outs = self.again(group)
        except Exception:  # minigrad lacks the operation, or takes other arguments
            outs = None
        if outs is None:
            self.rec.settle()
            before = len(self.rec.groups)
            outs = self.as_recorded(group)
        self.tensors |= dict(zip(group.events[0].outputs, outs))
        self.rec.settle()
        for made in self.rec.groups[before:]:
            made.where, made.modules, made.layers = group.where, group.modules, group.layers
            made.function = group.function

    def again(self, group: OpEntry) -> list | None:
        """Return the results of an operation in minigrad; None if they are not those of PyTorch."""
        if not isinstance(group, Call):  # a tensor is detached, or lines of NumPy
            return [self.tensor(group.events[0].inputs[0]).detach()] if group.events[0].cls is Detach else None
        args, kwargs = instead(self.tensor, group)
        with minigrad.set_grad_enabled(group.tracks):
            called = function_of(group.word.rstrip("_") if group.inplace else group.word)
            outs = list(tensors_in(called(*args, **kwargs)))
        if group.cls is not None or any(group.dims.values()) or not outs:
            return None
        number = partial(array, self.theirs.values, group)
        read = max([largest(number(one)) for one in group.read], default=0.0)
        return outs if all(near(elements(t), number(o), read) for t, o in zip(outs, group.event.outputs)) else None

    def as_recorded(self, group: OpEntry) -> list:
        """Apply a Function that returns the operation's recorded numbers, in forward and backward."""
        operands, outputs = list(dict.fromkeys(inputs_of(group.events[0]))), group.events[0].outputs
        gives = {value: total for value in operands if (total := self.sent(group, value)) is not None}

        def forward(ctx: Any, *given: Any) -> tuple:
            made = tuple([wrap(np.array(self.held(o))) for o in outputs])
            ctx.mark_non_differentiable(*[t for t in made if not t.is_floating_point()])
            return made

        def backward(ctx: Any, *grads: Any) -> tuple:
            return tuple([wrap(gives[value]) if value in gives else None for value in operands])

        if isinstance(group, Call) and group.cls is not None:  # an explanation shows where the user's backward is
            theirs = group.cls.backward.__code__
            place = {"co_filename": theirs.co_filename, "co_firstlineno": theirs.co_firstlineno}
            backward.__code__ = backward.__code__.replace(**place)
        methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        made = type(group.name, (minigrad.autograd.Function,), methods)
        return list(tensors_in(made.apply(*[self.tensor(value) for value in operands])))

    def sent(self, group: OpEntry, value: int) -> np.ndarray | None:
        """Return an operation's contribution to the gradient of an operand, over the runs of backward that are explained."""
        shown = {run.number for run in self.runs}
        counted = [flow.gives for flow in group.edges if flow.value == value and flow.run in shown]
        return np.array(sum(self.held(gives) for gives in counted)) if counted else None

    def replaced(self, value: int) -> np.ndarray | None:
        """Return the gradient of a value if it is not what operations sent, because of a hook or as a backward began there."""
        runs = [run.number for run in self.runs if not run.differentiated]
        sent = self.theirs.given.get(value, {})
        parts = [self.held(gives) for run in runs for gives in sent.get(run, ())]
        if not parts:
            return None
        whole = self.held(self.gradients[value])
        return None if near(np.array(sum(parts)), whole, max(map(largest, parts))) else whole

    def pull(self, outputs: list[int]) -> None:
        """Run backward from the recorded gradients of the results; where a hook replaced one, it is replaced here."""
        roots = [self.tensor(o) for o in outputs]
        seeds = [
            wrap(np.array(self.held(self.gradients[o]))) if o in self.gradients else t.new_ones(t.shape)
            for t, o in zip(roots, outputs)
        ]
        leaves = [t for t in self.tensors.values() if t.requires_grad and t.is_leaf]
        pairs = [(t, seed) for t, seed in zip(roots, seeds) if t.requires_grad]
        for value, t in self.tensors.items():
            if t.requires_grad and (whole := self.replaced(value)) is not None:
                t.register_hook(lambda _, whole=whole: wrap(np.array(whole)))
        if pairs and leaves:
            ends, starts = zip(*pairs)
            self.rec.added_backward = True
            minigrad.autograd.grad(ends, leaves, starts, allow_unused=True)


def operations_behind(groups: list[OpEntry], outputs: list[int]) -> list[OpEntry]:
    """Return the forward operations that some values depend on."""
    wanted, found = set(outputs), []
    for group in reversed(groups):
        if group.phase == "forward" and group.events and wanted & set(group.events[0].outputs):
            found.append(group)
            wanted.update(inputs_of(group.events[0]))
    return found[::-1]
