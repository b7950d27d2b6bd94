"""The backward part of a recording's ledger: the gradient that arrives at each operation, and those that it passes on.

Gradients are what the engine has: tensors or, in a first-order run (core/engine.py), arrays and single numbers.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import Any, NamedTuple

from ..arrays.kinds import as_array
from ..core.graph import Leaf, key, producer
from ..core.tensor import Tensor
from ..fast.text_plan import is_pointwise
from ..places import Place
from .kept_bytes import KeptBytes
from .schema import Where
from .values import NOWHERE, Event, Flow, OpEntry, ValueInfo, bottom


@dataclass(slots=True, eq=False)
class Run:
    """One backward pass. Its gradients are its own: those of another pass never mix with them."""

    number: int  # among the passes of the recording, from 1
    where: Where
    keep: bool  # True if it keeps the saved tensors
    create: bool  # True if its gradients can be differentiated again
    within: int = 0  # the number of the pass in which it runs, such as that of a custom backward that runs another
    roots: Sequence = ()  # values; None for one that is not noted
    seeds: Sequence = ()
    gradients: dict = field(default_factory=dict)  # value -> its complete gradient in this pass
    differentiated: bool = False  # True if a later pass differentiates it: then it is a part of the program
    known: int = 0  # the number of values before it began
    flowing: dict = field(default_factory=dict)  # flows to each node or leaf that still waits for others


class Accumulation(NamedTuple):
    """A pass adds a gradient to a leaf's `.grad`; `before` is None if it was empty."""

    value: Any
    run: int
    gives: Any
    before: Any
    after: Any


def shown_runs(runs: Sequence[Run], outputs: Iterable, behind: Callable[[], set]) -> list[Run]:
    """Return the passes of some results: of each, the last pass that began there, or that gave it as a gradient.

    If there is none, return the passes whose gradients the results are computed from (`behind` tells their values), or else
    the last one that reached the results. Without results, all values where passes began count.
    """
    own = [run for run in runs if not run.differentiated and not run.within]
    results = set(outputs) or {root for run in own for root in run.roots}
    ends = [(run.number, results.intersection([*run.roots, *run.gradients.values()])) for run in own]
    shown = set({result: number for number, found in ends for result in found}.values())
    if not shown and own:
        read = behind()
        shown = {run.number for run in own if not read.isdisjoint(run.gradients.values())}
    if not shown:
        reached = {run.number for run in own if not run.gradients.keys().isdisjoint(results)}
        shown = {max(reached)} if reached else reached
    return [run for run in runs if run.number in shown or run.within in shown and not run.differentiated]


class GradientFlow(KeptBytes):
    """The gradients that a ledger knows, with the values they belong to."""

    def __init__(self):
        super().__init__()
        self.values: list[ValueInfo] = []
        self.groups: list[OpEntry] = []
        self.outputs: list[int] = []
        self.leaves: dict[Leaf, int] = {}  # the latest value of each leaf
        self._ids: dict[int, int] = {}  # identity of a value (event_log.py), or id of a gradient -> its current number
        self._others: list = []  # kept alive, so that their ids stay unique
        self._made_by: dict[Any, Event] = {}  # node -> its event
        self._open: OpEntry | None = None  # of the function on the stack, or of the running backward
        self._closed: list = []  # groups to reopen when a backward has finished
        self.runs: list[Run] = []  # all backward passes
        self._runs: list[Run] = []  # those that are running
        self.accumulations: list[Accumulation] = []
        self._sums: dict[tuple, int] = {}  # of two gradients
        self.beyond: Any = None  # unkept.Beyond, for the operations of a paused recording

    def ref(self, t: Any, kind: str = "", edge: Any = None) -> Any:
        """Return the number of a tensor's value (event_log.py)."""
        raise NotImplementedError

    def freeze(self, x: Tensor, copy: Any = None) -> None:
        """Save the values in x's memory before a write (event_log.py)."""
        raise NotImplementedError

    def value_of(self, edge: Any) -> int | None:
        """Return the value that an edge leads to."""
        if edge is None:
            return None
        node, place = key(edge)
        if type(node) is Leaf:
            return self.leaves.get(node)
        if (event := self._made_by.get(node)) is None:
            return None
        place -= sum(meta is None for meta in node._meta[:place])  # skip results that are not tensors
        return event.outputs[place] if place < len(event.outputs) else None

    # ------------------------------------------------------------------ runs of the engine
    def run_began(self, roots: Sequence, seeds: Sequence, place: Place | None, keep: bool, create: bool) -> None:
        """Note that a run of the engine begins at a line of the program; the following operations are the engine's."""
        self._closed.append(self._open)
        self._open = None
        within = self._runs[0].number if self._runs else 0
        where = NOWHERE if place is None else Where(*place, place.code)
        run = Run(len(self.runs) + 1, where, keep, create, within, known=len(self.values))
        run.roots = [self.value_of(edge) for edge in roots]
        self.runs.append(run)
        self._runs.append(run)
        run.seeds = [self.gradient(g) for g in seeds]

    def run_ended(self, raised: bool) -> None:
        """Note that a backward is over, and drop flows to nodes that needed no gradient, unless it `raised`."""
        self._open = self._closed.pop()
        if self.beyond is not None:
            self.beyond.ended(self._runs[-1].number)
        for flows in [] if raised else self._runs[-1].flowing.values():
            for group, edge in flows:
                group.edges = tuple([flow for flow in group.edges if flow is not edge])
        self._runs.pop()

    def backward_began(self, node: Any) -> None:
        """Note that a node's backward begins; its operations belong to a backward entry of the node's operation."""
        self._closed.append(self._open)
        if (event := self._made_by.get(node)) is not None:
            self._open = self.backward_group(event.group)

    def leaf_began(self) -> None:
        """Note that a gradient will be added to a leaf's `.grad`; that belongs to the rule that ran last."""
        self._closed.append(self._open)
        last = self.groups[-1] if self.groups else None
        if last is not None and last.of is not None and last.run == len(self.runs):
            self._open = last

    def backward_ended(self) -> None:
        """Note that the part of the backward that began last is over."""
        self._open = self._closed.pop()

    def backward_group(self, group: OpEntry | None) -> OpEntry:
        """Return the backward entry of an operation in this run of the engine, created when its first node runs."""
        assert group is not None
        run = self._runs[-1].number
        last = next((g for g in reversed(self.groups) if not g.again), None)  # a checkpoint may have run in between
        if last is not None and last.of is group and last.run == run:
            return last
        made = OpEntry("backward", group.name, group.where, group.layers, group)
        made.run = run
        made.function, made.modules = group.function, group.modules
        self.groups.append(made)
        return made

    # ------------------------------------------------------------------ gradients arrive
    def gradient(self, g: Any) -> int:
        """Return the number of a gradient: a tensor, an array or a single number."""
        if isinstance(g, Tensor):
            index = self.ref(g, "gradient")
            if self._runs and index >= self._runs[-1].known and self.values[index].kind == "computed":
                self.values[index].kind = "gradient"  # the result of a rule that ran with gradients on
            return index
        index = self._ids.get(id(g))
        if index is None:
            index = self._ids[id(g)] = len(self.values)
            self.values.append(ValueInfo(index, None, g, "gradient", g.shape, g.dtype, id(g)))
        return index

    def swept(self, node: Any, g: Any, gives: tuple) -> None:
        """Note a node's backward on arrays: the gradient that arrived, and those that it passed on."""
        grads = g if type(g) is list else (g,)
        self.arrived(node, grads)
        event = self._made_by.get(node)
        beyond = self.beyond is not None and self.beyond.has(node)
        if event is not None and not beyond:
            self.backward_group(event.group)
        if event is not None or beyond:
            edges = node._edges
            passed = [(i, edges[i], d) for i, d in zip(node.places or range(len(edges)), gives)]
            self.gradients_flowed(node, grads, passed)

    def arrived(self, node: Any, grads: Any) -> None:
        """Note the complete gradient of a node's outputs, or of a leaf."""
        flows = self._runs[-1].flowing.pop(node, ())
        event = self._made_by.get(node)
        if event is None:
            return self.arrived_outside(node, grads, flows)
        group, run = event.group, self._runs[-1].number
        if group.run and self.runs[group.run - 1].create:  # a backward is being differentiated
            self.forget_run(self.runs[group.run - 1])
        given = [g for g, meta in zip(grads, node._meta) if meta is not None]  # a Function may return others
        for value, g in zip(event.outputs, given):
            if g is not None:
                index = self.add_gradient(value, self.gradient(g))
                group.upstreams += ((run, value, index),)

    def forget_run(self, run: Run) -> None:
        """Make the gradients of a run ordinary values, because its backward is differentiated as a part of the program.

        Its flows along the edges are not part of the derivative that is now computed.
        """
        if run.differentiated:
            return
        run.differentiated, run.gradients = True, {}
        for group in self.groups:
            if group.edges:
                group.edges = tuple([flow for flow in group.edges if flow.run != run.number])

    def arrived_outside(self, node: Any, grads: Any, flows: Any) -> None:
        """Note a gradient for a leaf, or a node without a noted operation: its values are those that the gradient flowed to.

        A leaf that was written between its uses has several values, each with its own part of the gradient.
        """
        gives: dict[int, list] = {}
        for _, flow in flows:
            gives.setdefault(flow.value, []).append(flow.gives)
        if type(node) is Leaf and not gives and node in self.leaves:
            gives[self.leaves[node]] = []
        for value, given in gives.items():
            if len(gives) > 1 or len(grads) > 1:
                self.add_gradient(value, reduce(self.plus, given))
            elif grads[0] is not None:
                self.add_gradient(value, self.gradient(grads[0]))

    def add_gradient(self, value: int, index: int) -> int:
        """Note the gradient of a value in the pass that runs; add it to an earlier part."""
        known = self._runs[-1].gradients
        known[value] = self.plus(known[value], index) if value in known else index
        return index

    def shown_runs(self) -> list[Run]:
        """Return the passes of the results."""
        return shown_runs(self.runs, self.outputs, self.behind)

    def behind(self) -> set[int]:
        """Return the values from which the results are computed, also by tangents, without updates of parameters."""
        found = set(self.outputs)
        for group in [group for group in reversed(self.groups) if group.phase != "update"]:
            made = [o for event in group.events for o in event.outputs]
            if not found.isdisjoint(group.tangents.get(o) for o in made):
                found.update(made, group.tangents.values())
            for event in reversed(group.events):
                if not found.isdisjoint(event.outputs):
                    found.update(i for i in event.inputs if isinstance(i, int))
        return found

    def keeps(self, run: int) -> bool:
        """Return True if a pass keeps the saved tensors."""
        return run > 0 and self.runs[run - 1].keep

    @property
    def gradients(self) -> dict[int, int]:
        """The gradient of each value in the passes of the results; several passes add up, as in `.grad`."""
        return self.gradients_in(self.shown_runs())

    def gradients_in(self, runs: Collection[Run]) -> dict[int, int]:
        """Return the gradient of each value in some passes."""
        found: dict[int, int] = {}
        for run in runs:
            for value, index in run.gradients.items():
                found[value] = self.plus(found[value], index) if value in found else index
        return found

    def runs_of_grad(self, index: int) -> list[Run]:
        """Return the passes that added up to a gradient, the content of a `.grad`, since it was empty."""
        added = {one.after: one for one in self.accumulations}
        found: list[Run] = []
        while (one := added.pop(index, None)) is not None:
            found.insert(0, self.runs[one.run - 1])
            index = -1 if one.before is None else one.before
        return found

    def plus(self, one: int, other: int) -> int:
        """Return the sum of two gradients, or the later one if their shapes differ, which transforms may cause."""
        old, new = self.values[one], self.values[other]
        if old.shape != new.shape:
            return other
        if (one, other) not in self._sums and (old.gone or new.gone) and None in (old.memory, new.memory):
            lost = ValueInfo(len(self.values), None, None, "gradient", old.shape, old.dtype, summary={}, lost=True)
            self.values.append(lost)
            self._sums[one, other] = lost.index
        elif (one, other) not in self._sums:
            held = [v.held() if v.gone is None else v.memory for v in (old, new)]
            self._sums[one, other] = self.gradient(as_array(held[0] + held[1]))
        return self._sums[one, other]

    def accumulated(self, leaf: Leaf, g: Any, before: Tensor | None, after: Tensor | None, copy: Any) -> None:
        """Note that a leaf's gradient was added to its `.grad`, so that an optimizer that reads `.grad` reads this gradient.

        `copy` is the memory of the old `.grad`, unless that was a part of a larger array.
        """
        g = g[0] if type(g) is list else g
        self.arrived(leaf, (g,))
        run, value, gives = self._runs[-1].number, self.leaves.get(leaf), self.gradient(g)
        if after is None or value is None:
            return
        if before is None:
            self.same(g, bottom(after))
            self.accumulations.append(Accumulation(value, run, gives, None, gives))
        elif copy is not None:
            self.freeze(before, copy)
            had = self._ids.pop(id(bottom(before)), None)
            had = self.gradient(copy) if had is None else had
            total = self.plus(had, gives)
            self.also(total, bottom(after))
            self.accumulations.append(Accumulation(value, run, gives, had, total))
        else:
            self._ids.pop(id(bottom(before)), None)

    def same(self, g: Any, other: Any) -> None:
        """Note that `other` is the same gradient as g."""
        self.also(self.gradient(g), other)

    def handed_out(self, g: Any, t: Tensor) -> None:
        """Note that the program has a gradient as a tensor, whose variable names it."""
        index = self.gradient(g)
        self.values[index].tensor = t
        self.also(index, bottom(t))

    def also(self, index: int, a: Any) -> None:
        """Identify a gradient by another array as well."""
        self._ids[id(a)] = index
        self._others.append(a)

    # ------------------------------------------------------------------ gradients flow on
    def gradients_flowed(self, node: Any, grads: Any, given: Any) -> None:
        """Note the gradients along those edges of a node that leave its operation, given as (position, edge, gradient)."""
        if self.beyond is not None and self.beyond.has(node):
            return self.beyond.flowed(given)
        event = self._made_by.get(node)
        if event is None:
            return
        group, upstream = event.group, next((self.gradient(g) for g in grads if g is not None), None)
        alone = len(group.nodes) <= 1
        for i, edge, g in given:
            if edge is None or g is None or i >= len(event.inputs) or isinstance(value := event.inputs[i], dict):
                continue
            source = self._made_by.get(producer(edge))
            if source is None or source.group is not group:
                run = self._runs[-1].number
                up = upstream if alone else next((g for r, _, g in group.upstreams if r == run), upstream)
                flow = Flow(value, event, i, self.partial(event, i, alone), up, self.gradient(g), run)
                group.edges += (flow,)
                self._runs[-1].flowing.setdefault(producer(edge), []).append((group, flow))

    def partial(self, event: Event, i: int, alone: bool) -> str:
        """Return the text of one edge's formula."""
        group, cls = event.group, event.cls
        assert group is not None
        if alone and cls.primitive and (text := partial_text(cls, i)):
            return text
        if not cls.primitive:
            return f"{cls.__name__}.backward"
        arguments = group.arguments or (dict(zip(cls.names, event.inputs)) if alone and is_pointwise(cls) else {})
        # an operator's parameter is called self until its generated form, which calls it x, has replaced it
        names = ["x" if n == "self" else n for n, v in arguments.items() if v == event.inputs[i]]
        return f"∂{group.name}/∂{names[0] if names else self.values[event.inputs[i]].name or i}"


@cache
def partial_text(cls: Any, i: int) -> str:
    """Return the formula of argument i."""
    return cls.partial_text(i)
