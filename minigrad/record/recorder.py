"""Recording: a transparent layer that changes nothing and logs everything, for drawings and explanations.

Each operation that the user wrote gets one entry (a Group): all primitives that run while a function of the table of operations
is on the Python stack belong to that function's entry. The engine reports the gradients along each edge, and forward mode runs
next to the forward pass, so that one run of the program gives all three passes.

This file, and backward_callbacks.py for the engine, contain the code that runs during the program: it only appends to the log.
When the document is requested, event_log.py evaluates the log and build.py creates the document of the schema.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import wraps
from typing import Any

from ..arrays.dtypes import FLOATS
from ..autograd.dual import Level, others, pushing
from ..autograd.profiler import Profiler
from ..core.engine import BackwardRun
from ..core.frames import OFF, ON, Frame, Layer, apply_at, current, enter, recorder_of, use
from ..core.saved import Freed, plain_tensor, version
from ..core.tensor import Tensor
from ..files import written
from ..scopes import undoing
from ..tensors.nested import is_tensor, named_in
from .backward_callbacks import Running
from .build import numbered
from .callbacks import FULL, begin, edges_of, end, ignore, names_of, nodes_of, passed, tracked_noter
from .callers import arguments_of, called, is_seen
from .contents import drawing
from .event_log import NO_LAYERS, EventLog, uncollected
from .failure import note_failure
from .heard import Heard
from .inner_calls import Inside, watched
from .kept_bytes import LARGE
from .operation_texts import Wording
from .reads import sizing
from .schema import mimebundle
from .times import Clock
from .values import Event
from .write_callbacks import inplace, may_write, note_written

MODES = "grad", "inference", "dual", "observers"  # of a frame


class Record(Heard, Layer):
    """A running or finished recording, used as `with minigrad.record() as rec:`.

    `jvp=True` also pushes tangents through the program, seeded with ones at the leaves; `inside=True` also records the methods
    of custom Functions, which makes them several times slower; `times=True` also records the time of each operation, and
    `contents=True` all elements of values from which the program can be computed again.

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> with minigrad.record() as rec:
    ...     y = x * x
    >>> isinstance(rec, minigrad.Record), [op["name"] for op in rec.to_dict()["ops"] if op["phase"] == "forward"]
    (True, ['mul'])
    """

    name, records = "record", True

    def __init__(
        self,
        jvp: bool = False,
        name: str = "",
        file: str = "",
        inside: bool = False,
        times: bool = False,
        contents: bool = False,
    ):
        super().__init__()
        self.contents = contents
        self.inside = inside  # True to record the methods of custom Functions, too
        self.in_method = False  # True for a recording of such a method, through which no gradient passes by itself
        self.program_name, self.file = name, file
        self.notes: list[str] = []  # things that could not be recorded, with reasons
        self.clock = Clock(self.log, jvp) if times else None
        self.level = None if not jvp else Level() if self.clock is None else self.clock.level
        if self.level is not None:
            self.level.programs = False
        self.ran_backward = self.ran_jvp = False
        self.added_backward = False  # True if the recording ran backward, because the program did not
        self._backward = 0  # number of running backwards
        self._outer: Any = None  # the frame of the function of the table that ran last
        self.seeds: Any = None  # seeds.Seeds, if they are not all ones
        self._seeded: list[Tensor] = []
        self._scope: Any = None
        self.insides: list[Inside] = []  # calls of custom Functions' methods
        self._sights: list = []  # views of the next operation by the layers around
        self._cut: set[int] = set()  # ids of detached tensors, which the log keeps alive
        self.left = FULL  # operations until the log is evaluated
        self.reported = 0  # the number of entries when the recording last reported its growth
        self.folds = False  # True if operations that ran while the recording paused are one operation of the record
        # called from the program's own code when the recording has grown by FULL entries
        self.on_full: Callable | None = None
        self.failure: Any = None  # failure.Failure, if the program has ended with an exception
        self.adds_unseen: Any = None  # from_graph.add_unseen, to add operations of a graph that ran in another thread

    # ------------------------------------------------------------------ context and layer
    def __enter__(self) -> Record:
        top = current()
        self.around = frozenset(top.layers())
        frame = Frame(self, top.grad, top.dual, top.inference, top)
        frame.on_op = self.on_op(frame)
        frame.eager_ok = frame.on_op is not None
        scope = use(frame)
        scope.old, self._scope = top, scope
        try:
            begin(self)
            enter(frame)
            return self
        except BaseException:  # Ctrl-C
            self.leave()
            raise

    def __exit__(self, kind: object = None, error: BaseException | None = None, *_: object) -> None:
        if isinstance(error, Exception):
            self.note_failure(error)
        if self._scope is not None:
            self.stop()

    @property
    def nest(self) -> list[Record]:
        """This recording and those around it, which hear of the same run of the engine, reads and methods."""
        frame = None if self.in_method or self._scope is None else self._scope.value.parent
        return [self, *[layer for layer in recorders_of(frame) if isinstance(layer, Record)]]

    def can_stop(self) -> bool:
        """Return True if the program is in no other context than at the beginning."""
        if self._scope is None:
            return False
        here, first = current(), self._scope.value
        return here.layer is self and all([getattr(here, mode) == getattr(first, mode) for mode in MODES])

    def stop(self) -> None:
        """End the recording; it can go on later."""
        self._outside = self._scope.old
        with undoing(self.leave):
            enter(self._scope.old)
            self.note_unseen_writes()

    def leave(self) -> None:
        """Return to the frame around the recording, unless that is done; Ctrl-C may have come before the end of `stop`."""
        if self._scope is not None:
            enter(self._scope.old)
            end(self)
            for t in self._seeded:
                t._tan = others(t._tan, self.level)
            self._outer = self._scope = None

    passed: Any = None  # hears of operations while the recording pauses; only PyTorch's recording calls it

    def note_failure(self, error: BaseException) -> None:
        """Note that the program has ended with an exception."""
        with suppress(Exception):  # the program's own exception matters
            note_failure(self, error)

    def operations(self) -> int:
        """Return the number of operations of the program, as far as the log is evaluated."""
        return sum([group.of is None for group in self.groups])

    def pause(self) -> None:
        """Stop until `go_on`; values that the program writes in between keep their contents in the record."""
        self.stop()
        self.note_alive()

    def can_go_on(self) -> bool:
        """Return True if a stopped recording can go on here, in the context in which it has begun."""
        return self._scope is None and current() is self._outside

    def go_on(self) -> None:
        """Record again."""
        self.forget_written()
        self.__enter__()

    def on_op(self, frame: Frame) -> Any:
        """Return the callback for operations on the fast path; None if they must come through `process`."""
        if not self.lies_on_plain(frame) or self.takes_turns() or self._backward and frame.grad:
            return None
        if self._backward:  # a first-order backward: the edges contain everything
            return ignore
        return tracked_noter(self) if frame.grad else self.note_untracked

    def takes_turns(self) -> bool:
        """Return True if each operation must come through the recording: for its tangents, its time, or writes by NumPy."""
        return self.level is not None or self.clock is not None or bool(self._lent)

    def lies_on_plain(self, frame: Frame) -> bool:
        """Return True if the code below is plain and eager, in the current modes, and all operations are logged."""
        p = frame.parent
        return not self._fetching and (p is ON or p is OFF) and not frame.observers and frame.below() is p

    def note_untracked(self, cls: Any, args: tuple, out: Any) -> None:
        """Log an operation under no_grad."""
        self.note_called(cls, args, out, tuple(edges_of(args)), sys._getframe(2))

    def note_called(self, cls: Any, args: tuple, out: Any, link: Any, frame: Any) -> None:
        """Log an operation that a function of the table, or a transform, may have called; it may have several results."""
        call, offset = self.caller(frame, cls, args)
        around = passed.get()
        if not around and type(out) is not tuple:
            if link is None and (not cls.differentiable or out._a.dtype not in FLOATS):
                link = edges_of(args)
            self.log.append((cls, out, link, call, offset) + args)
            self.left -= 1
            if not self.left or out._a.nbytes >= LARGE:
                self.look()
            return
        event, outs = Event(cls, above=around[-1] if around else None), out if type(out) is tuple else (out,)
        event.views, self._sights = self._sights[::-1], []
        grad, layers = type(link) is not tuple, names_of(around[::-1])
        self.log.append([EventLog.began, event, args, edges_of(args), grad, call, offset, layers])
        self.log.append([EventLog.ended, event, outs, nodes_of(outs), ()])

    def caller(self, frame: Any, cls: Any = None, args: tuple = ()) -> tuple:
        """Return the caller in the form of log entries (EventLog.group_of), and the offset in the user's code.

        `cls` and `args` belong to an operation on the fast path, which has no frame on the stack.
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
        """Return True, but while a batch is fetched only for operations through which gradients pass."""
        return not self._fetching or any([edge is not None for edge in edges_of(args)])

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation one layer below and log it."""
        below = frame.below()
        if self._backward and not frame.grad:  # the edges contain everything
            return apply_at(below, cls, args)
        sights, self._sights = self._sights, []
        event = self.begin(frame, cls, args)
        event.views = sights[::-1]
        stops = self.stops(cls, args)
        if not stops:
            below = self.with_tangents(below, frame.grad)
        self._watched, outer = () if cls.primitive else may_write(self, args), self._watched
        try:
            out = self.timed(event, apply_at, below, cls, args)
        finally:
            watched, self._watched = self._watched, outer
        self._sights = []
        outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if stops:
            self.without_tangents(outs)
        if any([version(x) != number for x, number, *_ in watched]):
            note_written(self, event, args, outs, below, watched)
        else:
            self.end(event, args, outs, below)
        return out

    def timed(self, event: Event, apply: Callable, *args: Any) -> Any:
        """Return apply(*args), an operation, and log its time if the recording has a clock."""
        return apply(*args) if self.clock is None else self.clock.run(event, apply, *args)

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        """Run and log an in-place operation: x and all that shares its memory get new values."""
        return inplace(self, frame, fn, x, others)

    # ------------------------------------------------------------------ backward
    def running(self, run: BackwardRun, grads: Any, seeds: list, arrays: bool) -> Any:
        """Return a context that logs the gradients in a run of the engine.

        The engine's own operations are logged only if they can be differentiated again."""
        for rec in self.nest:
            rec.prepare(run)
        if not arrays:
            around = [layer for layer in recorders_of(self._scope.value.parent) if isinstance(layer, Profiler)]
            contexts = ExitStack()
            for one in (Running(self, run, grads, None), *[outer.timing(run) for outer in around]):
                contexts.enter_context(one)
            return contexts
        quiet = Frame(self, False, None, False, OFF)  # the user's methods and hooks run under this recording, too
        quiet.on_op, quiet.eager_ok = ignore, True
        for g, seed in zip(grads, seeds):
            if g is not None:
                self.note_same(g._a, seed)
        return Running(self, run, seeds, quiet)

    def prepare(self, run: BackwardRun) -> None:
        """Add the operations that the recording has not seen, before a backward frees what their nodes know of them."""
        if self.adds_unseen is not None and run.around is None and not self._backward:
            self.adds_unseen(self, run.roots)

    # ------------------------------------------------------------------ operations
    def begin(self, frame: Frame, cls: Any, args: tuple) -> Event:
        """Log that an operation begins, and return its event."""
        around, (call, offset) = passed.get(), self.caller(sys._getframe(2))
        event = Event(cls, above=around[-1] if around else None)
        layers = names_of((*frame.parent.layers(), *around[::-1])) if around or frame.on_op is None else NO_LAYERS
        self.log.append([EventLog.began, event, args, edges_of(args), frame.grad, call, offset, layers])
        if self.level is not None and (frame.dual is None or not frame.dual.programs):
            named = call[2].values() if type(call) is tuple else ()
            for t in (*[a[1] for a in named if is_seen(a)], *args):
                if isinstance(t, Tensor):
                    self.meet(t)
        return event

    def end(self, event: Event, args: tuple, outs: tuple, below: Frame) -> None:
        """Log the results of an operation."""
        tangents = self.tangents_at(below, (*args, *[o for o in outs if isinstance(o, Tensor)]))
        self.ran_jvp = self.ran_jvp or any([t is not None for t in tangents])
        self.log.append([EventLog.ended, event, outs, nodes_of(outs), tangents])
        if self._lent:
            self.settle()
        self.left -= 1
        if not self.left or any([plain_tensor(o)._a.nbytes >= LARGE for o in outs if isinstance(o, Tensor)]):
            self.look()

    def look(self) -> None:
        """Evaluate a log that has grown or has a large array, give up contents beyond the limit, and report the growth."""
        self.left = FULL
        self.settle()
        self.weigh()
        grown = self.on_full is not None and len(self.groups) - self.reported >= FULL
        if grown and self._scope is not None and current() is self._scope.value:
            self.reported = len(self.groups)
            self.on_full(self)

    def watching(self, cls: Any, name: str, method: Any) -> Any:
        """Return a custom Function's method, wrapped in a separate recording if `inside` is set.

        A jvp for another recording's tangents does not count.
        """
        level = pushing.get() if name == "jvp" else None
        if not self.inside or level is not None and not level.programs and level is not self.level:
            return method
        rec = lambda: Record(name=f"{cls.__name__}.{name}", inside=True)
        return wraps(method)(lambda *args: watched(self, rec(), name, method, args))

    # ------------------------------------------------------------------ the result
    # what build.py asks of a recording; that of a PyTorch program answers otherwise
    wording, sizing, random = Wording, staticmethod(sizing), drawing

    def is_freed(self, node: Any) -> bool:
        """Return True if a backward has freed the tensors that a node saves."""
        return type(node._saved) is Freed

    def number_of_leaf(self, value: int) -> int | None:
        """Return the number of a leaf, by the id of its value in the document, among those that the jvp pass has met."""
        new = numbered(self)[1].new
        tensors = [self.values[old].tensor for old in new if new[old] == value]
        return next((i for i, t in enumerate(self._seeded) if any(t is one for one in tensors)), None)

    def name_arguments(self, names: Iterable[str], args: Iterable) -> None:
        """Name the tensors among arguments after the parameters."""
        for name, a in [pair for one in zip(names, args) for pair in named_in(*one, is_tensor)]:
            self.meet(a, name)
            self.values[self.ref(a)].name = name

    def name_values(self, names: dict[int, str]) -> None:
        """Name the values without a name, by the ids of their tensors; an element, such as `out["logits"]`, may get another."""
        for value in self.values:
            name = names.get(id(value.owner), "")
            if "[" in name or name.rpartition(".")[2].isdigit():
                value.element = value.element or name
            else:
                value.name = value.name or name

    def to_dict(self, contents: bool = False) -> dict:
        """Return the record as plain data of the schema minigrad.record/1 (docs/record.md).

        With `contents` it has those elements that are still known, even if it was made without `contents=True`.
        """
        with uncollected():
            return numbered(self, contents=contents or self.contents)[0].to_dict()

    def to_json(self, indent: int | None = 1) -> str:
        """Return the record as JSON text."""
        with uncollected():
            return numbered(self, contents=self.contents)[0].to_json(indent)

    def save(self, path: Any) -> None:
        """Write the record to a JSON file."""
        with written(path) as file:
            file.write(self.to_json().encode())

    _repr_mimebundle_ = mimebundle


def recorders_of(frame: Frame | None) -> Iterator[Layer]:
    """Yield the recordings and profilers in a frame, the innermost first."""
    while (layer := recorder_of(frame)) is not None:
        yield layer
        while frame.layer is not layer:
            frame = frame.parent
        frame = frame.parent
