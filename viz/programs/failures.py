"""Pictures of programs that raise: the record of what ran, with the exception."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..cards.error import headline
from ..graph.trimmed_record import leading_to_outputs
from .run_program import document_of


def noted(recordings: Sequence, error: BaseException) -> Any:
    """Note in the recordings of a program the exception that ended it, and return the one that knows most of it."""
    for rec in recordings:
        rec.note_failure(error)
    known = [rec for rec in recordings if rec.failure is not None]
    return max(known, default=None, key=lambda rec: (rec.failure.knows, rec.operations()))


def recording_in(error: BaseException) -> Any:
    """Return the recording of a function that raised, which is in the traceback; None if there is none."""
    part = error.__traceback__
    while part is not None:
        for one in part.tb_frame.f_locals.values():
            if hasattr(type(one), "note_failure") and one.failure is not None:
                return one
        part = part.tb_next
    return None


def record_of_failure(rec: Any, name: str, file: str) -> dict | None:
    """Return the record of a program that raised; None if it had computed nothing, and the error has no operand."""
    rec.outputs = rec.failure.roots
    made = leading_to_outputs(document_of(rec, leading_to_outputs))
    if not any(op["inputs"] or op["outputs"] for op in made["ops"]):
        return None
    error = made["error"]
    passes = [one for one in made["program"]["passes"] if one in ("forward", error["phase"])]
    about = {"passes": passes, "file": file, "name": name or Path(file).stem, "iteration": headline(error)}
    return {**made, "program": {**made["program"], **about}}
