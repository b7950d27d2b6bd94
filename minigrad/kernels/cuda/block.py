"""The threads of a simulated block: one runs at a time, from barrier to barrier, in the order of their numbers.

A thread of a GPU is a call of the kernel's function. A kernel without barriers is called once per thread. A kernel with
barriers is a generator (barriers.py): it yields a Barrier where it waits, and receives the answer when all threads are there.
"""

import inspect
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from ...places import Place


class Barrier(NamedTuple):
    """A barrier at which a thread waits: the operation, the set of threads to wait for, the thread's value, and the answer.

    A set of threads is a number with one bit per thread.
    """

    name: str
    members: int
    value: Any
    answer: Callable[[dict[int, Any]], Any]  # from the values of the threads that met, by number


class Waiting(NamedTuple):
    """A thread at a barrier."""

    number: int
    calls: Generator
    barrier: Barrier

    @property
    def site(self) -> tuple:
        """The instructions on the way to the barrier."""
        return self.barrier.name, *((g.gi_code, g.gi_frame.f_lasti) for g in nested(self.calls))

    @property
    def place(self) -> str:
        """Name of the barrier, and its line."""
        *_, frame = (g.gi_frame for g in nested(self.calls))
        return f"{self.barrier.name} at {Place(frame.f_code.co_filename, frame.f_lineno)}"


class Divergence(Exception):
    """Threads that must meet at one barrier do not."""


class ThreadBlock:
    """A block whose threads call `function`; `act_as(number)` makes the fake module act for a thread before each step."""

    def __init__(self, size: int, function: Callable, args: tuple, act_as: Callable, met: Callable | None = None):
        self.size, self.function, self.args, self.act_as, self.met = size, function, args, act_as, met
        self.ended = 0  # the set of threads that have ended
        self.barriers: dict[tuple, list[Waiting]] = {}  # scope and members -> threads that wait
        self.ready: deque[tuple[Waiting, dict]] = deque()  # threads that may continue, with the values that met
        self.shared: list = []  # shared arrays, in the order in which threads request them
        self.requests: dict[int, int] = {}  # thread -> number of its requests

    def run(self) -> None:
        """Run every thread to its end."""
        waits = inspect.isgeneratorfunction(self.function)
        for number in range(self.size):
            self.act_as(number)
            calls = self.function(*self.args)
            if waits:
                self.go_on(number, calls, None)
            while self.ready:
                waiting, met = self.ready.popleft()
                self.act_as(waiting.number)
                self.go_on(waiting.number, waiting.calls, waiting.barrier.answer(met))
        if self.barriers:
            raise Divergence(self.described([w for group in self.barriers.values() for w in group]))

    def go_on(self, number: int, calls: Generator, answer: Any) -> None:
        """Run a thread to its next barrier or to its end."""
        try:
            barrier = calls.send(answer)
        except StopIteration:
            self.ended |= 1 << number
            for key in list(self.barriers):
                self.release(key)
        else:
            key = barrier.name.startswith("syncthreads"), barrier.members
            self.barriers.setdefault(key, []).append(Waiting(number, calls, barrier))
            self.release(key)

    def release(self, key: tuple[bool, int]) -> None:
        """Release the threads at a barrier if all living members are there, at the same place of the program."""
        if len(self.barriers[key]) != (key[1] & ~self.ended).bit_count():
            return
        waiting = sorted(self.barriers[key], key=lambda w: w.number)
        if len({w.site for w in waiting}) > 1:
            raise Divergence(self.described(waiting))
        del self.barriers[key]
        met = {w.number: w.barrier.value for w in waiting}
        if self.met is not None and waiting:
            self.met(waiting[0].barrier.name, list(met))
        self.ready.extend((w, met) for w in waiting)

    def described(self, waiting: list[Waiting]) -> str:
        """Return the text that names the waiting threads with their places, and the ended ones."""
        places: dict[str, list[int]] = {}
        for w in waiting:
            places.setdefault(w.place, []).append(w.number)
        parts = [f"{threads(group)} in {place}" for place, group in places.items()]
        ended = [n for n in range(self.size) if self.ended >> n & 1]
        return "; ".join(parts) + (f"; {threads(ended)} ended before" if ended else "")


def nested(calls: Any) -> Any:
    """Yield a generator and the generators to which it delegates."""
    while calls is not None:
        yield calls
        calls = calls.gi_yieldfrom


def threads(found: list[int]) -> str:
    """Return the text for a set of threads.

    >>> threads([3]), threads([0, 1, 2, 3]), threads([0, 5, 9])
    ('thread 3', 'threads 0 to 3', 'threads 0, 5, 9')
    """
    found = sorted(found)
    if len(found) == 1:
        return f"thread {found[0]}"
    if found == list(range(found[0], found[-1] + 1)):
        return f"threads {found[0]} to {found[-1]}"
    return f"threads {', '.join(map(str, found[:8]))}" + (f" and {len(found) - 8} more" if len(found) > 8 else "")
