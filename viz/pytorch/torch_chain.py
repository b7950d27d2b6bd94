"""A PyTorch recording as a minigrad recording, so that `minigrad.explain` can derive its gradients step by step.

The operations behind the results run again in minigrad, each on the results of the previous ones.  An operation that minigrad
lacks, or that gives different numbers, becomes a Function that returns the recorded numbers, without a known rule.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

import numpy as np
from torch.utils._pytree import tree_map

import minigrad
from minigrad.core.frames import ON, use
from minigrad.core.tensor import wrap
from minigrad.errors import suppressed_warnings
from minigrad.record.kept_bytes import KEPT
from minigrad.record.recorder import Record
from minigrad.record.unseen import as_far_as_memory_goes
from minigrad.record.values import elements
from minigrad.tensors.nested import tensors_in

from .torch_document import Call, Noted
from .torch_graph import Backward
from .torch_replay import array, function_of, largest, near, plain


class Chain:
    """The operations behind some results, run again in minigrad."""

    def __init__(self, calls: list[Call], outputs: list[Noted], backward: Backward):
        self.backward, self.tensors, self.runs = backward, {}, backward.shown(outputs)
        self.calls = operations_behind(calls, outputs)
        self.rec = Record()
        with suppressed_warnings(), minigrad.random.fork_rng(), use(ON), self.rec:
            for call in self.calls:
                self.run(call)
            with as_far_as_memory_goes(self.rec):
                self.pull(outputs)
        self.rec.outputs = [self.rec.ref(self.tensor(o)) for o in outputs]
        self.rec.settle()
        for value, t in self.tensors.items():
            self.rec.values[self.rec.ref(t)].name = value.name

    def tensor(self, value: Noted) -> Any:
        """Return the tensor for a value; a value that no operation here made becomes a leaf."""
        if value not in self.tensors:
            t = wrap(np.array(held(value)))
            begins = value.kind == "computed" and self.backward.gradient(value, self.runs) is not None
            self.tensors[value] = t.requires_grad_() if value.kind == "parameter" or begins else t
            self.rec.ref(t)
        return self.tensors[value]

    def run(self, call: Call) -> None:
        """Run an operation, and attribute it to the user's line."""
        self.rec.settle()
        before = len(self.rec.groups)
        args, kwargs = tree_map(
            lambda a: self.tensor(a) if isinstance(a, Noted) else plain(a), (call.args, call.kwargs)
        )
        outs: list = []
        try:
            with minigrad.set_grad_enabled(call.tracks):
                called = function_of(call.word.rstrip("_") if call.inplace else call.word)
                outs = list(tensors_in(called(*args, **kwargs)))
            known = call.cls is None and not any(call.dims.values()) and bool(outs)
            read = max([largest(array(one, call)) for one in call.inputs if isinstance(one, Noted)], default=0.0)
            alike = known and all(near(elements(t), array(o, call), read) for t, o in zip(outs, call.outputs))
        except Exception:  # minigrad lacks the operation, or takes other arguments
            alike = False
        if not alike:
            self.rec.settle()
            before = len(self.rec.groups)
            outs = self.as_recorded(call)
        self.tensors |= dict(zip(call.outputs, outs))
        self.rec.settle()
        for group in self.rec.groups[before:]:
            group.where, group.modules, group.layers = call.where, call.modules, call.layers
            group.function = call.function

    def as_recorded(self, call: Call) -> list:
        """Apply a Function that returns the operation's recorded numbers, in forward and backward."""
        operands = list(dict.fromkeys([one for one in call.inputs if isinstance(one, Noted)]))
        gives = {value: total for value in operands if (total := self.sent(call, value)) is not None}

        def forward(ctx: Any, *given: Any) -> tuple:
            made = tuple([wrap(np.array(held(o))) for o in call.outputs])
            ctx.mark_non_differentiable(*[t for t in made if not t.is_floating_point()])
            return made

        def backward(ctx: Any, *grads: Any) -> tuple:
            return tuple([wrap(gives[value]) if value in gives else None for value in operands])

        if call.cls is not None:  # an explanation shows the location of the user's backward
            theirs = call.cls.backward.__code__
            backward.__code__ = backward.__code__.replace(
                co_filename=theirs.co_filename, co_firstlineno=theirs.co_firstlineno
            )
        methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        made = type(call.name, (minigrad.autograd.Function,), methods)
        return list(tensors_in(made.apply(*[self.tensor(value) for value in operands])))

    def sent(self, call: Call, value: Noted) -> np.ndarray | None:
        """Return an operation's contribution to the gradient of an operand, over the runs of backward that are explained."""
        shown = {run.number for run in self.runs}
        counted = [gives for run, one, _, gives in call.flows if one is value and run in shown]
        return np.array(sum(held(gives) for gives in counted)) if counted else None

    def replaced(self, value: Noted) -> np.ndarray | None:
        """Return the gradient of a value if it is not what operations sent, because of a hook or as a backward began there."""
        runs = [run.number for run in self.runs if not run.differentiated]
        sent = self.backward.given.get(value, {})
        parts = [held(gives) for run in runs for gives in sent.get(run, ())]
        whole = self.backward.gradient(value, self.runs) if parts else None
        if whole is None or near(np.array(sum(parts)), held(whole), max(map(largest, parts))):
            return None
        return held(whole)

    def pull(self, outputs: list[Noted]) -> None:
        """Run backward from the recorded gradients of the results; where a hook replaced one, it is replaced here."""
        roots = [self.tensor(o) for o in outputs]
        given = [self.backward.gradient(o, self.runs) for o in outputs]
        seeds = [t.new_ones(t.shape) if g is None else wrap(np.array(held(g))) for t, g in zip(roots, given)]
        leaves = [t for t in self.tensors.values() if t.requires_grad and t.is_leaf]
        pairs = [(t, seed) for t, seed in zip(roots, seeds) if t.requires_grad]
        for value, t in self.tensors.items():
            if t.requires_grad and (whole := self.replaced(value)) is not None:
                t.register_hook(lambda _, whole=whole: wrap(np.array(whole)))
        if pairs and leaves:
            ends, starts = zip(*pairs)
            self.rec.added_backward = True
            minigrad.autograd.grad(ends, leaves, starts, allow_unused=True)


def operations_behind(calls: list[Call], outputs: list[Noted]) -> list[Call]:
    """Return the forward operations that some values depend on."""
    wanted, found = set(outputs), []
    for call in reversed(calls):
        if call.phase == "forward" and wanted & set(call.outputs):
            found.append(call)
            wanted |= {one for one in call.inputs if isinstance(one, Noted)}
    return found[::-1]


def held(value: Noted) -> np.ndarray:
    """Return the elements of a value; raise ValueError if minigrad does not support them."""
    if value.lost:
        raise ValueError(
            f"explain: PyTorch's contents are kept up to {KEPT >> 20} MB, and the derivation needs others. "
            "To fix: explain the program on smaller tensors, or a part of it."
        )
    if value.array is None or value.array.dtype.kind == "c":
        raise ValueError("explain: minigrad does not support the program's complex numbers or meta tensors")
    return value.array
