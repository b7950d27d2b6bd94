"""The backward pass of a recorded PyTorch program: hooks on the nodes of its graph tell what flows along each edge.

One call may make several nodes (cross_entropy is log_softmax and nll_loss).  They are found by walking from the node of
each result down to the edges that the arguments had before the call; whatever crosses one of these edges is what the call
sends to that argument.  So it does not matter who runs backward, how often, or in how many steps.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch._C._functorch import get_unwrapped, is_functorch_wrapped_tensor
from torch.autograd import forward_ad

from .torch_document import Call, Noted, bottom, kept_by, size_of, total


class Backward:
    """What backward sends where, while the recording runs."""

    def __init__(self, recorder: Any):
        self.recorder = recorder
        self.ran, self.last = False, -1
        self.differentiated: set[int] = set()  # runs that were a part of the program of a later one
        self.owner: dict[Any, Call] = {}  # node -> the operation it belongs to
        self.leaves: dict[int, list[Noted]] = {}  # id of a leaf -> its values that were used, one after each write
        self.arrived: dict[Noted, dict[int, Noted]] = {}  # the whole gradient of a value, by run of backward
        self.given: dict[Noted, dict[int, list[Noted]]] = {}  # its parts, one for each edge that leads to it
        self.inner: set[tuple] = set()  # edges from one node of an operation to another
        self.entries: dict[tuple, Call] = {}
        self.sums: dict[tuple, Noted] = {}
        self._handles: list[Any] = []
        self._heard: set[Any] = set()  # the AccumulateGrad nodes among those with a hook

    def close(self) -> None:
        """Take the hooks off again."""
        for handle in self._handles:
            handle.remove()

    # -------------------------------------------------------------------------------------------------- the graph
    def edges(self, tensors: dict[int, tuple]) -> dict[tuple, Noted]:
        """The edge of each tensor in the graph, on all levels of transforms, and its value."""
        return {edge: value for t, value in tensors.values() for edge in edges_of(t)}

    def attach(self, call: Call, results: list[tuple[torch.Tensor, Noted]]) -> None:
        """Find the nodes that a call made, note what they keep, and listen to them."""
        ends = {edge: value for t, value in results for edge in edges_of(t)}
        known = {node for node, _ in call.boundary}  # a result may be an argument as it was
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
            others = {value for value, _, _ in call.kept}  # what several nodes of a call keep is kept once
            kept = [(self.recorder.kept(t, call), size_of(t), node) for t in kept_by(node)]
            call.kept += [entry for entry in kept if entry[0] is not None and entry[0] not in others]
        call.boundary |= ends

    def is_leaf(self, node: Any) -> bool:
        """Whether a node of the graph adds what arrives to a leaf's `.grad`."""
        return isinstance(node, ACCUMULATE)

    def leaf(self, node: Any) -> Noted:
        """The value of a leaf, which from now on tells what arrives there."""
        leaf = node.variable
        if node not in self._heard:

            def hook(_: tuple, grads: tuple) -> None:
                if grads[0] is not None:
                    with self.recorder.aside():
                        self.arrive_at(leaf, run_now(), grads[0])

            self._handles.append(node.register_hook(hook))
            self._heard.add(node)
        values, now = self.leaves.setdefault(id(bottom(leaf)), []), self.recorder.ref(leaf)
        if now not in values:
            values.append(now)
        return now

    # ------------------------------------------------------------------------------------------- what flows through
    def listener(self, call: Call, node: Any, tops: dict, leads: dict) -> Callable:
        """The hook of a node: notes what arrived and what it sends on."""

        def hook(sent: tuple, arrived: tuple) -> None:
            with self.recorder.aside():
                self.flowed(call, node, tops, leads, sent, arrived)

        return hook

    def flowed(self, call: Call, node: Any, tops: dict, leads: dict, sent: tuple, arrived: tuple) -> None:
        """A node has run: each number it sent on belongs to the edge it was sent along."""
        self.ran, run = True, run_now()
        self.last = run
        if call.phase == "backward":
            self.differentiated.add(next(iter(call.upstream)))  # the run that the entry was made in
        ups: dict[int, Noted] = {}  # by the identity of the tensor: some nodes send on what arrived
        for nr, g in enumerate(arrived):
            if g is not None and nr in tops:
                ups[id(g)] = self.arrive(tops[nr], run, g, (node, nr) in self.inner)
        first = next((g for g in arrived if g is not None), None)
        if first is None:
            return
        if run not in call.upstream:  # backward of backward may come by what an operation kept, not by its result
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
        """Backward is itself differentiated: the entry of backward is an operation with a graph of its own."""
        entry.boundary |= call.boundary
        for g in arrived:
            if id(g) in ups:
                self.recorder.know(g, ups[id(g)])
                entry.boundary |= dict.fromkeys(edges_of(g), ups[id(g)])
        for g, given in gives:
            self.recorder.know(g, given)
        tracked = {*call.boundary.values(), *[value for values in self.leaves.values() for value in values]}
        read = {one: label for label, one in zip(call.labels, call.inputs) if isinstance(one, Noted) and one in tracked}
        named = {**dict(zip(entry.inputs, entry.labels)), **read, **dict.fromkeys(ups.values(), "grad")}
        entry.inputs, entry.labels = list(named), list(named.values())
        entry.outputs = list(dict.fromkeys([*entry.outputs, *[given for _, given in gives]]))
        self.attach(entry, gives)
        if forward_ad._current_level >= 0:
            self.recorder.tangents.own(entry, [(g, ups[id(g)]) for g in arrived if id(g) in ups], gives)

    def entry(self, call: Call, run: int) -> Call:
        """The entry of backward for a call, in one run."""
        if (call, run) not in self.entries:
            made = self.entries[call, run] = Call("backward", call.name, call.where, call)
            made.function, made.modules, made.layers = call.function, call.modules, call.layers
            made.upstream[run] = call.upstream[run]
            self.recorder.calls.append(made)
        return self.entries[call, run]

    # ---------------------------------------------------------------------------------------------------- gradients
    def arrive(self, value: Noted, run: int, g: torch.Tensor, inner: bool = False) -> Noted:
        """The whole gradient of a value in one run; where one edge alone gave it, it is what that edge gave.

        `inner`: it also got what went to another result of its operation, such as the view that was written to.
        """
        known = self.arrived.setdefault(value, {})
        if run not in known:
            whole, parts = Noted(g, "gradient"), self.given.get(value, {}).get(run, [])
            alone = len(parts) == 1 and same(parts[0].array, whole.array)
            known[run] = total(parts) if alone or inner and parts else whole
        return known[run]

    def arrive_at(self, t: torch.Tensor, run: int, g: torch.Tensor) -> Noted:
        """The whole gradient of a tensor; a leaf written between its uses is several values, each with its own part."""
        values = self.leaves.get(id(bottom(t)), [])
        used = [value for value in values if run in self.given.get(value, {})]
        if len(used) > 1:
            return Noted(g, "gradient")
        return self.arrive(used[0] if used else self.recorder.ref(t), run, g)

    def gradient(self, value: Noted) -> Noted | None:
        """The gradient of a value, of all runs together; None where nothing arrived.

        Runs that were differentiated themselves do not count: what they gave is a value like others.
        """
        runs = sorted({*self.arrived.get(value, ()), *self.given.get(value, ())} - self.differentiated)
        if not runs:
            return None
        arrived = self.arrived.get(value, {})
        parts = tuple([part for run in runs for part in ([arrived[run]] if run in arrived else self.given[value][run])])
        if parts not in self.sums:
            self.sums[parts] = total(list(parts))
        return self.sums[parts]

    def gradients(self) -> dict[Noted, Noted]:
        """All gradients, by the value they belong to."""
        return {value: g for value in {**self.given, **self.arrived} if (g := self.gradient(value)) is not None}

    def returned(self, inputs: Sequence[Any], grads: Sequence[torch.Tensor | None]) -> None:
        """What `autograd.grad` gave back is the gradient of that run."""
        for t, g in zip(inputs, grads):
            if isinstance(t, torch.Tensor) and g is not None:
                whole = self.arrive_at(t, self.last, g)
                if not self.recorder.knows(g):
                    self.recorder.know(g, whole)

    def stored(self, t: torch.Tensor, g: torch.Tensor) -> None:
        """What `.grad` holds is the gradient of all runs, unless the program has changed it; or of a value before a write."""
        if self.recorder.knows(g):
            return
        held, values = Noted(g, "gradient"), [*self.leaves.get(id(bottom(t)), []), self.recorder.ref(t)]
        wholes = [whole for value in values[::-1] if (whole := self.gradient(value)) is not None]
        self.recorder.know(g, next((whole for whole in wholes if same(whole.array, held.array)), held))


ACCUMULATE = torch._C._functions.AccumulateGrad


def run_now() -> int:
    """The number of the run of backward that is going on; -1 where there is none."""
    return torch._C._current_graph_task_id()


def edges_of(t: torch.Tensor) -> list[tuple]:
    """Node and number of the output that a tensor is, as each transform around it sees it, and as it is underneath."""
    found = []
    while True:
        try:
            found += [(t.grad_fn, t.output_nr)] if t.grad_fn is not None else []
        except RuntimeError:  # a view whose base was written in another grad mode: PyTorch refuses to use it
            return found
        if not is_functorch_wrapped_tensor(t):
            return found
        t = get_unwrapped(t)


def same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    """Whether two arrays hold the same numbers."""
    return (
        a is not None and b is not None and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    )
