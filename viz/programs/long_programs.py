"""Recordings of long programs, such as training runs: only the steps around the wanted value are recorded.

A recorded step takes several times as long as the step itself, and the recording keeps its values. So the recording of a
program stops after `MANY` backwards, or after as many operations as `Size` tells. When the program has ended, the place of the
wanted value among its backwards and operations is known, and it runs once more, silently and with the same random numbers:
recorded to the end of its first backward, because values are prepared there, and from shortly before that place to shortly
after it. If a step has too many operations itself, only its last ones are recorded; those before are one operation.

A program that is interrupted (interrupts.py) has no end: its picture shows the values that the recording had when it stopped.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from threading import get_ident
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import minigrad
from minigrad.core.frames import OFF, ON, call_in, current, recorder_of
from minigrad.record.callers import OUTSIDE

from ..errors import Usage
from .last_backward import Backwards

MANY = 20  # backwards; a program with fewer runs once
BEFORE = 2  # backwards before the value exists at which the recording begins: one step, or two with two losses


class Size(NamedTuple):
    """The numbers of operations that a recording has at most: of a program whose part is unknown, and behind a value."""

    most: int
    behind: int


OURS, THEIRS = Size(20_000, 5_000), Size(2_000, 1_000)  # of minigrad's, and of PyTorch's, which take ten times as long
OFTEN = 256  # operations after which the place of the wanted value is looked up


class Part(NamedTuple):
    """The part of a program to record, besides its begin: from the end of one backward, counted from 1, to that of another.

    With `begin`, it begins with this operation instead, and nothing before is recorded.
    """

    first: int
    last: int
    begin: int = 0


WHOLE = Part(0, sys.maxsize)


def sentence(file: str, limit: Limit, part: Part) -> str:
    """Tell that a program ran again, and which part of it is recorded."""
    again = f"{file} ran again, silently, to record its last"
    if part.begin:
        before = "the record begins there" if limit.torch else "what ran before is one operation"
        return f"{again} {limit.size.behind:,} operations of {limit.ops:,}: {before}"
    many = f"more than {MANY} backwards" if limit.count >= MANY else f"{limit.ops:,} operations"
    return f"{again} steps: it runs {many}"


class TooMany(Exception):
    """The recording has stopped, because the program ran many backwards; `part` has the wanted value."""

    def __init__(self, part: Part):
        super().__init__()
        self.part = part


class Limit(Backwards):
    """Inside `with limit:`, the recordings of a program are limited to a part, or that part is found if it is None.

    `values` returns tensors of the program by their names, among them the wanted one as soon as the program has it.
    """

    def __init__(
        self, values: Callable[[], dict], name: str, part: Part | None, torch: bool, iteration: int | None = None
    ):
        super().__init__(torch)
        self.values, self.name, self.part, self.iteration = values, name, part, iteration
        self.size = THEIRS if torch else OURS
        self.count = self.made = 0  # the backwards so far, and those until the wanted value existed
        self.ops = self.made_op = 0  # the same for operations
        self.ops_at = [0]  # the operations at the end of each backward
        self.had: Any = None  # the wanted value: the last one, or that of the wanted iteration
        self.last: dict[str, Any] = {}  # the values at the last backward
        self.results: Callable[[], Any] = dict  # returns the values to show, or raises Usage
        self.had_then: Any = None  # these, the backwards and the operations when the recordings paused
        self.count_then = self.ops_then = 0
        # how many values a name has had at backwards: one in each round of a loop
        self.rounds: Counter[str] = Counter()
        self.recordings: list = []
        self.paused = self.begun = False
        self.thread = get_ident()

    def run(self, program: Callable[[], Any]) -> None:
        """Run the program under its recordings; raise TooMany if another run must record it."""
        if (rec := recorder_of(current())) is not None:
            self.recordings.append(rec)
        if self.torch:
            from ..pytorch.torch_calls import RUNNING

            self.recordings += RUNNING.recorders[-1:]
        for recording in self.recordings:
            recording.on_full, recording.folds = self.grown, True
        if self.part is not None and self.part.begin:
            self.pause()
        program()
        self.count += 1  # for what is made after the last backward
        self.note()
        self.count -= 1
        self.ops_at.append(self.ops)
        if self.part is None and self.paused:
            raise TooMany(self.found())
        if self.paused and not self.begun and self.part is not None:  # the program ran otherwise than before
            raise TooMany(self.part._replace(begin=self.part.begin // 2) if self.part.begin > OFTEN else WHOLE)
        self.go_on()

    failed: Any = None  # the recording to show of a program that has raised

    def end(self) -> Part:
        """Return the part where the program ends because it raises."""
        self.ops_at.append(self.ops)
        self.had, self.made_op = None, 0
        return self.found()

    def found(self) -> Part:
        """Return the part that has the wanted value, or the end of the program: some steps, or the end of a long one."""
        made = self.count if self.had is None else self.made
        first, last = max(made - BEFORE, 0), min(made + 1, len(self.ops_at) - 1)
        if self.ops_at[last] - self.ops_at[first] <= self.size.most:
            return Part(made - BEFORE, made + 1)
        return Part(made - BEFORE, made + 1, max(1, (self.made_op or self.ops) - self.size.behind))

    def ended(self, edges: list, theirs: list) -> None:
        """Count a backward, and pause the recordings or let them go on if it is time."""
        self.count += 1
        self.note()
        self.ops = max(self.ops, self.operations())
        self.ops_at.append(self.ops)
        first, last, begin = self.part or (MANY, MANY, 0)
        if self.count >= last or self.count == 1 < first and self.part is not None and not begin:
            self.pause()
        elif first <= self.count < last and not begin and self.part is not None:
            self.go_on()

    def operations(self) -> int:
        """Return the number of operations that the recordings have."""
        return max([recording.operations() for recording in self.recordings], default=0)

    def grown(self, recording: Any) -> None:
        """Pause a recording that has as many operations as it may."""
        if not self.paused and recording.operations() >= self.size.most:
            self.ops = max(self.ops, recording.operations())
            self.pause()

    def note(self) -> None:
        """Note the values at the end of a backward; a new one of a name belongs to another round of the program's loop."""
        for name, now in self.values().items():
            if now is None or now is self.last.get(name):
                continue
            self.last[name] = now
            self.rounds[name] += 1
            if name == self.name and self.iteration in (None, self.rounds[name]):
                self.had, self.made, self.made_op = now, self.count, self.made_op if self.met is now else self.ops

    met: Any = None  # the wanted value when an operation was counted

    def passed(self, *of_minigrad: object) -> None:
        """Count an operation while the recordings pause, and let them go on if it is the first to record."""
        if get_ident() != self.thread:
            return
        self.ops += 1
        if self.ops % OFTEN == 0 and (now := self.values().get(self.name)) is not None and now is not self.met:
            self.met, self.made_op = now, self.ops
        begins = self.part is not None and 0 < self.part.begin <= self.ops and not self.begun
        if begins and (not of_minigrad or called_by_user(sys._getframe(1))):
            self.go_on()

    def pause(self) -> None:
        """Pause the recordings, unless the program is in a `with` block that would end in them."""
        if not self.paused and all([recording.can_stop() for recording in self.recordings]):
            self.paused, self.count_then, self.ops_then = True, self.count, self.operations()
            with suppress(Usage):
                self.had_then = self.results()
            for recording in self.recordings:
                recording.pause()
            self.watch(self.passed)

    def go_on(self) -> None:
        """Let the recordings go on, unless the program is in a `with` block that would end them."""
        if self.paused and all([recording.can_go_on() for recording in self.recordings]):
            self.paused, self.begun = False, True
            self.watch(None)
            for recording in self.recordings:
                recording.go_on()

    def watch(self, passed: Callable | None) -> None:
        """Let `passed` hear of each plain operation, which no recording sees now."""
        ON.on_op = OFF.on_op = passed
        for recording in self.recordings:
            recording.passed = passed

    def __exit__(self, *_: object) -> None:
        self.watch(None)
        super().__exit__(*_)


class Start:
    """The state in which a program begins, for another run: random numbers, the working directory, its own modules."""

    def __init__(self, folder: Path):
        self.folder, self.place, self.modules = folder.resolve(), Path.cwd(), set(sys.modules)
        self.states = [
            (random.setstate, random.getstate()),
            (np.random.set_state, np.random.get_state()),
            (minigrad.set_rng_state, minigrad.get_rng_state()),
        ]
        torch = sys.modules.get("torch")
        if torch is not None and torch is not minigrad:
            self.states.append((torch.set_rng_state, torch.get_rng_state()))

    def restore(self) -> None:
        """Return to it."""
        os.chdir(self.place)
        for setter, state in self.states:
            setter(state)
        for name in set(sys.modules) - self.modules:
            if (file := getattr(sys.modules[name], "__file__", None)) and self.folder in Path(file).resolve().parents:
                del sys.modules[name]


@contextmanager
def silent() -> Iterator[None]:
    """Print nothing in the block."""
    with open(os.devnull, "w", encoding="utf-8") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        yield


def called_by_user(frame: FrameType | None) -> bool:
    """Return True if no layer between the user's code and a frame of an operation returns to its own context afterwards."""
    while frame is not None and frame.f_code.co_filename not in OUTSIDE:
        if frame.f_code is call_in.__code__:
            return False
        frame = frame.f_back
    return frame is not None
