"""profile: the time and memory of each operation while a block of a program runs, forward, backward and optimizer.

A profiler is a transparent layer (core/frames.py): each operation that reaches eager code comes through `process`, and is timed
on the way.  In a backward the engine hands it each node (`ProfiledRun`).  Optimizers, compiled functions and `record_function`
name ranges by `span`, modules by `listeners`.  What was noted is in profiler_util.py; minigrad.profiler adds schedules.

What it costs: an operation under a profiler takes some 10 microseconds longer, since it goes the general way and the Python
stack is read for its name, 20 with shapes, memory and lines; half of it is in the times that are shown.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from time import perf_counter_ns
from types import FrameType
from typing import Any

from ..arrays.kinds import on_device
from ..core.backward import bare
from ..core.engine import BackwardRun, recorder_of
from ..core.frames import EAGER, OFF, ON, Frame, Layer, apply_at, current, enter, use
from ..core.graph import Leaf, name_of, producer
from ..core.inplace import inplace, inplace_at
from ..core.saved import bottom
from ..core.tensor import Tensor
from ..ops import transfer
from ..ops.base.registry import CODES
from ..places import PACKAGE
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["profile", "record_function"]

# recordings and profilers that run anywhere in the process: modules tell them that they are called
listeners: list = []
profilers: list = []  # those among them that take times: ranges are named where there are any
_names: dict[int, tuple] = {}  # id of a code object of minigrad's -> itself, the operation that it is, or None


class Profiler(Layer):
    """Listens to what runs: a layer that changes nothing, and what it has noted."""

    name, records = "profile", True

    def __init__(self, shapes: bool = False, memory: bool = False, stack: bool = False, wait: Callable | None = None):
        self.shapes, self.memory, self.stack, self.wait = shapes, memory, stack, wait
        self.active = True
        self.around: Frame | None = None  # the frame that it was put around
        self.roots: list[FunctionEvent] = []
        self.inside: list[FunctionEvent] = []  # what goes on, outermost first
        self.call: Any = None  # the frame of the function of the table that ran last, and its event
        self.group: Any = None

    # ------------------------------------------------------------------ as a layer
    def handles(self, fn: type, args: tuple) -> bool:
        """See every operation."""
        return True

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation below, and note its time."""
        run = functools.partial(apply_at, frame.below(), cls, args)
        if not cls.primitive and frame.parent.layer is EAGER:
            run = functools.partial(cls.eager, frame, args)  # what its methods compute comes here, too
        return self.timed(cls, args, run)

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        """Do the same with a write."""

        def run() -> Tensor:
            if frame.parent.layer is not EAGER:
                return inplace_at(frame.below(), fn, x, others)
            with use(frame.below()):
                return inplace(fn, x, *others)

        return self.timed(fn, (x, *others), run, "_")

    def lies_on_plain(self, frame: Frame) -> bool:
        """Return whether there is plain eager code below, in the modes that are in force here."""
        p = frame.parent
        return (p is ON or p is OFF) and not frame.observers and frame.below() is p

    @contextmanager
    def running(self, run: BackwardRun, grads: Any, seeds: list, arrays: bool) -> Iterator[None]:
        """Have the nodes of a backward timed, and noted by a recording or another profiler around this one."""
        outer = recorder_of(self.around)
        with nullcontext() if outer is None else outer.running(run, grads, seeds, arrays), self.timing(run, arrays):
            yield

    def timing(self, run: BackwardRun, arrays: bool = False) -> ProfiledRun:
        """Have the nodes of a backward timed."""
        return ProfiledRun(self, run, Frame(self, False, None, False, OFF) if arrays else None)

    def found(self, gradients: dict) -> dict:
        """Return the gradients of a backward as they are, but for what a recording around makes of them."""
        outer = recorder_of(self.around)
        return gradients if outer is None else outer.found(gradients)

    def entered(self, module: Any) -> None:
        """Note that a module is called."""
        if self.active and self in current().layers():
            self.close()
            self.begin(f"nn.Module: {type(module).__name__}", "module")

    def left(self, module: Any) -> None:
        """Note that its call is over."""
        if self.active and self in current().layers():
            self.close()
            self.end(next(e for e in self.inside[::-1] if e.kind == "module"))

    def clear(self) -> None:
        """Forget what was noted."""
        self.close()
        self.roots = []

    # ------------------------------------------------------------------ events
    def timed(self, cls: Any, args: tuple, run: Callable, ending: str = "") -> Any:
        """Run an operation as an event, inside one for the function of the table that was called."""
        if not self.active:
            return run()
        name = cls.function_name() + ending if cls.primitive else cls.__name__
        called, function, user = calling(sys._getframe(2))
        group = self.call_of(called, function, args, user)
        event = self.begin(cls.__name__ if group is not None and name == group.name else name, "operator")
        try:
            out = run()
            self.wait_for(out)
        finally:
            self.end(event)
            if group is not None:
                self.end(group)
        self.describe(event, args, user)
        self.results(event, args, out)
        return out

    def call_of(self, name: str, function: Any, args: tuple, user: FrameType | None) -> FunctionEvent | None:
        """Open the event for the function of the table that runs: the last one's, if it is still the same call."""
        if function is None:
            self.close()
        elif function is self.call and self.group.cpu_parent is self.innermost():
            self.inside.append(self.group)
        else:
            self.call, self.group = function, self.begin(name, "call")
            self.describe(self.group, args, user)
        return self.group

    def innermost(self) -> FunctionEvent | None:
        """Return the event that goes on."""
        return self.inside[-1] if self.inside else None

    def begin(self, name: str, kind: str) -> FunctionEvent:
        """Begin an event inside those that go on."""
        parent = self.innermost()
        event = FunctionEvent(name, kind, parent, perf_counter_ns(), threading.get_ident())
        if parent is None:
            self.roots.append(event)
        self.inside.append(event)
        return event

    def end(self, event: FunctionEvent) -> None:
        """End an event, and what has been left open inside it."""
        event.end = perf_counter_ns()
        while self.inside and self.inside.pop() is not event:
            pass

    def close(self) -> None:
        """Say that what comes next belongs to another call."""
        self.call = self.group = None

    def describe(self, event: FunctionEvent, args: tuple, user: FrameType | None) -> None:
        """Note what was asked for: shapes, and the user's lines."""
        if self.shapes:
            event.input_shapes = [list(a.shape) for a in args if isinstance(a, Tensor)]
        if self.stack:
            event.stack = lines(user)

    def results(self, event: FunctionEvent, args: tuple, out: Any) -> None:
        """Note what came out: memory of its own, and the node that was made."""
        outs = [o for o in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(o, Tensor)]
        edge = outs[0]._edge if outs else None
        if edge is not None and type(edge) is not Leaf:
            event.sequence_nr = producer(edge)._seq
        if self.memory and not event.cpu_children:  # else what it has called has allocated them
            given = {id(a) for a in args}
            event.allocated = sum([own_bytes(bottom(o)._a) for o in outs if id(o) not in given])

    def wait_for(self, out: Any) -> None:
        """Wait until a device has finished, where that was asked for."""
        if self.wait is not None and isinstance(out, Tensor) and on_device(bottom(out)._a):
            self.wait()


def own_bytes(a: Any) -> int:
    """Return the bytes of an array that has memory of its own."""
    return a.nbytes if getattr(a, "base", None) is None else 0


class ProfiledRun:
    """One backward under a profiler: each node an event, and each leaf."""

    def __init__(self, profiler: Profiler, run: BackwardRun, frame: Frame | None):
        self.profiler, self.frame, self.step, self.end = profiler, frame, run.step, run.end
        run.step, run.end = self.timed_step, self.timed_end

    def __enter__(self) -> None:
        self.profiler.close()
        self.old = current()
        if self.frame is not None:
            enter(self.frame)

    def __exit__(self, *_: object) -> None:
        enter(self.old)
        self.profiler.close()

    def timed_step(self, node: Any, g: Any, this: BackwardRun) -> list:
        """Run a node's backward, by its written-out form where there is one, as the engine does."""
        pairs = None
        with self.event(name_of(node), node) as event:
            if self.frame is not None and node._hooks is None and node.backward_on_arrays is not None:
                pairs = node.backward_on_arrays(g, this.freed)
            if pairs is None:
                pairs = self.step(node, g, this)
        if event is not None and self.profiler.memory and not event.cpu_children:
            arrays = [bare(bottom(d)) if isinstance(d, Tensor) else d for _, d in pairs if d is not None]
            came = g if type(g) is list else [g]
            event.allocated = sum([own_bytes(a) for a in arrays if not any([a is x for x in came])])
        return pairs

    def timed_end(self, leaf: Leaf, g: Any, this: BackwardRun) -> None:
        """Accumulate into a leaf's `.grad`."""
        with self.event("AccumulateGrad", None):
            self.end(leaf, g, this)

    @contextmanager
    def event(self, name: str, node: Any) -> Iterator[FunctionEvent | None]:
        """Time a part of the backward."""
        profiler = self.profiler
        if not profiler.active:
            yield None
            return
        event = profiler.begin(name, "backward")
        event.sequence_nr = -1 if node is None else node._seq
        try:
            yield event
        finally:
            profiler.close()
            profiler.end(event)


# ---------------------------------------------------------------------- who has called
def calling(frame: FrameType | None) -> tuple[str, FrameType | None, FrameType | None]:
    """Return the name and frame of the outermost function of the table of operations that runs, and its caller's frame.

    record/callers.py does the same for recordings, which need more of it.
    """
    name, outer = "", None
    while frame is not None:
        code = frame.f_code
        if id(code) not in _names:
            if not code.co_filename.startswith(PACKAGE):
                break
            _names[id(code)] = code, CODES.get(code)
        if (found := _names[id(code)][1]) is not None:
            name, outer = found, frame
        frame = frame.f_back
    return name, outer, frame


def lines(frame: FrameType | None) -> list[str]:
    """Return the lines of the user's functions that run, innermost first, as file(line): function."""
    found = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found


# ---------------------------------------------------------------------- ranges
@contextmanager
def span(name: str, whole: bool = False) -> Iterator[None]:
    """Name a range for the profilers of this thread; a `whole` one is listened to as one event (a compiled function)."""
    frame = current()
    here = [layer for layer in frame.layers() if isinstance(layer, Profiler) and layer.active]
    for profiler in here:
        profiler.close()
    events = [profiler.begin(name, "user_annotation") for profiler in here]
    plain = frame
    while whole and isinstance(plain.layer, Profiler):
        plain = plain.below()
    try:
        with use(plain):
            yield
    finally:
        for profiler, event in zip(here, events):
            profiler.close()
            profiler.end(event)


class record_function:
    """Name a range of a program in the profile: `with record_function("loss"):`, or as a decorator.

    >>> import minigrad
    >>> from minigrad.profiler import profile, record_function
    >>> with profile() as prof:
    ...     with record_function("loss"):
    ...         loss = (minigrad.ones(3) * 2).sum()
    >>> [(e.name, [c.name for c in e.cpu_children]) for e in prof.events() if e.cpu_parent is None]
    [('loss', ['mul', 'sum'])]
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args
        self._span: Any = None

    def __enter__(self) -> record_function:
        self._span = span(self.name) if profilers else None
        if self._span is not None:
            self._span.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        if self._span is not None:
            self._span.__exit__(*failure)

    def __call__(self, f: Callable) -> Callable:
        @functools.wraps(f)
        def named(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return f(*args, **kwargs)

        return named


class profile:
    """Time the operations of a block: `with profile() as prof:`, then `print(prof.key_averages().table())`.

    `record_shapes` notes the shapes of operands, `profile_memory` the bytes of results, `with_stack` the user's lines.  With
    `use_cuda` each operation on a GPU is waited for.  With `enabled=False` nothing is noted.

    >>> import minigrad
    >>> x = minigrad.ones(3, requires_grad=True)
    >>> with minigrad.autograd.profiler.profile(record_shapes=True) as prof:
    ...     (x * x).sum().backward()
    >>> [(row.key, row.count) for row in prof.key_averages()]
    [('mul', 1), ('sum', 1), ('SumBackward0', 1), ('MulBackward0', 1), ('AccumulateGrad', 1)]
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_cpu: bool = True,
    ):
        self.enabled = enabled
        wait = device_waiter() if use_cuda or use_device == "cuda" else None
        self.listener = Profiler(record_shapes, profile_memory, with_stack, wait)
        self._scope: use | None = None

    def __enter__(self) -> profile:
        if self.enabled:
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _start(self) -> None:
        """Put the listener in front of what runs in this thread."""
        top = current()
        self.listener.around = top
        self._scope = use(Frame(self.listener, top.grad, top.dual, top.inference, top))
        self._scope.__enter__()
        for running in (listeners, profilers):
            running.append(self.listener)

    def _stop(self) -> None:
        """Take it away."""
        if self._scope is None:
            return
        self._scope.__exit__()
        self._scope = None
        self.listener.close()
        for running in (listeners, profilers):
            running.remove(self.listener)

    # ------------------------------------------------------------------ results
    def events(self) -> EventList:
        """Return all events, in the order in which they began."""
        self.listener.close()
        return EventList([e for root in self.listener.roots for e in root.simplified().walk()])

    function_events = property(events)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Return a row for each name; also for each list of shapes, or for each innermost `group_by_stack_n` lines."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """Return all events as one row."""
        return self.events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The sum of what each event took itself, in microseconds."""
        return self.events().self_cpu_time_total

    def table(self, sort_by: str | None = None, row_limit: int = 100, **settings: Any) -> str:
        """Return the events themselves as a table; that of key_averages() is shorter."""
        return self.events().table(sort_by, row_limit, **settings)

    def export_chrome_trace(self, path: Any) -> None:
        """Write a trace for https://ui.perfetto.dev or chrome://tracing."""
        self.events().export_chrome_trace(path)


def device_waiter() -> Callable | None:
    """Return what waits for the GPU, if there is one."""
    return (lambda: transfer.current().synchronize()) if transfer.count() else None
