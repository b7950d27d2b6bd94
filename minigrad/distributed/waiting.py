"""Waits for other ranks, but not forever.

A waiting rank listens to messages from the others on a separate communicator.  After some seconds it asks them what they are
doing.  If the call can never finish, the error comes at once: a rank has ended or died, or two ranks are in different calls
of the same number.  If the call only takes too long, the error comes after the group's timeout and lists where each rank is.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import error

if TYPE_CHECKING:
    from .calls import CollectiveCall

SPINS = 200  # a small message arrives within this number of tests
PATIENCE = 2.0  # seconds until a waiting rank asks the others; doubled each time
ANSWERS = 1.0  # seconds to wait for answers
ASK, STATE, VERDICT, FAILED = range(1, 5)  # tags of the messages between waiting ranks
SAME_ORDER = (
    "let all ranks of the group make the same calls in the same order, with tensors of the same shapes and dtypes"
)


class State(NamedTuple):
    """The state of a rank: the call in which it waits, or the end of its program."""

    text: str
    ended: bool = False
    key: tuple | None = None  # of the call: its group and its number there
    words: str = ""

    @classmethod
    def of(cls, call: CollectiveCall) -> State:
        """Return the state of a rank that waits in `call`."""
        key = (call.group.key, call.number) if call.number >= 0 else None
        return cls(f"has waited {call.time_waited:.1f} s in {call}", key=key, words=call.words)


class Verdict(NamedTuple):
    """The reason why a call can never finish."""

    what: str
    notes: tuple[str, ...]
    fix: str


class StatusListener:
    """Receives and answers the messages of waiting ranks; all groups of this process share one."""

    alarmed = False

    def __init__(self, comm: Any):
        self.comm = comm
        self.end = ""  # says how the program of this rank ended
        self.waiting: list[CollectiveCall] = []
        self.states: dict[int, State] = {}
        self.saying: list[Any] = []  # requests of messages on their way, whose memory MPI still reads
        self.processes: list[tuple[str, int]] = comm.allgather((socket.gethostname(), os.getpid()))

    @classmethod
    def alarm(cls, *_: Any) -> None:
        """Note that another rank has died, so that a waiting rank looks for it at once."""
        cls.alarmed = True

    def send_message(self, rank: int, tag: int, words: Any = None) -> None:
        """Send a message to a rank, without waiting for it to arrive."""
        self.saying = [request for request in self.saying if not request.Test()]
        self.saying.append(self.comm.isend(words, rank, tag))

    def state(self) -> State:
        """Return the state of this rank."""
        if self.end or not self.waiting:
            return State(self.end or "is computing", ended=self.end != "")
        return State.of(self.waiting[-1])

    def listen(self) -> Verdict | None:
        """Receive and answer messages; return a verdict on the call in which this rank waits, if one arrives."""
        from mpi4py import MPI

        status = MPI.Status()
        while self.comm.iprobe(status=status):
            rank, tag = status.source, status.tag
            words = self.comm.recv(source=rank, tag=tag)
            if tag == ASK:
                self.send_message(rank, STATE, self.state())
            elif tag == STATE:
                self.states[rank] = words
            elif tag == FAILED:
                self.send_message(rank, STATE, self.state())
                if not self.end:
                    self.wait_to_be_ended(rank)
            elif self.waiting and words[0] == self.state().key:
                return words[1]
        return None

    def wait_to_be_ended(self, failed: int) -> None:
        """Wait to be ended: the rank that failed ends all others."""
        time.sleep(5 * ANSWERS)
        raise error(RuntimeError, "torch.distributed", f"rank {failed} has failed", "look at its traceback")

    def ask(self, ranks: Iterable[int], tag: int = ASK) -> list[int]:
        """Ask ranks for their state, except this one; return those that are asked."""
        asked = [r for r in ranks if r != self.comm.rank]
        for rank in asked:
            self.send_message(rank, tag)
        return asked

    def answers(self, ranks: Iterable[int], tag: int = ASK) -> list[str]:
        """Ask ranks for their state, except this one, and return a line for each."""
        self.states.clear()
        asked, until = self.ask(ranks, tag), perf_counter() + ANSWERS
        while perf_counter() < until and not self.states.keys() >= set(asked):
            self.listen()
            time.sleep(0.001)
        return [f"rank {r} {self.describe(r)}" for r in asked]

    def describe(self, rank: int) -> str:
        """Describe the state of a rank."""
        if rank in self.states:
            return self.states[rank].text
        return "has died" if self.died(rank) else "does not answer: it is computing, or waiting for something else"

    def died(self, rank: int) -> bool:
        """Return True if the rank's process, on this computer, has ended without saying so."""
        host, pid = self.processes[rank]
        return host == socket.gethostname() and ended(pid)

    def verdict(self, call: CollectiveCall) -> Verdict | None:
        """Return the reason why a call can never finish, if the states of the other ranks show one."""
        mine = self.state()
        partners = [r for r in call.group.ranks if r != self.comm.rank]
        gone = [r for r in partners if self.died(r) or r in self.states and self.states[r].ended]
        if call.number < 0:
            needed = partners if call.peer is None else [call.peer]
            gone = gone if set(gone) >= set(needed) else []
        if gone:
            lines = [f"rank {r} {self.describe(r)}" for r in gone]
            return Verdict(
                f"{lines[0]}, so {call.words} can never finish", tuple(lines[1:]), "let every rank make this call"
            )
        return different({self.comm.rank: mine, **{r: self.states[r] for r in partners if r in self.states}})

    def send_verdict(self, call: CollectiveCall, found: Verdict) -> None:
        """Send a verdict to the other ranks of the call's group."""
        key = self.state().key
        for r in call.group.ranks:
            if r != self.comm.rank and not self.died(r):
                self.send_message(r, VERDICT, (key, found))


def ended(pid: int) -> bool:
    """Return True if a process on this computer has ended; False if the system cannot tell."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return os.path.isdir("/proc/self")


def different(states: dict[int, State]) -> Verdict | None:
    """Return a verdict if two ranks are in different calls of the same group and number."""
    (rank, mine), *others = states.items()
    for other, state in others:
        if mine.key is not None and state.key == mine.key and state.words != mine.words:
            lines = [f"rank {r} {states[r].text}" for r in sorted((rank, other))]
            return Verdict("the ranks of a group make different calls, so none can finish", tuple(lines), SAME_ORDER)
    return None


# ---------------------------------------------------------------------- waiting
def wait_for(call: CollectiveCall, requests: list, seconds: float | None = None) -> None:
    """Wait until MPI completes the requests of a call.

    Raises RuntimeError on every waiting rank if the call can never finish, or takes more than `seconds` (the group's timeout
    if None).
    """
    call.waited = perf_counter()
    try:
        for _ in range(SPINS):
            if done(requests):
                return
            os.sched_yield()
        wait_and_listen(call, requests, call.group.timeout if seconds is None else seconds)
    except Exception as e:
        if type(e).__module__.partition(".")[0] != "mpi4py":
            raise
        raise refused(call, e) from None


def done(requests: list) -> bool:
    """Return True if all requests are complete."""
    return all([request.Test() for request in requests])


def wait_and_listen(call: CollectiveCall, requests: list, seconds: float) -> None:
    """Wait for requests that take longer, and answer other ranks meanwhile."""
    here, begun, patience = call.group.listener, perf_counter(), PATIENCE
    here.waiting.append(call)
    here.states.clear()
    asking = begun + patience
    try:
        while not done(requests):
            if (found := here.listen()) is None:
                now = perf_counter()
                if now - begun > seconds:
                    raise timed_out(call, here, seconds)
                if now > asking:
                    here.ask(call.group.ranks)
                    patience *= 2
                    asking = now + patience
                if now > begun + PATIENCE or here.alarmed:
                    found = here.verdict(call)
                    time.sleep(0.0005)  # leave the core to other processes
                    if found is not None:
                        here.send_verdict(call, found)
                else:
                    os.sched_yield()
            if found is not None:
                raise error(RuntimeError, call.name, found.what, found.fix, call.place, found.notes)
    finally:
        here.waiting.pop()


def timed_out(call: CollectiveCall, here: StatusListener, seconds: float) -> Exception:
    """Return the error for a call that takes too long; it lists where the other ranks are."""
    lines = here.answers(call.group.ranks)
    what = f"rank {here.comm.rank} has waited {seconds:g} s for {call.words}"
    fix = "find out why the other ranks do not make this call, or pass a larger timeout= to init_process_group"
    return error(RuntimeError, call.name, what, fix, call.place, lines)


def refused(call: CollectiveCall, e: Exception) -> Exception:
    """Return the error for a call that MPI refuses, usually because the ranks send different numbers of bytes."""
    here = call.group.listener
    here.waiting.append(call)
    lines = here.answers(call.group.ranks)
    here.waiting.pop()
    return error(RuntimeError, call.name, f"MPI refuses {call.words}: {e}", SAME_ORDER, call.place, lines)
