"""`minigrad step`: walk through the passes of a program in the terminal."""

from __future__ import annotations

import json as js
import os
import sys
from dataclasses import asdict, replace
from typing import Annotated

from cyclopts import Parameter

import viz

from ..cards.step_through import Step, walk
from ..graph.functions import check_names, opened
from ..view import view_from
from .common import (
    Args,
    AsTorch,
    Json,
    Losses,
    Pass,
    Target,
    Words,
    computing,
    print_notes,
    program_of,
    recorded,
    stdout_to_stderr,
    with_losses,
)
from .render_options import Which, check_counts, names_in

EXAMPLES = """Examples:

  minigrad step net.py:loss                Enter: next, b: back, q: quit
  minigrad step net.py:loss -p backward    one pass only
  minigrad step net.py:loss --open none    custom Functions as one step
  minigrad step net.py:loss | less         all steps at once"""

WHICH = Which()
KEYS = "Enter next · b back · number go there · a all · q quit"
COLOURS = {"forward": "36", "backward": "31", "jvp": "35"}  # ANSI colour codes


def step(
    target: Target,
    /,
    *words: Words,
    passes: Pass = "all",
    losses: Losses = None,
    which: Which = WHICH,
    args: Args = None,
    show: Annotated[str | None, Parameter(name=["--show"])] = None,
    depth: Annotated[int | None, Parameter(name=["--depth"])] = None,
    max_nodes: Annotated[int, Parameter(name=["--max-nodes"])] = 500,
    open: Annotated[str, Parameter(name=["--open"])] = "all",
    as_torch: AsTorch = False,
    json: Json = False,
) -> None:
    """Step through the passes of a program, one operation at a time.

    Parameters
    ----------
    target
        PROG.py:NAME, as for render.
    passes
        Pass to step through.
    losses
        Several tensors, as for render: --from loss_d,loss_g.
    show
        Parts to show, any of values,grads,maps,shapes,saved,lines. Default: all.
        update and setup add operations, as for render.
    depth
        Number of levels of modules or functions to open; each deeper one becomes one step.
    max_nodes
        Fold a graph with more nodes than this. 0: never.
    open
        Custom Functions whose methods are stepped through, line by line: names separated by commas, all or none.
    json
        Write all steps as a JSON list of {phase, op, title, lines, within}.
    """
    check_counts(depth, max_nodes)
    seen = view_from(show)
    program, name = program_of(with_losses(target, losses), words)
    which.set(program)
    program.draws_failures = True
    with stdout_to_stderr(), computing(as_torch, program):
        record, notes, there = recorded(program, name, passes, args)
        drawing = viz.Drawing(record, there, notes, replace(seen, full=True), depth, max_nodes or None, open="none")
        cards = drawing.cards  # closed: a step says what a closed card says
        names = names_in(open)
        check_names(drawing.graph, names)
        steps = walk(opened(drawing.graph, names), cards, there)
    print_notes(notes)
    if json:
        program.ends()
        print(js.dumps([asdict(one) for one in steps], indent=1))
    elif sys.stdin.isatty() and sys.stdout.isatty():
        by_hand(steps)
    else:
        for number in range(len(steps)):
            print(step_text(steps, number), end="\n\n")
    program.ends()


def step_text(steps: list[Step], number: int) -> str:
    """Return a step as text, in the colour of its pass if the terminal has colours."""
    one = steps[number]
    head = " › ".join([f"{one.phase} · step {number + 1} of {len(steps)}", *one.within])
    if coloured():
        head = f"\033[1;{COLOURS[one.phase]}m{head}\033[0m"
    margin = "│ " * len(one.within)
    return "\n".join(margin + line for line in [head, f"  {one.title}", *(f"    {line}" for line in one.lines)])


def coloured() -> bool:
    """Return True at a terminal with colours, unless NO_COLOR is set (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def by_hand(steps: list[Step]) -> None:
    """Step interactively: read a key, show a step."""
    number = 0
    while number < len(steps):
        print("\n" + step_text(steps, number))
        try:
            key = input(f"  [{KEYS}] ").strip().lower()
        except EOFError:
            return
        if key == "q":
            return
        if key == "a":
            for rest in range(number + 1, len(steps)):
                print("\n" + step_text(steps, rest))
            return
        back = max(0, number - 1) if key == "b" else number + 1
        number = min(len(steps), max(1, int(key))) - 1 if key.isdecimal() else back
