"""The checks behind `minigrad.testing.check`: PyTorch's rules for custom Functions, row by row.

case.py is a Function with its arguments; table.py lists the rows and runs them.  The rows are functions whose docstrings
state the rule, in form.py, derivatives.py, side_effects.py (memory), variants.py (kinds of inputs), running.py, batches.py
(vmap) and composition.py (transforms).  They raise Fault or Absent (outcome.py).  shrink.py makes failing inputs small,
source_lines.py finds the user's line, guess.py finds arguments.
"""

from typing import Any

from ...errors import error
from .case import Case, parts_of_modules
from .guess import guessed
from .library import Library, library_of
from .outcome import Outcome, Result
from .source_lines import with_kind
from .table import TABLE, outcomes

__all__ = ["TABLE", "Case", "Library", "Outcome", "Result", "library_of", "parts_of_modules", "run"]


def refusal(library: Library, function: Any, applied: tuple) -> str:
    """Return why forward does not run again on the arguments that the program passed, if it passed some."""
    try:
        if applied:
            Case.of(library, function, applied).outputs()
    except Exception as e:
        return f"; on those of the program it raises {with_kind(e)}"
    return ""


def run(
    function: Any, args: tuple, skip: tuple[str, ...], surrogate: bool = False, applied: tuple = ()
) -> tuple[Result, tuple]:
    """Run the table on a Function; see `minigrad.testing.check`.  Return the result, and the arguments if they were given.

    `applied` are arguments to which the program has applied it, the first guess if there are no others.
    """
    library = library_of(function)
    if library is not None and issubclass(function, library.module.autograd.function.NestedIOFunction):
        what = f"{function.__name__} is a NestedIOFunction, whose nested arguments check cannot vary"
        raise error(TypeError, "check", what, "make it a Function, and nest its arguments outside")
    if library is None:
        what = f"expected a subclass of autograd.Function, got {function!r}"
        raise error(TypeError, "check", what, "pass the class itself: check(MyFunction, x)")
    unknown = [name for name in skip if name not in [row.name for row in TABLE]]
    if unknown:
        what = f"there is no row {unknown[0]!r}"
        raise error(ValueError, "check", what, f"skip some of: {', '.join(row.name for row in TABLE)}")
    meant = "surrogate is set" if surrogate else ""
    case, made_up = (
        (Case.of(library, function, args, meant), False) if args else guessed(library, function, applied, meant)
    )
    if case is None:
        what = f"found no arguments for which {function.__name__}.forward runs{refusal(library, function, applied)}"
        raise error(ValueError, "check", what, f"pass them: check({function.__name__}, x, ...)")
    case = case.cast("float64")
    result = Result(case.name, library.name, case.code(), made_up)
    with library.own_random_numbers():
        result.outcomes = list(outcomes(case, skip))
    return result, tuple(case.inputs())
