"""`minigrad diff`: list the changes between two records, or between two programs."""

from __future__ import annotations

import json as js
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..errors import Usage
from ..graph.record_diff import compare
from ..text import clean
from .common import Args, AsTorch, Json, Target, computing, print_notes, program_of, recorded, stdout_to_stderr

EXAMPLES = """Examples:

  minigrad render net.py:loss -o before.json    save a record
  minigrad diff before.json net.py:loss         list the effects of an edit
  minigrad diff net.py:a net.py:b               compare two results"""

SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def diff(
    before: Target,
    after: Target,
    /,
    *,
    args: Args = None,
    tolerance: Annotated[float, Parameter(name=["--tolerance"])] = 1e-6,
    as_torch: AsTorch = False,
    json: Json = False,
) -> None:
    """List the changes from one record to another: operations, values, gradients, saved tensors.

    Parameters
    ----------
    before
        A record written by render -o before.json, or PROG.py:NAME.
    after
        The record to compare it with, or PROG.py:NAME.
    tolerance
        Relative difference up to which numbers count as equal.
    json
        Write the changes as a JSON list of {kind, before, after, title, lines}.
    """
    if not 0 <= tolerance < math.inf:
        raise Usage(f"--tolerance {tolerance} is not a number from 0 on. Pass one, such as 1e-6.")
    with stdout_to_stderr():
        changes = compare(record_of(before, args, as_torch), record_of(after, args, as_torch), tolerance)
    if json:
        print(js.dumps([asdict(change) for change in changes], indent=1))
        return
    for change in changes:
        ids = change.after if change.after is not None else change.before
        print(clean(f"{SIGNS[change.kind]} op {ids}  {change.title}"))
        for line in change.lines:
            print(f"      {clean(line)}")
    counts = {kind: sum(change.kind == kind for change in changes) for kind in SIGNS}
    print(", ".join(f"{many} {kind}" for kind, many in counts.items() if many) or "no difference")


def record_of(what: str, args: str | None, as_torch: bool) -> dict:
    """Return the record in a file, or record a program."""
    if not what.lower().endswith(".json"):
        program, name = program_of(what)
        with computing(as_torch, program):
            record, notes, _ = recorded(program, name, "all", args)
        print_notes(notes)
        return record
    anew = f"Write a record with: minigrad render PROG.py:NAME -o {what}"
    try:
        record = js.loads(Path(what).read_text(encoding="utf-8"))
    except OSError as refused:
        raise Usage(f"cannot read {what}: {refused.strerror}.") from refused
    except RecursionError as deep:
        raise Usage(f"{what} is not a record: its lists are nested too deeply. {anew}") from deep
    except ValueError as broken:
        raise Usage(f"{what} is not JSON: {broken}.") from broken
    if not isinstance(record, dict) or "schema" not in record:
        raise Usage(f"{what} is not a record. {anew}")
    from minigrad.record.validate import NotARecord, validate

    try:
        validate(record)
    except NotARecord as wrong:
        raise Usage(f"{what} is not a record: {wrong}. {anew}") from wrong
    return record
