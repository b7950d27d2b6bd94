"""profile: the time and memory of each operation in a block of a program: forward, backward and optimizer.

A profiler is a transparent layer (core/frames.py): each operation that reaches eager code passes through `process`, which times
it.  In a backward the engine hands it each node (profiler_layer.py).  Optimizers, compiled functions and `record_function` name
ranges with `span`, modules with `listeners`.  profiler_util.py reports the events; minigrad.profiler adds schedules.

Cost: an operation under a profiler takes about 10 microseconds longer, because it takes the generic path and the profiler reads
the Python stack to find its name; with shapes, memory and lines it takes 20.  The displayed times include half of this.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..core.frames import Frame, current, use
from ..ops import transfer
from .profiler_layer import Profiler
from .profiler_util import EventList, FunctionEventAvg

__all__ = ["profile", "record_function"]

# recordings and profilers that run anywhere in the process; modules report their calls to them
listeners: list = []
profilers: list = []  # the profilers among them: ranges are named only if there are any


# ---------------------------------------------------------------------- ranges
@contextmanager
def span(name: str, whole: bool = False) -> Iterator[None]:
    """Name a range for the profilers of this thread; a `whole` one (a compiled function) is recorded as a single event."""
    frame = current()
    here = [layer for layer in frame.layers() if isinstance(layer, Profiler) and layer.active]
    for profiler in here:
        profiler.close()
    events = [profiler.begin(name, "user_annotation") for profiler in here]
    plain = frame
    while whole and isinstance(plain.layer, Profiler):
        plain = plain.below()
    try:
        with use(plain) if whole else nullcontext():  # a step's range may end inside a no_grad that began within it
            yield
    finally:
        for profiler, event in zip(here, events):
            profiler.close()
            profiler.end(event)


class record_function:
    """Name a range of a program in the profile, as in `with record_function("loss"):`, or as a decorator.

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

    `record_shapes` records the shapes of operands, `profile_memory` the bytes of results, `with_stack` the user's lines.
    `use_cuda` waits for each operation on a GPU.  `enabled=False` records nothing.

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
        """Put the listener in front of the code that runs in this thread."""
        top = current()
        self.listener.around = top
        self._scope = use(Frame(self.listener, top.grad, top.dual, top.inference, top))
        self._scope.__enter__()
        for running in (listeners, profilers):
            running.append(self.listener)

    def _stop(self) -> None:
        """Remove the listener."""
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
        """Return one row per name, or also per list of shapes, or per innermost `group_by_stack_n` lines."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """Return all events as one row."""
        return self.events().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Sum of the events' own times, in microseconds."""
        return self.events().self_cpu_time_total

    def table(self, sort_by: str | None = None, row_limit: int = 100, **settings: Any) -> str:
        """Return the individual events as a table; the table of key_averages() is shorter."""
        return self.events().table(sort_by, row_limit, **settings)

    def export_chrome_trace(self, path: Any) -> None:
        """Write a trace for https://ui.perfetto.dev or chrome://tracing."""
        self.events().export_chrome_trace(path)


def device_waiter() -> Callable | None:
    """Return a function that waits for the GPU, if there is one."""
    return (lambda: transfer.current().synchronize()) if transfer.count() else None
