"""Whether all ranks of a group make the same calls in the same order.

A call's words are what has to be the same everywhere: its name, shapes, dtypes and roots.  In debug mode the ranks compare
them before each collective.  Otherwise they compare a digest of all words so far before every 64th: that finds calls that
differ and were done all the same, such as two of the same number of bytes.
"""

from __future__ import annotations

import os
import zlib
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from ..diagnose.debug import mode as debugging
from ..errors import error
from .calls import Call
from .waiting import SAME_ORDER, wait_for

if TYPE_CHECKING:
    from .groups import ProcessGroup

EVERY = 64


class Agreement:
    """The digest of a group's calls, and the last of them."""

    def __init__(self) -> None:
        self.digest = 0
        self.calls: deque[Call] = deque(maxlen=EVERY)

    def check(self, call: Call) -> None:
        """Take a call into account, and compare with the other ranks where it is time to.

        Raises RuntimeError, on every rank, that names the first two calls that differ.
        """
        self.digest = zlib.crc32(call.words.encode(), self.digest)
        self.calls.append(call)
        if call.group.size() > 1 and (call.number % EVERY == 0 or detailed()):
            self.compare(call)

    def compare(self, call: Call) -> None:
        """Compare with the other ranks."""
        group = call.group
        found = np.empty(group.size(), np.int64)
        wait_for(call, [group.aside.Iallgather(np.array([self.digest]), found)])
        call.waited = None
        if (found != found[0]).any():
            calls = group.aside.allgather([(c.number, c.words, str(c)) for c in self.calls])
            what, lines = first_difference(calls, group)
            raise error(RuntimeError, call.name, what, SAME_ORDER, call.place, lines)


def first_difference(calls: list[list[tuple[int, str, str]]], group: ProcessGroup) -> tuple[str, list[str]]:
    """Return what differs in the calls of the ranks, and a line for each of two ranks, from each rank's last calls."""
    for together in zip(*calls):
        words = [w for _, w, _ in together]
        if len(set(words)) > 1:
            other = next(i for i, w in enumerate(words) if w != words[0])
            lines = [f"rank {group.ranks[i]} calls {together[i][2]}" for i in (0, other)]
            return f"call {together[0][0]} of the group is not the same on all ranks", lines
    lines = [f"rank {group.ranks[i]} calls {last[-1][2]}" for i, last in enumerate(calls)]
    return f"the ranks have made different calls, before the last {EVERY}", lines


def detailed() -> bool:
    """Return whether every call is compared: in debug mode, or with TORCH_DISTRIBUTED_DEBUG=DETAIL in the environment."""
    return debugging.on or os.environ.get("TORCH_DISTRIBUTED_DEBUG", "").upper() == "DETAIL"


def described(*given: Any) -> str:
    """Return tensors and settings as words: "float32 (2, 3), SUM"."""
    return ", ".join(f"{a.dtype} {a.shape}" if isinstance(a, np.ndarray) else str(a) for a in given)
