"""The backward pass of a recorded PyTorch program: hooks on the graph's nodes see the gradient along each edge.

One call may make several nodes (cross_entropy is log_softmax and nll_loss).  A walk from the node of each result down to the
edges that the arguments had before the call finds them; a gradient that crosses one of these edges is the call's contribution
to that argument.  So it does not matter who runs backward, how often, or in how many steps.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy as np
import torch
from torch._C._functorch import get_unwrapped, is_functorch_wrapped_tensor
from torch.autograd import forward_ad

from minigrad.record import schema
from minigrad.record.gradient_flow import Accumulation, Run, shown_runs

from .torch_document import Call, Noted, bottom, saved_by_node, size_of, total


class Backward:
    """The gradients of a recording, by edge and by value."""

    def __init__(self, recorder: Any):
        self.recorder = recorder
        self.runs: list[Run] = []
        self.running: list[tuple] = []  # the calls of the engine that are under way: roots, line, keep, create
        self.numbers = {-1: 0, recorder.within: 0}  # PyTorch's number of a run of backward -> its number here
        self.accumulations: list[Accumulation] = []
        self.owner: dict[Any, Call] = {}  # node -> the operation it belongs to
        self.leaves: dict[int, list[Noted]] = {}  # id of a leaf -> its values that were used, one after each write
        self.arrived: dict[Noted, dict[int, Noted]] = {}  # the whole gradient of a value, by run of backward
        self.given: dict[Noted, dict[int, list[Noted]]] = {}  # its contributions, one per edge
        self.inner: set[tuple] = set()  # edges from one node of an operation to another
        self.entries: dict[tuple, Call] = {}
        self.sums: dict[tuple, Noted] = {}
        self._handles: list[Any] = []
        self._heard: set[Any] = set()  # the AccumulateGrad nodes among those with a hook

    @property
    def ran(self) -> bool:
        """True if a backward ran."""
        return bool(self.runs)

    @contextmanager
    def begins(self, roots: Sequence[torch.Tensor], line: schema.Where, keep: bool, create: bool) -> Iterator[None]:
        """Note that PyTorch's engine runs in the block, for a line of the program."""
        with self.recorder.aside():
            line = schema.Where() if self.recorder.adding else line
            self.running.append(([self.recorder.ref(t) for t in roots], line, keep, create))
        try:
            yield
        finally:
            self.running.pop()

    def run(self) -> int:
        """Return the number of the backward that is running, and note it if it is new; 0 outside of backward."""
        theirs = run_now()
        if theirs not in self.numbers:
            known = self.running[-1] if self.running else ([], schema.Where(), False, False)
            roots, line, keep, create = known
            within = self.runs[-1].number if len(self.running) > 1 and self.runs else 0
            self.runs.append(Run(len(self.runs) + 1, line, keep, create, within, roots))
            self.numbers[theirs] = len(self.runs)
        return self.numbers[theirs]

    def keeps(self, call: Call) -> bool:
        """Return True if the pass of an entry of backward keeps the saved tensors."""
        return any(self.runs[run - 1].keep for run in call.upstream)

    def passes(self) -> list[Run]:
        """Return all passes, with their gradients."""
        for run in self.runs:
            own = {} if run.differentiated else {**self.given, **self.arrived}
            run.gradients = {value: g for value in own if (g := self.gradient(value, [run])) is not None}
            run.seeds = [self.arrived.get(root, {}).get(run.number) for root in run.roots]
        return self.runs

    def shown(self, outputs: Sequence[Noted]) -> list[Run]:
        """Return the passes of some results."""
        return shown_runs(self.passes(), outputs, lambda: behind(self.recorder.calls, outputs))

    def close(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()

    # -------------------------------------------------------------------------------------------------- the graph
    def edges(self, tensors: dict[int, tuple]) -> dict[tuple, Noted]:
        """Return the edge of each tensor in the graph, on all levels of transforms, with its value."""
        return {edge: value for t, value in tensors.values() for edge in edges_of(t)}

    def attach(self, call: Call, results: list[tuple[torch.Tensor, Noted]]) -> None:
        """Find the nodes that a call made, note their saved tensors, and hook them."""
        ends = {edge: value for t, value in results for edge in edges_of(t)}
        known = {node for node, _ in call.boundary}  # a result may be an unchanged argument
        pending = [node for node, _ in ends if node not in known]
        while pending:
            node = pending.pop()
            if node in self.owner or self.is_leaf(node):
                continue
            self.owner[node] = call
            call.nodes.append(node)
            leads: dict[int, Noted] = {}
            for i, (below, nr) in enumerate(node.next_functions):
                if (below, nr) in call.boundary:
                    leads[i] = call.boundary[below, nr]
                elif below is not None and self.is_leaf(below):
                    leads[i] = self.leaf(below)
                elif below is not None:
                    pending.append(below)
                    self.inner.add((below, nr))
            tops = {nr: value for (one, nr), value in ends.items() if one is node}
            self._handles.append(node.register_hook(self.listener(call, node, tops, leads)))
            others = {value for value, _, _ in call.kept}  # a tensor that several nodes of a call save counts once
            kept = [(self.recorder.kept(t, call), size_of(t), node) for t in saved_by_node(node)]
            call.kept += [entry for entry in kept if entry[0] is not None and entry[0] not in others]
        call.boundary |= ends

    def is_leaf(self, node: Any) -> bool:
        """Return True if a node of the graph accumulates into a leaf's `.grad`."""
        return isinstance(node, ACCUMULATE)

    def leaf(self, node: Any) -> Noted:
        """Return the value of a leaf, and hook its incoming gradients."""
        leaf = node.variable
        if node not in self._heard:

            def hook(_: tuple, grads: tuple) -> None:
                if grads[0] is not None and not self.recorder.paused:
                    with self.recorder.aside():
                        self.accumulated(leaf, self.whole_gradient(leaf, self.run(), grads[0]))

            self._handles.append(node.register_hook(hook))
            self._heard.add(node)
        values, now = self.leaves.setdefault(id(bottom(leaf)), []), self.recorder.ref(leaf)
        if now not in values:
            values.append(now)
        return now

    # ----------------------------------------------------------------------------------------- gradients through nodes
    def listener(self, call: Call, node: Any, tops: dict, leads: dict) -> Callable:
        """Return the hook of a node, which notes its incoming gradients and its results."""

        def hook(sent: tuple, arrived: tuple) -> None:
            with self.recorder.aside():
                self.flowed(call, node, tops, leads, sent, arrived)

        return hook

    def flowed(self, call: Call, node: Any, tops: dict, leads: dict, sent: tuple, arrived: tuple) -> None:
        """Assign each gradient that a node has sent to its edge."""
        run = self.run()
        if call.phase == "backward":
            self.runs[next(iter(call.upstream)) - 1].differentiated = True  # the run that made the entry
        ups: dict[int, Noted] = {}  # by the identity of the tensor: some nodes pass the incoming gradient on
        for nr, g in enumerate(arrived):
            if g is not None and nr in tops:
                ups[id(g)] = self.arrive(tops[nr], run, g, (node, nr) in self.inner)
        first = next((g for g in arrived if g is not None), None)
        if first is None:
            return
        if run not in call.upstream:  # double backward may arrive through a saved tensor instead of the result
            call.upstream[run] = next(iter(ups.values())) if ups else Noted(first, "gradient")
        entry = self.entry(call, run)
        gives: list[tuple[torch.Tensor, Noted]] = []
        for i, value in leads.items():
            if (g := sent[i]) is None:
                continue
            given = ups.get(id(g)) or Noted(g, "gradient")
            self.given.setdefault(value, {}).setdefault(run, []).append(given)
            call.flows.append((run, value, call.upstream[run], given))
            gives.append((g, given))
        if any(g.requires_grad for g in sent if g is not None) or forward_ad._current_level >= 0:
            self.again(call, entry, [g for g in arrived if g is not None], ups, gives)

    def again(self, call: Call, entry: Call, arrived: list, ups: dict, gives: list) -> None:
        """Make an entry of backward, which is itself differentiated, an operation with its own graph."""
        entry.boundary |= call.boundary
        for g in arrived:
            if id(g) in ups:
                self.recorder.assign(g, ups[id(g)])
                entry.boundary |= dict.fromkeys(edges_of(g), ups[id(g)])
        for g, given in gives:
            self.recorder.assign(g, given)
        tracked = {*call.boundary.values(), *[value for values in self.leaves.values() for value in values]}
        read = {one: label for label, one in zip(call.labels, call.inputs) if isinstance(one, Noted) and one in tracked}
        named = {**dict(zip(entry.inputs, entry.labels)), **read, **dict.fromkeys(ups.values(), "grad")}
        entry.inputs, entry.labels = list(named), list(named.values())
        entry.outputs = list(dict.fromkeys([*entry.outputs, *[given for _, given in gives]]))
        self.attach(entry, gives)
        if forward_ad._current_level >= 0:
            self.recorder.tangents.own(entry, [(g, ups[id(g)]) for g in arrived if id(g) in ups], gives)

    def entry(self, call: Call, run: int) -> Call:
        """Return the entry of backward for a call in one run."""
        if (call, run) not in self.entries:
            made = self.entries[call, run] = Call("backward", call.name, call.where, call)
            made.function, made.modules, made.layers = call.function, call.modules, call.layers
            made.upstream[run] = call.upstream[run]
            self.recorder.calls.append(made)
        return self.entries[call, run]

    # ---------------------------------------------------------------------------------------------------- gradients
    def arrive(self, value: Noted, run: int, g: torch.Tensor, inner: bool = False) -> Noted:
        """Note and return the whole gradient of a value in one run; if it has one contribution, it is that contribution.

        `inner` means that the gradient also includes the part of another result of the same operation, such as a written view.
        """
        known = self.arrived.setdefault(value, {})
        if run not in known:
            whole, parts = Noted(g, "gradient"), self.given.get(value, {}).get(run, [])
            alone = len(parts) == 1 and same(parts[0].array, whole.array)
            known[run] = total(parts) if alone or inner and parts else whole
        return known[run]

    def whole_gradient(self, t: torch.Tensor, run: int, g: torch.Tensor) -> Noted:
        """Return the whole gradient of a tensor; a leaf written between its uses is several values, each with its part."""
        values = self.leaves.get(id(bottom(t)), [])
        used = [value for value in values if run in self.given.get(value, {})]
        if len(used) > 1:
            return Noted(g, "gradient")
        return self.arrive(used[0] if used else self.recorder.ref(t), run, g)

    def gradient(self, value: Noted, among: Sequence[Run] | None = None) -> Noted | None:
        """Return the gradient of a value, summed over some runs or all; None if it has none.

        Runs that were differentiated themselves do not count: their results are values like others.
        """
        counted = {run.number for run in (self.runs if among is None else among) if not run.differentiated}
        runs = sorted(counted.intersection([*self.arrived.get(value, ()), *self.given.get(value, ())]))
        if not runs:
            return None
        arrived = self.arrived.get(value, {})
        parts = [part for run in runs for part in ([arrived[run]] if run in arrived else self.given[value][run])]
        return reduce(self.plus, parts)

    def plus(self, one: Noted, other: Noted) -> Noted:
        """Return the sum of two gradients, which is one value: the content of a `.grad` is the gradient of its leaf."""
        if (one, other) not in self.sums:
            self.sums[one, other] = total([one, other])
        return self.sums[one, other]

    def gradients(self) -> dict[Noted, Noted]:
        """Return all gradients, by the value they belong to."""
        return {value: g for value in {**self.given, **self.arrived} if (g := self.gradient(value)) is not None}

    def returned(self, inputs: Sequence[Any], grads: Sequence[torch.Tensor | None]) -> None:
        """Register the results of `autograd.grad` as the gradients of that run."""
        for t, g in zip(inputs, grads):
            if isinstance(t, torch.Tensor) and g is not None:
                whole = self.whole_gradient(t, len(self.runs), g)
                if not self.recorder.has_current_value(g):
                    self.recorder.assign(g, whole)

    def stored(self, t: torch.Tensor, g: torch.Tensor) -> None:
        """Identify `.grad` as the gradient of a leaf, or of its value before a write, unless the program has changed it."""
        if self.recorder.has_current_value(g):
            return
        held, values = Noted(g, "gradient"), [*self.leaves.get(id(bottom(t)), []), self.recorder.ref(t)]
        wholes = [one.after for one in reversed(self.accumulations) if one.value in values]
        wholes += [whole for value in values[::-1] if (whole := self.gradient(value)) is not None]
        self.recorder.assign(g, next((whole for whole in wholes if same(whole.array, held.array)), held))

    def accumulated(self, leaf: torch.Tensor, gives: Noted) -> None:
        """Note what a backward has added to the `.grad` of a leaf."""
        value, held = self.recorder.ref(leaf), leaf.grad
        if held is None or held.is_sparse:
            return
        after, before = Noted(held, "gradient"), None
        if after.array is None or gives.array is None:  # on the device "meta"
            return
        if same(after.array, gives.array):
            after = gives
        else:
            known = [one.after for one in self.accumulations if one.value is value][-1:]
            before = next((one for one in known if same(self.plus(one, gives).array, after.array)), None)
            if before is None:  # the program has set or written it
                before = Noted(held, "gradient", after.array - gives.array)
            else:
                after = self.plus(before, gives)
        self.accumulations.append(Accumulation(value, len(self.runs), gives, before, after))


ACCUMULATE = torch._C._functions.AccumulateGrad


def behind(calls: Sequence[Call], outputs: Sequence[Noted]) -> set[Noted]:
    """Return the values from which some values are computed, also by tangents, without updates of parameters."""
    found = set(outputs)
    for call in [call for call in reversed(calls) if call.phase != "update"]:
        if not found.isdisjoint([*call.outputs, *[call.tangents.get(o) for o in call.outputs]]):
            found.update([one for one in call.inputs if isinstance(one, Noted)], call.tangents.values())
    return found


def run_now() -> int:
    """Return PyTorch's number of the current run of backward; -1 outside backward."""
    return torch._C._current_graph_task_id()


def edges_of(t: torch.Tensor) -> list[tuple]:
    """Return node and output number of a tensor, at each level of transforms around it and underneath them."""
    found = []
    while True:
        try:
            found += [(t.grad_fn, t.output_nr)] if t.grad_fn is not None else []
        except RuntimeError:  # PyTorch raises for a view whose base was written in another grad mode
            return found
        if not is_functorch_wrapped_tensor(t):
            return found
        t = get_unwrapped(t)


def same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Return True if two arrays have the same shape and elements."""
    return (
        a is not None and b is not None and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    )
