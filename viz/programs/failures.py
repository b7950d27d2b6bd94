"""Pictures of programs that raise: the record of what ran, with the exception."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..cards.error import headline
from ..graph.trimmed_record import leading_to_outputs
from .libraries import document_of
from .tensor_names import names_of_tensors, notebook_names


def noted(recordings: Iterable, error: BaseException) -> Any:
    """Note in the recordings of a program the exception that ended it, and return the one that knows most of it, or None."""
    known = []
    for rec in recordings:
        rec.note_failure(error)
        known += [rec] if rec.failure is not None else []
    return max(known, default=None, key=lambda rec: (rec.failure.knows, rec.operations()))


def recording_in(error: BaseException) -> Any:
    """Return the recording of a function that raised, which is in the traceback; None if there is none."""
    found, part = [], error.__traceback__
    while part is not None:
        found += [one for one in part.tb_frame.f_locals.values() if getattr(one, "failure", None) is not None]
        part = part.tb_next
    return noted({id(rec): rec for rec in found if hasattr(type(rec), "note_failure")}.values(), error)


def record_of_failure(rec: Any, name: str, file: str) -> dict | None:
    """Return the record of a program that raised; None if it had computed nothing, and the error has no operand."""
    rec.outputs = rec.failure.roots
    made = leading_to_outputs(document_of(rec, leading_to_outputs))
    if not any(op["inputs"] or op["outputs"] for op in made["ops"]):
        return None
    error = made["error"]
    passes = [*dict.fromkeys(("forward", error["phase"]))]
    about = {"passes": passes, "file": file, "name": name or Path(file).stem, "iteration": headline(error)}
    return {**made, "program": {**made["program"], **about}}


def show_in_notebook(error: BaseException, name: str) -> None:
    """Show the picture of an error in the notebook, if one runs and a recording has seen it; the caller raises the error."""
    if not (names := notebook_names()):
        return
    with suppress(Exception):  # the user's error matters
        from IPython.display import display

        from ..drawing import Drawing

        if (rec := recording_in(error)) is not None:
            rec.name_values(names_of_tensors(names))
            if (made := record_of_failure(rec, name or rec.program_name, rec.file)) is not None:
                display(Drawing(made, tuple(made["program"]["passes"])))
