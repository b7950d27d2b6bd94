"""The contents of a picture: the passes, the parts of cards, the direction and the size that are asked for."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .errors import Usage
from .formats.files import nearest

PASSES = ("forward", "backward", "jvp")
STOP = re.compile(r"the jvp pass stops at ([\w.]+)(?:, which)?(.*)")  # a note: the operation, and the reason
# parts of cards besides operations and their formulas
SHOW: tuple[str, ...] = ("values", "grads", "maps", "shapes", "saved", "lines")
ON_SLIDES = ("values", "grads", "maps")  # the default on slides
# operations that a picture leaves out by default: the initialization of parameters, the writes of a training step, and in
# pictures of more than SMALL operations the views, whose results stand on the card of the operation that they look at
ADDED = ("setup", "update", "views")
RANKDIRS = ("TB", "BT", "LR", "RL")
SIZES = ("slide",)
COLORS = ("grad", "memory", "time")
SMALL = 12  # operations in a small picture, which draws all
TEXT = 72  # characters of a line of plain text
BRIEF = 30  # columns of a card in a larger picture


def parts(words: Iterable[str]) -> frozenset[str]:
    """Return the parts that words of `show` name; "all" means all parts of cards.  Raises ValueError(word) if one is unknown.

    >>> sorted(parts(["all", "update"]) - parts(["all"]))
    ['update']
    """
    named = frozenset(words)
    if unknown := sorted(named - {*SHOW, *ADDED, "all"}):
        raise ValueError(unknown[0])
    return named - {"all"} | (frozenset(SHOW) if "all" in named else frozenset())


def requested_passes(passes: str | Sequence[str]) -> tuple[str, ...]:
    """Return the requested passes as a tuple: "all", one by name, or several.

    >>> requested_passes("all"), requested_passes("jvp")
    (('forward', 'backward', 'jvp'), ('jvp',))
    """
    return PASSES if passes == "all" else (passes,) if isinstance(passes, str) else tuple(passes)


def passes_of(record: dict, notes: Sequence[str] = ()) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the passes that a record holds, and the reason for each missing one.

    A jvp pass that stops at an operation is incomplete, and counts as missing.
    """
    from minigrad.record.labels import called

    ran = [op for op in record["ops"] if op["phase"] == "forward"]
    names = {op.get("function") or op["name"] for op in ran}
    stops = [stop for note in notes if (stop := STOP.match(note)) and stop[1] in names]
    have = tuple(one for one in PASSES if one in record["program"]["passes"] and not (one == "jvp" and stops))
    others = [note for note in notes if not note.startswith(("the jvp pass", "no formula"))]
    read = {value for op in ran for value in op["inputs"] if not isinstance(value, dict)}
    made = {value for op in ran for value in op["outputs"]}
    begins = lambda v: v["kind"] == "parameter" or v["kind"] == "computed" and v["id"] not in made
    leaves = [called(v) for v in record["values"] if v["id"] in read and begins(v)]
    nothing = f"{{}} passes from {leaves[0]} to it" if leaves else "nothing in it requires grad"
    reasons = {one: nothing.format(flow) for one, flow in zip(PASSES, ("no value", "no gradient", "no tangent"))}
    reasons |= {"backward": others[0]} if others else {}
    reasons |= {"jvp": stops[0][1] + stops[0][2]} if stops else {}
    return have, {one: reasons[one] for one in PASSES if one not in have}


@dataclass(frozen=True)
class View:
    """The contents of a picture, the direction of the graph, and the settings of slides and LaTeX."""

    show: frozenset[str] = frozenset(SHOW)
    rankdir: str = "TB"  # TB | BT | LR | RL: from the first operations to the last
    slide: bool = False
    any_way: bool = False  # True if a slide may choose its rankdir
    tex: bool = False  # True if formulas are typeset in LaTeX
    color: str = ""  # grad | memory | time: the size that colours the cards
    columns: int = 50  # characters after which a text on a card is wrapped
    full: bool = False  # True for steps: each value in full, each leaf by itself, in any number of operations
    brief: bool = False  # True in a picture of many operations: a card has one number for each value

    @property
    def lines(self) -> int:
        """The largest number of lines of a text; it is higher on slides, which have narrow columns."""
        return 5 if self.slide else 2 if self.brief else 3


WHOLE = View()


def view_of(
    show: Iterable[str] | None = None, rankdir: str | None = None, size: str | None = None, color: str | None = None
) -> View:
    """Build a View, with defaults for the arguments that are None.

    >>> view_of(rankdir="LR").rankdir, sorted(view_of(size="slide").show)
    ('LR', ['grads', 'maps', 'values'])
    """
    slide = size == "slide"
    shown = parts((ON_SLIDES if slide else SHOW) if show is None else show)
    return View(shown, rankdir or "TB", slide, slide and rankdir is None, color=color or "")


def view_from(show: str | None, rankdir: str | None = None, size: str | None = None) -> View:
    """Build the view from --show and other options; raise Usage for an unknown word."""
    words = None if show is None else [word.strip() for word in show.split(",") if word.strip()]
    try:
        return view_of(words, rankdir, size)
    except ValueError as unknown:
        word, known = str(unknown), (*SHOW, "all", *ADDED)
        meant = nearest(word, known)
        raise Usage(
            f"--show {word!r} is unknown. {meant + ' ' * bool(meant)}Choose from {','.join(known)}."
        ) from unknown
