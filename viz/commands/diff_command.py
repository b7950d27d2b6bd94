"""`minigrad diff`: what changed between two records, or between two programs."""

from __future__ import annotations

import json as js
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..record_diff import compare
from ..run_program import Usage
from .common import Args, Json, Target, apart, recorded, say

EXAMPLES = """Examples:

  minigrad render net.py:loss -o before.json    keep a record
  minigrad diff before.json net.py:loss         what a change of the program did to it
  minigrad diff net.py:a net.py:b               two results of one program"""

SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def diff(
    before: Target,
    after: Target,
    /,
    *,
    args: Args = None,
    tolerance: Annotated[float, Parameter(name=["--tolerance"])] = 1e-6,
    json: Json = False,
) -> None:
    """Say what changed from one record to another: operations, values, gradients, what is saved.

    Parameters
    ----------
    before
        A record, as render writes it with -o before.json, or PROG.py:NAME.
    after
        The other one.
    args
        The arguments of functions, in Python.
    tolerance
        The relative difference up to which numbers count as the same.
    json
        Write the changes as JSON: a list of {kind, before, after, title, lines}.
    """
    with apart():
        changes = compare(record_of(before, args), record_of(after, args), tolerance)
    if json:
        print(js.dumps([change.to_dict() for change in changes], indent=1))
        return
    for change in changes:
        ids = change.after if change.after is not None else change.before
        print(f"{SIGNS[change.kind]} op {ids}  {change.title}")
        for line in change.lines:
            print(f"      {line}")
    counts = {kind: sum(change.kind == kind for change in changes) for kind in SIGNS}
    print(", ".join(f"{many} {kind}" for kind, many in counts.items() if many) or "no difference")


def record_of(what: str, args: str | None) -> dict:
    """The record in a file, or that of a program."""
    if not what.lower().endswith(".json"):
        record, notes, _ = recorded(what, "all", args)
        say(notes)
        return record
    anew = f"Write one with: minigrad render PROG.py:NAME -o {what}"
    try:
        record = js.loads(Path(what).read_text(encoding="utf-8"))
    except OSError as refused:
        raise Usage(f"{what} cannot be read: {refused.strerror}.") from refused
    except RecursionError as deep:
        raise Usage(f"{what} is no record: its lists lie too deep in one another. {anew}") from deep
    except ValueError as broken:
        raise Usage(f"{what} is no JSON: {broken}.") from broken
    if not isinstance(record, dict) or "schema" not in record:
        raise Usage(f"{what} is no record. {anew}")
    from minigrad.record.validate import NotARecord, validate

    try:
        validate(record)
    except NotARecord as wrong:
        raise Usage(f"{what} is no record: {wrong}. {anew}") from wrong
    return record
