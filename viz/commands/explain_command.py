"""`minigrad explain`: how the derivative of a tensor that a program computes comes about, step by step."""

from __future__ import annotations

import json as js
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from ..files import SUFFIXES, nearest
from ..run_program import Failure, Program, Usage
from .common import STDOUT, Args, AsTorch, Json, Target, apart, computing, place_of, say, target_of, working
from .render_command import deliver

EXAMPLES = """Examples:

  minigrad explain net.py:loss                      by the first parameter
  minigrad explain net.py:loss --of w --index 0,2   by one element of w
  minigrad explain net.py:loss --of w -o w.svg      the paths as a picture
  minigrad explain net.py:f --args "tensor(2.)"     of a function"""


def explain(
    target: Target,
    /,
    *words: Annotated[str, Parameter(show=False)],
    of: Annotated[str | None, Parameter(name=["--of"])] = None,
    index: Annotated[str | None, Parameter(name=["--index"], allow_leading_hyphen=True)] = None,
    output: Annotated[str | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)] = None,
    args: Args = None,
    as_torch: AsTorch = False,
    json: Json = False,
) -> None:
    """Derive a derivative step by step: the paths that lead to it, the local partials, and their numbers.

    Parameters
    ----------
    target
        PROG.py:NAME of a tensor, or of a function, that is differentiated; of several elements their sum.
        A backward that the program runs itself from there is the one that is explained.
    of
        What it is differentiated by: a tensor that the program calls so, or the function's parameter. Without it: the
        first one that requires grad.
    index
        The element that is explained, such as 0,2. Without it: all of at most 4, else the largest.
    output
        File to write: .txt, .json (the explanation as data), or a picture as render makes it. Without it: text, on the
        standard output.
    args
        The function's arguments, in Python. Without it: the program's example_inputs.
    as_torch
        Give the program minigrad where it imports torch.
    json
        Write the explanation as JSON on the standard output.
    """
    file, name = target_of(target)
    place = None if output in (None, *STDOUT) else place_of(output).absolute()
    if place is not None and place.suffix.lower() not in SUFFIXES:
        known = " ".join(SUFFIXES)
        raise Usage(
            f"{output}: no format has this suffix. {nearest(place.suffix.lower(), SUFFIXES)} Use one of {known}."
        )
    at = element(index)
    program = Program.read(file, words)
    with apart(), computing(as_torch):
        with working(f"running {program.file}"):
            found = explanation(program, name, of, at, args)
        made = None if place is None else rendered(found, place)
    say(found.notes)
    if json or place is None:
        print(js.dumps(found.to_dict()) if json else found)
    if made is not None:
        deliver(made, place)
        if not json:
            print(f"wrote {output}")


def element(index: str | None) -> tuple[int, ...] | None:
    """The numbers of --index."""
    try:
        return None if index is None else tuple([int(i) for i in index.split(",") if i.strip()])
    except ValueError as wrong:
        raise Usage(f"--index {index!r} is no list of whole numbers. Write them as in --index 0,2.") from wrong


def explanation(program: Program, name: str, of: str | None, index: Any, args: str | None) -> Any:
    """The explanation of a tensor's derivative, or of a function's."""
    import minigrad

    passes = ("forward", "backward")
    rec = program.recording(name, passes, args)
    what: Any = rec
    given = program.inputs(name, args) if rec is None else ()
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
        found.notes[:0] = program.said
        return found
    except (ValueError, IndexError) as wrong:
        if not str(wrong).startswith("explain: "):
            raise Failure.of(wrong) from wrong
        raise Usage(str(wrong).splitlines()[0].removeprefix("explain: ") + ".") from wrong
    except Exception as error:
        raise Failure.of(error) from error


def rendered(found: Any, place: Path) -> bytes:
    """The bytes of a file: the text, the data, or the picture."""
    from ..drawing import draw

    if place.suffix.lower() == ".txt":
        return f"{found}\n".encode()
    if place.suffix.lower() == ".json":
        return (js.dumps(found.to_dict(), indent=1) + "\n").encode()
    return draw(found).rendered(place.suffix)
