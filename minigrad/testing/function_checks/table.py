"""All rows in order, and the loop that runs them and turns their findings into Outcomes."""

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import suppressed_warnings
from . import batches, composition, derivatives, form, running, side_effects, variants
from .case import Case
from .outcome import Absent, Fault, Internal, Outcome
from .shrink import smallest
from .source_lines import METHODS, first_line, is_own, method_of, place_of, place_of_error, with_kind


class Row(NamedTuple):
    """A row: its group and name, the check, the rows that must hold first, the method to blame by default."""

    group: str
    name: str
    check: Callable[[Case], str | None]
    after: tuple[str, ...] = ("forward",)
    method: str = "backward"

    @property
    def about(self) -> str:
        """The rule that the row checks, from the check's docstring."""
        return " ".join((self.check.__doc__ or "").split("\n\n")[0].split())

    def outcome(self, status: str, message: str, **more: Any) -> Outcome:
        """Return the row's outcome."""
        return Outcome(self.group, self.name, status, message, about=self.about, **more)


CALLED = ("in-place marks", "forward", "determinism", "writes in backward", "gradients returned")
RIGHT = (*CALLED, "backward twice", "unused outputs")

TABLE = (
    Row("Protocol", "methods", form.methods, (), "forward"),
    Row("Protocol", "in-place marks", side_effects.in_place_marks, (), "forward"),
    Row("Protocol", "forward", form.forward, ("in-place marks",), "forward"),
    Row("Protocol", "captured tensors", form.captured_tensors, ()),
    Row("Protocol", "writes in backward", side_effects.writes_in_backward),
    Row("Protocol", "gradients returned", form.gradients_returned, ("forward", "writes in backward")),
    Row("Protocol", "tangents returned", form.tangents_returned, method="jvp"),
    Row("Calls", "determinism", running.determinism, method="forward"),
    Row("Calls", "backward twice", side_effects.backward_twice, CALLED),
    Row("Calls", "unused outputs", derivatives.unused_outputs, (*CALLED, "backward twice")),
    Row("Calls", "needs_input_grad", derivatives.needs_input_grad, RIGHT),
    Row("Calls", "threads", running.threads, RIGHT),
    Row("Derivatives", "dtypes", variants.dtypes, RIGHT),
    Row("Derivatives", "gradients", derivatives.gradients, RIGHT),
    Row("Derivatives", "jvp", derivatives.jvp, ("forward", "determinism", "tangents returned"), "jvp"),
    Row(
        "Derivatives", "second derivatives", derivatives.second_derivatives, (*RIGHT, "threads", "dtypes", "gradients")
    ),
    Row("Memory", "tensors on ctx", side_effects.tensors_on_ctx),
    Row("Memory", "memory freed", side_effects.memory_freed, (*RIGHT, "tensors on ctx")),
    Row("Memory", "outputs' memory", side_effects.shared_outputs, method="forward"),
    Row("Memory", "gradients' memory", side_effects.gradients_memory, RIGHT),
    Row("Inputs", "layouts", variants.layouts, RIGHT),
    Row("Inputs", "no elements", variants.no_elements, RIGHT),
    Row("Inputs", "no dimensions", variants.no_dimensions, (*RIGHT, "gradients")),
    Row("Transforms", "vmap", batches.vmap, ("methods", "forward", "determinism", "in-place marks"), "vmap"),
    Row("Transforms", "randomness", batches.randomness, ("methods", "forward", "vmap"), "vmap"),
    *(Row("Transforms", f"func.{name}", composition.ROWS[name], ("methods", *RIGHT)) for name in composition.ORDER),
    Row("Compiled", "compiled", running.compiled, RIGHT),
)


def outcomes(case: Case, skip: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """Run the rows in order.  A row is left out if a row that it depends on fails, so one mistake is reported once."""
    case.traits |= {f"without {name}" for name in skip}
    first: dict[tuple[str, str], str] = {}  # (line, remedy) -> the transform that failed there first
    for row in TABLE:
        blame = next((case.broken[name] for name in row.after if name in case.broken), "")
        if row.name in skip or blame:
            why = "skipped" if row.name in skip else f"fix {blame} first"
            outcome = row.outcome("left out", why)
        else:
            outcome = outcome_of(row, case)
        if outcome.status == "fails" and row.group == "Transforms":
            blame = first.setdefault((outcome.line, outcome.remedy), row.name)
            if blame != row.name:
                outcome = row.outcome("left out", f"fix {blame} first")
        if outcome.status == "fails" or blame:
            case.broken[row.name] = blame or row.name
        yield outcome


def outcome_of(row: Row, case: Case) -> Outcome:
    """Run one row; if it fails, run it again on smaller and smaller inputs."""
    try:
        return row.outcome("holds", run(row, case) or "")
    except Absent as absent:
        return row.outcome("not defined", absent.message, remedy=absent.remedy)
    except Internal as own:
        return row.outcome("left out", str(own))
    except Fault as fault:
        found = fault
    small, last = smallest(case, found, lambda smaller: fault_of(row, smaller))
    place = last.place or place_of(case.function, last.method, last.pattern) or place_of(case.function, "forward")
    more = {"line": str(place or ""), "remedy": last.remedy, "disagreement": last.numbers}
    return row.outcome("fails", last.message, input=small.code(), **more)


def run(row: Row, case: Case) -> str | None:
    """Run one row.  An exception from the Function's methods counts as a fault, one of the check itself as Internal."""
    try:
        with suppressed_warnings(), np.errstate(all="ignore"):
            return row.check(case)
    except (Fault, Absent):
        raise
    except Exception as e:
        if is_own(e):
            where = traceback.extract_tb(e.__traceback__)[-1]
            what = f"{with_kind(e)}, at {Path(where.filename).name}:{where.lineno}"
            raise Internal(f"check failed internally, which is not your mistake; please report it ({what})") from e
        raise fault_from(e, case, row.method) from e


def fault_of(row: Row, case: Case) -> Fault | None:
    """Return the fault that a row finds in a case."""
    try:
        with suppress(Absent, Internal):
            run(row, case)
    except Fault as fault:
        return fault
    return None


def fault_from(error: Exception, case: Case, method: str) -> Fault:
    """Turn an exception into a fault: its first line, the fix that it names, and the user's line that raised it."""
    what, remedy = first_line(error), str(error).partition("\n  To fix: ")[2]
    named = re.search(rf"{re.escape(case.name)}\.(\w+)", what)
    method = method_of(error, named[1] if named and named[1] in METHODS else method)
    notes = [note for note in getattr(error, "__notes__", ()) if not what.startswith(f"{note}: ")]
    under = "".join(f"{note}: " for note in notes)  # the composition, if there is one
    what = what if getattr(error, "place", None) else with_kind(error)
    return Fault(f"{under}{what}", remedy or "# see the line above", method, place=place_of_error(error))
