"""The ledger of a recording: it turns the log of a run into the values, events and groups of values.py.

A running program only appends entries to the log, because a small operation takes a microsecond. `settle` evaluates them in
order when the record is read. gradient_flow.py handles the engine's gradients. An entry is

    (cls, out, link, call, offset, *args) an operation on the fast path (ops/dispatch), see `ran`
    (node, g, gives)                      a backward on arrays (core/engine.py), see `swept`
    (method, *arguments), as a list       anything else: a call of a method of EventLog

An entry stores everything that may change before it is evaluated: edges of arguments, a node's saved tensors.
"""

import gc
from collections import deque
from contextlib import contextmanager
from functools import cache
from inspect import Parameter, signature
from threading import RLock
from types import CodeType
from typing import Any

import numpy as np

from ..arrays.memory import storage
from ..core.graph import Leaf, history, producer
from ..core.saved import plain_tensor as plain
from ..core.tensor import Tensor
from ..fast.text_plan import is_pointwise
from ..ops.base.families import ViewScatter
from ..ops.base.primitive import read_by
from ..ops.base.registry import TABLE
from . import schema
from .callers import OURS, PLAIN, Places, is_seen, module_names
from .cuts import behind
from .layer_views import below
from .values import NOWHERE, Event, OpEntry, Ref, ValueInfo, bottom
from .written_memory import WrittenMemory

ALIVE = object()  # instead of an edge: use the tensor's current one
NO_LAYERS: list = []


class EventLog(WrittenMemory):
    """The noted data, and the evaluation of log entries.

    A value is identified by the id of its array. Only a leaf that shares its array with another leaf, or with a result
    (`h.detach().requires_grad_()`), is identified by the id of its end of the graph.
    """

    def __init__(self):
        super().__init__()
        self.log: deque = deque()
        self._settling = RLock()
        self._places = Places()
        self.around: frozenset = frozenset()  # the transforms around the recording
        self.draws: set[int] = set()  # values that are random numbers
        self._owners: dict[int, Leaf] = {}  # id of an array -> the leaf that it identifies
        self.times: dict[OpEntry, float] = {}  # seconds, if the recording has a clock (times.py)
        self.pushing: dict[OpEntry, float] = {}  # the seconds of their tangents
        self._around: list = []  # the modules that are running
        self._modules: list[str] = []  # their names
        self.module_paths: dict[Any, dict] = {}  # module -> the paths of its submodules
        self.handed: list[tuple] = []  # a line, and the values that it received without an operation
        self.reads: list[tuple] = []  # see reads.py

    def settle(self) -> None:
        """Evaluate the log."""
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
        """Return the number of a tensor's value, which is noted now if it is new; return other arguments as constants."""
        if not isinstance(t, Tensor):
            return {"const": t}
        if t._layer is not None and (low := below(t, self.around)) is not t:
            t, edge = low, ALIVE
        cut = self.cuts.get(id(t)) if self.cuts and id(t) not in self._into else None
        if cut is not None and (history(t) if edge is ALIVE else edge) is None:
            return behind(self, cut, kind)
        a = bottom(t)
        if self._lent and (lent := self._lent.get(id(storage(a)))) is not None:
            self.note_unseen_write(lent)
        leaf = t._edge if edge is ALIVE else edge
        leaf = leaf if type(leaf) is Leaf and t._layer is None else None
        key = self.key(t, a, leaf)
        index = self._ids.get(key)
        if index is None:
            stale = self._stale.pop(key, None) if self._stale else None
            if edge is ALIVE and (stale is not None or not kind):
                edge = history(t)
            flows = kind in ("gradient", "tangent")
            kind = kind or ("computed" if stale is not None else kind_of(edge))
            index = self.add_value(t, key, kind)
            if stale is not None and not flows:
                self.seen_again(t, index, edge, stale)
        if leaf is not None:
            self.leaves[leaf] = index
            known = self.values[index]
            if known.kind == "input":  # possibly of another tensor, which the leaf was made from: Parameter(randn(3))
                known.tensor = t
            if known.kind in ("input", "computed", "gradient"):  # since written, or made to require grad
                known.kind = "parameter"
        return index

    def add_value(self, t: Tensor, key: int, kind: str = "computed") -> int:
        """Note the value of a tensor, and return its number."""
        a = bottom(t)
        index = self._ids[key] = len(self.values)
        shape, dtype = (a.shape, a.dtype) if t._layer is None else (tuple(t.shape), t._np_dtype)
        self.values.append(ValueInfo(index, t, a, kind, shape, dtype, key))
        return index

    def key(self, t: Tensor, a: np.ndarray, leaf: Leaf | None) -> int:
        """Return the identity of a tensor's value; `a` is its array, `leaf` its leaf, if it is one."""
        index = self._ids.get(id(a))
        if leaf is None:
            return id(a)
        if id(a) not in self._owners if index is None else self.is_of(index, t):
            self._owners[id(a)] = leaf
        if self._owners.get(id(a)) is leaf:
            return id(a)
        self._others.append(leaf)
        return id(leaf)

    def is_of(self, index: int, t: Tensor) -> bool:
        """Return True if a value belongs to a leaf tensor, possibly as seen by a transform, or as `x.detach()`."""
        known = self.values[index]
        return known.kind == "input" or known.tensor is not None and plain(known.tensor) is t

    def seen_again(self, t: Tensor, index: int, edge: Any, writer: OpEntry) -> None:
        """Note the first read of a view after its memory was written through another tensor.

        The view is a result of that write. If it is tracked, a separate operation takes the view again from the new base.
        """
        view = t._view
        if edge is None or type(edge) is Leaf or view is None or view.fn is None or producer(edge) in self._made_by:
            writer.events += (Event(ViewScatter, writer, [], [index]),)
            return
        reader = self._open
        line = writer.where if reader is None else reader.where
        where = schema.Where(line.file, line.line, line.code)  # there is no column for it
        group = OpEntry("forward", view.fn.function_name(), where, writer.layers)
        event = Event(view.fn, group, [self.ref(view.parent), *[{"const": a} for a in view.args]], [index])
        group.events += (event,)
        # before the operation that reads it
        self.groups.insert(len(self.groups) - (self.groups[-1:] == [reader]), group)
        self.note_node(event, producer(edge), producer(edge)._saved)

    # ------------------------------------------------------------------ memory that is written
    def note_bases(self, group: OpEntry, x: Tensor, bases: list) -> None:
        """Note a write to a view: in the same operation, each of its bases becomes itself with that region replaced.

        `bases` holds each base with its value before, and its tangents before and after.
        """
        for base, before, *moved in bases:
            self._stale.pop(id(base if id(base) in self.cuts else bottom(base)), None)
            region = {"const": ((x._view.fn, x._view.args),)}
            event = Event(ViewScatter, group, [before, self.ref(x), region], [self.ref(base, "computed")])
            group.events += (event,)
            self.note_tangents(group, (before, event.outputs[0]), moved)
            if base._edge is not None and type(base._edge) is not Leaf:
                self.note_node(event, producer(base._edge), producer(base._edge)._saved)
                self._ids.pop(id(bottom(x)), None)
                self._stale[id(bottom(x))] = group  # the next read sees a view of the new base
            x = base

    def written(self, fn: Any, args: tuple, edges: list, call: Any, offset: int, copy: np.ndarray) -> None:
        """Note a plain write under no_grad, which changed no history; `copy` is the memory before it."""
        phase = "update" if type(edges[0]) is Leaf and not self._runs else self.phase(False)
        group = self.group_of(fn, phase, call, offset, NO_LAYERS)
        group.inplace = True
        event = Event(fn, group, [self.ref(a, "", e) for a, e in zip(args, edges)])
        self.freeze(args[0], copy)
        self.forget(args[0], group)
        self.note(event, args[:1], [])

    def writes_into(self, tensors: Any) -> None:
        """Note that an operation writes to these tensors: to a detached one that nothing has read yet as to its source."""
        self._into = frozenset([id(t) for t in tensors if id(t) not in self._ids])

    # ------------------------------------------------------------------ operations
    def ran(self, cls: Any, out: Tensor, link: Any, call: Any, offset: int, *args: Any) -> None:
        """Note an operation on the fast path; `cls` may be the code of the function of the table that stands for it.

        `link` is its node, or None if nothing is tracked. It is a list of the arguments' edges if the node does not know them,
        and a tuple of them under no_grad.
        """
        names = None
        if type(cls) is CodeType:
            names, cls = cls.co_varnames, OURS[id(cls)].stands_for
        edges = link if type(link) in (tuple, list) else (None,) * len(args) if link is None else link._edges
        group = self.group_of(cls, self.phase(type(link) is not tuple), call, offset, NO_LAYERS)
        group.tracks = type(link) is not tuple
        event = Event(cls, group, [self.ref(a, "", e) for a, e in zip(args, edges)])
        if names is not None:
            group.given = {n: i["const"] if isinstance(i, dict) else Ref(i) for n, i in zip(names, event.inputs)}
            group.arguments = {n: i for n, i in zip(names, event.inputs) if not isinstance(i, dict)}
        self.note(event, (out,), [])
        if link is not None and edges is not link and link not in self._made_by:
            self._made_by[link] = event
            group.nodes += (link,)
            reads, results = read_by(cls, tuple([e is not None for e in edges]), 1)
            for a, read in (*zip(args, reads), (out, results[0])):
                if read and isinstance(a, Tensor):
                    group.kept += ((self.ref(a), a._a.nbytes, link),)

    def began(self, event: Event, args: tuple, edges: list, grad: bool, call: Any, offset: int, layers: list) -> None:
        """Note that any kind of operation begins; entries until it has ended come after it."""
        event.group = self.group_of(event.cls, self.phase(grad), call, offset, layers)
        event.group.tracks = grad
        event.inputs = [self.ref(a, "", e) for a, e in zip(args, edges)]
        self._begun = event

    def ended(self, event: Event, outs: tuple, nodes: list, tangents: list) -> None:
        """Note the results of an operation, their new nodes with saved tensors, and tangents of arguments and results."""
        self.note(event, outs, nodes)
        if tangents:
            event.moving = tuple([t is not None for t in tangents[: len(event.inputs)]])
        self.note_tangents(event.group, (*event.inputs, *event.outputs), tangents)

    def took(self, event: Event, time: float, pushing: float) -> None:
        """Note the seconds of an operation and of its tangents; in a backward, the time of the node has the operation's."""
        group = event.group
        if group is None or group.phase == "backward":
            return
        self.times[group] = self.times.get(group, 0.0) + time
        self.pushing[group] = self.pushing.get(group, 0.0) + pushing

    def node_took(self, node: Any, time: float) -> None:
        """Note the seconds of a node's backward."""
        if (event := self._made_by.get(node)) is not None:
            group = self.backward_group(event.group)
            self.times[group] = self.times.get(group, 0.0) + time

    def method_ran(self, ran: Any) -> None:
        """Note the operation for which a method of a custom Function ran; without gradients, its ctx does not tell."""
        ran.run = self._runs[0].number if self._runs else 0
        if self._begun is not None and not self._begun.cls.primitive:
            ran.group = self._begun.group

    def also_seen(self, t: Tensor, view: Tensor, kind: str) -> None:
        """Note that a method of a custom Function sees a tensor as a view, because another argument is the same tensor."""
        self.also(self.ref(t, kind), bottom(view))

    def note_tangents(self, group: OpEntry, values: Any, tangents: Any) -> None:
        """Note tangents of values: tensors, numbers of tensors seen before, or None."""
        known = [(value, t) for value, t in zip(values, tangents) if t is not None]
        if known:
            found = {value: t if isinstance(t, int) else self.ref(t, "tangent") for value, t in known}
            group.tangents = {**group.tangents, **found}

    def dual_began(self, t: Tensor, tangent: Tensor) -> None:
        """Note that the last operation has given its result a tangent from the program."""
        if self._last is not None and self._last.group is not None:
            value = self.ref(tangent)
            self.note_tangents(self._last.group, [self.ref(t)], [value])
            if self.values[value].kind == "input" or value in self._last.outputs:  # the operation may convert it
                self.values[value].kind = "tangent"

    def received(self, tensors: tuple, code: CodeType, offset: int) -> None:
        """Note the line that receives gradients or saved tensors, whose variables are their names."""
        self.handed.append((self._places(code, offset), [None if t is None else self.ref(t) for t in tensors]))

    def drew(self, t: Tensor) -> None:
        """Note random numbers, which differ in each run."""
        self.draws.add(self.ref(t))

    def note(self, event: Event, outs: tuple, nodes: list) -> None:
        """Note the results of an event, and their nodes."""
        event.outputs = [self.ref(o, "computed") for o in outs if isinstance(o, Tensor)]
        event.group.events += (event,)
        self._last, self._begun = event, None
        if self._seeing:
            self.seen(event)
        for node, saved in nodes:
            if node not in self._made_by:
                self.note_node(event, node, saved)

    def phase(self, grad: bool) -> str:
        """Return the phase of an operation that runs now."""
        return "backward" if self._runs else "update" if self.runs and not grad else "forward"

    def group_of(self, cls: Any, phase: str, call: Any, offset: int, layers: list) -> OpEntry:
        """Return the entry that an operation belongs to.

        `call` describes its caller: the user's code, if it called the operation directly; (name, user's code, arguments) of a
        function of the table; or None for the same call as before.
        """
        if self._receiving is not None:
            return self._receiving
        if self._open is not None and (call is None or self._runs and not self._again):
            return self._open
        name, code, arguments = (
            (called_directly(cls), call, None) if type(call) is CodeType else call or (None, None, None)
        )
        where = NOWHERE if code is None else self._places(code, offset)
        group = OpEntry(phase, name or cls.__name__, where, layers)
        group.modules = self._modules
        if not cls.primitive:
            group.name = group.function = cls.__name__
        self.place_in_region(group)
        self.groups.append(group)
        self._open = group
        if arguments:
            if name == "setitem":  # which takes a view first
                self.writes_into([a[1] for a in arguments.values() if is_seen(a)][:1])
            self.note_arguments(group, bound(name, arguments))
        return group

    def note_arguments(self, group: OpEntry, given: dict) -> None:
        """Note the arguments of the operation's function."""
        group.given = {n: a if type(a) in PLAIN else self.noted(a) for n, a in given.items()}
        group.arguments = {n: a.value for n, a in group.given.items() if type(a) is Ref}

    def noted(self, a: Any) -> Any:
        """Return an argument with Refs for the tensors in it."""
        if is_seen(a):
            return Ref(self.ref(a[1], "", a[2]))
        if isinstance(a, (tuple, list)):
            return (
                type(a)([self.noted(x) for x in a]) if type(a) in (tuple, list) else tuple([self.noted(x) for x in a])
            )
        return {k: self.noted(x) for k, x in a.items()} if isinstance(a, dict) else a

    def module_entered(self, module: Any) -> None:
        """Note that a module's call begins; the following operations belong to it."""
        self._around.append(module)
        self._modules = module_names(self._around, self.module_paths)

    def module_left(self, module: Any) -> None:
        """Note that a module's call is over; it may have begun before the recording."""
        if self._around and self._around[-1] is module:
            self._around.pop()
            self._modules = module_names(self._around, self.module_paths)


def bound(name: str, given: dict) -> dict:
    """Return the arguments of a function of the table by its parameters, if it passes on any number of arguments."""
    if "*" not in given and "**" not in given:
        return given
    entry = TABLE.get(name)
    if entry is None:
        return given
    kinds = {p.name: p.kind for p in signature(entry.function).parameters.values()}
    named = {k: v for k, v in given.items() if k in kinds or k not in ("*", "**", "_", "out")}
    before = [v for k, v in named.items() if kinds.get(k) is not Parameter.KEYWORD_ONLY]
    behind = {k: v for k, v in named.items() if kinds.get(k) is Parameter.KEYWORD_ONLY}
    try:
        found = signature(entry.function).bind(*before, *given.get("*", ()), **behind, **given.get("**", {})).arguments
    except TypeError:
        return given
    return dict(found) | ({"_": True} if "_" in given else {})


@contextmanager
def uncollected():
    """Pause the garbage collector while many live objects are created, which it would traverse again and again."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def kind_of(edge: Any) -> str:
    """Return the kind of a tensor by its edge: "parameter" for leaves that require grad, "input" for other outside tensors."""
    return "parameter" if type(edge) is Leaf else "computed" if edge is not None else "input"


@cache
def called_directly(cls: Any) -> str:
    """Return the name of an operation that is called without a function of the table."""
    return cls.name if cls.primitive and is_pointwise(cls) else cls.__name__
