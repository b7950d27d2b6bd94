"""The picture of a function that several processes call: `viz.draw_ranks(f, 2)`."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import minigrad
from minigrad.distributed import Ranks, run

from ..drawing import Drawing
from ..view import PASSES, requested_passes
from .collect import Report, merged_record, record_of_step, timed


def draw_ranks(
    function: Callable[..., Any], n: int = 2, *args: Any, passes: str | tuple[str, ...] = "all", timeout: Any = None
) -> Ranks:
    """Call a function in n processes as `minigrad.distributed.run` does, and draw what the ranks compute and send each other.

    `drawing` of the result is the picture, a Drawing; a notebook shows it below the output of the ranks.  `passes` are some of
    "forward", "backward" and "jvp", or "all"; passes that the function does not run are run from its result, seeded with ones.
    Raises the same errors as `run`.

    >>> import minigrad.distributed as dist
    >>> from minigrad.distributed.nn import functional
    >>> def total(x):
    ...     return functional.all_reduce(x * (dist.get_rank() + 1))
    >>> viz.draw_ranks(total, 2, minigrad.tensor(3.0, requires_grad=True)).drawing  # doctest: +SKIP
    """
    ranks = run(recorded, n, function, args, passes, timeout=timeout)
    results, records = zip(*ranks)
    return Ranks(list(results), ranks.outputs, drawn(records, passes))


def recorded(function: Callable[..., Any], args: tuple, passes: str | tuple[str, ...]) -> tuple[Any, Report]:
    """Call a function on this rank, run the passes from its result, and return the result and the report."""
    results: list[Any] = []

    @functools.wraps(function)
    def called(*given: Any) -> Any:
        results.append(function(*given))
        return results[0]

    with timed() as times:
        rec = minigrad.record(called, *args, passes=requested_passes(passes), inside=True)
    times["backward"] = rec.backward_times
    code = getattr(inspect.unwrap(function), "__code__", None)
    record = record_of_step(rec, vars(sys.modules["__main__"]), "" if code is None else code.co_filename)
    return results[0], Report(record, rec.notes, "", times)


def drawn(reports: Sequence[Report], passes: str | tuple[str, ...]) -> Drawing:
    """Draw all ranks in one picture; "all" means all passes in the record."""
    record = merged_record(reports)
    there = tuple(one for one in PASSES if one in record["program"]["passes"])
    return Drawing(record, there if passes == "all" else requested_passes(passes), reports[0].notes)
