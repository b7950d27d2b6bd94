"""`minigrad render`: draw a program's computation, into a file or on the standard output."""

from __future__ import annotations

import json as js
import sys
import webbrowser
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

import viz

from ..errors import Usage
from ..formats.files import FORMATS, SUFFIXES, format_of, nearest, rendered, write
from ..layout.themes import THEMES
from ..programs.listing import Listing
from ..ranks import timeline
from ..ranks.start import start
from ..text import clean, counted
from ..view import PASSES, requested_passes
from .common import (
    STDOUT,
    Args,
    AsTorch,
    Json,
    Losses,
    Output,
    Pass,
    Target,
    Words,
    closed,
    computing,
    given,
    place_of,
    print_notes,
    program_of,
    recorded,
    recorded_by_ranks,
    stdout_to_stderr,
    target_of,
    with_losses,
    working,
)
from .render_options import Directions, Look, Processes, Which, names_in

Format = Literal["html", "svg", "film", "png", "pdf", "tex", "dot", "mmd", "txt", "json"]
LOOK, WHICH, DIRECTIONS, PROCESSES = Look(), Which(), Directions(), Processes()

EXAMPLES = """Examples:

  minigrad render net.py                            what its last backward began from
  minigrad render net.py --list                     all names that can be drawn
  minigrad render net.py:loss                       all passes, into loss.svg
  minigrad render net.py:loss -p backward -o -      one pass, to stdout
  minigrad render net.py:loss -o loss.html          the viewer, to step through
  minigrad render net.py:loss -f txt -o -           in the terminal
  minigrad render net.py:loss -f film -o film.svg   an animated SVG
  minigrad render net.py:loss --size slide -o l.pdf one slide per pass
  minigrad render net.py:loss --theme print --tex   LaTeX, in black and white
  minigrad render net.py:f --args "tensor(2.), 3"   a function with arguments
  minigrad render net.py:loss --iteration 3         an earlier round of a loop
  minigrad render gan.py --from loss_d,loss_g       several losses
  minigrad render net.py:loss --depth 1 -o net.pdf  each module as one box
  minigrad render net.py:loss --ranks -n 4          4 processes in one picture
  minigrad render net.py:loss --ranks --timeline -n 2 -o t.pdf  a timeline
  minigrad render net.py:loss -- --epochs 3         the program's own options"""


def render(
    target: Target,
    /,
    *words: Words,
    passes: Pass = "all",
    output: Output = None,
    format: Annotated[Format | None, Parameter(name=["--format", "-f"])] = None,
    tex: Annotated[bool, Parameter(name=["--tex"], negative="", show_default=False)] = False,
    args: Args = None,
    look: Look = LOOK,
    losses: Losses = None,
    which: Which = WHICH,
    directions: Directions = DIRECTIONS,
    processes: Processes = PROCESSES,
    names: Annotated[bool, Parameter(name=["--list"], negative="", show_default=False)] = False,
    view: Annotated[bool, Parameter(name=["--view"], negative="", show_default=False)] = False,
    as_torch: AsTorch = False,
    json: Json = False,
) -> None:
    """Draw the computation behind a tensor, or a function or module, of a program.

    Parameters
    ----------
    target
        PROG.py:NAME. The program, written for minigrad or PyTorch, runs as a script.
        NAME is a tensor, function or module that it defines. Without :NAME, the tensor from which the last backward began.
        -:NAME reads the program from the standard input.
    passes
        Pass to draw. minigrad runs a pass that the program does not run, seeded with ones.
    output
        File to write. Its suffix is the format: .html (viewer) .svg .png .pdf .tex .dot .gv .mmd .txt .json (record).
        - writes the picture alone to the standard output. Default: NAME.svg.
    format
        The format, overriding the suffix. film is an SVG in which the passes appear step by step.
    tex
        Same as -f tex: LaTeX with TikZ, with typeset formulas.
    losses
        Several tensors in one picture, in place of :NAME: --from loss_d,loss_g. The backward pass of each has its own
        colour and line style.
    names
        List the tensors with a graph, modules and functions that NAME can be, and draw nothing.
    view
        Open the file afterwards, in the system's default program.
    json
        Write a summary as JSON: the file, its format, passes, counts and notes.
    """
    target = with_losses(target, losses)
    file, name = target_of(target, nameless=True)
    if names:
        return listed(target, words, as_torch, json)
    named = {"--args": args is not None, "--ranks": processes.ranks, "--iteration": which.iteration is not None}
    check_name(file, name, named)
    if tex and format not in (None, "tex"):
        raise Usage(f"--tex and -f {format} contradict each other. Choose one.")
    stem = "backward" if file == "-" else Path(file).stem  # of the picture of the last backward
    place, kind = destination(output, "tex" if tex else format, name or stem)
    final = place and place.absolute()  # the program may change the working directory
    if place is None and (view or json):
        raise Usage(f"{'--view' if view else '--json'} needs a file. Name one with -o.")
    seen = look.view(kind)
    processes.check(kind, seen, from_file=args is None and not target.startswith("-:"))
    if processes.n is not None:
        return start(processes.n, given)
    program, name = program_of(target, words, nameless=True)
    program.seeds, program.times = directions.given(), look.color == "time"
    program.draws_failures = not processes.ranks
    which.set(program)
    as_torch = as_torch or processes.ranks  # ranks compute with minigrad
    apart = stdout_to_stderr() if place is None or json else nullcontext()
    with apart, computing(as_torch, program):
        if processes.ranks:
            chosen = PASSES[:2] if processes.timeline else requested_passes(passes)
            everything = recorded_by_ranks(program, name, chosen, processes.lanes)
        else:
            everything = recorded(program, name, passes, args)
        if everything is None:
            return  # rank 0 draws
        record, notes, there = everything
        if processes.timeline:
            made, about = timeline.rendered(record, kind), {}
        else:
            theme, opened = THEMES[look.theme], names_in(look.open)
            drawing = viz.Drawing(record, there, notes, seen, *look.fold(kind), theme, opened)
            drawing.directions = program.directions
            with working(f"drawing {counted(drawing.whole.operations, 'operation')}"):
                made, about = rendered(drawing, kind), counts(drawing)
            notes += drawing.warnings(kind)
        notes += look.unused("timeline" if processes.timeline else kind, seen)
    print_notes(notes)
    deliver(made, final)
    if place is not None and not json:
        print(clean(f"wrote {place}"))
    if view and final is not None:
        webbrowser.open(final.as_uri())
    program.ends()
    if json:
        print(js.dumps({"file": str(place), "format": kind, **about, "notes": notes}))


def check_name(file: str, name: str, options: dict[str, bool]) -> None:
    """Raise Usage for an option that needs the name of what to draw."""
    for option in [option for option, used in options.items() if used and not name]:
        raise Usage(f"{option} needs a name to draw. Write {file}:NAME; minigrad render {file} --list shows the names.")


def listed(target: str, words: tuple[str, ...], as_torch: bool, json: bool) -> None:
    """Run a program and print the names that can be drawn."""
    from ..programs.last_backward import Roots

    program, _ = program_of(target, words, nameless=True)
    with stdout_to_stderr(), computing(as_torch, program), Roots(program.libraries.torch) as roots:
        with working(f"running {program.file}"), program.libraries.uncompiled():
            program.run()
        found = Listing.of(program, roots.began_from)
    if json:
        return print(js.dumps({"file": program.file, **asdict(found)}))
    for row in found.rows(program.file):
        print(clean(row))


def destination(output: str | None, format: str | None, name: str) -> tuple[Path | None, str]:
    """Return where to write (None: the standard output) and in which format; both are checked before anything runs."""
    if output in STDOUT:
        return None, format or "svg"
    suffixes = FORMATS[format][0] if format else ()
    place = place_of(name + (suffixes[0] if suffixes else ".svg") if output is None else output)
    return place, format or format_by_suffix(place, ", or -f")


def format_by_suffix(place: Path, otherwise: str = "") -> str:
    """Return the format of a file to write; Usage for an unknown suffix names another way, if there is one."""
    suffix = place.suffix.lower()
    if suffix not in SUFFIXES:
        meant = nearest(suffix, SUFFIXES)
        about = f"{place} has an unknown suffix {place.suffix!r}. {meant + ' ' * bool(meant)}"
        raise Usage(f"{about}Use one of {' '.join(SUFFIXES)}{otherwise}.")
    return format_of(suffix)


def deliver(made: bytes, place: Path | None) -> None:
    """Write a picture, completely or not at all."""
    if place is None and 1 in closed:
        raise Usage("cannot write to the standard output: it is closed. Name a file with -o.")
    if place is None:
        sys.stdout.buffer.write(made)
        sys.stdout.flush()
        return
    try:
        write(place, made)
    except OSError as refused:
        raise Usage(f"cannot write {place}: {refused.strerror}. Name a file in another folder.") from refused


def counts(drawing: viz.Drawing) -> dict:
    """Return a drawing's counts for --json."""
    graph = drawing.graph
    return {
        "passes": list(drawing.passes),
        "operations": graph.operations,
        "nodes": len(graph.nodes),
        "folded": sum("folded" in op for op in graph.ops),
    }
