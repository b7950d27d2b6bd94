"""The picture of a function that several processes call: `minigrad.distributed.run(f, 2, passes="all")`."""

from __future__ import annotations

import functools
import inspect
import socket
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import minigrad
from minigrad.distributed import calls
from minigrad.record.transfers import said

from ..drawing import Drawing
from ..drawn_graph import PASSES
from .collect import Told, record_of_step
from .merge import merged


def recorded(function: Callable[..., Any], args: tuple, passes: str | tuple[str, ...]) -> tuple[Any, Told]:
    """Call a function on this rank, and run the passes from its result; return that, and what there is to say of them."""
    results: list[Any] = []

    @functools.wraps(function)
    def called(*given: Any) -> Any:
        results.append(function(*given))
        return results[0]

    heard: list[dict] = []
    began = perf_counter()
    with calls.listening(lambda call: heard.append(vars(said(call)))):
        rec = minigrad.record(called, *args, passes=wanted(passes), inside=True)
    times = {"host": socket.gethostname(), "began": began, "ended": perf_counter(), "transfers": heard}
    code = getattr(inspect.unwrap(function), "__code__", None)
    record = record_of_step(rec, vars(sys.modules["__main__"]), "" if code is None else code.co_filename)
    return results[0], Told(record, rec.notes, "", {**times, "backward": rec.backward_times})


def drawn(everyone: Sequence[Told], passes: str | tuple[str, ...]) -> Drawing:
    """Draw what all ranks have told, in one picture; of all passes those that there are."""
    record = merged([one.record for one in everyone if one.record is not None])
    record["timeline"] = [one.times for one in everyone]
    there = tuple(one for one in PASSES if one in record["program"]["passes"])
    return Drawing(record, there if passes == "all" else wanted(passes), everyone[0].notes)


def wanted(passes: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the passes that are asked for."""
    return PASSES if passes == "all" else (passes,) if isinstance(passes, str) else tuple(passes)
