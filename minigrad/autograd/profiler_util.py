"""Report a profile: events with their times, averages by name, the table, Chrome's trace.

Events store nanoseconds of time.perf_counter; users see microseconds, as in PyTorch.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import error
from ..files import written


class FunctionEvent:
    """One call of an operation, of a node's backward, of a module, or a range named with `record_function`.

    >>> import minigrad
    >>> with minigrad.profiler.profile() as prof:
    ...     y = (minigrad.ones(3) * 2).sum()
    >>> [event.name for event in prof.events()]
    ['mul', 'sum']
    """

    def __init__(self, name: str, kind: str, parent: FunctionEvent | None, start: int, thread: int):
        self.name, self.kind, self.cpu_parent, self.thread = name, kind, parent, thread
        self.start, self.end = start, start
        self.cpu_children: list[FunctionEvent] = []
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.allocated = 0  # bytes of results that own their memory
        self.sequence_nr = -1  # of the node that the operation made, or whose backward this is
        if parent is not None:
            parent.cpu_children.append(self)

    key, count = property(lambda e: e.name), 1
    cpu_time_total = property(lambda e: (e.end - e.start) / 1000, doc="Time of the event, in microseconds.")
    self_cpu_time_total = property(
        lambda e: e.cpu_time_total - sum([c.cpu_time_total for c in e.cpu_children]),
        doc="Time of the event without the events inside it, in microseconds.",
    )
    self_cpu_memory_usage = property(lambda e: e.allocated, doc="Bytes allocated by the event itself.")

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes allocated for results, including those of the events inside it."""
        return self.allocated + sum([c.cpu_memory_usage for c in self.cpu_children])

    def simplified(self) -> FunctionEvent:
        """Merge functions that consist of a single operation with that operation, under the function's name."""
        if self.kind == "call" and len(self.cpu_children) == 1:
            (only,) = self.cpu_children
            self.kind, self.start, self.end = only.kind, only.start, only.end
            self.allocated, self.sequence_nr, self.cpu_children = only.allocated, only.sequence_nr, only.cpu_children
        for child in self.cpu_children:
            child.cpu_parent = self
            child.simplified()
        return self

    def walk(self) -> Iterable[FunctionEvent]:
        """Yield this event and all events inside it, in the order in which they began."""
        yield self
        for child in self.cpu_children:
            yield from child.walk()

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name} cpu_time={time_of(self.cpu_time_total)}>"


class FunctionEventAvg:
    """The events of one name (and of the same shapes or stack, if requested) added up.

    >>> import minigrad
    >>> with minigrad.profiler.profile() as prof:
    ...     y = minigrad.ones(3) * 2 * 3
    >>> [(row.key, row.count) for row in prof.key_averages()]
    [('mul', 2)]
    """

    def __init__(self, key: str, input_shapes: list, stack: list):
        self.key, self.input_shapes, self.stack, self.count = key, input_shapes, stack, 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0

    def add(self, event: FunctionEvent) -> None:
        """Add an event.  The total time of an event inside another one of the same name is already in the outer one."""
        self.count += 1
        self.self_cpu_time_total += event.self_cpu_time_total
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        above = event.cpu_parent
        while above is not None and above.name != event.name:
            above = above.cpu_parent
        if above is None:
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage

    cpu_time = property(lambda e: e.cpu_time_total / max(e.count, 1), doc="Mean time of a call, in microseconds.")

    def __repr__(self) -> str:
        return f"<FunctionEventAvg key={self.key} count={self.count} cpu_time={time_of(self.cpu_time)}>"


SORTED_BY: dict[str, Callable] = {  # the keys of table(sort_by=...)
    name: (lambda row, name=name: getattr(row, name))
    for name in "cpu_time cpu_time_total self_cpu_time_total cpu_memory_usage self_cpu_memory_usage count".split()
}
# The profiler waits for operations on a GPU, so that a row has its whole time: no columns for the device are needed.
SORTED_BY |= {
    f"{before}{device}_{what}": SORTED_BY[f"{before}cpu_{what}"]
    for device in ("cuda", "device")
    for before, what in [
        ("", "time"),
        ("", "time_total"),
        ("self_", "time_total"),
        ("", "memory_usage"),
        ("self_", "memory_usage"),
    ]
}


class EventList(list):
    """Events, or averages of them, as a list that can be printed."""

    @property
    def self_cpu_time_total(self) -> float:
        """Sum of the rows' own times, in microseconds."""
        return sum([e.self_cpu_time_total for e in self])

    def total_average(self) -> FunctionEventAvg:
        """Return all events as one row."""
        total = FunctionEventAvg("Total", [], [])
        for event in self:
            total.add(event)
        return total

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Return one row per name, or also per list of shapes, or per innermost `group_by_stack_n` lines."""
        rows: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else []
            stack = event.stack[:group_by_stack_n]
            key = event.name, str(shapes), *stack
            if key not in rows:
                rows[key] = FunctionEventAvg(event.name, shapes, stack)
            rows[key].add(event)
        return EventList(rows.values())

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """Return the rows as a table, sorted by `sort_by` in descending order, at most `row_limit` (-1: all).

        Raises AttributeError for a `sort_by` that is not a column.
        """
        if sort_by is not None and sort_by not in SORTED_BY:
            what = f"{sort_by!r} is not a column to sort by"
            raise error(AttributeError, "table", what, f"use one of {', '.join(SORTED_BY)}")
        rows = [e for e in self if not top_level_events_only or getattr(e, "cpu_parent", None) is None]
        total = sum([e.self_cpu_time_total for e in rows]) or 1.0
        if sort_by is not None:
            rows.sort(key=SORTED_BY[sort_by], reverse=True)
        rows = rows[: row_limit if row_limit >= 0 else None]
        columns = [(name, value) for name, value, wanted in COLUMNS if wanted is None or any([wanted(e) for e in rows])]
        lines = [[name for name, _ in columns]] + [[value(e, total) for _, value in columns] for e in rows]
        limits = {"Name": max_name_column_width, "Source Location": max_src_column_width}
        lines = [[cut(text, limits.get(name)) for text, (name, _) in zip(line, columns)] for line in lines]
        widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
        rule = "  ".join(["-" * w for w in widths])
        shown = ["  ".join([text.rjust(w) for text, w in zip(line, widths)]) for line in lines]
        title = [header] if header else []
        return "\n".join([*title, rule, shown[0], rule, *shown[1:], rule, f"Self CPU time total: {time_of(total)}\n"])

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: Any) -> None:
        """Write a trace for https://ui.perfetto.dev or chrome://tracing, with arrows from forward to backward."""
        text = json.dumps({"schemaVersion": 1, "traceEvents": trace(self)}).encode()
        with written(path) as file:
            file.write(gzip.compress(text) if str(path).endswith(".gz") else text)


def cut(text: str, width: int | None) -> str:
    """Return a text cut to a limited width."""
    return text if width is None or len(text) <= width else text[: width - 3] + "..."


def time_of(us: float) -> str:
    """Return a time as text.

    >>> time_of(1.5), time_of(2500.0), time_of(3e6)
    ('1.500us', '2.500ms', '3.000s')
    """
    for limit, factor, unit in ((1e3, 1, "us"), (1e6, 1e3, "ms")):
        if us < limit:
            return f"{us / factor:.3f}{unit}"
    return f"{us / 1e6:.3f}s"


def bytes_of(n: int) -> str:
    """Return a number of bytes as text.

    >>> bytes_of(12), bytes_of(10240)
    ('12 B', '10.00 KB')
    """
    for size, unit in ((1024**3, "GB"), (1024**2, "MB"), (1024, "KB")):
        if abs(n) >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} B"


COLUMNS: list[tuple[str, Callable, Callable | None]] = [  # heading, (row, total) -> text, condition on rows
    ("Name", lambda e, t: e.key, None),
    ("Self CPU %", lambda e, t: f"{100 * e.self_cpu_time_total / t:.2f}%", None),
    ("Self CPU", lambda e, t: time_of(e.self_cpu_time_total), None),
    ("CPU total %", lambda e, t: f"{100 * e.cpu_time_total / t:.2f}%", None),
    ("CPU total", lambda e, t: time_of(e.cpu_time_total), None),
    ("CPU time avg", lambda e, t: time_of(e.cpu_time_total / e.count), None),
    ("CPU Mem", lambda e, t: bytes_of(e.cpu_memory_usage), lambda e: e.cpu_memory_usage),
    ("Self CPU Mem", lambda e, t: bytes_of(e.self_cpu_memory_usage), lambda e: e.cpu_memory_usage),
    ("# of Calls", lambda e, t: str(e.count), None),
    ("Input Shapes", lambda e, t: str(e.input_shapes), lambda e: e.input_shapes),
    ("Source Location", lambda e, t: e.stack[0] if e.stack else "", lambda e: e.stack),
]


def trace(events: Iterable[FunctionEvent]) -> list[dict]:
    """Return events in Chrome's trace format: times in microseconds, arrows from an operation to its backward."""
    found: list[dict] = []
    made: dict[int, FunctionEvent] = {}
    where = lambda e: {"pid": os.getpid(), "tid": e.thread}
    for e in events:
        about: dict[str, Any] = {"Input Dims": e.input_shapes} if e.input_shapes else {}
        about |= {"Bytes": e.allocated} if e.allocated else {}
        about |= {"Sequence number": e.sequence_nr} if e.sequence_nr >= 0 else {}
        about |= {"Call stack": "; ".join(e.stack)} if e.stack else {}
        times = {"ts": e.start / 1000, "dur": e.cpu_time_total}
        found.append({"ph": "X", "cat": e.kind, "name": e.name, **where(e), **times, "args": about})
        if e.kind == "backward" and (forward := made.get(e.sequence_nr)) is not None:
            arrow = {"cat": "fwdbwd", "name": "fwdbwd", "id": e.sequence_nr}
            found.append({"ph": "s", **arrow, **where(forward), "ts": forward.start / 1000})
            found.append({"ph": "f", "bp": "e", **arrow, **where(e), "ts": e.start / 1000})
        elif e.sequence_nr >= 0:
            made[e.sequence_nr] = e
    return found
