"""Recordings of programs with many backwards, such as training runs: only the steps around the wanted value are recorded.

A recorded step takes several times as long as the step itself, and the recording keeps its values. So the recording of a
program stops after `MANY` backwards. When the program has ended, the place of the wanted value among its backwards is known,
and it runs once more, silently and with the same random numbers: recorded to the end of its first backward, because values are
prepared there, and from shortly before that place to shortly after it.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from minigrad.core.frames import current, recorder_of

from .last_backward import Backwards

MANY = 20  # backwards; a program with fewer runs once
BEFORE = 2  # backwards before the value exists at which the recording begins: one step, or two with two losses


class Part(NamedTuple):
    """The part of a program to record, besides its begin: from the end of one backward, counted from 1, to that of another."""

    first: int
    last: int


WHOLE = Part(0, sys.maxsize)


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
        self.count = self.made = 0  # the backwards so far, and those until the wanted value existed
        self.had: Any = None  # the wanted value: the last one, or that of the wanted iteration
        self.last: dict[str, Any] = {}  # the values at the last backward
        self.rounds: Counter[str] = (
            Counter()
        )  # how many values a name has had at backwards: one in each round of a loop
        self.recordings: list = []
        self.paused = self.begun = False

    def run(self, program: Callable[[], Any]) -> None:
        """Run the program under its recordings; raise TooMany if another run must record it."""
        if (rec := recorder_of(current())) is not None:
            self.recordings.append(rec)
        if self.torch:
            from .pytorch.torch_calls import RUNNING

            self.recordings += RUNNING.recorders[-1:]
        program()
        self.count += 1  # for what is made after the last backward
        self.note()
        self.count -= 1
        if self.part is None and self.paused:
            made = self.count if self.had is None else self.made
            raise TooMany(Part(made - BEFORE, made + 1))
        if self.paused and not self.begun:  # the program ran fewer backwards than before
            raise TooMany(WHOLE)
        self.go_on()

    def ended(self, edges: list, theirs: list) -> None:
        """Count a backward, and pause the recordings or let them go on if it is time."""
        self.count += 1
        self.note()
        first, last = self.part or (MANY, MANY)
        if self.count == last or self.count == 1 < first and self.part is not None:
            self.pause()
        elif first <= self.count < last:
            self.go_on()

    def note(self) -> None:
        """Note the values at the end of a backward; a new one of a name belongs to another round of the program's loop."""
        for name, now in self.values().items():
            if now is None or now is self.last.get(name):
                continue
            self.last[name] = now
            self.rounds[name] += 1
            if name == self.name and self.iteration in (None, self.rounds[name]):
                self.had, self.made = now, self.count

    def pause(self) -> None:
        """Pause the recordings, unless the program is in a `with` block that would end in them."""
        if not self.paused and all([recording.can_stop() for recording in self.recordings]):
            self.paused = True
            for recording in self.recordings:
                recording.pause()

    def go_on(self) -> None:
        """Let the recordings go on, unless the program is in a `with` block that would end them."""
        if self.paused and all([recording.can_go_on() for recording in self.recordings]):
            self.paused, self.begun = False, True
            for recording in self.recordings:
                recording.go_on()


class Start:
    """The state in which a program begins, for another run: random numbers, the working directory, its own modules."""

    def __init__(self, folder: Path):
        import minigrad

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
def silent(wanted: bool = True) -> Iterator[None]:
    """Print nothing in the block."""
    if not wanted:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        yield
