"""Profiler, the layer that records events, and ProfiledRun, which times the nodes of a backward.  See profiler.py."""

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
from ..ops.base.registry import operation_of
from ..places import PACKAGE
from .profiler_util import FunctionEvent

_names: dict[int, tuple] = {}  # id of a code object of minigrad -> the object, and its operation or None


class Profiler(Layer):
    """Records the operations that run; a layer that changes none of them."""

    name, records = "profile", True

    def __init__(self, shapes: bool = False, memory: bool = False, stack: bool = False, wait: Callable | None = None):
        self.shapes, self.memory, self.stack, self.wait = shapes, memory, stack, wait
        self.active = True
        self.around: Frame | None = None  # the frame around which it was put
        self.roots: list[FunctionEvent] = []
        self.inside: list[FunctionEvent] = []  # open events, outermost first
        self.call: Any = None  # frame of the last public function called, and its event
        self.group: Any = None

    # ------------------------------------------------------------------ as a layer
    def handles(self, fn: type, args: tuple) -> bool:
        """Return True: the layer sees every operation."""
        return True

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run the operation one layer down, and record its time."""
        run = functools.partial(apply_at, frame.below(), cls, args)
        if not cls.primitive and frame.parent.layer is EAGER:
            run = functools.partial(cls.eager, frame, args)  # operations in its methods come here, too
        return self.timed(cls, args, run)

    def inplace(self, frame: Frame, fn: Any, x: Tensor, others: tuple) -> Tensor:
        """Do the same for an in-place write."""

        def run() -> Tensor:
            if frame.parent.layer is not EAGER:
                return inplace_at(frame.below(), fn, x, others)
            with use(frame.below()):
                return inplace(fn, x, *others)

        return self.timed(fn, (x, *others), run, "_")

    def lies_on_plain(self, frame: Frame) -> bool:
        """Return True if there is plain eager code below, in the modes that are in force here."""
        p = frame.parent
        return (p is ON or p is OFF) and not frame.observers and frame.below() is p

    @contextmanager
    def running(self, run: BackwardRun, grads: Any, seeds: list, arrays: bool) -> Iterator[None]:
        """Time the nodes of a backward; an enclosing recording or profiler records them, too."""
        outer = recorder_of(self.around)
        with nullcontext() if outer is None else outer.running(run, grads, seeds, arrays), self.timing(run, arrays):
            yield

    def timing(self, run: BackwardRun, arrays: bool = False) -> ProfiledRun:
        """Time the nodes of a backward."""
        return ProfiledRun(self, run, Frame(self, False, None, False, OFF) if arrays else None)

    def found(self, gradients: dict) -> dict:
        """Return the gradients of a backward, as an enclosing recording changes them, if there is one."""
        outer = recorder_of(self.around)
        return gradients if outer is None else outer.found(gradients)

    def entered(self, module: Any) -> None:
        """Record that a module is called."""
        if self.active and self in current().layers():
            self.close()
            self.begin(f"nn.Module: {type(module).__name__}", "module")

    def left(self, module: Any) -> None:
        """Record that a module's call has ended."""
        if self.active and self in current().layers():
            self.close()
            name = f"nn.Module: {type(module).__name__}"
            begun = [e for e in self.inside if e.kind == "module" and e.name == name]
            for event in begun[-1:]:  # none, if the call began before the profiler became active
                self.end(event)

    def clear(self) -> None:
        """Delete all records."""
        self.close()
        self.roots = []

    # ------------------------------------------------------------------ events
    def timed(self, cls: Any, args: tuple, run: Callable, ending: str = "") -> Any:
        """Run an operation as an event, inside an event for the public function that was called."""
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
        """Open the event for the public function that runs, or reopen the last one if it is still the same call."""
        if function is None:
            self.close()
        elif function is self.call and self.group.cpu_parent is self.innermost():
            self.inside.append(self.group)
        else:
            self.call, self.group = function, self.begin(name, "call")
            self.describe(self.group, args, user)
        return self.group

    def innermost(self) -> FunctionEvent | None:
        """Return the innermost open event."""
        return self.inside[-1] if self.inside else None

    def begin(self, name: str, kind: str) -> FunctionEvent:
        """Begin an event inside the open ones."""
        parent = self.innermost()
        event = FunctionEvent(name, kind, parent, perf_counter_ns(), threading.get_ident())
        if parent is None:
            self.roots.append(event)
        self.inside.append(event)
        return event

    def end(self, event: FunctionEvent) -> None:
        """End an event and the events left open inside it."""
        event.end = perf_counter_ns()
        while self.inside and self.inside.pop() is not event:
            pass

    def close(self) -> None:
        """Note that the next operation belongs to another call."""
        self.call = self.group = None

    def describe(self, event: FunctionEvent, args: tuple, user: FrameType | None) -> None:
        """Record the requested details: shapes and the user's lines."""
        if self.shapes:
            event.input_shapes = [list(a.shape) for a in args if isinstance(a, Tensor)]
        if self.stack:
            event.stack = lines(user)

    def results(self, event: FunctionEvent, args: tuple, out: Any) -> None:
        """Record an operation's results: newly allocated memory, and the node it made."""
        outs = [o for o in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(o, Tensor)]
        edge = outs[0]._edge if outs else None
        if edge is not None and type(edge) is not Leaf:
            event.sequence_nr = producer(edge)._seq
        if self.memory and not event.cpu_children:  # otherwise the operations it called allocated them
            given = {id(a) for a in args}
            event.allocated = sum([own_bytes(bottom(o)._a) for o in outs if id(o) not in given])

    def wait_for(self, out: Any) -> None:
        """Wait until a device has finished, if requested."""
        if self.wait is not None and isinstance(out, Tensor) and on_device(bottom(out)._a):
            self.wait()


def own_bytes(a: Any) -> int:
    """Return the bytes of an array that owns its memory, else 0."""
    return a.nbytes if getattr(a, "base", None) is None else 0


class ProfiledRun:
    """One backward under a profiler; each node and each leaf is an event."""

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
        """Run a node's backward, by its written-out form if there is one, as the engine does."""
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


# ---------------------------------------------------------------------- the caller
def calling(frame: FrameType | None) -> tuple[str, FrameType | None, FrameType | None]:
    """Return the name and frame of the outermost public function that runs, and its caller's frame.

    record/callers.py does the same for recordings, which need more details.
    """
    name, outer = "", None
    while frame is not None:
        code = frame.f_code
        if id(code) not in _names:
            if not code.co_filename.startswith(PACKAGE):
                break
            _names[id(code)] = code, operation_of(code)
        if (found := _names[id(code)][1]) is not None:
            name, outer = found, frame
        frame = frame.f_back
    return name, outer, frame


def lines(frame: FrameType | None) -> list[str]:
    """Return the lines of the user's running functions, innermost first, as file(line): function."""
    found = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return found
