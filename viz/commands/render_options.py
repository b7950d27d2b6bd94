"""Options of `minigrad render` that belong together: the look of a picture, and the processes that run the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Parameter

from ..drawn_graph import SHOW, View
from ..fold import MOST
from ..run_program import Usage, view_from
from ..themes import THEMES, Theme
from .common import Rankdir

PICTURES = ("svg", "film", "png", "pdf", "tex")


@Parameter(name="*", group="Look")
@dataclass(frozen=True)
class Look:
    """The contents and the look of a picture.

    Parameters
    ----------
    show
        Parts to show besides the operations: some of values,grads,shapes,saved,lines. Without it: all of these, on a slide
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
    """

    show: str | None = None
    rankdir: Rankdir | None = None
    depth: int | None = None
    max_nodes: int | None = None
    size: Literal["slide"] | None = None
    theme: Literal["light", "dark", "print"] = "light"

    def view(self, kind: str) -> View:
        """Return what a picture of a format shows.  Raises Usage for words that name nothing, and for negative numbers."""
        for option, number in (("--depth", self.depth), ("--max-nodes", self.max_nodes)):
            if number is not None and number < 0:
                raise Usage(f"{option} {number} is less than 0.")
        return view_from(self.show, self.rankdir, self.size if kind in PICTURES else None)

    def fold(self, kind: str) -> tuple[int | None, int | None]:
        """Return how many levels are open, and how many nodes a picture may have; None for all."""
        most = None if kind == "json" else MOST
        return self.depth, most if self.max_nodes is None else self.max_nodes or None

    @property
    def colours(self) -> Theme:
        """The theme."""
        return THEMES[self.theme]

    def unused(self, kind: str, seen: View) -> list[str]:
        """Return a note for each option that a format, or a timeline, does not use."""
        options = {
            "--show": None if seen.show.issuperset(SHOW) else self.show,
            "--depth": self.depth,
            "--max-nodes": self.max_nodes,
            "--rankdir": self.rankdir,
            "--size": self.size,
            "--theme": None if self.theme == "light" else self.theme,
        }
        given = [name for name, value in options.items() if value is not None]
        if kind == "timeline":
            return [f"{', '.join(given)}: a timeline has none"] if given else []
        if kind == "html":
            return [f"{', '.join(given)}: the viewer shows all and folds on request, in its own way"] if given else []
        without = [] if kind in PICTURES else ["--size"] + ["--theme"] * (kind in ("txt", "json"))
        return [f"{name}: the format {kind} has none" for name in without if name in given]


@Parameter(name="*", group="Many processes")
@dataclass(frozen=True)
class Processes:
    """The processes that run the program.

    Parameters
    ----------
    ranks
        Draw what all processes do, each in its own lane, and what travels between them. mpiexec starts the command, or -n
        does.
    n
        With --ranks: start this many processes, by mpiexec.
    timeline
        With --ranks: draw when each process computes, waits and communicates, into .svg, .png or .pdf; .json is a trace for
        ui.perfetto.dev.
    lanes
        With --ranks: ranks that do the same share a lane, or each has its own.
    """

    ranks: Annotated[bool, Parameter(negative="", show_default=False)] = False
    n: Annotated[int | None, Parameter(name=["-n"])] = None
    timeline: Annotated[bool, Parameter(negative="", show_default=False)] = False
    lanes: Literal["same", "each"] = "same"

    def check(self, kind: str, seen: View, from_file: bool) -> None:
        """Refuse options that do not go with several processes; a program `from_file` has its tensor there."""
        for option, there in (("--timeline", self.timeline), (f"-n {self.n}", self.n is not None)):
            if there and not self.ranks:
                raise Usage(f"{option} is for several processes: add --ranks.")
        if not self.ranks:
            return
        if not from_file:
            what = "it takes no --args, and nothing from the standard input"
            raise Usage(f"--ranks draws a tensor that a file computes: {what}.")
        if seen.slide or seen.rankdir in ("LR", "RL"):
            option = "--size slide" if seen.slide else f"--rankdir {seen.rankdir}"
            raise Usage(f"--ranks draws lanes beside one another, from top to bottom: leave out {option}.")
        if self.timeline and kind not in ("svg", "png", "pdf", "json"):
            raise Usage(f"--timeline has no {kind}: write .svg, .png, .pdf, or .json for a trace.")
