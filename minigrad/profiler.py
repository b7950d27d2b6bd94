"""minigrad.profiler: profiles of training loops, with a schedule of steps, and traces for external viewers.

autograd/profiler.py describes the records and their cost.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from .autograd.profiler import profile as profile_block
from .autograd.profiler import record_function, span
from .errors import error

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """Devices whose work is timed.  With CUDA, the profiler waits for each operation on a GPU, so that its time is complete.

    >>> import minigrad
    >>> minigrad.profiler.ProfilerActivity.CPU.name
    'CPU'
    """

    CPU = 0
    CUDA = 2


class ProfilerAction(Enum):
    """Action of a profiler in one step; the schedule chooses it.

    >>> import minigrad
    >>> [action.name for action in minigrad.profiler.ProfilerAction]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


NOTED = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """Return all activities.

    >>> import minigrad
    >>> minigrad.profiler.ProfilerActivity.CPU in minigrad.profiler.supported_activities()
    True
    """
    return set(ProfilerActivity)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return a schedule: each cycle skips `wait` steps, then runs `warmup` steps, then records `active` steps.

    After `skip_first` steps there are `repeat` cycles (0: endless); with `skip_first_wait` the first one does not wait.
    Raises AssertionError for negative numbers, or for no active step.

    >>> import minigrad
    >>> plan = minigrad.profiler.schedule(wait=1, warmup=0, active=2)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    given = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    for name, n in given.items():
        if n < (name == "active"):
            raise error(AssertionError, "schedule", f"got {name}={n}", f"pass {name}={int(name == 'active')} or more")
    cycle = wait + warmup + active

    def plan(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        at = step % cycle
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return plan


class profile(profile_block):
    """Time the operations of a block, or of the steps of a training loop that a schedule selects.

    `activities` are ProfilerActivity members; `schedule` returns the action of each step, and `prof.step()` ends a step;
    `on_trace_ready(prof)` is called after the active steps of a cycle or, without a schedule, at the end.
    `record_shapes` records the shapes of operands, `profile_memory` the bytes of results, `with_stack` the user's lines.

    >>> import minigrad
    >>> from minigrad.profiler import profile, schedule
    >>> shown = lambda prof: print([(row.key, row.count) for row in prof.key_averages()])
    >>> with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=shown) as prof:
    ...     for step in range(5):
    ...         y = minigrad.ones(3) * step
    ...         prof.step()
    [('ProfilerStep#2', 1), ('mul', 2), ('ProfilerStep#3', 1)]
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
    ):
        self.activities = set(supported_activities() if activities is None else activities)
        if wrong := [a for a in self.activities if not isinstance(a, ProfilerActivity)]:
            what = f"activities must be ProfilerActivity members, but got {wrong[0]!r}"
            raise error(ValueError, "profile", what, "write activities=[ProfilerActivity.CPU]")
        super().__init__(
            use_cuda=use_cuda or ProfilerActivity.CUDA in self.activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
        )
        self.schedule, self.on_trace_ready, self.step_num = schedule, on_trace_ready, 0
        self.current_action = ProfilerAction.RECORD if schedule is None else schedule(0)
        self._range: Any = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start; `with` starts and stops, even after an exception."""
        self._start()
        self._begin_step()

    def stop(self) -> None:
        """Stop, and call on_trace_ready if it has not seen all records."""
        if self._scope is None:
            return
        self._end_step()
        self._stop()
        if self.current_action in NOTED and self.on_trace_ready is not None:
            self.on_trace_ready(self)
        self.current_action = ProfilerAction.NONE

    def step(self) -> None:
        """End a step of the training loop."""
        self._end_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = before if self.schedule is None else self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE and self.on_trace_ready is not None:
            self.on_trace_ready(self)
        starts = before is not ProfilerAction.RECORD and self.schedule is not None
        if starts and self.current_action in NOTED:
            self.listener.clear()
        self._begin_step()

    def _begin_step(self) -> None:
        self.listener.active = self.current_action in NOTED
        if self.schedule is not None and self.listener.active:
            self._range = span(f"ProfilerStep#{self.step_num}")
            self._range.__enter__()

    def _end_step(self) -> None:
        if self._range is not None:
            self._range.__exit__(None, None, None)
            self._range = None
        self.listener.active = False


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """Return an on_trace_ready that writes each trace to a separate file in a folder, and creates the folder if needed.

    >>> import os, tempfile
    >>> import minigrad
    >>> from minigrad.profiler import profile, tensorboard_trace_handler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with profile(on_trace_ready=tensorboard_trace_handler(folder, "me")):
    ...         y = minigrad.ones(3) * 2
    ...     [name[:3] + name[-14:] for name in os.listdir(folder)]
    ['me..pt.trace.json']
    """

    def write(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json" + ".gz" * use_gzip
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))

    return write
