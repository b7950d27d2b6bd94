"""A timeline of the ranks: a figure, and a trace for Chrome's and Perfetto's viewers.

Both show a record of several processes, with all times on one clock (collect.py).  A transfer lasts from its call until its
results are written; the program waits for it while it cannot continue.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import text
from .travelling import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = {  # colour, and hatching for readers who cannot see the colours
    "computing": ("#dfe6ef", ""),
    "backward": ("#f3c9c3", ""),
    "waiting": ("#ffffff", "////"),
    "communicating": ("#7fbcd2", ""),
}
INK, SOFT = "#18202b", "#566171"
BAR, TRACK, APART = 0.5, 0.26, 0.06  # heights, where a rank with one track is about 1 high
LETTER = 0.0062  # approximate width of a label's letter, relative to the figure


View = tuple[float, float]  # begin and end of the figure, in seconds


class Span(NamedTuple):
    """An activity of a process, with its begin and end in seconds."""

    kind: str  # computing | backward | waiting | communicating
    begin: float
    end: float
    label: str = ""
    transfer: dict | None = None


def spans(times: dict) -> list[Span]:
    """Return the spans of one rank: computing and waiting, one after the other, and the transfers during both.

    >>> transfer = {"name": "all_reduce", "label": "", "began": 2.0, "waited": 3.0, "done": 4.0}
    >>> made = spans({"began": 0.0, "ended": 5.0, "backward": [[1.0, 2.5]], "transfers": [transfer]})
    >>> [(span.kind, span.begin, span.end) for span in made[:4]]
    [('computing', 0.0, 1.0), ('backward', 1.0, 2.5), ('computing', 2.5, 3.0), ('waiting', 3.0, 4.0)]
    """
    transfers = sorted(times["transfers"], key=lambda t: t["began"])
    waits = [(t["waited"], t["done"]) for t in transfers if t["waited"] is not None]
    edges = [(times["began"], "computing", 0), (times["ended"], "computing", 0)]
    for kind, pairs in (("waiting", waits), ("backward", times["backward"])):
        edges += [(at, kind, step) for pair in pairs for at, step in zip(pair, (1, -1))]
    edges.sort(key=itemgetter(0))
    under_way: Counter[str] = Counter()
    found: list[Span] = []
    for (begin, changed, step), (end, *_) in pairwise(edges):
        under_way[changed] += step
        if not times["began"] <= begin < end <= times["ended"]:
            continue
        kind = next((one for one in ("waiting", "backward") if under_way[one] > 0), "computing")
        if found and found[-1].kind == kind:
            found[-1] = found[-1]._replace(end=end)
        else:
            found.append(Span(kind, begin, end))
    return found + [Span("communicating", t["began"], t["done"], t["label"] or plain(t["name"]), t) for t in transfers]


def timeline_of_ranks(record: dict, whole: bool = False) -> Figure:
    """Draw when each process computes, waits and communicates in the step that a record holds.

    Args:
        record: the record of several processes, such as `minigrad render --ranks -o loss.json` writes.
        whole: draw the whole program from its first transfer on, instead of one step.

    Returns:
        A Matplotlib figure: a bar for each rank's program, and below it its transfers, with their labels.

    Raises ValueError for a record of one process.

    >>> times = {"host": "here", "began": 0.0, "ended": 1.0, "backward": [], "transfers": []}
    >>> figure = timeline_of_ranks({"program": {"name": "loss"}, "ops": [], "timeline": [times, times]})
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['rank 0', 'rank 1']
    """
    from matplotlib.patches import Patch

    from ..notebook.mpl_figure import Figure

    if not record.get("timeline"):
        raise ValueError(
            "timeline_of_ranks: the record is from one process. Record several with minigrad render --ranks."
        )
    every = [spans(times) for times in record["timeline"]]
    begin, end = view = extent(record, every, whole)
    rows = [tracks(s for s in own if s.kind == "communicating" and begin <= s.end and s.begin <= end) for own in every]
    heights = [BAR + TRACK * max((track + 1 for _, track in row), default=1) + 0.3 for row in rows]
    tops = list(accumulate(heights, initial=0.0))
    figure = Figure(figsize=(10, 1.5 + 0.75 * tops[-1]), layout="constrained")
    axes = figure.add_subplot(xlabel="ms")
    name = text.shorten(record["program"].get("name") or "", 40)
    axes.set_title(f"Timeline of the ranks · {name}", loc="left", fontweight="bold", parse_math=False)
    for own, row, top in zip(every, rows, tops):
        draw_rank(axes, own, row, view, top)
    axes.set(xlim=(0, ms(end, view)), ylim=(tops[-1] - 0.15, -0.15))
    axes.set_yticks([top + BAR / 2 for top in tops[:-1]], [f"rank {i}" for i in range(len(every))])
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    signs = [Patch(facecolor=fill, hatch=hatch, edgecolor=SOFT, label=kind) for kind, (fill, hatch) in LOOKS.items()]
    below = -0.22 / max(1.0, tops[-1] / 2)
    axes.legend(handles=signs, loc="upper left", bbox_to_anchor=(0, below), ncols=4, frameon=False)
    return figure


def ms(at: float, view: View) -> float:
    """Return a time in milliseconds from the left end of the figure."""
    return 1e3 * (at - view[0])


def extent(record: dict, every: Sequence[list[Span]], whole: bool) -> View:
    """Return begin and end of the figure: the transfers of the step and the backward around them, with a margin."""
    of_step = [t for op in record["ops"] for t in op.get("transfers", ())]
    if whole or not of_step:
        of_step = [span.transfer for own in every for span in own if span.transfer is not None]
    begin = min((t["began"] for t in of_step), default=min(own[0].begin for own in every))
    end = max((t["done"] for t in of_step), default=max(span.end for own in every for span in own))
    around = [s for own in every for s in own if s.kind == "backward" and s.end >= begin and s.begin <= end]
    begin, end = min([begin, *(s.begin for s in around)]), max([end, *(s.end for s in around)])
    room = 0.03 * (end - begin) or 1e-3
    return begin - room, end + room


def tracks(under_way: Iterator[Span]) -> list[tuple[Span, int]]:
    """Return spans with their tracks: spans in one track do not overlap."""
    free: list[float] = []  # by track, when it is free again
    found = []
    for span in under_way:
        track = next((i for i, at in enumerate(free) if at <= span.begin), len(free))
        free[track : track + 1] = [span.end]
        found.append((span, track))
    return found


def draw_rank(axes: Any, own: Sequence[Span], row: Sequence[tuple[Span, int]], view: View, top: float) -> None:
    """Draw the bar of a rank's program, and below it its transfers with their labels, each in its track."""
    for span in [one for one in own if one.kind != "communicating"]:
        bar(axes, span, view, top, BAR)
    for i, (span, track) in enumerate(row):
        low = top + BAR + APART + track * TRACK
        bar(axes, span, view, low, TRACK - APART)
        free = next((later.begin for later, other in row[i + 1 :] if other == track), view[1])
        name_of(axes, span, view, free, low + (TRACK - APART) / 2)


def bar(axes: Any, span: Span, view: View, top: float, height: float) -> None:
    """Draw the visible part of a span."""
    begin, end = max(span.begin, view[0]), min(span.end, view[1])
    if begin < end:
        fill, hatch = LOOKS[span.kind]
        look: dict[str, Any] = {"facecolor": fill, "hatch": hatch, "edgecolor": SOFT, "linewidth": 0.5}
        axes.barh(top, ms(end, view) - ms(begin, view), height, ms(begin, view), align="edge", **look)


def name_of(axes: Any, span: Span, view: View, free: float, middle: float) -> None:
    """Write a label in its bar, or after it if the track is `free` there, else shortened to the bar."""
    begin, end = max(span.begin, view[0]), min(span.end, view[1])
    letter = LETTER * (view[1] - view[0])
    room, behind = int((end - begin) / letter), int((free - end) / letter) - 1
    words = text.shorten(span.label, 60)
    style: dict[str, Any] = {"fontsize": 7, "color": INK, "parse_math": False, "clip_on": True, "va": "center"}
    if room < len(words) <= behind:
        axes.text(ms(end + letter / 2, view), middle, words, ha="left", **style)
    elif room > 3:
        axes.text(ms((begin + end) / 2, view), middle, text.shorten(words, room), ha="center", **style)


def rendered(record: dict, kind: str) -> bytes:
    """Return the timeline as the bytes of a file: svg, png or pdf, or json for the trace."""
    if kind == "json":
        return json.dumps(trace(record)).encode()
    out = io.BytesIO()
    timeline_of_ranks(record).savefig(out, format=kind, dpi=160)
    return out.getvalue()


def trace(record: dict) -> dict:
    """Return a Chrome trace, for https://ui.perfetto.dev: a process for each rank, times in microseconds.

    >>> times = {"host": "here", "began": 1.0, "ended": 1.5, "backward": [], "transfers": []}
    >>> made = trace({"timeline": [times]})["traceEvents"]
    >>> [(event["ph"], event["name"]) for event in made][:4]
    [('M', 'process_name'), ('M', 'thread_name'), ('M', 'thread_name'), ('X', 'computing')]
    """
    zero = min(times["began"] for times in record["timeline"])
    events: list[dict] = []
    for rank, times in enumerate(record["timeline"]):
        about_process = {"ph": "M", "pid": rank}
        events.append({**about_process, "name": "process_name", "args": {"name": f"rank {rank} on {times['host']}"}})
        for thread, name in enumerate(("program", "communication")):
            events.append({**about_process, "name": "thread_name", "tid": thread, "args": {"name": name}})
        for span in spans(times):
            at = {"ts": 1e6 * (span.begin - zero), "dur": 1e6 * (span.end - span.begin), "pid": rank}
            t = span.transfer
            if t is None:
                events.append({"ph": "X", "cat": "program", "name": span.kind, **at, "tid": 0})
                continue
            about = {key: t[key] for key in ("words", "bytes", "ranks", "peer", "label") if t[key] not in (None, "")}
            name = {"name": span.label, "cat": plain(t["name"]), "tid": 1, "pid": rank, "id": len(events)}
            # transfers overlap: each is an asynchronous event, with a beginning and an end
            events.append({**name, "ph": "b", "ts": at["ts"], "args": about})
            events.append({**name, "ph": "e", "ts": at["ts"] + at["dur"]})
    return {"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": events}
