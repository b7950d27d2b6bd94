"""`minigrad source`: show the program that minigrad.compile generates for a function or a tensor, beside the graph."""

from __future__ import annotations

import json as js
import shutil
from typing import Annotated

from cyclopts import Parameter

import viz

from .. import text
from ..errors import Failure
from .common import Args, AsTorch, Json, Target, computing, program_of, stdout_to_stderr, working

EXAMPLES = """Examples:

  minigrad source net.py:f --args "tensor([1., 2.])"   beside the graph
  minigrad source net.py:f --json                      as JSON"""

LEAST = 100  # columns that a terminal needs to show both side by side


def source(
    target: Target,
    /,
    *words: Annotated[str, Parameter(show=False)],
    args: Args = None,
    as_torch: AsTorch = False,
    json: Json = False,
) -> None:
    """Compile a function, or the lines behind a tensor, and print the generated program beside the graph.

    Parameters
    ----------
    target
        PROG.py:NAME of a tensor or a function, compiled or not.
    args
        Arguments for the function, in Python. Default: the program's example_inputs.
    as_torch
        Replace the program's torch with minigrad.
    json
        Write the generated programs and the record as JSON.
    """
    program, name = program_of(target, words)
    with stdout_to_stderr(), computing(as_torch, program):
        with working(f"running {program.file}"):
            graph, _ = program.record(name, ("forward",), args)
        with working(f"compiling {name}"):
            what = program.names[name]
            given = program.inputs(name, args) if callable(what) else ()
            forward, backward = compiled(what if callable(what) else program.making(name), given)
        drawn = viz.Drawing(graph).text()
    if json:
        print(js.dumps({"forward": forward, "backward": backward, "graph": graph}))
        return
    made = forward + (f"\n# backward\n{backward}" if backward else "")
    print(side_by_side(made.splitlines(), drawn.splitlines(), shutil.get_terminal_size((80, 24)).columns))


def compiled(function, given: tuple) -> tuple[str, str | None]:
    """Return the source of the forward program and, if there is one, of the backward program."""
    import minigrad

    made = function if hasattr(function, "source") else minigrad.compile(function)
    try:
        made(*given)
        forward = made.source()
    except Exception as error:
        raise Failure.of(error) from error
    try:
        return forward, made.source("backward")
    except RuntimeError:  # nothing requires grad
        return forward, None


def side_by_side(left: list[str], right: list[str], columns: int) -> str:
    """Lay out two texts side by side if they fit, else one below the other.

    >>> side_by_side(["a"], ["b"], 80)
    'a\\n\\nb'
    >>> side_by_side(["a"], ["b", "c"], 120).split()
    ['a', '│', 'b', '│', 'c']
    """
    wide = max(map(len, left), default=0)
    if columns < LEAST or wide > columns * 2 // 3:
        return "\n".join([*left, "", *right])
    room = columns - wide - 3
    rows = max(len(left), len(right))
    left, right = [[*side, *[""] * (rows - len(side))] for side in (left, right)]
    return "\n".join(
        f"{a:{wide}} │ {text.shorten(b, room) if len(b) > room else b}".rstrip() for a, b in zip(left, right)
    )
