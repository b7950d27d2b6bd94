"""Two groups of `minigrad render` options: the look of a picture, and the processes that run the program."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ..errors import Usage
from ..graph.fold import MOST
from ..programs.run_program import Program
from ..view import SHOW, View, view_from
from .common import Rankdir

PICTURES = ("svg", "film", "png", "pdf", "tex")


def check_counts(depth: int | None, max_nodes: int | None) -> None:
    """Raise Usage for a negative number."""
    for option, number in (("--depth", depth), ("--max-nodes", max_nodes)):
        if number is not None and number < 0:
            raise Usage(f"{option} {number} is less than 0. Pass 0 or more.")


def names_in(open: str | None) -> tuple[str, ...] | None:
    """Return the custom Functions that --open names; None for the default."""
    return None if open is None else tuple(name.strip() for name in open.split(","))


@Parameter(name="*", group="Look")
@dataclass(frozen=True)
class Look:
    """The contents and the look of a picture.

    Parameters
    ----------
    show
        Parts to show besides operations, any of values,grads,maps,shapes,saved,lines.
        Default: all; on a slide values,grads,maps.
        all,update adds the writes of a training step; all,setup adds the initialization of the parameters;
        all,views adds the reshapes and transposes of a large picture.
    rankdir
        Direction of the graph: top to bottom (TB), BT, LR or RL. Default: TB; on a slide, the best fit.
    depth
        Number of levels of modules (or functions, if there are no modules) to open; each deeper one becomes one box.
    max_nodes
        Fold a graph with more nodes than this: modules, rounds of loops, lines or functions become boxes. 0: never.
        Default: 40; in JSON, never.
    open
        Custom Functions that show the operations of their methods: names with commas, all, or none.
        Default: those of at most 8 operations, in graphs of at most 40 nodes.
    size
        slide: a 16:9 page per pass in large type, with room for up to 12 boxes.
    theme
        Colours: light or dark, or print for black and white, with line styles and hatching instead of colours.
    color
        Colour the cards by size: grad, the norm of the gradient; memory, the bytes saved for backward; time, the time in
        each pass, which the format json has, too.
    """

    show: str | None = None
    rankdir: Rankdir | None = None
    depth: int | None = None
    max_nodes: int | None = None
    open: str | None = None
    size: Literal["slide"] | None = None
    theme: Literal["light", "dark", "print"] = "light"
    color: Literal["grad", "memory", "time"] | None = None

    def view(self, kind: str) -> View:
        """Return the view for a format.  Raises Usage for unknown words and for negative numbers."""
        check_counts(self.depth, self.max_nodes)
        seen = view_from(self.show, self.rankdir, self.size if kind in PICTURES else None)
        return replace(seen, color=self.color or "")

    def fold(self, kind: str) -> tuple[int | None, int | None]:
        """Return the number of open levels and the largest number of nodes; None means no limit."""
        most = None if kind == "json" else MOST
        return self.depth, most if self.max_nodes is None else self.max_nodes or None

    def unused(self, kind: str, seen: View) -> list[str]:
        """Return a note for each given option that the format, or a timeline, ignores."""
        options = {
            "--show": None if seen.show.issuperset(SHOW) else self.show,
            "--depth": self.depth,
            "--max-nodes": self.max_nodes,
            "--open": self.open,
            "--rankdir": self.rankdir,
            "--size": self.size,
            "--color": None if (kind, self.color) == ("json", "time") else self.color,
            "--theme": None if self.theme == "light" else self.theme,
        }
        given = [name for name, value in options.items() if value is not None]
        if kind == "timeline":
            return [f"a timeline ignores {', '.join(given)}"] if given else []
        if kind == "html":
            given = [name for name in given if name != "--open"]
            return [f"the viewer ignores {', '.join(given)}: it shows everything and folds on request"] if given else []
        without = [] if kind in PICTURES else ["--size", "--color"] + ["--theme"] * (kind in ("txt", "json"))
        without += ["--open"] * (kind == "json")
        return [f"the format {kind} ignores {name}" for name in without if name in given]


@Parameter(name="*", group="Passes")
@dataclass(frozen=True)
class Which:
    """The backward pass and the iteration of a program that runs several.

    Parameters
    ----------
    backward
        Number of the backward pass among those that the program runs from NAME. Default: the last one.
    iteration
        Round of the program's loop in which NAME is computed, from 1. Default: the last one.
    """

    backward: Annotated[int | None, Parameter(name=["--backward"])] = None
    iteration: Annotated[int | None, Parameter(name=["--iteration"])] = None

    def set(self, program: Program) -> None:
        """Tell a program what to show."""
        program.backward, program.iteration = self.backward, self.iteration


@Parameter(name="*", group="Seeds")
@dataclass(frozen=True)
class Directions:
    """The seeds of the backward and the jvp pass.

    Parameters
    ----------
    tangent
        Direction of the jvp pass: x=[1,0] moves the leaf x and no other one; x=random; random for all leaves. Repeat it
        for more leaves. Default: ones, or, if these give 0, the first basis vector.
    grad
        Gradient with which backward begins: [0,1] for the only result, or y=[0,1], or random. Default: ones, or, if these
        give 0, the first basis vector.
    """

    tangent: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None
    grad: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None

    def given(self) -> dict[str, Any]:
        """Return the arguments `tangent` and `grad` of `minigrad.record`."""
        tangent, grad = seeds_from("--tangent", self.tangent), seeds_from("--grad", self.grad)
        if isinstance(tangent, list | int | float):
            raise Usage(f"--tangent {tangent} does not name a leaf. Write --tangent NAME={tangent}.")
        return {"tangent": tangent, "grad": grad}


def seeds_from(option: str, texts: list[str] | None) -> Any:
    """Return the values of --tangent or --grad: None, a dictionary by names, or a single value without a name."""
    found: dict[str, Any] = {}
    for text in texts or ():
        try:
            name, value = parsed(text)
        except (ValueError, SyntaxError):
            raise Usage(
                f"{option} {text} is not a value. Write {option} NAME=[1,0], or {option} NAME=random."
            ) from None
        found[name] = value
    if "" in found and len(found) > 1:
        raise Usage(f"{option} is given with a name and without one. Name all of them.")
    return found.get("", found or None)


@Parameter(name="*", group="Many processes")
@dataclass(frozen=True)
class Processes:
    """The processes that run the program.

    Parameters
    ----------
    ranks
        Draw all processes, each in its own lane, with the messages between them. Start the command with mpiexec, or add -n.
        A program that imports torch computes with minigrad.
    n
        With --ranks: start this many processes with mpiexec.
    timeline
        With --ranks: draw when each process computes, waits and communicates, as .svg, .png or .pdf.
        .json is a trace for ui.perfetto.dev.
    lanes
        With --ranks: ranks that do the same share a lane (same), or every rank has its own (each).
    """

    ranks: Annotated[bool, Parameter(negative="", show_default=False)] = False
    n: Annotated[int | None, Parameter(name=["-n"])] = None
    timeline: Annotated[bool, Parameter(negative="", show_default=False)] = False
    lanes: Literal["same", "each"] = "same"

    def check(self, kind: str, seen: View, from_file: bool) -> None:
        """Raise Usage for options that contradict --ranks, or need it; `from_file` means that the program makes the tensor."""
        for option, there in (("--timeline", self.timeline), (f"-n {self.n}", self.n is not None)):
            if there and not self.ranks:
                raise Usage(f"{option} works only with several processes. Add --ranks.")
        if not self.ranks:
            return
        if not from_file:
            what = "Name a tensor that a file computes"
            raise Usage(f"--ranks takes no --args and no program from the standard input. {what}.")
        if seen.slide or seen.rankdir in ("LR", "RL"):
            option = "--size slide" if seen.slide else f"--rankdir {seen.rankdir}"
            raise Usage(f"--ranks draws lanes side by side, from top to bottom. Leave out {option}.")
        if seen.color == "time":
            raise Usage("--color time is for a single process. With --ranks, --timeline draws the times.")
        if self.timeline and kind not in ("svg", "png", "pdf", "json"):
            raise Usage(f"--timeline cannot write {kind}. Use .svg, .png, .pdf, or .json for a trace.")


def parsed(text: str) -> tuple[str, Any]:
    """Return the name and the value of x=[1, 0], or of x=random; raise ValueError for other texts.

    >>> parsed("x=[1, 0]"), parsed("y = random"), parsed("[2.0]")
    (('x', [1, 0]), ('y', 'random'), ('', [2.0]))
    """
    from minigrad.record.seeds import FIRST, RANDOM

    name, _, value = text.partition("=") if "=" in text else ("", "", text)
    value = value.strip()
    return name.strip(), value if value in (RANDOM, FIRST) else ast.literal_eval(value)
