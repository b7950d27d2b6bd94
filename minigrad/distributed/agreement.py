"""Checks that all ranks of a group make the same calls in the same order.

A call's words must be the same on all ranks: name, shapes, dtypes and roots.  In debug mode the ranks compare them before
each collective.  Otherwise they compare a digest of all words so far: before calls 1, 2, 4, ..., before every 64th call, and
at the end.  This finds differences that MPI does not notice, for example two calls with the same number of bytes.
"""

from __future__ import annotations

import zlib
from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.kinds import KINDS
from ..diagnose.debug import mode as debugging
from ..errors import error
from .calls import CollectiveCall
from .waiting import SAME_ORDER, wait_for

if TYPE_CHECKING:
    from .groups import ProcessGroup

EVERY = 64
FIRST = (1, 2, 4, 8, 16, 32)


class Agreement:
    """The digest of a group's calls, and its last calls."""

    def __init__(self) -> None:
        self.digest = 0
        self.calls: deque[CollectiveCall] = deque(maxlen=EVERY)

    def check(self, call: CollectiveCall) -> None:
        """Add a call to the digest, and compare digests when it is time.

        Raises RuntimeError on every rank if they differ, naming the first two different calls.
        """
        self.digest = zlib.crc32(call.words.encode(), self.digest)
        self.calls.append(call)
        if call.group.size() > 1 and (call.number % EVERY == 0 or call.number in FIRST or debugging.on):
            found = np.empty(call.group.size(), np.int64)
            wait_for(call, [call.group.aside.Iallgather(np.array([self.digest]), found)])
            call.waited = None
            if (found != found[0]).any():
                raise self.difference(call.group)

    def difference(self, group: ProcessGroup) -> Exception:
        """Return the error for calls that differ; all ranks call this, and start a new digest in case they catch it."""
        calls = group.aside.allgather([(c.number, c.words, str(c)) for c in self.calls])
        what, lines = first_difference(calls, group)
        last = self.calls[-1] if self.calls else None
        self.digest = 0
        self.calls.clear()
        name, place = (last.name, last.place) if last is not None else ("torch.distributed", None)
        return error(RuntimeError, name, what, SAME_ORDER, place, lines)


def first_difference(calls: list[list[tuple[int, str, str]]], group: ProcessGroup) -> tuple[str, list[str]]:
    """Compare the last calls of all ranks; return what differs, and lines that name the calls."""
    for together in zip(*calls):
        words = [w for _, w, _ in together]
        if len(set(words)) > 1:
            other = next(i for i, w in enumerate(words) if w != words[0])
            lines = [f"rank {group.ranks[i]} calls {together[i][2]}" for i in (0, other)]
            return f"call {together[0][0]} of the group is not the same on all ranks", lines
    if len({len(made) for made in calls}) > 1:
        last = [made[-1][2] if made else "none" for made in calls]
        lines = [
            f"rank {r} made {len(made)} calls, the last is {what}" for r, made, what in zip(group.ranks, calls, last)
        ]
        return "the ranks made different numbers of calls", lines
    return f"the ranks made different calls, before the last {EVERY}", []


def described(*parts: Any) -> str:
    """Return tensors and settings as words: "float32 (2, 3), SUM"."""
    return ", ".join([f"{name(a.dtype)} {a.shape}" if type(a) in KINDS else str(a) for a in parts])


name = cache(str)  # of a dtype: NumPy builds the string anew each time
