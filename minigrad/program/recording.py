"""Recording: a transparent layer that changes nothing and notes everything.  Drawings are made from what it notes.

One entry is made for each operation as the user wrote it: whatever primitives run while a function of the table of
operations is on the Python stack belong to that function's entry (a Group).  The engine tells the recording what flowed
along each edge; forward mode runs beside the forward pass, so that one run of the program gives all three passes.
build.py makes the document of the schema from what is noted here.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.context import EAGER, Frame, Layer, apply_at, current, passed, recordings, use
from ..core.dual import Level, tangent_of
from ..core.edges import INFERENCE, Leaf, producer
from ..core.function import Function
from ..core.inplace import inplace_at
from ..core.saved import Saved
from ..core.tensor import Tensor, history, version, wrap
from ..errors import Place
from ..ops.families import ViewScatter
from . import schema
from .callers import called, module_names, tensor_arguments
from .noted import Event, Group, Noted, bottom
from .show import mimebundle


class Record(Layer):
    """A running, then finished, recording.  Use it as `with minigrad.record() as rec:`.

    `jvp=True` also pushes tangents through the program, seeded with ones at the leaves.
    """

    name = "record"

    def __init__(self, jvp: bool = False, name: str = "", file: str = ""):
        self.program_name, self.file = name, file
        self.values: list[Noted] = []
        self.groups: list[Group] = []
        self.outputs: list[int] = []
        self.gradients: dict[int, int] = {}
        self.notes: list[str] = []  # what could not be recorded, and why
        self.level = Level() if jvp else None
        self._seeded: list[tuple] = []
        self.leaves: dict[Leaf, int] = {}  # of a record made from a graph: the value of each end
        self._last: tuple = (None, None)  # the latest group and event
        self._ids: dict[int, int] = {}  # id of an array -> its value now
        self._node_group: dict[Any, tuple] = {}  # node -> (group, event)
        self._stale: dict[int, Group] = {}  # id of an array whose memory another tensor's write has changed
        self._paths: dict[Any, dict] = {}  # module -> the paths of those in it
        self._open: Group | None = None  # of the function on the stack, or of the backward that is running
        self._backward = 0
        self.ran_backward = self.ran_jvp = False
        self._scope: Any = None

    # ------------------------------------------------------------------ as a context and a layer
    def __enter__(self) -> Record:
        top = current()
        self._scope = use(Frame(self, top.grad, top.dual, top.inference, top))
        self._scope.__enter__()
        recordings.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._scope.__exit__()
        recordings.remove(self)
        for t, old in self._seeded:
            t._tan = old
        self._open = None

    def handles(self, fn: type, args: tuple) -> bool:
        """A recording sees every operation."""
        return True

    def below(self, frame: Frame) -> Frame:
        """The layer underneath with the modes that are in force here: no_grad inside the recording reaches it."""
        p = frame.parent
        assert p is not None
        if (p.grad, p.dual, p.inference) == (frame.grad, frame.dual, frame.inference):
            return p
        return p.but(grad=frame.grad, dual=frame.dual, inference=frame.inference)

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation below and note it."""
        below = self.below(frame)
        if self._backward and not frame.grad:  # inside a first-order backward the edges tell all
            return apply_at(below, cls, args)
        group = self.group_now(cls, frame)
        event = Event(cls, [self.ref(a) for a in args], [])
        watched = [] if cls.primitive else self.may_write(args)
        below = self.with_tangents(below, cls, group)
        out = apply_at(below, cls, args)
        written = [(x, bases) for x, number, bases in watched if version(x) != number]
        for x, _ in written:
            group.inplace = True
            self.forget(x, group)
        self.note(group, event, args, out if isinstance(out, tuple) else (out,), below)
        for x, bases in written:
            self.note_bases(group, x, bases)
        return out

    def may_write(self, args: tuple) -> list:
        """What has to be known beforehand of the arguments of a custom Function, which may write to them (mark_dirty)."""
        tensors = [a for a in args if isinstance(a, Tensor) and a._ver is not INFERENCE]
        for x in tensors:
            self.freeze(x)
        return [(x, version(x), [(base, self.ref(base)) for base in bases_of(x)]) for x in tensors]

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        """The same for a write: x and all that shares its memory hold something new afterwards."""
        below = self.below(frame)
        if self._backward and not frame.grad:
            return inplace_at(below, fn, x, others)
        group = self.group_now(fn, frame)
        group.inplace = True
        if group.phase == "forward" and not frame.grad and type(history(x)) is Leaf:
            group.phase = (
                "update"  # a parameter is given its first numbers, or others: no part of what is differentiated
            )
        args = (x, *others)
        event = Event(fn, [self.ref(a) for a in args], [])
        self.freeze(x)
        below = self.with_tangents(below, fn, group)
        bases = [(base, self.ref(base)) for base in bases_of(x)]
        inplace_at(below, fn, x, others)
        self.forget(x, group)
        self.note(group, event, args, (x,), below)
        self.note_bases(group, x, bases)
        return x

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
            event = Event(ViewScatter, [before, self.ref(x)], [self.ref(base, "computed")])
            group.events.append(event)
            if base._edge is not None and type(base._edge) is not Leaf:
                self.note_node(group, event, producer(base._edge))
            x = base

    # ------------------------------------------------------------------ values
    def ref(self, t: Any, kind: str = "") -> Any:
        """The number of a tensor's value, noted now if it is new; other arguments as they are."""
        if not isinstance(t, Tensor):
            return {"const": t}
        key = id(bottom(t))
        index = self._ids.get(key)
        if index is None:
            stale = self._stale.pop(key, None)
            if stale is not None:
                kind = "computed"
            noted = Noted(len(self.values), t, kind or self.kind_of(t), "", tuple(t.shape), t._np_dtype)
            index = self._ids[key] = noted.index
            self.values.append(noted)
            if stale is not None:
                self.seen_again(t, index, stale)
            if noted.kind == "parameter":
                self.seed(t)
        return index

    def seen_again(self, t: Tensor, index: int, writer: Group) -> None:
        """A view of memory that was written through another tensor is read for the first time since.

        It is a result of that write; where it is tracked, autograd takes the view of the new base, an operation of its own.
        """
        edge, view = history(t), t._view
        if edge is None or type(edge) is Leaf or view is None or producer(edge) in self._node_group:
            writer.events.append(Event(ViewScatter, [], [index]))
            return
        reader, event = self._open, Event(view.fn, [self.ref(view.parent)], [index])
        place = writer.place if reader is None else reader.place
        group = Group("forward", view.fn.function_name(), None, place, writer.layers)
        group.events.append(event)
        self.groups.insert(
            len(self.groups) - (self.groups[-1:] == [reader]), group
        )  # before the operation that reads it
        self.note_node(group, event, producer(edge))

    def kind_of(self, t: Tensor) -> str:
        """Leaves that require grad are parameters, other tensors from outside inputs."""
        edge = history(t)
        return "parameter" if type(edge) is Leaf else "computed" if edge is not None else "input"

    def seed(self, t: Tensor) -> None:
        """Give a leaf the tangent 1, if the jvp pass is wanted and it has none."""
        if self.level is not None and t._layer is None and t._np_dtype.kind == "f":
            self._seeded.append((t, t._tan))
            t._tan = (self.level, wrap(np.ones(t.shape, t._np_dtype)))

    def freeze(self, x: Tensor) -> None:
        """x's memory is about to be written: summarise now the values that lie there."""
        for noted in self.overlapping(x):
            if noted.summary is None:
                noted.summary = schema.summary(noted.array)

    def overlapping(self, x: Tensor) -> list:
        """The current values that share memory with x."""
        a = bottom(x)
        return [
            v
            for v in (self.values[i] for i in self._ids.values())
            if v.array is not None and np.may_share_memory(v.array, a)
        ]

    # ------------------------------------------------------------------ operations
    def group_now(self, cls: Any, frame: Frame) -> Group:
        """The entry that a primitive running now belongs to: that of the outermost function of the table on the stack."""
        if self._backward and self._open is not None:
            return self._open
        name, outer, signed, user = called(sys._getframe(2))
        if outer is not None and self._open is not None and self._open.frame is outer:
            return self._open
        phase = "backward" if self._backward else "update" if self.ran_backward and not frame.grad else "forward"
        place = None if user is None else Place(user.f_code.co_filename, user.f_lineno)
        group = Group(phase, name or cls.__name__, outer, place, stack_of(frame.parent) + names_of(passed.get()[::-1]))
        if user is not None:
            group.asked = (user.f_code, user.f_lasti)
        group.modules = module_names(sys._getframe(2), self._paths)
        if signed is not None:
            group.arguments = {n: self.ref(t) for n, t in tensor_arguments(signed).items()}
        if not cls.primitive:
            group.name, group.function = cls.__name__, cls.__name__
        self.groups.append(group)
        self._open = group
        return group

    def with_tangents(self, below: Frame, cls: Any, group: Group) -> Frame:
        """The frame below with our dual level open, unless the program has its own or the operation cannot be pushed."""
        if self.level is None or below.dual is not None or below.layer is not EAGER or group.phase != "forward":
            return below
        if not cls.primitive and cls.jvp is Function.jvp:
            self.notes.append(f"the jvp pass stops at {cls.__name__}, which has no jvp")
            return below
        return below.but(dual=self.level)

    def note(self, group: Group, event: Event, args: tuple, outs: tuple, below: Frame) -> None:
        """What came out: values, the nodes that were made, what they keep, and tangents."""
        event.outputs = [self.ref(o, "computed") for o in outs if isinstance(o, Tensor)]
        group.events.append(event)
        self._last = (group, event)
        for o in outs:
            edge = o._edge if isinstance(o, Tensor) else None
            if edge is not None and type(edge) is not Leaf and producer(edge) not in self._node_group:
                self.note_node(group, event, producer(edge))
        if below.dual is not None:
            for t, i in zip((*args, *[o for o in outs if isinstance(o, Tensor)]), (*event.inputs, *event.outputs)):
                if (tangent := tangent_of(t, below.dual)) is not None:
                    group.tangents[i] = self.ref(tangent, "tangent")
                    self.ran_jvp = True

    def claim(self, node: Any) -> None:
        """A node of a Grad layer that runs inside this recording: it is made when its operation has run below, and noted."""
        group, event = self._last
        if node._layer is not None and event is not None and event.cls is node._fn and node not in self._node_group:
            self.note_node(group, event, node)

    def note_node(self, group: Group, event: Event, node: Any) -> None:
        """A node that belongs to the group, and the tensors it keeps."""
        self._node_group[node] = (group, event)
        group.nodes.append(node)
        for s in node._saved if type(node._saved) is tuple else ():
            if type(s) is Saved and isinstance(s.tensor, Tensor):
                a = bottom(s.tensor)
                group.kept.append((self.ref(s.tensor, "computed"), a.nbytes, node))

    # ------------------------------------------------------------------ what the engine tells
    @contextmanager
    def backward_of(self, node: Any):
        """While a node's backward runs, what it computes belongs to a backward entry of the node's operation."""
        group, _ = self._node_group.get(node, (None, None))
        before = self._open
        if group is not None:
            self._open = self.backward_group(group)
        try:
            yield
        finally:
            self._open = before

    @contextmanager
    def running(self):
        """While the engine runs, what is computed is its own: noted only where it can be differentiated again."""
        before, self._open = self._open, None
        self._backward += 1
        try:
            yield
        finally:
            self._backward -= 1
            self._open = before

    def backward_group(self, group: Group) -> Group:
        """The backward entry of an operation in this run of the engine, made when its first node runs."""
        if self.groups and (last := self.groups[-1]).of is group and last.phase == "backward":
            return last
        made = Group("backward", group.name, None, group.place, group.layers, group)
        made.function, made.modules, made.asked = group.function, group.modules, group.asked
        self.groups.append(made)
        return made

    def arrived(self, node: Any, grads: list) -> None:
        """The whole gradient of a node's outputs, or of a leaf."""
        self.ran_backward = True
        if type(node) is Leaf:
            t = node._ref()
            value = self.leaves.get(node) if t is None else self._ids.get(id(bottom(t)))
            if value is not None and grads[0] is not None:
                self.add_gradient(value, grads[0])
            return
        group, event = self._node_group.get(node, (None, None))
        if group is None:
            return
        for value, g in zip(event.outputs, grads):
            if g is not None:
                self.add_gradient(value, g)
                if group.upstream is None:
                    group.upstream = self.ref(g, "gradient")

    def add_gradient(self, value: int, g: Tensor) -> None:
        """The gradient of a value; where the program runs backward more than once, the sum, as in `.grad`."""
        before = self.gradients.get(value)
        if before is not None and (known := self.values[before].tensor) is not None and known.shape == g.shape:
            g = wrap(bottom(known) + bottom(g))
        self.gradients[value] = self.ref(g, "gradient")

    def note_edges(self, node: Any, grads: list, outs: tuple) -> None:
        """What flowed back along each edge of a node that leaves its operation."""
        group, event = self._node_group.get(node, (None, None))
        if group is None:
            return
        upstream = next((self.ref(g, "gradient") for g in grads if g is not None), None)
        for i, (edge, g) in enumerate(zip(node._edges, outs)):
            if edge is None or g is None or self._node_group.get(producer(edge), (None,))[0] is group:
                continue
            if i < len(event.inputs) and not isinstance(event.inputs[i], dict):
                alone = len(group.nodes) <= 1
                group.edges.append(
                    (
                        event.inputs[i],
                        self.partial(group, event, i, alone),
                        upstream if alone else group.upstream,
                        self.ref(g, "gradient"),
                    )
                )

    def partial(self, group: Group, event: Event, i: int, alone: bool) -> str:
        """The formula of one edge in words."""
        if alone and event.cls.primitive and (text := event.cls.partial_text(i)):
            return text
        if not event.cls.primitive:
            return f"{event.cls.__name__}.backward"
        names = [n for n, v in group.arguments.items() if v == event.inputs[i]]
        return f"∂{group.name}/∂{names[0] if names else self.values[event.inputs[i]].name or i}"

    # ------------------------------------------------------------------ the result
    def to_dict(self) -> dict:
        """The record as plain data of the schema minigrad.record/1 (docs/record.md)."""
        from .build import build

        return build(self).to_dict()

    def to_json(self, indent: int | None = 1) -> str:
        """The record as JSON text."""
        from .build import build

        return build(self).to_json(indent)

    def save(self, path: Any) -> None:
        """Write the record to a JSON file."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.to_json())

    _repr_mimebundle_ = mimebundle


def bases_of(x: Tensor) -> list:
    """The tensors that x is a view of, from the nearest to its base."""
    found = []
    while x._view is not None:
        x = x._view.parent
        found.append(x)
    return found


def stack_of(frame: Frame | None) -> list:
    """The names of the transforms from a frame outwards, outermost first."""
    return [] if frame is None else names_of(frame.layers())


def names_of(layers: Any) -> list:
    """The names of layers, recordings left out."""
    return [layer.name for layer in layers if not isinstance(layer, Record)]
