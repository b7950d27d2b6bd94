"""The arguments on which a function of the user's program is drawn."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import Usage
from .libraries import is_module

if TYPE_CHECKING:
    from .run_program import Program


def inputs(program: Program, name: str, text: str | None) -> tuple:
    """Return the arguments of a function or module: none if it needs none and the program defines none for it.

    A module that needs one gets a generated example, noted in `notes`.
    """
    what = program.names[name]
    examples = program.names.get("example_inputs") if text is None else ()
    missing = examples is None or isinstance(examples, dict) and name not in examples
    if "by keyword only" in (why := misfit(what, ())):
        raise Usage(f"{name} in {program.file} {why}.")
    takes_none = misfit(what, (None,))
    if text is None and not misfit(what, ()) and (missing or takes_none):
        return ()
    library = program.libraries.of(what, examples)
    if missing and is_module(what):
        from .examples import example

        if (made := example(what, library)) is not None:
            value, words = made
            program.notes.append(f"{name} is called with the example {words}. Choose your own with --args.")
            return (value,)
    given = arguments(program, name, text, library)
    if why := misfit(what, given):
        raise Usage(f"{name} in {program.file} {why}." + " Pass others with --args." * ("--args" not in why))
    return given


def arguments(program: Program, name: str, text: str | None, library: ModuleType | None = None) -> tuple:
    """Return a function's arguments: from the command line, else from the program's `example_inputs`.

    `example_inputs` is a tuple, or a dictionary of tuples by function name.  The text may use all names of the program
    and of the library (default minigrad).
    """
    if text is None:
        if "example_inputs" not in program.names:
            what = "module" if is_module(program.names[name]) else "function"
            raise Usage(
                f"{name} is a {what} and needs arguments. Pass --args, or define example_inputs in {program.file}."
            )
        example = program.names["example_inputs"]
        example = example.get(name, ()) if isinstance(example, dict) else example
        return tuple(example) if isinstance(example, (tuple, list)) else (example,)
    import minigrad
    from minigrad import config

    library = library or minigrad
    written = config.library_name if library is minigrad else library.__name__
    try:
        return eval(f"{text},", {**vars(library), written: library, **program.names}) if text.strip() else ()
    except Exception as error:
        raise Usage(f"--args {text!r} cannot be evaluated: {type(error).__name__}: {error}.") from error


def misfit(function: Any, given: tuple) -> str:
    """Return the reason why a function or module cannot be called with these arguments, or "".

    >>> misfit(lambda a, b: a, (1,))
    "takes (a, b), not the given arguments: missing a required argument: 'b'"
    """
    from minigrad.record.passes import applied

    try:
        expected = inspect.signature(function.forward if is_module(function) else function)
        if (own := applied(function)) is not None:  # of a Function: the arguments of its forward
            expected = inspect.signature(own.forward)
            expected = expected.replace(parameters=[*expected.parameters.values()][own.combined :])
    except (TypeError, ValueError):  # it has no signature
        return ""
    if named := keywords_needed(expected):
        return f"takes {', '.join(named)} by keyword only. --args passes arguments by position: name a function that calls it"
    try:
        expected.bind(*given)
    except TypeError as wrong:
        return f"takes ({', '.join(expected.parameters)}), not the given arguments: {wrong}"
    return ""


def keywords_needed(signature: inspect.Signature) -> list[str]:
    """Return the parameters without a default that a function takes by keyword only, which no command line can give."""
    return [p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
