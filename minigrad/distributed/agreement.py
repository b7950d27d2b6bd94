"""Whether all ranks of a group make the same calls in the same order.

A call's words are what has to be the same everywhere: its name, shapes, dtypes and roots.  In debug mode the ranks compare
them before each collective.  Otherwise they compare a digest of all words so far before the first, second, fourth, ... and
then before every 64th, and at the end: that finds calls that differ and were done all the same, such as two of the same number
of bytes.
"""

from __future__ import annotations

import os
import zlib
from collections import deque
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.kinds import KINDS
from ..diagnose.debug import mode as debugging
from ..errors import error
from .calls import Call
from .waiting import SAME_ORDER, wait_for

if TYPE_CHECKING:
    from .groups import ProcessGroup

EVERY = 64
FIRST = (1, 2, 4, 8, 16, 32)


class DebugLevel(Enum):
    """How much is checked: with DETAIL the ranks compare each call, as in debug mode.

    >>> import minigrad.distributed as dist
    >>> dist.set_debug_level(dist.DebugLevel.DETAIL)
    >>> dist.get_debug_level().name
    'DETAIL'
    >>> dist.set_debug_level(dist.DebugLevel.OFF)
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """Return how much is checked: what was set, or at the beginning what the environment says (TORCH_DISTRIBUTED_DEBUG).

    >>> import minigrad
    >>> minigrad.distributed.get_debug_level()
    <DebugLevel.OFF: 0>
    """
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Say how much is checked; all ranks say the same.  Raises TypeError for what is no DebugLevel.

    >>> import minigrad.distributed as dist
    >>> dist.set_debug_level(dist.DebugLevel.INFO)
    >>> dist.get_debug_level().name
    'INFO'
    >>> dist.set_debug_level(dist.DebugLevel.OFF)
    """
    global _level
    if not isinstance(level, DebugLevel):
        what = f"expected a DebugLevel, got {level!r}"
        raise error(TypeError, "set_debug_level", what, "write set_debug_level(torch.distributed.DebugLevel.DETAIL)")
    _level = level


def set_debug_level_from_env() -> None:
    """Check as much as TORCH_DISTRIBUTED_DEBUG says: OFF, INFO or DETAIL.  Raises RuntimeError for anything else.

    >>> import minigrad.distributed as dist
    >>> dist.set_debug_level_from_env()
    >>> dist.get_debug_level().name
    'OFF'
    """
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        what = f"TORCH_DISTRIBUTED_DEBUG={name} is none of OFF, INFO and DETAIL"
        raise error(RuntimeError, "set_debug_level_from_env", what, "write TORCH_DISTRIBUTED_DEBUG=DETAIL")
    set_debug_level(DebugLevel[name])


set_debug_level_from_env()


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
        if call.group.size() > 1 and (call.number % EVERY == 0 or call.number in FIRST or detailed()):
            found = np.empty(call.group.size(), np.int64)
            wait_for(call, [call.group.aside.Iallgather(np.array([self.digest]), found)])
            call.waited = None
            if (found != found[0]).any():
                raise self.difference(call.group)

    def difference(self, group: ProcessGroup) -> Exception:
        """Return the error for calls that differ; all ranks come here, and begin anew, should they catch it."""
        calls = group.aside.allgather([(c.number, c.words, str(c)) for c in self.calls])
        what, lines = first_difference(calls, group)
        last = self.calls[-1] if self.calls else None
        self.digest = 0
        self.calls.clear()
        name, place = (last.name, last.place) if last is not None else ("torch.distributed", None)
        return error(RuntimeError, name, what, SAME_ORDER, place, lines)


def first_difference(calls: list[list[tuple[int, str, str]]], group: ProcessGroup) -> tuple[str, list[str]]:
    """Return what differs in the calls of the ranks, and a line for each of two ranks, from each rank's last calls."""
    for together in zip(*calls):
        words = [w for _, w, _ in together]
        if len(set(words)) > 1:
            other = next(i for i, w in enumerate(words) if w != words[0])
            lines = [f"rank {group.ranks[i]} calls {together[i][2]}" for i in (0, other)]
            return f"call {together[0][0]} of the group is not the same on all ranks", lines
    if len({len(made) for made in calls}) > 1:
        last = [made[-1][2] if made else "none" for made in calls]
        lines = [
            f"rank {r} has made {len(made)} calls, the last {what}" for r, made, what in zip(group.ranks, calls, last)
        ]
        return "not all ranks have made the same number of calls", lines
    return f"the ranks have made different calls, before the last {EVERY}", []


def detailed() -> bool:
    """Return whether every call is compared: in debug mode, and on the debug level DETAIL."""
    return debugging.on or _level is DebugLevel.DETAIL


def described(*given: Any) -> str:
    """Return tensors and settings as words: "float32 (2, 3), SUM"."""
    return ", ".join([f"{name(a.dtype)} {a.shape}" if type(a) in KINDS else str(a) for a in given])


name = cache(str)  # of a dtype; NumPy puts it together each time
