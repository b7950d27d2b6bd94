"""Recording: a transparent layer that changes nothing and notes everything.  Drawings are made from what it notes.

One entry is made for each operation as the user wrote it: whatever primitives run while a function of the table of
operations is on the Python stack belong to that function's entry (a Group).  The engine tells the recording what flowed
along each edge; forward mode runs beside the forward pass, so that one run of the program gives all three passes.

Here, and in backward_callbacks.py for the engine, is what runs while the program does: it only appends to the log.
event_log.py works the log off when the document is asked for, and build.py makes the document of the schema from what is
noted then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..autograd.dual import Level, tangent_of
from ..autograd.profiler import Profiler
from ..core.backward import boxed
from ..core.engine import BackwardRun, recorder_of
from ..core.frames import EAGER, OFF, ON, Frame, Layer, apply_at, current, use
from ..core.function import Function
from ..core.graph import Leaf, history
from ..core.inplace import inplace, inplace_at, shares
from ..core.saved import INFERENCE, version
from ..core.tensor import Tensor, wrap
from ..files import written
from ..tensors.nested import tensors_in
from .backward_callbacks import Running
from .build import numbered
from .callbacks import bases_of, begin, edges_of, end, ignore, names_of, nodes_of, passed, tracked_noter
from .callers import arguments_of, called, is_seen
from .event_log import NO_LAYERS, Ledger, uncollected
from .inner_calls import Inside, watched
from .show import mimebundle
from .sights import below, dims_of, sight
from .snapshots import as_before, copied, owned
from .transfers import said
from .values import Event, bottom


class Record(Ledger, Layer):
    """A running, then finished, recording.  Use it as `with minigrad.record() as rec:`.

    `jvp=True` also pushes tangents through the program, seeded with ones at the leaves; `inside=True` also notes what the
    methods of custom Functions do, which costs several times as much as running them.

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> with minigrad.record() as rec:
    ...     y = x * x
    >>> isinstance(rec, minigrad.Record), [op["name"] for op in rec.to_dict()["ops"] if op["phase"] == "forward"]
    (True, ['mul'])
    """

    name, records = "record", True

    def __init__(self, jvp: bool = False, name: str = "", file: str = "", inside: bool = False):
        super().__init__()
        self.inside = inside  # whether the methods of custom Functions are looked into
        self.program_name, self.file = name, file
        self.outputs: list[int] = []
        self.notes: list[str] = []  # what could not be recorded, and why
        self.level = Level() if jvp else None
        self.ran_backward = self.ran_jvp = False
        self._backward = 0  # how many are running
        self._outer: Any = None  # the frame of the function of the table that ran last
        self._seeded: list[tuple] = []
        self._scope: Any = None
        self.insides: list[Inside] = []  # what the methods of custom Functions did
        self._sights: list = []  # what the layers around have seen of the operation that is coming

    # ------------------------------------------------------------------ as a context and a layer
    def __enter__(self) -> Record:
        top = current()
        self.around = frozenset(top.layers())
        frame = Frame(self, top.grad, top.dual, top.inference, top)
        frame.on_op = self.on_op(frame)
        frame.eager_ok = frame.on_op is not None
        self._scope = use(frame)
        self._scope.__enter__()
        begin(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._scope.__exit__()
        end(self)
        for t, old in self._seeded:
            t._tan = old
        self._outer = self._scope = None

    def on_op(self, frame: Frame) -> Any:
        """What is told of an operation that ran by its written-out road; None where it has to come through `process`."""
        if not self.lies_on_plain(frame) or self.level is not None or self._backward and frame.grad:
            return None
        if self._backward:  # a first-order backward: the edges tell all
            return ignore
        return tracked_noter(self) if frame.grad else self.note_untracked

    def lies_on_plain(self, frame: Frame) -> bool:
        """Whether there is plain eager code below, in the modes that are in force here."""
        p = frame.parent
        return (p is ON or p is OFF) and not frame.observers and frame.below() is p

    def note_untracked(self, cls: Any, args: tuple, out: Any) -> None:
        """An operation under no_grad."""
        self.note_called(cls, args, out, tuple(edges_of(args)), sys._getframe(2))

    def note_called(self, cls: Any, args: tuple, out: Any, link: Any, frame: Any) -> None:
        """An operation that a function of the table may have called, or a transform; it may have several results."""
        call, offset = self.caller(frame, cls, args)
        around = passed.get()
        if not around and type(out) is not tuple:
            if link is None and (not cls.differentiable or out._a.dtype not in FLOATS):
                link = edges_of(args)
            self.log.append((cls, out, link, call, offset) + args)
            return
        event, outs = Event(cls, above=around[-1] if around else None), out if type(out) is tuple else (out,)
        event.views, self._sights = self._sights[::-1], []
        grad, layers = type(link) is not tuple, names_of(around[::-1])
        self.log.append([Ledger.began, event, args, edges_of(args), grad, call, offset, layers])
        self.log.append([Ledger.ended, event, outs, nodes_of(outs), ()])

    def caller(self, frame: Any, cls: Any = None, args: tuple = ()) -> tuple:
        """Who has called, as the entries of the log have it (Ledger.group_of), and where in the user's code that is.

        `cls` and `args` are those of a written-out road, which a frame on the stack does not stand for.
        """
        name, outer, user = called(frame)
        if outer is not None and outer is self._outer:
            return None, 0
        self._outer = outer
        code, offset = (None, 0) if user is None else (user.f_code, user.f_lasti)
        if outer is None:
            return code, offset
        return (name, code, arguments_of(outer, passed.get())), offset

    def handles(self, fn: type, args: tuple) -> bool:
        """A recording sees every operation."""
        return True

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation below and note it."""
        below = frame.below()
        if self._backward and not frame.grad:  # the edges tell all
            return apply_at(below, cls, args)
        sights, self._sights = self._sights, []
        event = self.begin(frame, cls, args)
        event.views = sights[::-1]
        stops = self.stops(cls, args)
        if not stops:
            below = self.with_tangents(below, frame.grad)
        watched = () if cls.primitive else self.may_write(args)
        out = apply_at(below, cls, args)
        self._sights = []
        outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if stops:
            self.without_tangents(outs)
        if any([version(x) != number for x, number, *_ in watched]):
            self.note_written(event, args, outs, below, watched)
        else:
            self.end(event, args, outs, below)
        return out

    def may_write(self, args: tuple) -> list:
        """What has to be known beforehand of the arguments of a custom Function, which may write to them (mark_dirty)."""
        found = []
        for x in args:
            if isinstance(x, Tensor) and x._ver is not INFERENCE:
                if not owned(bottom(x)):
                    self.settle()
                    self.freeze(x)
                found.append((x, version(x), bottom(x).copy(), [(base, history(base)) for base in bases_of(x)]))
        return found

    def note_written(self, event: Event, args: tuple, outs: tuple, below: Frame, watched: list) -> None:
        """A custom Function has run that has written to arguments."""
        self.settle()
        held, written = [(bottom(x), content) for x, _, content, _ in watched], []
        for x, number, _, bases in watched:
            if version(x) != number:
                written.append((x, [(base, self.ref(base, "", edge)) for base, edge in bases]))
        event.group.inplace = True
        for x, _ in written:
            self.freeze(x, as_before(bottom(x), held) if owned(bottom(x)) else None)
            self.forget(x, event.group)
        self.end(event, args, outs, below)
        self.settle()
        for x, bases in written:
            self.note_bases(event.group, x, bases)

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        """The same for a write: x and all that shares its memory hold something new afterwards."""
        below = frame.below()
        if self._backward and not frame.grad:
            return inplace_at(below, fn, x, others)
        if below is OFF and self.level is None and self.write_simply(fn, x, others):
            return x
        args = (x, *self.apart(frame, fn, x, others))
        event, bases = self.begin(frame, fn, args), bases_of(x)
        self.settle()
        event.group.inplace = True
        stops = self.stops(fn, args)
        if event.group.phase == "forward" and not frame.grad and type(history([x, *bases][-1])) is Leaf:
            event.group.phase = "update"  # a parameter is given numbers: a leaf, whose tangent stays what it was
        elif not stops:
            below = self.with_tangents(below, frame.grad)
        befores = [self.ref(base) for base in bases]
        tangents = tangents_at(below, (x, *bases))
        before = [None if t is None else self.ref(t, "tangent") for t in tangents]
        written = [t for t in (x, tangents[0]) if t is not None]
        for t in written:
            self.freeze(t)
        inplace_at(below, fn, x, args[1:])
        for t in written:
            self.forget(t, event.group)
        if stops:
            self.without_tangents((x, *bases))
        self.end(event, args, (x,), below)
        self.settle()
        self.note_tangents(event.group, event.inputs[:1], before[:1])
        self.note_bases(event.group, x, list(zip(bases, befores, before[1:], tangents_at(below, bases))))
        return x

    def apart(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> tuple:
        """Other arguments of a write that share x's memory, cloned: here, where that is noted with the operation."""
        if not frame.grad or not fn.differentiable or all([history(t) is None for t in (x, *tensors_in(others))]):
            return others
        with use(frame):
            return tuple([a.clone() if isinstance(a, Tensor) and shares(a, x) else a for a in others])

    def write_simply(self, fn: Any, x: Tensor, others: tuple) -> bool:
        """A write under no_grad to a tensor that is no view, such as an optimizer's; False if it is not that simple."""
        if x._view is not None or x._layer is not None or passed.get() or (copy := copied(x._a)) is None:
            return False
        args = (x, *others)
        edges = edges_of(args)
        with use(OFF):
            inplace(fn, x, *others)
        self.log.append([Ledger.written, fn, args, edges, *self.caller(sys._getframe(2)), copy])
        return True

    # ------------------------------------------------------------------ backward
    def running(self, run: BackwardRun, grads: Any, seeds: list, arrays: bool) -> Any:
        """Have what flows in a run of the engine noted.  What it computes is its own: noted only where it can be
        differentiated again."""
        if not arrays:
            noted, outer = Running(self, run, None), recorder_of(self._scope.frame.parent)
            return noted if not isinstance(outer, Profiler) else both(noted, outer.timing(run))
        quiet = Frame(self, False, None, False, OFF)  # the user's methods and hooks run under this recording, too
        quiet.on_op, quiet.eager_ok = ignore, True
        for g, seed in zip(grads, seeds):
            if g is not None:
                self.note_same(g._a, seed)
        return Running(self, run, quiet)

    def found(self, gradients: dict) -> dict:
        """Return gradients that are wanted as Tensors; each that becomes another object is noted as the same."""
        tensors = {k: boxed(g) for k, g in gradients.items()}
        for k, t in tensors.items():
            if t is not gradients[k]:
                self.note_same(gradients[k], t._a)
        return tensors

    def note_same(self, g: Any, other: Any) -> None:
        """Note that a gradient goes on as another object."""
        if g is not other:
            self.log.append([Ledger.same, g, other])

    # ------------------------------------------------------------------ operations
    def begin(self, frame: Frame, cls: Any, args: tuple) -> Event:
        """Note that an operation begins; its event."""
        around, (call, offset) = passed.get(), self.caller(sys._getframe(2))
        event = Event(cls, above=around[-1] if around else None)
        layers = names_of((*frame.parent.layers(), *around[::-1])) if around or frame.on_op is None else NO_LAYERS
        self.log.append([Ledger.began, event, args, edges_of(args), frame.grad, call, offset, layers])
        if self.level is not None and frame.dual is None:
            named = call[2].values() if type(call) is tuple else ()
            for t in (*[a[1] for a in named if is_seen(a)], *args):
                if isinstance(t, Tensor):
                    self.meet(t)
        return event

    def end(self, event: Event, args: tuple, outs: tuple, below: Frame) -> None:
        """Note what came out."""
        tangents = tangents_at(below, (*args, *[o for o in outs if isinstance(o, Tensor)]))
        self.ran_jvp = self.ran_jvp or any([t is not None for t in tangents])
        self.log.append([Ledger.ended, event, outs, nodes_of(outs), tangents])

    def with_tangents(self, below: Frame, grad: bool) -> Frame:
        """The frame below with our dual level open, unless the program has its own."""
        update = self.ran_backward and not grad
        if self.level is None or below.dual is not None or below.layer is not EAGER or update:
            return below
        return below.but(dual=self.level)

    def stops(self, cls: Any, args: tuple) -> bool:
        """Whether tangents cannot be pushed on: at a Function without jvp, and for all that is computed from its results."""
        if self.level is None:
            return False
        if any([isinstance(a, Tensor) and a._tan == (self.level, None) for a in args]):
            return True
        if cls.primitive or cls.jvp is not Function.jvp or all([tangent_of(a, self.level) is None for a in args]):
            return False
        self.notes.append(f"the jvp pass stops at {cls.__name__}, which has no jvp")
        return True

    def without_tangents(self, results: tuple) -> None:
        """Mark what has no tangent though it depends on the leaves: it is not 0."""
        for t in results:
            if isinstance(t, Tensor):
                t._tan = (self.level, None)

    def meet(self, t: Tensor) -> None:
        """A tensor is seen, for a jvp pass: leaves get the tangent 1."""
        new = self.level is not None and (t._tan is None or t._tan[0] is not self.level)
        if type(history(t)) is Leaf and t._layer is None and t._np_dtype in FLOATS and new:
            self._seeded.append((t, t._tan))
            t._tan = (self.level, wrap(np.ones_like(t._a, order="C")))

    def claim(self, node: Any) -> None:
        """A node of a Grad layer has been made inside this recording, perhaps for an operation that has just run below."""
        if node._layer is not None:
            self.log.append([Ledger.claimed, node, node._saved])

    def note_dual(self, t: Tensor, tangent: Tensor) -> None:
        """The program has given a tensor a tangent."""
        self.ran_jvp = True
        self.log.append([Ledger.dual_made, t, tangent])

    def note_drawn(self, t: Tensor) -> None:
        """Random numbers were drawn."""
        self.log.append([Ledger.drew, t])

    def note_transfer(self, call: Any, ended: bool) -> None:
        """A call that communicates is about to write its results, or has ended."""
        self._outer = None
        self.log.append(
            [Ledger.transfer_ended, call, said(call)] if ended else [Ledger.transfer_writes, call, call.reads]
        )

    # ------------------------------------------------------------------ what checkpoints, layers, Functions and modules tell
    def note_region(self, what: str, node: Any, inputs: Any) -> None:
        """A checkpoint begins, or runs again (regions.py)."""
        facts = (inputs, edges_of(inputs)) if what == "region_began" else ()
        self._outer = None
        self.log.append([getattr(Ledger, what), node, *facts])

    def saw(self, layer: Layer, cls: Any, args: tuple) -> Event | None:
        """A transform handles an operation: it sees these arguments, before it passes the operation on; its sight."""
        if layer in self.around:
            return None
        self._sights.append((layer.name, [list(a.shape) for a in args if isinstance(a, Tensor)]))
        event, *seen = sight(layer, cls, args, self.around)
        self.log.append([Ledger.sight_began, event, *seen])
        return event

    def saw_result(self, event: Event, out: Any) -> None:
        """The transform has given a result, or None where it failed."""
        outs = [o for o in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(o, Tensor)]
        dims = [dims_of(o, self.around) for o in outs]
        self.log.append([Ledger.sight_ended, event, [below(o, self.around) for o in outs], dims])

    def entered(self, module: Any) -> None:
        """A module is called."""
        self.log.append([Ledger.module_entered, module])

    def left(self, module: Any) -> None:
        """Its call is over."""
        self.log.append([Ledger.module_left, module])

    def watching(self, cls: Any, name: str, method: Any) -> Any:
        """A method of a custom Function, to be run under a recording of its own where it is to be looked into."""
        if not self.inside:
            return method
        return lambda *args: watched(self, Record(name=f"{cls.__name__}.{name}", inside=True), name, method, args)

    # ------------------------------------------------------------------ the result
    def name_arguments(self, names: Iterable[str], args: Iterable) -> None:
        """Note the tensors among arguments under the names of the parameters."""
        for name, a in zip(names, args):
            if isinstance(a, Tensor):
                self.meet(a)
                self.values[self.ref(a)].name = name

    def name_values(self, names: dict[int, str]) -> None:
        """Name the values that have no name yet, by the ids of their tensors."""
        for value in self.values:
            value.name = value.name or names.get(id(value.tensor), "")

    def to_dict(self) -> dict:
        """The record as plain data of the schema minigrad.record/1 (docs/record.md)."""
        with uncollected():
            return numbered(self)[0].to_dict()

    def to_json(self, indent: int | None = 1) -> str:
        """The record as JSON text."""
        with uncollected():
            return numbered(self)[0].to_json(indent)

    def save(self, path: Any) -> None:
        """Write the record to a JSON file."""
        with written(path) as file:
            file.write(self.to_json().encode())

    _repr_mimebundle_ = mimebundle


@contextmanager
def both(one: Any, other: Any) -> Iterator[None]:
    """Enter two contexts: a recording notes a backward that a profiler around it times."""
    with one, other:
        yield


def tangents_at(frame: Frame, args: Any) -> list:
    """What forward mode has of each argument in a frame, or None."""
    return [None if frame.dual is None else tangent_of(a, frame.dual) for a in args]
