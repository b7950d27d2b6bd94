"""`minigrad explain`: derive the derivative of a program's tensor, step by step."""

from __future__ import annotations

import json as js
from typing import Annotated, Any

from cyclopts import Parameter

import viz

from ..errors import Failure, Usage
from ..formats.files import rendered
from ..programs.function_arguments import inputs
from ..programs.run_program import Program
from .common import (
    STDOUT,
    Args,
    AsTorch,
    Json,
    Output,
    Target,
    Words,
    computing,
    place_of,
    print_notes,
    program_of,
    stdout_to_stderr,
    working,
)
from .render_command import deliver, format_by_suffix
from .render_options import Which

WHICH = Which()

EXAMPLES = """Examples:

  minigrad explain net.py:loss                      the first parameter
  minigrad explain net.py:loss --of w --index 0,2   one element of w
  minigrad explain net.py:loss --of w -o w.svg      draw the paths
  minigrad explain net.py:f --args "tensor(2.)"     a function"""


def explain(
    target: Target,
    /,
    *words: Words,
    of: Annotated[str | None, Parameter(name=["--of"])] = None,
    index: Annotated[str | None, Parameter(name=["--index"], allow_leading_hyphen=True)] = None,
    output: Output = None,
    which: Which = WHICH,
    args: Args = None,
    as_torch: AsTorch = False,
    json: Json = False,
) -> None:
    """Explain a derivative step by step: the paths behind it, the local derivatives, and their numbers.

    Parameters
    ----------
    target
        PROG.py:NAME of the tensor or function to differentiate; several elements are summed.
        If the program itself runs backward from this tensor, that backward is explained.
    of
        Name of the variable to differentiate with respect to: a tensor of the program, or a parameter of the function.
        Default: the first tensor that requires grad.
    index
        The element to explain, such as 0,2. Default: all elements if there are at most 4, else the largest.
    output
        File to write: .txt, .json (the explanation as data), or a picture in any of render's formats.
        Default: text on the standard output.
    json
        Write the explanation as JSON on the standard output.
    """
    place = None if output in (None, *STDOUT) else place_of(output)
    kind = "" if place is None else format_by_suffix(place)
    place = place and place.absolute()  # the program may change the working directory
    at = element(index)
    program, name = program_of(target, words)
    which.set(program)
    with stdout_to_stderr(), computing(as_torch, program):
        with working(f"running {program.file}"):
            found = explanation(program, name, of, at, args)
        made = None if place is None else written(found, kind)
    print_notes(found.notes)
    if json or place is None:
        print(js.dumps(found.to_dict()) if json else found)
    if made is not None:
        deliver(made, place)
        if not json:
            print(f"wrote {output}")


def element(index: str | None) -> tuple[int, ...] | None:
    """Parse --index."""
    try:
        return None if index is None else tuple([int(i) for i in index.split(",") if i.strip()])
    except ValueError as wrong:
        raise Usage(f"--index {index!r} is not a list of integers. Write it as in --index 0,2.") from wrong


def explanation(program: Program, name: str, of: str | None, index: Any, args: str | None) -> Any:
    """Explain the derivative of a tensor or of a function."""
    import minigrad

    passes = ("forward", "backward")
    rec = program.recording(name, passes, args)
    what: Any = rec
    given = inputs(program, name, args) if rec is None else ()
    try:
        if rec is None and program.libraries.of(program.names[name], given) is minigrad:
            what = program.names[name]
        elif rec is None:
            what, given = program.libraries.record_function(program.names[name], given, passes, name), ()
        if hasattr(what, "as_minigrad"):
            what = what.as_minigrad()
        if rec is not None:
            what.file = program.file
        found = minigrad.explain(what, *given, of=of, index=index)
        found.notes[:0] = program.notes
        return found
    except (ValueError, IndexError) as wrong:
        if not str(wrong).startswith("explain: "):
            raise Failure.of(wrong) from wrong
        raise Usage(str(Usage.of(wrong)).replace("as of=", "with --of")) from wrong
    except Exception as error:
        raise Failure.of(error) from error


def written(found: Any, kind: str) -> bytes:
    """Return the explanation as text, data or a picture."""
    if kind == "txt":
        return f"{found}\n".encode()
    if kind == "json":
        return (js.dumps(found.to_dict(), indent=1) + "\n").encode()
    return rendered(viz.draw(found), kind)
