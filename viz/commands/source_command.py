"""`minigrad source`: show the program that minigrad.compile generates for a function or a tensor, beside the graph."""

from __future__ import annotations

import ast
import json as js
import shutil
from pathlib import Path
from typing import Any

import viz

from .. import text
from ..errors import Failure, Usage
from ..programs.function_arguments import inputs
from ..programs.run_program import Program, show_lines
from .common import Args, AsTorch, Json, Target, Words, computing, program_of, stdout_to_stderr, working

EXAMPLES = """Examples:

  minigrad source net.py:f --args "tensor([1., 2.])"   beside the graph
  minigrad source net.py:f --json                      as JSON"""

LEAST = 100  # columns that a terminal needs to show both side by side


def source(
    target: Target,
    /,
    *words: Words,
    args: Args = None,
    as_torch: AsTorch = False,
    json: Json = False,
) -> None:
    """Compile a function, or the lines behind a tensor, and print the generated program beside the graph.

    Parameters
    ----------
    target
        PROG.py:NAME of a tensor or a function, compiled or not.
    json
        Write the generated programs and the record as JSON.
    """
    program, name = program_of(target, words)
    with stdout_to_stderr(), computing(as_torch, program):
        with working(f"running {program.file}"):
            graph, _ = program.record(name, ("forward",), args)
        with working(f"compiling {name}"):
            what = program.names[name]
            given = inputs(program, name, args) if callable(what) else ()
            forward, backward = compiled(what if callable(what) else making(program, name), given)
        drawn = viz.Drawing(graph).text()
    if json:
        print(js.dumps({"forward": forward, "backward": backward, "graph": graph}))
        return
    made = forward + (f"\n# backward\n{backward}" if backward else "")
    print(side_by_side(made.splitlines(), drawn.splitlines(), shutil.get_terminal_size((80, 24)).columns))


def making(program: Program, name: str) -> Any:
    """Compile the program's lines from the leaves to the tensor `name` into a function without arguments."""
    import minigrad

    lines, needed = [], {name}
    for line in reversed(ast.parse(program.text).body):
        used = [part for part in ast.walk(line) if isinstance(part, ast.Name)]
        stored = {part.id for part in used if isinstance(part.ctx, ast.Store)} & needed
        if any(getattr(program.names.get(one), "grad_fn", None) is not None for one in stored):
            lines.insert(0, line)
            needed |= {part.id for part in used}
    rows: list[str] = []
    for line in lines:  # at their own numbers, with the head of the function before the first
        rows += [""] * (line.lineno - 1 - len(rows))
        rows += [f"    {row}" for row in ast.unparse(line).splitlines()]
    first = lines[0].lineno - 1 if lines else 0
    rows = [*rows[: max(first - 1, 0)], f"def {name}():", *rows[first:], f"    return {name}"]
    text, own, file = "\n".join(rows), dict(program.names), f"<lines that make {name}>/{Path(program.file).name}"
    show_lines(file, text)
    exec(compile(text, file, "exec"), own)
    made, why = minigrad.compile(own[name], fullgraph=True), "a second run gives another value"
    try:
        same = minigrad.allclose(made(), program.names[name], equal_nan=True)
    except Exception as error:
        same, why = False, getattr(error, "problem", "") or str(error).partition("\n")[0]
    if same:
        return made
    raise Usage(
        f"the lines of {program.file} that compute {name} do not run on their own: {why}. Turn them into a function."
    )


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
