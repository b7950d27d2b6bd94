"""When each process computes, waits and communicates: a figure, and a trace for Chrome's and Perfetto's viewers.

Both are made of a record of several processes, whose times are of one clock (collect.py).  A transfer is under way from its
call until its results are written; the program waits for it in the part of that time in which it cannot go on.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import text
from .travelling import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = {  # colour and hatching, so that nothing is told by colour alone
    "computing": ("#dfe6ef", ""),
    "backward": ("#f3c9c3", ""),
    "waiting": ("#ffffff", "////"),
    "communicating": ("#7fbcd2", ""),
}
INK, SOFT = "#18202b", "#566171"
BAR, TRACK, APART = 0.5, 0.26, 0.06  # heights, where a rank with one track is about 1 high
LETTER = 0.0062  # of the width of the figure, about: a letter of a label


class Span(NamedTuple):
    """What a process does from one time to another, in seconds."""

    kind: str  # computing | backward | waiting | communicating
    begin: float
    end: float
    label: str = ""
    transfer: dict | None = None


def spans(times: dict) -> list[Span]:
    """What one rank has done: computing and waiting, one after the other, and what was under way meanwhile.

    >>> transfer = {"name": "all_reduce", "label": "", "began": 2.0, "waited": 3.0, "done": 4.0}
    >>> made = spans({"began": 0.0, "ended": 5.0, "backward": [[1.0, 2.5]], "transfers": [transfer]})
    >>> [(span.kind, span.begin, span.end) for span in made[:4]]
    [('computing', 0.0, 1.0), ('backward', 1.0, 2.5), ('computing', 2.5, 3.0), ('waiting', 3.0, 4.0)]
    """
    transfers = sorted(times["transfers"], key=lambda t: t["began"])
    waits = [(t["waited"], t["done"]) for t in transfers if t["waited"] is not None]
    edges = {times["began"], times["ended"], *(at for pair in (*waits, *times["backward"]) for at in pair)}
    cuts = sorted(at for at in edges if times["began"] <= at <= times["ended"])
    inside = lambda begin, end, pairs: any(a <= begin and end <= b for a, b in pairs)
    found: list[Span] = []
    for begin, end in zip(cuts, cuts[1:]):
        kind = (
            "waiting"
            if inside(begin, end, waits)
            else "backward"
            if inside(begin, end, times["backward"])
            else "computing"
        )
        if found and found[-1].kind == kind:
            found[-1] = found[-1]._replace(end=end)
        else:
            found.append(Span(kind, begin, end))
    return found + [Span("communicating", t["began"], t["done"], t["label"] or plain(t["name"]), t) for t in transfers]


def timeline_of_ranks(record: dict, whole: bool = False) -> Figure:
    """When each process computes, waits and communicates in the step that a record holds.

    Args:
        record: what `minigrad render --ranks -o loss.json` writes.
        whole: all of the program from its first transfer on, in place of the step.

    Returns:
        A Matplotlib figure: for each rank what its program does, and below it what is under way, with its label.

    Raises ValueError for a record of one process.

    >>> times = {"host": "here", "began": 0.0, "ended": 1.0, "backward": [], "transfers": []}
    >>> figure = timeline_of_ranks({"program": {"name": "loss"}, "ops": [], "timeline": [times, times]})
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['rank 0', 'rank 1']
    """
    from matplotlib.patches import Patch

    from ..mpl_figure import Figure

    if not record.get("timeline"):
        raise ValueError(
            "timeline_of_ranks: the record is that of one process. Record several: minigrad render --ranks."
        )
    told = [spans(times) for times in record["timeline"]]
    begin, end = extent(record, told, whole)
    rows = [tracks(span for span in own if span.kind == "communicating" and begin <= span.end and span.begin <= end)
            for own in told]  # fmt: skip
    tall = [BAR + TRACK * max(1, *(track + 1 for _, track in own), 1) + 0.3 for own in rows]
    figure = Figure(figsize=(10, 1.5 + 0.75 * sum(tall)), layout="constrained")
    axes = figure.add_subplot(xlabel="ms")
    name = text.shorten(record["program"].get("name") or "", 40)
    axes.set_title(f"Who computes, waits and communicates · {name}", loc="left", fontweight="bold", parse_math=False)
    top, ticks = 0.0, []
    scale = lambda at: 1e3 * (at - begin)
    for own, under_way, height in zip(told, rows, tall):
        ticks.append(top + BAR / 2)
        for span in own:
            if span.kind != "communicating":
                bar(axes, span, scale, (begin, end), top, BAR)
        for i, (span, track) in enumerate(under_way):
            low = top + BAR + APART + track * TRACK
            bar(axes, span, scale, (begin, end), low, TRACK - APART)
            free = next((later.begin for later, other in under_way[i + 1 :] if other == track), end)
            name_of(axes, span, scale, (begin, end), min(free, end), low + (TRACK - APART) / 2)
        top += height
    axes.set(xlim=(0, scale(end)), ylim=(top - 0.15, -0.15))
    axes.set_yticks(ticks, [f"rank {i}" for i in range(len(told))])
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    signs = [Patch(facecolor=fill, hatch=hatch, edgecolor=SOFT, label=kind) for kind, (fill, hatch) in LOOKS.items()]
    axes.legend(handles=signs, loc="upper left", bbox_to_anchor=(0, -0.22 / max(1.0, top / 2)), ncols=4, frameon=False)
    return figure


def extent(record: dict, told: Sequence[list[Span]], whole: bool) -> tuple[float, float]:
    """From when to when: the transfers of the record's step and the backward around them, with a little room."""
    of_step = [t for op in record["ops"] for t in op.get("transfers", ())]
    if whole or not of_step:
        of_step = [span.transfer for own in told for span in own if span.transfer is not None]
    begin = min((t["began"] for t in of_step), default=min(own[0].begin for own in told))
    end = max((t["done"] for t in of_step), default=max(span.end for own in told for span in own))
    around = [s for own in told for s in own if s.kind == "backward" and s.end >= begin and s.begin <= end]
    begin, end = min([begin, *(s.begin for s in around)]), max([end, *(s.end for s in around)])
    room = 0.03 * (end - begin) or 1e-3
    return begin - room, end + room


def tracks(under_way: Iterator[Span]) -> list[tuple[Span, int]]:
    """Spans with the track that each lies in, so that none lies over another."""
    free: list[float] = []  # by track, when it is free again
    found = []
    for span in under_way:
        track = next((i for i, at in enumerate(free) if at <= span.begin), len(free))
        free[track : track + 1] = [span.end]
        found.append((span, track))
    return found


def bar(axes: Any, span: Span, scale: Any, view: tuple[float, float], top: float, height: float) -> None:
    """Draw a span, as far as it lies in view."""
    begin, end = max(span.begin, view[0]), min(span.end, view[1])
    if begin < end:
        fill, hatch = LOOKS[span.kind]
        look: dict[str, Any] = {"facecolor": fill, "hatch": hatch, "edgecolor": SOFT, "linewidth": 0.5}
        axes.barh(top, scale(end) - scale(begin), height, scale(begin), align="edge", **look)


def name_of(axes: Any, span: Span, scale: Any, view: tuple[float, float], free: float, middle: float) -> None:
    """Write a span's label: in its bar, or behind it up to where the track is `free`, or as much of it as there is room for."""
    begin, end = max(span.begin, view[0]), min(span.end, view[1])
    letter = LETTER * (view[1] - view[0])
    room, behind = int((end - begin) / letter), int((free - end) / letter) - 1
    words = text.shorten(span.label, 60)
    style: dict[str, Any] = {"fontsize": 7, "color": INK, "parse_math": False, "clip_on": True, "va": "center"}
    if room < len(words) <= behind:
        axes.text(scale(end + letter / 2), middle, words, ha="left", **style)
    elif room > 3:
        axes.text(scale((begin + end) / 2), middle, text.shorten(words, room), ha="center", **style)


def rendered(record: dict, kind: str) -> bytes:
    """The timeline as a file: svg, png or pdf, or json for the trace."""
    if kind == "json":
        return json.dumps(trace(record)).encode()
    out = io.BytesIO()
    timeline_of_ranks(record).savefig(out, format=kind, dpi=160)
    return out.getvalue()


def trace(record: dict) -> dict:
    """The same as a Chrome trace, for https://ui.perfetto.dev: a process for each rank, times in microseconds.

    >>> times = {"host": "here", "began": 1.0, "ended": 1.5, "backward": [], "transfers": []}
    >>> made = trace({"timeline": [times]})["traceEvents"]
    >>> [(event["ph"], event["name"]) for event in made][:4]
    [('M', 'process_name'), ('M', 'thread_name'), ('M', 'thread_name'), ('X', 'computing')]
    """
    zero = min(times["began"] for times in record["timeline"])
    events: list[dict] = []
    for rank, times in enumerate(record["timeline"]):
        named = lambda kind, of, tid=0, rank=rank: {
            "ph": "M",
            "name": kind,
            "pid": rank,
            "tid": tid,
            "args": {"name": of},
        }
        events.append(named("process_name", f"rank {rank} on {times['host']}"))
        events += [named("thread_name", "program", 0), named("thread_name", "between processes", 1)]
        for span in spans(times):
            at = {"ts": 1e6 * (span.begin - zero), "dur": 1e6 * (span.end - span.begin), "pid": rank}
            t = span.transfer
            if t is None:
                events.append({"ph": "X", "cat": "program", "name": span.kind, **at, "tid": 0})
                continue
            about = {key: t[key] for key in ("words", "bytes", "ranks", "peer", "label") if t[key] not in (None, "")}
            name = {"name": span.label, "cat": plain(t["name"]), "tid": 1, "pid": rank, "id": len(events)}
            # what is under way at the same time overlaps: an asynchronous event has a beginning and an end
            events.append({**name, "ph": "b", "ts": at["ts"], "args": about})
            events.append({**name, "ph": "e", "ts": at["ts"] + at["dur"]})
    return {"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": events}
