"""profile: the time and memory of each operation in a block of a program: forward, backward and optimizer.

A profiler is a transparent layer (core/frames.py), as a recording is, but keeps times instead of values: each operation that
reaches eager code passes through `process`, and the engine hands it each node of a backward.  Events are named as in a record:
all primitives that run while a function of the table of operations is on the stack belong to that function.  Modules report
their calls to `listeners`; optimizers, compiled functions and `record_function` name ranges with `span`.  profiler_report.py
sums up the events.

Cost: an operation takes about 10 microseconds longer, because it takes the generic path and the profiler reads the Python stack
to find its name.  The displayed times include half of this.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from enum import Enum
from time import perf_counter_ns, time_ns
from typing import Any

from ..arrays.kinds import on_device
from ..core.backward import step_on_arrays
from ..core.engine import BackwardRun
from ..core.frames import EAGER, OFF, ON, Frame, Layer, apply_at, current, enter, recorder_of, use
from ..core.graph import Leaf, name_of
from ..core.inplace import inplace, inplace_at
from ..core.saved import plain_tensor
from ..core.tensor import Tensor
from ..errors import error
from ..events import Observer, events
from ..ops import transfer
from .profiler_report import Event, EventList

__all__ = ["ProfilerActivity", "profile", "record_function"]  # in PyTorch, the schedules are in `profiler` alone

profilers: list = []  # those that run anywhere in the process: ranges are named only if there are any


class ProfilerActivity(Enum):
    """Devices whose work is timed.  With CUDA, the profiler waits for each operation on a GPU, so that its time is complete.

    >>> import minigrad
    >>> minigrad.profiler.ProfilerActivity.CPU.name
    'CPU'
    """

    CPU, CUDA = 0, 2


class ProfilerAction(Enum):
    """The action of a profiler at a step.  WARMUP is as NONE here: there is nothing to warm up.

    >>> schedule(wait=1, warmup=1, active=1)(2)
    <ProfilerAction.RECORD_AND_SAVE: 3>
    """

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return the schedule of a profiler: after `skip_first` steps, cycles of `wait` and `warmup` steps, then `active` ones.

    Only the active steps are recorded.  There are `repeat` cycles; 0 stands for no end.

    >>> [schedule(wait=1, warmup=0, active=2, repeat=1)(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        number, place = divmod(step - skip_first, cycle)
        if step < skip_first or 0 < repeat <= number or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: Any, worker_name: str | None = None, use_gzip: bool = False) -> Callable:
    """Return an `on_trace_ready` that writes each trace into a folder, for chrome://tracing, as NAME.TIME.pt.trace.json.

    >>> import tempfile
    >>> import minigrad
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with profile(on_trace_ready=tensorboard_trace_handler(folder)):
    ...         x = minigrad.ones(3).exp()
    ...     print(len(os.listdir(folder)), "trace")
    1 trace
    """

    def write(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = f"{worker_name or f'{socket.gethostname()}_{os.getpid()}'}.{time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write


class profile:
    """Time the operations of a block: `with profile() as prof:`, then `print(prof.key_averages().table())`.

    With CUDA among the `activities`, the profiler waits for each operation on a GPU, and `use_cuda` adds or removes it.  With a
    `schedule`, `step()` ends each step of a loop; `on_trace_ready(prof)` is called after the steps of a cycle, and at the end.
    `enabled=False` records nothing.  PyTorch's switches for shapes, bytes and lines change nothing: they are always recorded.

    >>> import minigrad
    >>> x = minigrad.ones(3, requires_grad=True)
    >>> with minigrad.profiler.profile() as prof:
    ...     (x * x).sum().backward()
    >>> [(row.key, row.count) for row in prof.key_averages()]
    [('mul', 1), ('sum', 1), ('SumBackward0', 1), ('MulBackward0', 1), ('AccumulateGrad', 1)]
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        use_cuda: bool | None = None,
        record_shapes: bool = True,
        profile_memory: bool = True,
        with_stack: bool = True,
        with_modules: bool = True,
    ):
        activities = set(ProfilerActivity if activities is None else activities)
        if wrong := [a for a in activities if not isinstance(a, ProfilerActivity)]:
            what = f"activities must be ProfilerActivity members, but got {wrong[0]!r}"
            raise error(ValueError, "profile", what, "write activities=[ProfilerActivity.CPU]")
        wanted = ProfilerActivity.CUDA in activities if use_cuda is None else use_cuda
        waits = wanted and transfer.count()
        self.listener = Profiler((lambda: transfer.current().synchronize()) if waits else None)
        self.enabled, self.on_trace_ready = enabled, on_trace_ready
        self.schedule, self.step_num = schedule or (lambda step: ProfilerAction.RECORD), 0
        self.current_action = self.schedule(0)
        self._scope: use | None = None
        self._step = "ProfilerStep#{}" if schedule else ""
        self._kept: EventList | None = None  # the events of the last cycle, until the next one begins

    def __enter__(self) -> profile:
        if self.enabled:
            top = self.listener.around = current()
            scope = use(Frame(self.listener, top.grad, top.dual, top.inference, top))
            scope.old, self._scope = top, scope
            try:
                events.add(self.listener)
                profilers.append(self.listener)
                enter(scope.value)
                self._begin_step()
                return self
            except BaseException:  # Ctrl-C
                self.leave()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._scope is not None:
            try:
                self.leave()
            finally:  # again, because Ctrl-C may have come in between
                self.leave()
            self._end_cycle()

    def leave(self) -> None:
        """Return to the frame around the profiler, unless that is done."""
        if self._scope is not None:
            enter(self._scope.old)
            events.remove(self.listener)
            profilers[:] = [one for one in profilers if one is not self.listener]
            self._scope = None

    def start(self) -> None:
        """Begin to record, as entering a `with` block does."""
        self.__enter__()

    def stop(self) -> None:
        """End the recording, as leaving a `with` block does."""
        self.__exit__()

    def step(self) -> None:
        """End a step of a loop; the schedule says what to do with the next one."""
        before = self.current_action
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._end_cycle()
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is not ProfilerAction.RECORD:
            self.listener.roots = []
        if self._scope is not None:
            self._begin_step()

    def _begin_step(self) -> None:
        """Begin the event of a step, if there are steps."""
        if self._step:
            self.listener.inside.clear()
            self.listener.begin(self._step.format(self.step_num), "user_annotation")

    def _end_cycle(self) -> None:
        """Keep the events of a recorded cycle, and hand them over."""
        if self.current_action in (ProfilerAction.NONE, ProfilerAction.WARMUP):
            return
        if self._step and self.listener.inside:
            self.listener.end(self.listener.inside[0])
        self._kept = self._recorded()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _recorded(self) -> EventList:
        """Return the events since the recording or the cycle began."""
        return EventList([e for root in self.listener.roots for e in root.walk()])

    def events(self) -> EventList:
        """Return all events, with a schedule those of the last cycle, in the order in which they began."""
        return self._recorded() if self._kept is None else self._kept

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Return one row per name, or also per list of shapes, or per line of the program (`group_by_stack_n=1`)."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: Any) -> None:
        """Write a trace for https://ui.perfetto.dev or chrome://tracing."""
        self.events().export_chrome_trace(path)


# ---------------------------------------------------------------------- ranges
@contextmanager
def span(name: str, whole: bool = False) -> Iterator[None]:
    """Name a range for the profilers of this thread; a `whole` one (a compiled function) is recorded as a single event."""
    frame = current()
    with ExitStack() as around:
        for profiler in [layer for layer in frame.layers() if isinstance(layer, Profiler)]:
            around.enter_context(profiler.during(name, "user_annotation"))
        while whole and isinstance(frame.layer, Profiler):
            frame = frame.below()
        around.enter_context(use(frame) if whole else nullcontext())
        yield


@contextmanager
def record_function(name: str, args: str | None = None) -> Iterator[None]:
    """Name a range of a program in the profile, as in `with record_function("loss"):`, or as a decorator.

    >>> import minigrad
    >>> from minigrad.profiler import profile, record_function
    >>> with profile() as prof:
    ...     with record_function("loss"):
    ...         loss = (minigrad.ones(3) * 2).sum()
    >>> [(e.key, [c.key for c in e.cpu_children]) for e in prof.events() if e.cpu_parent is None]
    [('loss', ['mul', 'sum'])]
    """
    with span(name):
        yield


# ---------------------------------------------------------------------- the layer
class Profiler(Layer, Observer):
    """Times the operations that run; a layer that changes none of them."""

    name, records = "profile", True
    called: Any  # finds the public function that runs on the stack, and `ours` what is known of it: record/callers.py
    ours: Any

    def __init__(self, wait: Callable | None):
        self.wait = wait
        self.around: Frame | None = None  # the frame around which it was put
        self.roots: list[Event] = []
        self.inside: list[Event] = []  # open events, outermost first
        self.call: Any = None  # frame of the last public function called
        self.event: Any = None  # and its event

    def handles(self, fn: type, args: tuple) -> bool:
        """Return True: the layer sees every operation."""
        return True

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation one layer down, and record its time."""
        if not cls.primitive and frame.parent.layer is EAGER:
            return self.timed(cls, args, lambda: cls.eager(frame, args))  # operations in its methods come here, too
        return self.timed(cls, args, lambda: apply_at(frame.below(), cls, args))

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        """Do the same for an in-place write."""

        def run() -> Tensor:
            if frame.parent.layer is not EAGER:
                return inplace_at(frame.below(), fn, x, others)
            with use(frame.below()):
                return inplace(fn, x, *others)

        return self.timed(fn, (x, *others), run, "_")

    def timed(self, cls: Any, args: tuple, run: Callable, ending: str = "") -> Any:
        """Run an operation as an event, or as a part of the event of the public function that was called."""
        name, function, user = self.called(sys._getframe(2))
        if function is not None and function is self.call and self.event.cpu_parent is self.innermost():
            event = self.event
            self.inside.append(event)
        else:
            if function is not None:
                name += "_" * self.ours[id(function.f_code)].writes
            event = self.begin(name or (cls.function_name() + ending if cls.primitive else cls.__name__), "operator")
            event.input_shapes = [list(a.shape) for a in args if isinstance(a, Tensor)]
            event.line = "" if user is None else f"{user.f_code.co_filename}:{user.f_lineno}"
        try:
            out = run()
            if self.wait is not None and isinstance(out, Tensor) and on_device(plain_tensor(out)._a):
                self.wait()
        finally:
            self.end(event)
        self.call, self.event = function, event
        if not event.cpu_children:  # otherwise the operations that it called allocated them
            outs, given = out if isinstance(out, (tuple, list)) else (out,), {id(a) for a in args}
            new = [plain_tensor(o)._a for o in outs if isinstance(o, Tensor) and id(o) not in given]
            event.self_cpu_memory_usage += sum([a.nbytes for a in new if getattr(a, "base", None) is None])
        return out

    def lies_on_plain(self, frame: Frame) -> bool:
        """Return True if there is plain eager code below, in the modes that are in force here."""
        p = frame.parent
        return (p is ON or p is OFF) and not frame.observers and frame.below() is p

    @contextmanager
    def running(self, run: BackwardRun, grads: Any, seeds: list, arrays: bool) -> Iterator[None]:
        """Time the nodes of a backward; an enclosing recording or profiler observes them, too."""
        outer = recorder_of(self.around)
        with nullcontext() if outer is None else outer.running(run, grads, seeds, arrays), self.timing(run, arrays):
            yield

    @contextmanager
    def timing(self, run: BackwardRun, arrays: bool = False) -> Iterator[None]:
        """Time each node and each leaf of a backward as an event."""
        step, end, direct = run.step, run.end, run.step is step_on_arrays

        def timed_step(node: Any, g: Any, this: BackwardRun) -> list:
            with self.during(name_of(node), "backward"):
                pairs = None
                if direct and node._hooks is None and node.backward_on_arrays is not None:
                    pairs = node.backward_on_arrays(g, this.freed)  # written out: the engine does the same
                return step(node, g, this) if pairs is None else pairs

        def timed_end(leaf: Leaf, g: Any, this: BackwardRun) -> None:
            with self.during("AccumulateGrad", "backward"):
                end(leaf, g, this)

        run.step, run.end = timed_step, timed_end
        with use(Frame(self, False, None, False, OFF)) if arrays else nullcontext():  # for users' methods and hooks
            yield

    nest = property(lambda profiler: getattr(recorder_of(profiler.around), "nest", ()), doc="The recordings around it.")

    def found(self, gradients: dict) -> dict:
        """Return the gradients of a backward, as an enclosing recording changes them, if there is one."""
        outer = recorder_of(self.around)
        return gradients if outer is None else outer.found(gradients)

    def hand_over(self, tensors: tuple) -> None:
        """Tell an enclosing recording that the program receives tensors."""
        if (outer := recorder_of(self.around)) is not None:
            outer.hand_over(tensors)

    def module_begins(self, module: Any) -> None:
        """Record that a module is called."""
        if self in current().layers():
            self.begin(f"nn.Module: {type(module).__name__}", "module")

    def module_ends(self, module: Any) -> None:
        """Record that a module's call has ended; it may have begun before the profiler."""
        begun = [e for e in self.inside if e.kind == "module"]
        if self in current().layers() and begun:
            self.end(begun[-1])

    def begin(self, name: str, kind: str) -> Event:
        """Begin an event inside the open ones."""
        event = Event(name, kind, self.innermost())
        (self.roots if event.cpu_parent is None else event.cpu_parent.cpu_children).append(event)
        self.inside.append(event)
        return event

    def end(self, event: Event) -> None:
        """End an event and the events left open inside it; the next operation belongs to another call."""
        event.end, self.call = perf_counter_ns(), None
        while self.inside and self.inside.pop() is not event:
            pass

    def innermost(self) -> Event | None:
        """Return the innermost open event."""
        return self.inside[-1] if self.inside else None

    @contextmanager
    def during(self, name: str, kind: str) -> Iterator[None]:
        """Record a block as an event."""
        event = self.begin(name, kind)
        try:
            yield
        finally:
            self.end(event)
