"""`minigrad render`: the picture of what a program computes, in a file or on the standard output."""

from __future__ import annotations

import json as js
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

import viz

from ..drawn_graph import PASSES, SHOW, View
from ..files import FORMATS, SUFFIXES, format_of, maker, nearest, write
from ..fold import MOST
from ..ranks.start import start
from ..ranks.timeline import rendered
from ..run_program import Usage, view_from
from ..slide import TooMuch
from ..themes import THEMES
from .common import (
    STDOUT,
    Args,
    AsTorch,
    Json,
    Pass,
    Rankdir,
    Target,
    apart,
    computing,
    given,
    place_of,
    recorded,
    recorded_by_ranks,
    say,
    target_of,
    wanted,
    working,
)

PICTURES = ("svg", "film", "png", "pdf", "tex")
Size = Literal["slide"]
Lanes = Literal["same", "each"]
ThemeName = Literal["light", "dark", "print"]
Format = Literal["html", "svg", "film", "png", "pdf", "tex", "dot", "mmd", "txt", "json"]

EXAMPLES = """Examples:

  minigrad render net.py:loss                       all passes, into loss.svg
  minigrad render net.py:loss -p backward -o -      one, on the standard output
  minigrad render net.py:loss -o loss.html          the viewer, to step through
  minigrad render net.py:loss -f txt -o -           in the terminal
  minigrad render net.py:loss -f film -o film.svg   an SVG that moves
  minigrad render net.py:loss --size slide -o l.pdf a slide for each pass
  minigrad render net.py:loss --theme print --tex   LaTeX, in black and white
  minigrad render net.py:f --args "tensor(2.), 3"   a function of these
  minigrad render net.py:loss --depth 1 -o net.pdf  each module as one box
  minigrad render net.py:loss --ranks -n 4          on 4 processes, in one picture
  minigrad render net.py:loss --ranks --timeline -n 2 -o t.pdf  when each computes and waits
  minigrad render net.py:loss -- --epochs 3         the program's own options"""


def render(
    target: Target,
    /,
    *words: Annotated[str, Parameter(show=False)],
    passes: Pass = "all",
    output: Annotated[str | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)] = None,
    format: Annotated[Format | None, Parameter(name=["--format", "-f"])] = None,
    tex: Annotated[bool, Parameter(name=["--tex"], negative="", show_default=False)] = False,
    args: Args = None,
    show: Annotated[str | None, Parameter(name=["--show"])] = None,
    rankdir: Annotated[Rankdir | None, Parameter(name=["--rankdir"])] = None,
    depth: Annotated[int | None, Parameter(name=["--depth"])] = None,
    max_nodes: Annotated[int | None, Parameter(name=["--max-nodes"])] = None,
    size: Annotated[Size | None, Parameter(name=["--size"])] = None,
    theme: Annotated[ThemeName, Parameter(name=["--theme"])] = "light",
    ranks: Annotated[bool, Parameter(name=["--ranks"], negative="", show_default=False)] = False,
    n: Annotated[int | None, Parameter(name=["-n"])] = None,
    timeline: Annotated[bool, Parameter(name=["--timeline"], negative="", show_default=False)] = False,
    lanes: Annotated[Lanes, Parameter(name=["--lanes"])] = "same",
    open: Annotated[bool, Parameter(name=["--open"], negative="", show_default=False)] = False,
    as_torch: AsTorch = False,
    json: Json = False,
) -> None:
    """Draw a tensor that a program computes, or one of its functions.

    Parameters
    ----------
    target
        PROG.py:NAME. The program, of minigrad or of PyTorch, runs as a script does; NAME is a tensor, a function or a
        module that it leaves behind.
        -:NAME reads the program from the standard input.
    passes
        Which pass to draw. A pass that the program does not run itself is run for it, seeded with ones.
    output
        File to write, in the format of its suffix: .html (the viewer) .svg .png .pdf .tex .dot .gv .mmd .txt .json (the
        record). - writes to the standard output, and nothing else does. Without it: NAME.svg.
    format
        The format, whatever the suffix. film is an SVG in which the passes appear step by step.
    tex
        The same as -f tex: LaTeX with TikZ, its formulas set as mathematics.
    args
        The function's arguments, in Python, as in --args "tensor([1., 2.]), 3". They may use the program's names.
        Without it: the program's example_inputs.
    show
        What to show of values,grads,shapes,saved,lines besides the operations. Without it: all of these, on a slide
        values,grads. all,update adds what a training step writes, all,setup what gave the parameters their first numbers.
    rankdir
        Which way the graph runs: from top to bottom (TB), BT, LR or RL. Without it: TB, and on a slide as it fits best.
    depth
        How many levels of modules, or of functions where there are none, are open; what is deeper is one box.
    max_nodes
        Fold a graph with more nodes than this: lines, rounds of loops, modules or functions become boxes. 0: never.
        Without it: 500, and in JSON never.
    size
        slide: a page of 16 to 9 for each pass, with large letters, on which up to 12 boxes fit.
    theme
        The colours: light or dark, or print for black and white, with lines and hatching in their place.
    ranks
        Draw what all processes do, each in a lane of its own, and what travels between them. mpiexec starts the command,
        or -n does.
    n
        With --ranks: start so many processes, by mpiexec.
    timeline
        With --ranks: draw when each process computes, waits and communicates, into .svg, .png or .pdf; .json is a trace for
        ui.perfetto.dev.
    lanes
        With --ranks: ranks that do the same share a lane, or each has one of its own.
    open
        Show the file afterwards, in the program that the system has for it.
    as_torch
        Give the program minigrad where it imports torch.
    json
        Say what was written as JSON.
    """
    _, name = target_of(target)
    if tex and format not in (None, "tex"):
        raise Usage(f"--tex and -f {format} are two formats: choose one.")
    place, kind = destination(output, "tex" if tex else format, name)
    final = place and place.absolute()  # the program may change the folder
    if place is None and (open or json):
        raise Usage(f"{'--open' if open else '--json'} needs a file: name one with -o.")
    check_numbers({"--depth": depth, "--max-nodes": max_nodes})
    seen = view_from(show, rankdir, size if kind in PICTURES else None)
    check_ranks(ranks, timeline, n, kind, args is not None or target.startswith("-:"), seen)
    if n is not None:
        return start(n, given)
    with apart(place is None or json), computing(as_torch):
        told = PASSES[:2] if timeline else wanted(passes)
        everything = recorded_by_ranks(target, told, lanes, words) if ranks else recorded(target, passes, args, words)
        if everything is None:
            return  # rank 0 draws
        record, notes, passes_there = everything
        if timeline:
            made, about = rendered(record, kind), {}
        else:
            settings = seen, depth, most(max_nodes, kind), THEMES[theme]
            drawing, made = drawn(lambda: viz.Drawing(record, passes_there, notes, *settings), kind)
            about = counts(drawing)
            notes += drawing.warnings(kind)
        cards = None if seen.show.issuperset(SHOW) else show
        options = {"--show": cards, "--depth": depth, "--max-nodes": max_nodes, "--rankdir": rankdir, "--size": size}
        notes += unused({**options, "--theme": None if theme == "light" else theme}, "timeline" if timeline else kind)
    say(notes)
    deliver(made if isinstance(made, bytes) else made.encode(), final)
    if json:
        print(js.dumps({"file": str(place), "format": kind, **about, "notes": notes}))
    elif place is not None:
        print(f"wrote {place}")
    if open and final is not None:
        webbrowser.open(final.as_uri())


def most(max_nodes: int | None, kind: str) -> int | None:
    """How many nodes a picture may have before it is folded."""
    return (None if kind == "json" else MOST) if max_nodes is None else max_nodes or None


def drawn(draw: Callable[[], viz.Drawing], kind: str) -> tuple[viz.Drawing, str | bytes]:
    """A drawing, and what it is in a format."""
    try:
        drawing = draw()
        with working(f"drawing {drawing.whole.operations} operations"):
            return drawing, maker(drawing, kind)()
    except TooMuch as much:
        raise Usage(str(much).removeprefix("draw: ")) from None


def check_numbers(options: dict[str, int | None]) -> None:
    """Refuse numbers less than 0."""
    for option, number in options.items():
        if number is not None and number < 0:
            raise Usage(f"{option} {number} is less than 0.")


def check_ranks(ranks: bool, timeline: bool, n: int | None, kind: str, elsewhere: bool, seen: View) -> None:
    """Refuse what does not go with several processes."""
    for option, there in (("--timeline", timeline), (f"-n {n}", n is not None)):
        if there and not ranks:
            raise Usage(f"{option} is for several processes: add --ranks.")
    if not ranks:
        return
    if elsewhere:
        raise Usage(
            "--ranks draws a tensor that a file computes: it takes no --args, and nothing from the standard input."
        )
    if seen.slide or seen.rankdir in ("LR", "RL"):
        option = "--size slide" if seen.slide else f"--rankdir {seen.rankdir}"
        raise Usage(f"--ranks draws lanes beside one another, from top to bottom: leave out {option}.")
    if timeline and kind not in ("svg", "png", "pdf", "json"):
        raise Usage(f"--timeline has no {kind}: write .svg, .png, .pdf, or .json for a trace.")


def destination(output: str | None, format: str | None, name: str) -> tuple[Path | None, str]:
    """Where to write (None: the standard output) and in which format; both are checked before anything runs."""
    if output in STDOUT:
        return None, format or "svg"
    suffixes = FORMATS[format][0] if format else ()
    place = place_of(output or name + (suffixes[0] if suffixes else ".svg"))
    if format is None:
        if place.suffix.lower() not in SUFFIXES:
            meant = nearest(place.suffix.lower(), SUFFIXES)
            known = " ".join(SUFFIXES)
            raise Usage(
                f"{place}: no format has the suffix {place.suffix!r}. {meant + ' ' * bool(meant)}Use one of {known}, or -f."
            )
        format = format_of(place.suffix)
    return place, format


def unused(options: dict, kind: str) -> list[str]:
    """What a format makes no use of; the viewer has controls of its own."""
    given = [name for name, value in options.items() if value is not None]
    if kind == "timeline":
        return [f"{', '.join(given)}: a timeline has none"] if given else []
    if kind == "html":
        return [f"{', '.join(given)}: the viewer shows all and folds on request, in its own way"] if given else []
    more = [] if kind in PICTURES else ["--size"] + ["--theme"] * (kind in ("txt", "json"))
    return [f"{name}: the format {kind} has none" for name in more if name in given]


def deliver(made: bytes, place: Path | None) -> None:
    """Write what was made, whole or not at all."""
    if place is None:
        sys.stdout.buffer.write(made)
        sys.stdout.flush()
        return
    try:
        write(place, made)
    except OSError as refused:
        raise Usage(f"{place} cannot be written: {refused.strerror}.") from refused


def counts(drawing: viz.Drawing) -> dict:
    """What was drawn, for machines."""
    graph = drawing.graph
    return {
        "passes": list(drawing.passes),
        "operations": graph.operations,
        "nodes": len(graph.nodes),
        "folded": sum("folded" in op for op in graph.ops),
    }
