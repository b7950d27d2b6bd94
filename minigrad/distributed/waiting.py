"""Waiting for other ranks, but not for ever.

A rank that waits hears what the others say beside their collectives, on a communicator of its own (`aside`).  After some
seconds it asks them what they do.  What can never be done is an error at once: a rank has ended or died, or two ranks are in
different calls of the same number.  What only takes too long is an error after the group's timeout, which tells where each
rank is.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import error

if TYPE_CHECKING:
    from .calls import Call

SPINS = 200  # a small message is there before that
PATIENCE = 2.0  # seconds until a rank that waits asks the others; then twice as long each time
ANSWERS = 1.0  # seconds for which answers are awaited
ASK, STATE, VERDICT, FAILED = range(1, 5)  # tags: what words on the communicator aside are about
SAME_ORDER = (
    "let all ranks of the group make the same calls in the same order, with tensors of the same shapes and dtypes"
)


class State(NamedTuple):
    """What a rank says of itself: the call that it waits in, or how its program has ended."""

    text: str
    ended: bool = False
    key: tuple | None = None  # of the call: its group and its number there
    words: str = ""

    @classmethod
    def of(cls, call: Call) -> State:
        """Return the state of a rank that waits in a call."""
        key = (call.group.key, call.number) if call.number >= 0 else None
        return cls(f"has waited {call.time_waited:.1f} s in {call}", key=key, words=call.words)


class Verdict(NamedTuple):
    """Why a call can never be done."""

    what: str
    notes: tuple[str, ...]
    fix: str


class Ear:
    """Hears and answers what ranks say to each other while they wait; there is one, for all groups of this process."""

    alarmed = False

    def __init__(self, comm: Any):
        self.comm = comm
        self.end = ""  # how the program of this rank has ended
        self.waiting: list[Call] = []
        self.states: dict[int, State] = {}
        self.silent: set[int] = set()  # those that were asked and have not answered yet
        self.saying: list[Any] = []  # requests: MPI reads the words until they are done
        self.processes: list[tuple[str, int]] = comm.allgather((socket.gethostname(), os.getpid()))

    @property
    def others(self) -> list[int]:
        """The other ranks."""
        return [r for r in range(self.comm.size) if r != self.comm.rank]

    @classmethod
    def alarm(cls, *_: Any) -> None:
        """Note that another rank has died, so that who waits looks at once which."""
        cls.alarmed = True

    def say(self, rank: int, tag: int, words: Any = None) -> None:
        """Say something to a rank, without waiting until it hears."""
        self.saying = [request for request in self.saying if not request.Test()]
        self.saying.append(self.comm.isend(words, rank, tag))

    def state(self) -> State:
        """Return what this rank does."""
        if self.end or not self.waiting:
            return State(self.end or "is computing", ended=self.end != "")
        return State.of(self.waiting[-1])

    def listen(self) -> Verdict | None:
        """Hear what the others have said, and answer; return why the call that this rank waits in can never be done."""
        from mpi4py import MPI

        status = MPI.Status()
        while self.comm.iprobe(status=status):
            rank, tag = status.source, status.tag
            words = self.comm.recv(source=rank, tag=tag)
            if tag == ASK:
                self.say(rank, STATE, self.state())
            elif tag == STATE:
                self.states[rank] = words
                self.silent.discard(rank)
            elif tag == FAILED:
                self.say(rank, STATE, self.state())
                if not self.end:
                    self.rest(rank)
            elif self.waiting and words[0] == self.state().key:
                return words[1]
        return None

    def rest(self, failed: int) -> None:
        """Wait for the end: a rank that has failed ends all."""
        time.sleep(5 * ANSWERS)
        raise error(RuntimeError, "torch.distributed", f"rank {failed} has failed", "look at its traceback")

    def ask(self, ranks: Iterable[int]) -> None:
        """Ask ranks what they do."""
        for rank in ranks:
            if rank != self.comm.rank:
                self.silent.add(rank)
                self.say(rank, ASK)

    def answers(self, ranks: Sequence[int], tag: int = ASK) -> list[str]:
        """Ask ranks what they do, and return a line for each."""
        self.states.clear()
        for rank in ranks:
            self.say(rank, tag)
        until = perf_counter() + ANSWERS
        while perf_counter() < until and not self.states.keys() >= set(ranks):
            self.listen()
            time.sleep(0.001)
        return [f"rank {r} {self.told(r)}" for r in ranks]

    def told(self, rank: int) -> str:
        """Return what is known of a rank."""
        if rank in self.states:
            return self.states[rank].text
        return "has died" if self.died(rank) else "does not answer: it computes, or waits for something else"

    def died(self, rank: int) -> bool:
        """Return whether the process of a rank on this computer has come to its end without a word."""
        host, pid = self.processes[rank]
        return host == socket.gethostname() and ended(pid)

    def verdict(self, call: Call) -> Verdict | None:
        """Return why a call can never be done, if what the others have said shows that it cannot."""
        mine = self.state()
        partners = [r for r in call.group.ranks if r != self.comm.rank]
        gone = [r for r in partners if self.died(r) or r in self.states and self.states[r].ended]
        if call.number < 0:
            needed = partners if call.peer is None else [call.peer]
            gone = gone if set(gone) >= set(needed) else []
        if gone:
            told = [f"rank {r} {self.told(r)}" for r in gone]
            return Verdict(
                f"{told[0]}, so that {call.words} can never be done", tuple(told[1:]), "let every rank make this call"
            )
        return different({self.comm.rank: mine, **{r: self.states[r] for r in partners if r in self.states}})

    def tell(self, call: Call, found: Verdict) -> None:
        """Tell the other ranks of a call's group why it can never be done."""
        key = self.state().key
        for r in call.group.ranks:
            if r != self.comm.rank and not self.died(r):
                self.say(r, VERDICT, (key, found))


def ended(pid: int) -> bool:
    """Return whether a process of this computer has come to its end; False where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return os.path.isdir("/proc/self")


def different(states: dict[int, State]) -> Verdict | None:
    """Return that ranks are in different calls of one group, where that is so: the first of these, and those that differ."""
    (rank, mine), *others = states.items()
    for other, state in others:
        if mine.key is not None and state.key == mine.key and state.words != mine.words:
            lines = [f"rank {r} {states[r].text}" for r in sorted((rank, other))]
            return Verdict(
                "the ranks of a group call different things, and none of them can be done", tuple(lines), SAME_ORDER
            )
    return None


# ---------------------------------------------------------------------- waiting
def wait_for(call: Call, requests: list, seconds: float | None = None) -> None:
    """Wait until MPI has done what a call asked for.

    Raises RuntimeError, on every rank that waits, where that can never be, and where it takes more than `seconds` (the
    group's timeout if None).
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
    """Return whether all are done."""
    return all([request.Test() for request in requests])


def wait_and_listen(call: Call, requests: list, seconds: float) -> None:
    """Wait for what takes longer, and answer other ranks meanwhile."""
    here, begun, patience = call.group.ear, perf_counter(), PATIENCE
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
                    time.sleep(0.0005)  # the cores are for others
                    if found is not None:
                        here.tell(call, found)
                else:
                    os.sched_yield()
            if found is not None:
                raise error(RuntimeError, call.name, found.what, found.fix, call.place, found.notes)
    finally:
        here.waiting.pop()


def timed_out(call: Call, here: Ear, seconds: float) -> Exception:
    """Return the error for a call that takes too long, which tells where the other ranks are."""
    lines = here.answers([r for r in call.group.ranks if r != here.comm.rank])
    what = f"rank {here.comm.rank} has waited {seconds:g} s for {call.words}"
    fix = "find out why the other ranks do not come to this call, or pass a larger timeout= to init_process_group"
    return error(RuntimeError, call.name, what, fix, call.place, lines)


def refused(call: Call, e: Exception) -> Exception:
    """Return the error for what MPI has refused: as a rule two ranks have sent each other different amounts."""
    here = call.group.ear
    here.waiting.append(call)
    lines = here.answers([r for r in call.group.ranks if r != here.comm.rank])
    here.waiting.pop()
    return error(RuntimeError, call.name, f"MPI has refused {call.words}: {e}", SAME_ORDER, call.place, lines)
