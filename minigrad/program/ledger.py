"""The ledger of a recording: from the log of what has run to the values, events and groups of noted.py.

While the program runs, entries are only appended to the log, since a small operation takes a microsecond; `settle` works
them off, in order, when somebody wants to know.  An entry is

    (cls, out, link, call, offset, *args) an operation that ran by its written-out road (ops/dispatch), see `ran`
    (node, g, gives)                      a backward on arrays (core/sweep.py): what arrived, and what was given on
    (method, *arguments), as a list       anything else: the method of Ledger to be called

Whatever may be another by the time an entry is worked off stands in it: edges of arguments, what a node has saved.
"""

from __future__ import annotations

import gc
from collections import deque
from contextlib import contextmanager
from functools import cache
from threading import RLock
from types import CodeType
from typing import Any

import numpy as np

from ..core.convert import storage
from ..core.edges import Leaf, producer
from ..core.saved import Saved
from ..core.tensor import Tensor, history
from ..ops.dispatch.plan import is_pointwise
from ..ops.families import ViewScatter
from ..ops.primitive import read_by
from . import schema
from .callers import OURS, Places, module_names
from .copies import memory_key, same_view
from .noted import Event, Group, Noted, bottom

ALIVE = object()  # in place of an edge: the one that the tensor has now
NO_LAYERS: list = []


class Ledger:
    """What has been noted, and how an entry of the log becomes a part of it."""

    def __init__(self):
        self.log: deque = deque()
        self.values: list[Noted] = []
        self.groups: list[Group] = []
        self.gradients: dict[int, int] = {}
        self.leaves: dict[Leaf, int] = {}  # of a record made from a graph: the value of each end
        self._settling = RLock()
        self._places = Places()
        self._ids: dict[int, int] = {}  # id of an array, or of a single number on its way back -> its value now
        self._others: list = []  # kept alive, so that their ids stay theirs
        self._made_by: dict[Any, Event] = {}  # node -> its event
        self._last: Event | None = None
        self._open: Group | None = None  # of the function on the stack, or of the backward that is running
        self._closed: list = []  # those that are open again when a backward has run
        self._around: list = []  # the modules that are being called
        self._modules: list[str] = []  # their names
        self._paths: dict[Any, dict] = {}  # module -> the paths of those in it
        self._running = 0  # how many backwards
        self._has_run = False  # one has, so that what changes parameters now is an update
        self._stale: dict[int, Group] = {}  # id of an array whose memory another tensor's write has changed
        self._by_memory: dict[int, list[Noted]] = {}  # memory_key -> the values there
        self._sorted = 0  # so many values stand in that table

    def settle(self) -> None:
        """Work the log off."""
        log = self.log
        with self._settling, uncollected():
            while log:
                entry = log.popleft()
                if type(entry) is list:
                    entry[0](self, *entry[1:])
                elif len(entry) == 3:
                    self.swept(*entry)
                else:
                    self.ran(*entry)

    # ------------------------------------------------------------------ values
    def ref(self, t: Any, kind: str = "", edge: Any = ALIVE) -> Any:
        """The number of a tensor's value, noted now if it is new; other arguments as they are."""
        if not isinstance(t, Tensor):
            return {"const": t}
        a = bottom(t)
        index = self._ids.get(id(a))
        if index is None:
            stale = self._stale.pop(id(a), None) if self._stale else None
            if edge is ALIVE and (stale is not None or not kind):
                edge = history(t)
            index = len(self.values)
            kind = "computed" if stale is not None else kind or kind_of(edge)
            shape, dtype = (a.shape, a.dtype) if t._layer is None else (tuple(t.shape), t._np_dtype)
            self.values.append(Noted(index, t, a, kind, shape, dtype))
            self._ids[id(a)] = index
            if stale is not None:
                self.seen_again(t, index, edge, stale)
        return index

    def gradient(self, g: Any) -> int:
        """The number of a gradient: a tensor, or as the sweep has it an array or a single number."""
        if isinstance(g, Tensor):
            return self.ref(g, "gradient")
        index = self._ids.get(id(g))
        if index is None:
            index = self._ids[id(g)] = len(self.values)
            self.values.append(Noted(index, None, g, "gradient", g.shape, g.dtype))
        return index

    def seen_again(self, t: Tensor, index: int, edge: Any, writer: Group) -> None:
        """A view of memory that was written through another tensor is read for the first time since.

        It is a result of that write; where it is tracked, autograd takes the view of the new base, an operation of its own.
        """
        view = t._view
        if edge is None or type(edge) is Leaf or view is None or producer(edge) in self._made_by:
            writer.events.append(Event(ViewScatter, writer, [], [index]))
            return
        reader = self._open
        place = writer.place if reader is None else reader.place
        group = Group("forward", view.fn.function_name(), place, writer.layers)
        event = Event(view.fn, group, [self.ref(view.parent)], [index])
        group.events.append(event)
        # before the operation that reads it
        self.groups.insert(len(self.groups) - (self.groups[-1:] == [reader]), group)
        self.note_node(event, producer(edge), producer(edge)._saved)

    # ------------------------------------------------------------------ memory that is written
    def freeze(self, x: Tensor, copy: np.ndarray | None = None) -> None:
        """x's memory is about to be written: keep what the values there hold, as views of a copy or as summaries."""
        for noted in self.overlapping(x):
            if noted.before is None and not noted.lost:
                if copy is None:
                    noted.summary, noted.lost = schema.summary(noted.array), True
                else:
                    noted.before = same_view(noted.array, storage(bottom(x)), copy)

    def overlapping(self, x: Tensor) -> list:
        """The current values that share memory with x."""
        for v in self.values[self._sorted :]:
            if isinstance(v.array, np.ndarray):
                self._by_memory.setdefault(memory_key(v.array), []).append(v)
        self._sorted = len(self.values)
        a, found = bottom(x), []
        for key in {memory_key(a), 0} if memory_key(a) else list(self._by_memory):
            there = self._by_memory.get(key, [])
            there[:] = [v for v in there if self._ids.get(id(v.array)) == v.index]
            found += [v for v in there if np.may_share_memory(v.array, a)]
        return found

    def forget(self, x: Tensor, group: Group) -> None:
        """x's memory has been written by an operation: what is seen there from now on are new values."""
        for noted in self.overlapping(x):
            self._ids.pop(id(noted.array), None)
            if noted.array is not bottom(x):
                self._stale[id(noted.array)] = group

    def note_bases(self, group: Group, x: Tensor, bases: list) -> None:
        """A view was written: each base it is a view of is, in the same operation, itself with that region replaced."""
        for base, before in bases:
            self._stale.pop(id(bottom(base)), None)
            event = Event(ViewScatter, group, [before, self.ref(x)], [self.ref(base, "computed")])
            group.events.append(event)
            if base._edge is not None and type(base._edge) is not Leaf:
                self.note_node(event, producer(base._edge), producer(base._edge)._saved)
            x = base

    def written(self, fn: Any, args: tuple, edges: list, call: Any, offset: int, copy: np.ndarray) -> None:
        """A write in plain code under no_grad, which changed no history; `copy` is the memory as it was before."""
        phase = "update" if type(edges[0]) is Leaf and not self._running else self.phase(False)
        group = self.group_of(fn, phase, call, offset, NO_LAYERS)
        group.inplace = True
        event = Event(fn, group, [self.ref(a, "", e) for a, e in zip(args, edges)])
        self.freeze(args[0], copy)
        self.forget(args[0], group)
        self.note(event, args[:1], [])

    # ------------------------------------------------------------------ operations
    def ran(self, cls: Any, out: Tensor, link: Any, call: Any, offset: int, *args: Any) -> None:
        """An operation by its written-out road, or the code of the function of the table that stands for it.

        `link` is its node; None if nothing is tracked; a list of the arguments' edges where that does not tell them, and
        a tuple of them under no_grad.
        """
        names = None
        if type(cls) is CodeType:
            names, cls = cls.co_varnames, OURS[id(cls)].stands_for
        edges = link if type(link) in (tuple, list) else (None,) * len(args) if link is None else link._edges
        group = self.group_of(cls, self.phase(type(link) is not tuple), call, offset, NO_LAYERS)
        event = Event(cls, group, [self.ref(a, "", e) for a, e in zip(args, edges)], [self.ref(out, "computed")])
        if names is not None:
            group.arguments = {n: i for n, i in zip(names, event.inputs) if not isinstance(i, dict)}
        group.events.append(event)
        self._last = event
        if link is not None and edges is not link and link not in self._made_by:
            self._made_by[link] = event
            group.nodes.append(link)
            reads, results = read_by(cls, tuple([e is not None for e in edges]), 1)
            for a, read in (*zip(args, reads), (out, results[0])):
                if read and isinstance(a, Tensor):
                    group.kept.append((self.ref(a), a._a.nbytes, link))

    def began(self, event: Event, args: tuple, edges: list, phase: str, call: Any, offset: int, layers: list) -> None:
        """An operation of any kind begins: what others note until it has ended comes after it."""
        event.group = self.group_of(event.cls, phase, call, offset, layers)
        event.inputs = [self.ref(a, "", e) for a, e in zip(args, edges)]

    def ended(self, event: Event, outs: tuple, nodes: list, tangents: list) -> None:
        """What came out: values, the nodes that were made with what they keep, and tangents of arguments and results."""
        self.note(event, outs, nodes)
        for value, tangent in zip((*event.inputs, *event.outputs), tangents):
            if tangent is not None:
                event.group.tangents = event.group.tangents or {}
                event.group.tangents[value] = self.ref(tangent, "tangent")

    def note(self, event: Event, outs: tuple, nodes: list) -> None:
        """The results of an event, and their nodes."""
        event.outputs = [self.ref(o, "computed") for o in outs if isinstance(o, Tensor)]
        event.group.events.append(event)
        self._last = event
        for node, saved in nodes:
            if node not in self._made_by:
                self.note_node(event, node, saved)

    def claimed(self, node: Any, saved: Any) -> None:
        """A node of a Grad layer that runs inside this recording: it is made when its operation has run below, and noted."""
        event = self._last
        if event is not None and event.cls is node._fn and node not in self._made_by:
            self.note_node(event, node, saved)

    def note_node(self, event: Event, node: Any, saved: Any) -> None:
        """A node that belongs to the event's group, and the tensors it keeps."""
        self._made_by[node] = event
        event.group.nodes.append(node)
        for s in saved if type(saved) is tuple else ():
            if type(s) is Saved and isinstance(s.tensor, Tensor):
                event.group.kept.append((self.ref(s.tensor, "computed"), bottom(s.tensor).nbytes, node))

    def phase(self, grad: bool) -> str:
        """What an operation is part of that runs now."""
        return "backward" if self._running else "update" if self._has_run and not grad else "forward"

    def group_of(self, cls: Any, phase: str, call: Any, offset: int, layers: list) -> Group:
        """The entry that an operation belongs to.

        `call` tells its caller: the user's code, where no function of the table lies between; (name, the user's code,
        the tensors among its arguments) of such a function; or None where that is the same call as before.
        """
        if self._open is not None and (call is None or self._running):
            return self._open
        name, code, arguments = (
            (called_directly(cls), call, None) if type(call) is CodeType else call or (None, None, None)
        )
        place = None if code is None else self._places(code, offset)
        group = Group(phase, name or cls.__name__, place, layers)
        group.modules, group.asked = self._modules, None if code is None else (code, offset)
        if arguments:
            group.arguments = {n: self.ref(t, "", edge) for n, (t, edge) in arguments.items()}
        if not cls.primitive:
            group.name = group.function = cls.__name__
        self.groups.append(group)
        self._open = group
        return group

    def module_entered(self, module: Any) -> None:
        """What is computed from here on belongs to a module."""
        self._around.append(module)
        self._modules = module_names(self._around, self._paths)

    def module_left(self, module: Any) -> None:
        """Its call is over; it may have begun before the recording."""
        if self._around and self._around[-1] is module:
            self._around.pop()
            self._modules = module_names(self._around, self._paths)

    # ------------------------------------------------------------------ what the engine tells
    def run_began(self) -> None:
        """From here on what is computed is the engine's own."""
        self._closed.append(self._open)
        self._open = None
        self._running += 1
        self._has_run = True

    def run_ended(self) -> None:
        """The backward is over."""
        self._open = self._closed.pop()
        self._running -= 1

    def backward_began(self, node: Any) -> None:
        """A node's backward begins: what it computes belongs to a backward entry of the node's operation."""
        self._closed.append(self._open)
        if (event := self._made_by.get(node)) is not None:
            self._open = self.backward_group(event.group)

    def backward_ended(self) -> None:
        """It is over."""
        self._open = self._closed.pop()

    def backward_group(self, group: Group | None) -> Group:
        """The backward entry of an operation in this run of the engine, made when its first node runs."""
        assert group is not None
        if self.groups and (last := self.groups[-1]).of is group and last.phase == "backward":
            return last
        made = Group("backward", group.name, group.place, group.layers, group)
        made.function, made.modules, made.asked = group.function, group.modules, group.asked
        self.groups.append(made)
        return made

    def swept(self, node: Any, g: Any, gives: Any) -> None:
        """A node of the sweep; `gives` is None where that is told apart.  For a leaf it is its tensor."""
        if type(node) is Leaf:
            return self.arrived(node, (g,), gives)
        grads = g if type(g) is list else (g,)
        self.arrived(node, grads)
        event = self._made_by.get(node)
        if gives is not None and event is not None:
            self.backward_group(event.group)
            edges = node._edges
            self.flowed(node, grads, [(i, edges[i], d) for i, d in zip(node.places or range(len(edges)), gives)])

    def given(self, node: Any, g: Any, pairs: list) -> None:
        """What a user's Function gave to some of its edges, in their order."""
        edges, at, found = node._edges, -1, []
        for edge, d in pairs:
            at = next(i for i in range(at + 1, len(edges)) if edges[i] is edge)
            found.append((at, edge, d))
        self.flowed(node, (g,), found)

    def arrived(self, node: Any, grads: Any, t: Any = None) -> None:
        """The whole gradient of a node's outputs, or of a leaf, whose tensor is `t`."""
        if type(node) is Leaf:
            value = self.leaves.get(node) if t is None else self._ids.get(id(bottom(t)))
            if value is not None and grads[0] is not None:
                self.add_gradient(value, grads[0])
            return
        event = self._made_by.get(node)
        if event is None:
            return
        for value, g in zip(event.outputs, grads):
            if g is not None:
                index = self.add_gradient(value, g)
                if event.group.upstream is None:
                    event.group.upstream = index

    def add_gradient(self, value: int, g: Any) -> int:
        """The gradient of a value; where the program runs backward more than once, the sum, as in `.grad`."""
        index, before = self.gradient(g), self.gradients.get(value)
        self.gradients[value] = index
        if before is not None:
            old, new = self.values[before], self.values[index]
            if old.shape == new.shape:
                self.gradients[value] = self.gradient(np.asarray(old.held() + new.held()))
        return index

    def same(self, g: Any, other: Any) -> None:
        """One gradient as another object."""
        self._ids[id(other)] = self.gradient(g)
        self._others.append(other)

    def flowed(self, node: Any, grads: Any, given: Any) -> None:
        """What flowed back along the edges of a node that leave its operation: position, edge and gradient of each."""
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
                partial = self.partial(event, i, alone)
                group.edges.append((value, partial, upstream if alone else group.upstream, self.gradient(g)))

    def partial(self, event: Event, i: int, alone: bool) -> str:
        """The formula of one edge in words."""
        group, cls = event.group, event.cls
        if alone and cls.primitive and (text := partial_text(cls, i)):
            return text
        if not cls.primitive:
            return f"{cls.__name__}.backward"
        arguments = group.arguments or (dict(zip(cls.names, event.inputs)) if alone and is_pointwise(cls) else {})
        names = [n for n, v in arguments.items() if v == event.inputs[i]]
        return f"∂{group.name}/∂{names[0] if names else self.values[event.inputs[i]].name or i}"


@contextmanager
def uncollected():
    """While much is made and none of it is garbage: the collector would walk all of it over and over (twice the time)."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def kind_of(edge: Any) -> str:
    """Leaves that require grad are parameters, other tensors from outside inputs."""
    return "parameter" if type(edge) is Leaf else "computed" if edge is not None else "input"


@cache
def called_directly(cls: Any) -> str:
    """What an operation is called that no function of the table stands before."""
    return cls.name if cls.primitive and is_pointwise(cls) else cls.__name__


@cache
def partial_text(cls: Any, i: int) -> str:
    """The formula of argument i."""
    return cls.partial_text(i)
