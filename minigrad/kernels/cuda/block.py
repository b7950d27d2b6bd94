"""The threads of a simulated block: one runs at a time, from barrier to barrier, in the order of their numbers.

A thread of a GPU is a call of the kernel's function.  As long as none waits, the calls follow each other on one thread of
the operating system.  A call that waits at a barrier keeps its thread, and another goes on with the calls that are left;
whoever stops passes the baton to one that may run.  So the order is the same in every run, and nothing is polled.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import Place

WARP = 32


class Abort(BaseException):
    """Ends the threads that wait in a block whose run has failed."""


class Divergence(Exception):
    """Threads that should meet at one barrier do not."""


class Waiting:
    """A thread that has arrived at a barrier: with what value, at which instruction, and the lock that it sleeps on."""

    def __init__(self, number: int, value: Any, site: tuple, name: str, place: Place):
        self.number, self.value, self.site, self.name, self.place = number, value, site, name, place
        self.met: dict[int, Any] = {}  # the values of all that met here, once they have
        self.turn = threading.Lock()
        self.turn.acquire()


class Block:
    """A block whose threads call `function`, each after `become(number)` has made the fake module speak for it.

    Sets of threads are numbers with a bit for each thread.
    """

    def __init__(self, size: int, function: Callable, args: tuple, become: Callable, synchronised: Callable | None):
        self.size, self.function, self.args, self.become, self.synchronised = size, function, args, become, synchronised
        self.everyone = (1 << size) - 1
        self.started = self.ended = 0  # how many have started; the set of those that have ended
        self.barriers: dict[tuple, list[Waiting]] = {}  # (scope, members) -> who has arrived
        self.ready: deque[Waiting] = deque()
        self.failure: tuple[BaseException, int] | None = None  # what was raised, and in which thread
        self.shared: list = []  # the block's shared arrays in the order in which its threads ask for them
        self.requests: dict[int, int] = {}  # thread -> how many it has asked for
        self.over = threading.Lock()
        self.over.acquire()

    def run(self) -> None:
        """Run every thread to its end, or until one fails."""
        self.drive()
        self.pass_on()
        self.over.acquire()

    def drive(self) -> None:
        """Start threads one after the other on this thread of the system, until one that has waited may go on."""
        while self.started < self.size and not self.ready:
            number = self.started
            self.started += 1
            self.become(number)
            try:
                self.function(*self.args)
            except Abort:
                pass
            except Exception as e:
                self.fail(e, number)
            self.ended |= 1 << number
            if self.barriers:
                for key in list(self.barriers):
                    self.release(key)

    def pass_on(self) -> None:
        """Let the next thread run: one that has met others, one that has not started, or whoever waits for the block."""
        if self.ready:
            self.ready.popleft().turn.release()
        elif self.started < self.size:
            Worker.take(self)
        elif self.barriers:
            waiting = [w for group in self.barriers.values() for w in group]
            self.fail(Divergence(self.described(waiting)), min(w.number for w in waiting))
            self.pass_on()
        else:
            self.over.release()

    def fail(self, e: BaseException, number: int) -> None:
        """Keep the first error; threads that wait end, and no other starts."""
        self.failure = self.failure or (e, number)
        self.started = self.size
        self.ready.extend(w for group in self.barriers.values() for w in group)
        self.barriers.clear()

    # ------------------------------------------------------------------ barriers
    def meet(self, number: int, members: int, scope: str, value: Any = None) -> dict[int, Any]:
        """Wait for the living among these threads; the values that they come with."""
        mine = Waiting(number, value, *site(sys._getframe(1)))
        self.barriers.setdefault((scope, members), []).append(mine)
        self.release((scope, members))
        if self.ready and self.ready[0] is mine:
            self.ready.popleft()
        else:
            self.pass_on()
            mine.turn.acquire()
        if self.failure is not None:
            raise Abort
        self.become(number)
        return mine.met

    def release(self, key: tuple[str, int]) -> None:
        """Make those at a barrier ready if all living members are there, at one place of the program."""
        if len(self.barriers[key]) != (key[1] & ~self.ended).bit_count():
            return
        waiting = sorted(self.barriers[key], key=lambda w: w.number)
        if len({w.site for w in waiting}) > 1:
            self.fail(Divergence(self.described(waiting)), waiting[0].number)
            return
        del self.barriers[key]
        met = {w.number: w.value for w in waiting}
        for w in waiting:
            w.met = met
        if self.synchronised is not None:
            self.synchronised(waiting[0].name, met)
        self.ready.extend(waiting)

    def described(self, waiting: list[Waiting]) -> str:
        """Which threads wait where, and which have ended."""
        places: dict[str, list[int]] = {}
        for w in waiting:
            places.setdefault(f"{w.name} at {w.place}", []).append(w.number)
        parts = [f"{threads(group)} in {where}" for where, group in places.items()]
        ended = [n for n in range(self.size) if self.ended >> n & 1]
        return "; ".join(parts) + (f"; {threads(ended)} ended before" if ended else "")


def site(frame: Any) -> tuple[tuple, str, Place]:
    """Where a kernel waits, given the frame of the barrier: the calls on the way there, the barrier's name, the line."""
    name, caller = frame.f_code.co_name, frame.f_back
    place, calls = Place(caller.f_code.co_filename, caller.f_lineno), [name]
    while caller.f_code is not Block.drive.__code__:
        calls.append((caller.f_code, caller.f_lasti))
        caller = caller.f_back
    return tuple(calls), name, place


class Worker(threading.Thread):
    """A thread of the operating system that goes on with blocks whose other threads wait; kept for the next block."""

    idle: deque[Worker] = deque()

    def __init__(self) -> None:
        super().__init__(name="minigrad-simulator", daemon=True)
        self.turn = threading.Lock()
        self.turn.acquire()
        self.block: Any = None
        self.start()

    @classmethod
    def take(cls, block: Block) -> None:
        """Have an idle one, or a new one, drive the block."""
        worker = cls.idle.pop() if cls.idle else cls()
        worker.block = block
        worker.turn.release()

    def run(self) -> None:
        with np.errstate(all="ignore"):
            while True:
                self.turn.acquire()
                block, self.block = self.block, None
                block.drive()
                self.idle.append(self)  # before another runs, who may look for an idle one
                block.pass_on()
                del block


def threads(found: list[int]) -> str:
    """Threads in words.

    >>> threads([3]), threads([0, 1, 2, 3]), threads([0, 5, 9])
    ('thread 3', 'threads 0 to 3', 'threads 0, 5, 9')
    """
    found = sorted(found)
    if len(found) == 1:
        return f"thread {found[0]}"
    if found == list(range(found[0], found[-1] + 1)):
        return f"threads {found[0]} to {found[-1]}"
    return f"threads {', '.join(map(str, found[:8]))}" + (f" and {len(found) - 8} more" if len(found) > 8 else "")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Worker.idle.clear)  # a forked process has none of its parent's threads
