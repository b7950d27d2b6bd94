"""Steps that the ranks take together while they save or load; an error on one rank is an error on all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import error
from ..groups import ProcessGroup, is_initialized, member
from ..objects import all_gather_object


def group_of(process_group: Any, no_dist: bool, who: str) -> ProcessGroup | None:
    """Return the group that saves or loads together; None for one process alone."""
    if no_dist or process_group is None and not is_initialized():
        return None
    return member(process_group, who)


def gathered(group: ProcessGroup | None, mine: Any) -> list:
    """Return the objects of all ranks."""
    if group is None:
        return [mine]
    found: list = [None] * group.size()
    all_gather_object(found, mine, group)
    return found


def run_on_all_ranks(group: ProcessGroup | None, who: str, action: Callable[[], Any]) -> Any:
    """Return the result of an action on this rank; if it fails on one rank, raise an error on all."""
    result, failed = None, None
    try:
        result = action()
    except Exception as e:
        failed = e
    found = gathered(group, None if failed is None else f"{type(failed).__name__}: {failed}")
    try:
        if failed is not None:
            raise failed
    finally:
        del failed  # as in raise_instead
    for rank, failure in zip([0] if group is None else group.ranks, found):
        if failure is not None:
            raise error(RuntimeError, who, f"rank {rank} fails: {failure}")
    return result
