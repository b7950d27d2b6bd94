"""The backward pass of a recorded PyTorch program: hooks on the graph's nodes see the gradient along each edge.

One call may make several nodes (cross_entropy is log_softmax and nll_loss).  A walk from the node of each result down to the
edges that the arguments had before the call finds them; a gradient that crosses one of these edges is the call's contribution
to that argument.  So it does not matter who runs backward, how often, or in how many steps.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from minigrad.record import schema
from minigrad.record.gradient_flow import Accumulation, Run

from .torch_memory import Memory
from .torch_values import Call, bottom, edges_of, inputs_of, numbers, saved_by_node, size_of


class Backward(Memory):
    """The part of a recording that knows the gradients, by edge and by value."""

    saved: Any  # torch_recorder.py defines these
    tangents: Any

    def __init__(self):
        super().__init__()
        self.within = run_now()  # the run of backward that it began in, for the backward method of a Function
        self.paused = self.busy = False
        self.adding = False  # True while a backward runs for which no line of the program stands
        self.running: list[tuple] = []  # the calls of the engine that are under way: roots, line, keep, create
        self.numbers = {-1: 0, self.within: 0}  # PyTorch's number of a run of backward -> its number here
        self.owner: dict[Any, Call] = {}  # node -> the operation it belongs to
        self.uses: dict[int, list[int]] = {}  # id of a leaf -> its values that were used, one after each write
        self.whole: dict[int, dict[int, int]] = {}  # the whole gradient of a value, by run of backward
        self.given: dict[int, dict[int, list[int]]] = {}  # its contributions, one per edge
        self.inner: set[tuple] = set()  # edges from one node of an operation to another
        self.entries: dict[tuple, Call] = {}
        self._handles: list[Any] = []
        self._hooked: set[Any] = set()  # the AccumulateGrad nodes among those with a hook

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Suspend recording: the block's calls are not the program's."""
        before, self.busy = self.busy, True
        try:
            yield
        finally:
            self.busy = before

    @property
    def ran_backward(self) -> bool:
        """True if a backward ran."""
        return bool(self.runs)

    @contextmanager
    def begins(self, roots: Sequence[torch.Tensor], line: schema.Where, keep: bool, create: bool) -> Iterator[None]:
        """Note that PyTorch's engine runs in the block, for a line of the program."""
        with self.aside():
            line = schema.Where() if self.adding else line
            self.running.append(([self.ref(t) for t in roots], line, keep, create))
        try:
            yield
        finally:
            self.running.pop()

    def run_number(self) -> int:
        """Return the number of the backward that is running, and note it if it is new; 0 outside of backward."""
        theirs = run_now()
        if theirs not in self.numbers:
            roots, line, keep, create = self.running[-1] if self.running else ([], schema.Where(), False, False)
            within = self.runs[-1].number if len(self.running) > 1 and self.runs else 0
            self.runs.append(Run(len(self.runs) + 1, line, keep, create, within, roots))
            self.numbers[theirs] = len(self.runs)
        return self.numbers[theirs]

    def settle(self) -> None:
        """Note the gradients of the passes, and those that arrived at the results of operations."""
        for run in self.runs:
            own = {} if run.differentiated else {**self.given, **self.whole}
            run.gradients = {value: g for value in own if (g := self.gradient_of(value, [run])) is not None}
            run.seeds = [self.whole.get(root, {}).get(run.number) for root in run.roots]
        used = {*self.outputs, *[i for group in self.groups for event in group.events for i in inputs_of(event)]}
        for group in self.groups:
            made = [o for event in group.events for o in event.outputs]
            made = [o for o in made if o in used] or made
            group.upstreams = tuple([(run, o, g) for o in made for run, g in self.whole.get(o, {}).items()])

    def close(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()

    # -------------------------------------------------------------------------------------------------- the graph
    def edges(self, tensors: dict[int, tuple]) -> dict[tuple, int]:
        """Return the edge of each tensor in the graph, on all levels of transforms, with its value."""
        return {edge: value for t, value in tensors.values() for edge in edges_of(t)}

    def attach(self, call: Call, results: list[tuple[torch.Tensor, int]]) -> None:
        """Find the nodes that a call made, note their saved tensors, and hook them."""
        ends = {edge: value for t, value in results for edge in edges_of(t)}
        known = {node for node, _ in call.boundary}  # a result may be an unchanged argument
        pending = [node for node, _ in ends if node not in known]
        while pending:
            node = pending.pop()
            if node in self.owner or isinstance(node, ACCUMULATE):
                continue
            self.owner[node] = call
            call.nodes += (node,)
            leads: dict[int, int] = {}
            for i, (below, nr) in enumerate(node.next_functions):
                if (below, nr) in call.boundary:
                    leads[i] = call.boundary[below, nr]
                elif isinstance(below, ACCUMULATE):
                    leads[i] = self.leaf(below)
                elif below is not None:
                    pending.append(below)
                    self.inner.add((below, nr))
            tops = {nr: value for (one, nr), value in ends.items() if one is node}
            self._handles.append(node.register_hook(self.listener(call, node, tops, leads)))
            others = {value for value, _, _ in call.kept}  # a tensor that several nodes of a call save counts once
            kept = [(self.saved(t, call), size_of(t), node) for t in saved_by_node(node)]
            call.kept += tuple([entry for entry in kept if entry[0] is not None and entry[0] not in others])
        call.boundary |= ends

    def leaf(self, node: Any) -> int:
        """Return the value of a leaf, and hook its incoming gradients."""
        leaf = node.variable
        if node not in self._hooked:

            def hook(_: tuple, grads: tuple) -> None:
                if grads[0] is not None and not self.paused:
                    with self.aside():
                        self.added(leaf, self.whole_gradient(leaf, self.run_number(), grads[0]))

            self._handles.append(node.register_hook(hook))
            self._hooked.add(node)
        values, now = self.uses.setdefault(id(bottom(leaf)), []), self.ref(leaf)
        if now not in values:
            values.append(now)
        return now

    # ----------------------------------------------------------------------------------------- gradients through nodes
    def listener(self, call: Call, node: Any, tops: dict, leads: dict) -> Callable:
        """Return the hook of a node, which notes its incoming gradients and its results."""

        def hook(sent: tuple, arrived: tuple) -> None:
            with self.aside():
                self.flowed(call, node, tops, leads, sent, arrived)

        return hook

    def flowed(self, call: Call, node: Any, tops: dict, leads: dict, sent: tuple, arrived: tuple) -> None:
        """Assign each gradient that a node has sent to its edge."""
        run = self.run_number()
        if call.phase == "backward":
            self.runs[call.run - 1].differentiated = True
        ups: dict[int, int] = {}  # by the identity of the tensor: some nodes pass the incoming gradient on
        for nr, g in enumerate(arrived):
            if g is not None and nr in tops:
                ups[id(g)] = self.arrive(tops[nr], run, g, (node, nr) in self.inner)
        came = [g for g in arrived if g is not None]
        if not came:
            return
        if run not in call.upstream:  # double backward may arrive through a saved tensor instead of the result
            call.upstream[run] = next(iter(ups.values())) if ups else self.add(came[0], "gradient")
        entry = self.entry(call, run)
        gives: list[tuple[torch.Tensor, int]] = []
        for i, value in leads.items():
            if (g := sent[i]) is not None:
                given = ups[id(g)] if id(g) in ups else self.add(g, "gradient")
                self.given.setdefault(value, {}).setdefault(run, []).append(given)
                call.sends(run, value, given)
                gives.append((g, given))
        if any(g.requires_grad for g in sent if g is not None) or forward_ad._current_level >= 0:
            self.again(call, entry, came, ups, gives)

    def again(self, call: Call, entry: Call, arrived: list, ups: dict, gives: list) -> None:
        """Make an entry of backward, which is itself differentiated, an operation with its own graph."""
        entry.boundary |= call.boundary
        for g in arrived:
            if id(g) in ups:
                self.assign(g, ups[id(g)])
                entry.boundary |= dict.fromkeys(edges_of(g), ups[id(g)])
        for g, given in gives:
            self.assign(g, given)
        tracked = {*call.boundary.values(), *[value for values in self.uses.values() for value in values]}
        named = lambda event: {one: label for label, one in zip(event.cls.names, event.inputs) if isinstance(one, int)}
        read = {one: label for one, label in named(call.event).items() if one in tracked}
        inputs = {**named(entry.event), **read, **dict.fromkeys(ups.values(), "grad")}
        entry.event.inputs, entry.event.cls.names = list(inputs), list(inputs.values())
        entry.event.outputs = list(dict.fromkeys([*entry.event.outputs, *[given for _, given in gives]]))
        entry.events = (entry.event,)
        self.attach(entry, gives)
        if forward_ad._current_level >= 0:
            self.tangents.own(entry, [(g, ups[id(g)]) for g in arrived if id(g) in ups], gives)

    def entry(self, call: Call, run: int) -> Call:
        """Return the entry of backward for a call in one run."""
        if (call, run) not in self.entries:
            made = self.entries[call, run] = Call("backward", call.name, call.where, call.layers, call)
            made.function, made.modules, made.run = call.function, call.modules, run
            self.groups.append(made)
        return self.entries[call, run]

    # ---------------------------------------------------------------------------------------------------- gradients
    def arrive(self, value: int, run: int, g: torch.Tensor, inner: bool = False) -> int:
        """Note and return the whole gradient of a value in one run; if it has one contribution, it is that contribution.

        `inner` means that the gradient also includes the part of another result of the same operation, such as a written view.
        """
        known = self.whole.setdefault(value, {})
        if run not in known:
            parts = self.given.get(value, {}).get(run, [])
            alone = len(parts) == 1 and same(self.array(parts[0]), numbers(bottom(g)))
            known[run] = reduce(self.plus, parts) if alone or inner and parts else self.add(g, "gradient")
        return known[run]

    def whole_gradient(self, t: torch.Tensor, run: int, g: torch.Tensor) -> int:
        """Return the whole gradient of a tensor; a leaf written between its uses is several values, each with its part."""
        values = self.uses.get(id(bottom(t)), [])
        used = [value for value in values if run in self.given.get(value, {})]
        if len(used) > 1:
            return self.add(g, "gradient")
        return self.arrive(used[0] if used else self.ref(t), run, g)

    def gradient_of(self, value: int, among: Sequence[Run] | None = None) -> int | None:
        """Return the gradient of a value, summed over some runs or all; None if it has none.

        Runs that were differentiated themselves do not count: their results are values like others.
        """
        counted = {run.number for run in (self.runs if among is None else among) if not run.differentiated}
        whole, given = self.whole.get(value, {}), self.given.get(value, {})
        runs = sorted(counted.intersection([*whole, *given]))
        parts = [part for run in runs for part in ([whole[run]] if run in whole else given[run])]
        return reduce(self.plus, parts) if parts else None

    def plus(self, one: int, other: int) -> int:
        """Return the sum of two gradients, which is one value: the content of a `.grad` is the gradient of its leaf."""
        if (one, other) not in self._sums:
            made, arrays = copy.copy(self.values[one]), [self.array(one), self.array(other)]
            made.index = self._sums[one, other] = len(self.values)
            made.array = np.asarray(sum(arrays)) if all(a is not None for a in arrays) else None
            made.key, made.summary, made.gone = id(made), None, None
            self.values.append(made)
        return self._sums[one, other]

    def received(self, inputs: Sequence[Any], grads: Sequence[torch.Tensor | None]) -> None:
        """Register the results of `autograd.grad` as the gradients of that run."""
        for t, g in zip(inputs, grads):
            if isinstance(t, torch.Tensor) and g is not None:
                whole = self.whole_gradient(t, len(self.runs), g)
                if not self.has_current_value(g):
                    self.assign(g, whole)

    def stored(self, t: torch.Tensor, g: torch.Tensor) -> None:
        """Identify `.grad` as the gradient of a leaf, or of its value before a write, unless the program has changed it."""
        if self.has_current_value(g):
            return
        held, values = numbers(bottom(g)), [*self.uses.get(id(bottom(t)), []), self.ref(t)]
        wholes = [one.after for one in reversed(self.accumulations) if one.value in values]
        wholes += [whole for value in values[::-1] if (whole := self.gradient_of(value)) is not None]
        known = next((whole for whole in wholes if same(self.array(whole), held)), None)
        self.assign(g, self.add(g, "gradient") if known is None else known)

    def added(self, leaf: torch.Tensor, gives: int) -> None:
        """Note what a backward has added to the `.grad` of a leaf."""
        value, held, g = self.ref(leaf), leaf.grad, self.array(gives)
        after = None if held is None or held.is_sparse else numbers(bottom(held))
        if held is None or after is None or g is None:  # on the device "meta"
            return
        before, total = None, gives
        if not same(after, g):
            known = [one.after for one in self.accumulations if one.value == value][-1:]
            before = next((one for one in known if same(self.array(self.plus(one, gives)), after)), None)
            if before is None:  # the program has set or written it
                before, total = self.add(held, "gradient", after - g), self.add(held, "gradient", after)
            else:
                total = self.plus(before, gives)
        self.accumulations.append(Accumulation(value, len(self.runs), gives, before, total))


ACCUMULATE = torch._C._functions.AccumulateGrad


def run_now() -> int:
    """Return PyTorch's number of the current run of backward; -1 outside backward."""
    return torch._C._current_graph_task_id()


def same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Return True if two arrays have the same shape and elements."""
    if a is None or b is None:
        return False
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
