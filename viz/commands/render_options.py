"""Two groups of `minigrad render` options: the look of a picture, and the processes that run the program."""

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


def check_counts(depth: int | None, max_nodes: int | None) -> None:
    """Raise Usage for a negative number."""
    for option, number in (("--depth", depth), ("--max-nodes", max_nodes)):
        if number is not None and number < 0:
            raise Usage(f"{option} {number} is less than 0. Pass 0 or more.")


@Parameter(name="*", group="Look")
@dataclass(frozen=True)
class Look:
    """The contents and the look of a picture.

    Parameters
    ----------
    show
        Parts to show besides operations, any of values,grads,shapes,saved,lines. Default: all; on a slide values,grads.
        all,update adds the writes of a training step; all,setup adds the initialization of the parameters.
    rankdir
        Direction of the graph: top to bottom (TB), BT, LR or RL. Default: TB; on a slide, the best fit.
    depth
        Number of levels of modules (or functions, if there are no modules) to open; each deeper one becomes one box.
    max_nodes
        Fold a graph with more nodes than this: lines, loop iterations, modules or functions become boxes. 0: never.
        Default: 500; in JSON, never.
    open
        Custom Functions that show the operations of their methods: names with commas, all, or none.
        Default: those of at most 8 operations, in graphs of at most 40 nodes.
    size
        slide: a 16:9 page per pass in large type, with room for up to 12 boxes.
    theme
        Colours: light or dark, or print for black and white, with line styles and hatching instead of colours.
    """

    show: str | None = None
    rankdir: Rankdir | None = None
    depth: int | None = None
    max_nodes: int | None = None
    open: str | None = None
    size: Literal["slide"] | None = None
    theme: Literal["light", "dark", "print"] = "light"

    def view(self, kind: str) -> View:
        """Return the view for a format.  Raises Usage for unknown words and for negative numbers."""
        check_counts(self.depth, self.max_nodes)
        return view_from(self.show, self.rankdir, self.size if kind in PICTURES else None)

    def fold(self, kind: str) -> tuple[int | None, int | None]:
        """Return the number of open levels and the largest number of nodes; None means no limit."""
        most = None if kind == "json" else MOST
        return self.depth, most if self.max_nodes is None else self.max_nodes or None

    @property
    def opened(self) -> tuple[str, ...] | None:
        """The custom Functions to open; None for the default."""
        return None if self.open is None else tuple(name.strip() for name in self.open.split(","))

    @property
    def colours(self) -> Theme:
        """The theme."""
        return THEMES[self.theme]

    def unused(self, kind: str, seen: View) -> list[str]:
        """Return a note for each given option that the format, or a timeline, ignores."""
        options = {
            "--show": None if seen.show.issuperset(SHOW) else self.show,
            "--depth": self.depth,
            "--max-nodes": self.max_nodes,
            "--open": self.open,
            "--rankdir": self.rankdir,
            "--size": self.size,
            "--theme": None if self.theme == "light" else self.theme,
        }
        given = [name for name, value in options.items() if value is not None]
        if kind == "timeline":
            return [f"a timeline ignores {', '.join(given)}"] if given else []
        if kind == "html":
            return [f"the viewer ignores {', '.join(given)}: it shows everything and folds on request"] if given else []
        without = [] if kind in PICTURES else ["--size"] + ["--theme"] * (kind in ("txt", "json"))
        without += ["--open"] * (kind == "json")
        return [f"the format {kind} ignores {name}" for name in without if name in given]


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
        if self.timeline and kind not in ("svg", "png", "pdf", "json"):
            raise Usage(f"--timeline cannot write {kind}. Use .svg, .png, .pdf, or .json for a trace.")
