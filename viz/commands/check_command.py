"""`minigrad check`: test custom Functions against all rules of PyTorch's documentation."""

from __future__ import annotations

import inspect
import json as js
import linecache
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import viz

from ..errors import Usage
from ..formats.files import nearest, rendered
from ..programs.function_arguments import arguments
from ..programs.run_program import Program
from ..view import passes_of
from .common import AsTorch, Json, Output, Target, Words, computing, print_notes, program_of, stdout_to_stderr, working
from .render_command import deliver, destination

if TYPE_CHECKING:
    from minigrad.testing.function_checks import Library, Outcome, Result

EXAMPLES = """Examples:

  minigrad check functions.py                                    every Function
  minigrad check functions.py:MyCube --args "tensor([1., 2.])"   with arguments
  minigrad check functions.py:MyCube -o wrong.svg                draw the wrong derivative
  minigrad check functions.py --json                             for scripts"""

INPUT = "smallest input"  # the file name that the drawing shows for its call
COLOURS = {"holds": "green", "fails": "bold red", "not defined": "dim", "left out": "yellow"}


def check(
    target: Target,
    /,
    *words: Words,
    args: Annotated[str | None, Parameter(name=["--args"], allow_leading_hyphen=True)] = None,
    skip: Annotated[str, Parameter(name=["--skip"], show_default=False)] = "",
    surrogate: Annotated[bool, Parameter(name=["--surrogate"], negative="", show_default=False)] = False,
    output: Output = None,
    as_torch: AsTorch = False,
    json: Json = False,
) -> None:
    """Test custom Functions against all rules of PyTorch's documentation. Exit with 1 if a rule fails.

    Parameters
    ----------
    target
        PROG.py:NAME for one subclass of autograd.Function (minigrad's or PyTorch's), PROG.py for all in the file.
        The program runs as a script.
    args
        Arguments for the Function's apply, in Python: --args "tensor([1., 2.]), 3". They may use the program's names.
        Default: the program's example_inputs (a tuple, or a dictionary of tuples by Function name), else the arguments that
        the program itself passes to the Function, cut to a smaller size, else trial shapes.
    skip
        Rows to skip, separated by commas: --skip "gradients,func.grad".
    surrogate
        backward is deliberately not the derivative (a surrogate slope, straight-through, gradient reversal): check the other
        rows. The same holds if one of these words is in the name, a docstring or a comment of the Function.
    output
        File for a picture of a wrong derivative; the suffix selects the format, as for render. Default: text.
    json
        Write the results as a JSON list, one entry per Function.
    """
    program, name = program_of(target, words, nameless=True)
    place, kind = destination(output, None, name or "check") if output else (None, "txt")
    place = place and place.absolute()  # the program may change the working directory
    with stdout_to_stderr(), computing(as_torch, program):
        with working(f"running {program.file}"):
            applied = run_noting_arguments(program)
        functions = functions_of(program, name, applied)
        with working(f"checking {', '.join(functions)}"):
            given = {key: arguments_of(program, key, f, args) for key, f in functions.items()}
            found = {
                key: result_of(program, f, given[key], applied.get(f, ()), skip, surrogate)
                for key, f in functions.items()
            }
        results = [result for result, _ in found.values()]
        wrong = [(functions[key], used, one) for key, (result, used) in found.items()
                 for one in result.failures if one.disagreement]  # fmt: skip
        drawing = drawn(program, *wrong[0]) if wrong else None
        made = rendered(drawing, kind) if drawing else b""
    if json:
        print(js.dumps([result.to_dict() for result in results], indent=1))
    else:
        for result in results:
            show(result)
    if output and drawing:
        deliver(made, place)
        print_notes([f"wrote {output}"] if place else [])
    elif drawing and not json:
        print(made.decode())
    elif output:
        print_notes(["forward and backward agree: nothing to draw"])
    if not all(result.ok for result in results):
        sys.exit(1)


def functions_of(program: Program, name: str, applied: Iterable[type]) -> dict[str, type]:
    """Return the Functions to check by name: the requested one, or all that the program defines, also inside functions."""
    import minigrad  # noqa: F401  one of the two libraries that may define them
    from minigrad.testing.function_checks import library_of

    found = {cls.__name__: cls for cls in applied} | {k: v for k, v in program.names.items() if library_of(v)}
    own = [key for key in found if found[key].__module__ == "__main__"]
    if name and name not in found:
        have = nearest(name, own) or f"It defines: {', '.join(own) or 'none'}."
        raise Usage(f"{program.file} has no autograd.Function named {name}. {have}")
    if not own and not name:
        raise Usage(f"{program.file} defines no subclass of autograd.Function. Name a file that defines one.")
    return {key: found[key] for key in ([name] if name else own)}


def library(function: Any) -> Library:
    """Return the library whose tensors a Function takes."""
    from minigrad.testing.function_checks import library_of

    found = library_of(function)
    assert found is not None
    return found


def run_noting_arguments(program: Program) -> dict[type, tuple]:
    """Run a program, and return the arguments to which it first applies each of its Functions."""
    found: dict[type, tuple] = {}
    with program.libraries.uncompiled(), ExitStack() as noted:
        for name in ("minigrad", "torch")[: 1 + program.libraries.torch]:
            noted.enter_context(noting(import_module(name), found))
        program.run()
    return found


@contextmanager
def noting(module: Any, found: dict[type, tuple]) -> Iterator[None]:
    """Note the arguments of each Function's first call that succeeds, as they are before it, in any thread or transform."""
    from minigrad.testing.function_checks import Library, parts_of_modules

    library, base = Library(module), module.autograd.Function
    apply = vars(base)["apply"]

    def noting(cls: type, *args: Any, **options: Any) -> Any:
        if cls in found or cls.__module__.startswith(f"{module.__name__}."):
            return apply.__get__(None, cls)(*args, **options)
        given = given_to(cls, library, args, options)
        parts = parts_of_modules(given)
        needs = [getattr(a, "requires_grad", False) and id(a) not in parts for a in given]
        copies = [library.noted(a, n) if isinstance(a, library.Tensor) else a for a, n in zip(given, needs)]
        result = apply.__get__(None, cls)(*args, **options)
        found.setdefault(cls, tuple(copies))
        return result

    base.apply = classmethod(noting)
    try:
        yield
    finally:
        base.apply = apply


def given_to(function: Any, library: Library, args: tuple, options: dict) -> tuple:
    """Return all arguments of a call of apply by position."""
    if not options:
        return args
    ctx = () if library.owns(function, "setup_context") else (None,)
    bound = inspect.signature(function.forward).bind(*ctx, *args, **options)
    bound.apply_defaults()
    return bound.args[len(ctx) :]


def arguments_of(program: Program, name: str, function: Any, args: str | None) -> tuple:
    """Return the arguments to check a Function with; none if they are to be found by trial."""
    examples = program.names.get("example_inputs")
    missing = examples is None or isinstance(examples, dict) and name not in examples
    return () if args is None and missing else arguments(program, name, args, library(function).module)


def result_of(
    program: Program, function: Any, given: tuple, applied: tuple, skip: str, surrogate: bool
) -> tuple[Result, tuple]:
    """Check one Function: with the given arguments, or those that the program applied it to, or shapes found by trial.

    Return the result, and the arguments that were used.
    """
    from minigrad import MinigradError
    from minigrad.testing.function_checks import run

    rows = [word.strip() for word in skip.split(",") if word.strip()]
    try:
        return run(function, given, tuple(rows), surrogate, applied)
    except MinigradError as wrong:  # an unknown row, or no arguments fit
        if wrong.operation != "check":
            raise
        fix = wrong.remedy
        if "found no arguments" in wrong.problem:
            fix = f'Pass them with --args "x, ...", or define example_inputs in {program.file}.'
        raise Usage(f"check: {wrong.problem}. {fix}") from wrong


# ---------------------------------------------------------------------- the drawing
def drawn(program: Program, function: Any, given: tuple, one: Outcome) -> viz.Drawing:
    """Draw forward and backward for the smallest input with a wrong derivative, with both numbers at the input."""
    import minigrad
    from minigrad.testing.function_checks import Case

    assert one.disagreement is not None
    wrong, own = one.disagreement, library(function)
    module = own.module
    names = {own.written: module, function.__name__: function}
    *made, call = one.input.splitlines()
    exec("\n".join(made), names)
    named = zip(Case.of(own, function, given).names, given)  # an object stands by the name of its parameter
    names |= {name: a for name, a in named if not isinstance(a, module.Tensor)}
    tensors = {key: value for key, value in names.items() if isinstance(value, module.Tensor)}
    which = f"[{wrong['output']}]" if isinstance(eval(call, names), (tuple, list)) else ""
    text = f"def run({', '.join(tensors)}):\n    return {call}{which}\n"
    linecache.cache[INPUT] = (len(text), None, text.splitlines(True), INPUT)  # the recording looks up code lines here
    exec(compile(text, INPUT, "exec"), names)
    record = minigrad.record if module is minigrad else viz.from_torch
    how: Any = {"passes": ("forward", "backward"), "name": f"{function.__name__}, {one.name}"}
    how |= {"inside": True} if module is minigrad else {}  # of PyTorch's, the methods are always recorded
    rec = record(names["run"], *tensors.values(), **how)
    document = annotated(rec.to_dict(), list(tensors).index(wrong["argument"]), wrong)
    document["program"]["file"] = program.file
    return viz.Drawing(document, passes_of(document)[0], rec.notes, open=function.__name__)


def annotated(record: dict, place: int, wrong: dict) -> dict:
    """Add the numerical derivative as a note to the gradient of input number `place`, and return the record."""
    leaf = [value for value in record["values"] if value["kind"] in ("input", "parameter")][place]
    leaf["name"] = leaf["name"] or wrong["argument"]
    if str(leaf["id"]) not in record["gradients"]:  # it gets no gradient
        record["gradients"][str(leaf["id"])] = len(record["values"])
        nothing = {**leaf, "id": len(record["values"]), "name": "", "kind": "gradient", "summary": {}}
        record["values"].append(nothing)
    gradient = next(value for value in record["values"] if value["id"] == record["gradients"][str(leaf["id"])])
    where = f" at [{', '.join(map(str, wrong['index']))}]" if wrong["index"] else ""
    gradient["note"] = f"✗ {wrong['analytical']:.6g}{where}, but finite differences give {wrong['numerical']:.6g}"
    if wrong["cause"]:
        gradient["note"] += f": {wrong['cause']}"
    return record


# ---------------------------------------------------------------------- the table
def show(result: Result) -> None:
    """Print a result: the table, each failure with its fix, and optional additions."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from minigrad.testing.function_checks.outcome import SIGNS, described

    table, group = Table(box=None, show_header=False, pad_edge=False), ""
    for one in result.outcomes:
        if one.group != group:
            table.add_row("", Text(("\n" if group else "") + one.group, style="bold"), "")
            group = one.group
        style = COLOURS[one.status]
        message = one.message or ("" if one.status == "holds" else one.status)
        text = Text(message, overflow="fold", style=style if one.status == "fails" else "")
        table.add_row(Text(SIGNS[one.status], style=style), Text(f"  {one.name}"), text)
    console = Console()
    found = "with arguments found by trial" if result.guessed else "called with"
    console.print(Text(f"{result.function} ({result.library}), {found}:"))
    console.print(Text("    " + result.input.replace("\n", "\n    ")), soft_wrap=True)
    console.print()
    console.print(table)
    for one in result.failures:
        console.print()
        console.print(Text(described(one)), soft_wrap=True)
    for names, message, remedy in result.to_add:
        console.print()
        console.print(
            Text(f"· {names}: {message}. To support them, add:\n    " + remedy.replace("\n", "\n    ")), soft_wrap=True
        )
    console.print()
    console.print(Text(result.heading, style="bold"))
