"""The events of a profile, and its reports: rows by name, a table, a trace for Chrome's viewer."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any

from ..errors import error
from ..files import written


class Event:
    """A call of an operation, a node's backward, a module or a named range; times in nanoseconds of perf_counter."""

    count, line = 1, ""  # the user's line

    def __init__(self, key: str, kind: str, parent: Event | None):
        self.key = self.name = key
        self.kind, self.cpu_parent, self.thread = kind, parent, threading.get_ident()
        self.cpu_children: list[Event] = []
        self.input_shapes: list[list[int]] = []
        self.self_cpu_memory_usage = 0  # bytes of results that own their memory
        self.start = self.end = perf_counter_ns()

    cpu_time_total = cpu_time = property(lambda e: (e.end - e.start) / 1000, doc="Microseconds of the event.")

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of the event without those of the events inside it."""
        return self.cpu_time_total - sum([e.cpu_time_total for e in self.cpu_children])

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes of results, including those of the events inside it."""
        return sum([e.self_cpu_memory_usage for e in self.walk()])

    def walk(self) -> Iterator[Event]:
        """Yield this event and all events inside it, in the order in which they began."""
        yield self
        for child in self.cpu_children:
            yield from child.walk()

    def is_inside(self, key: str) -> bool:
        """Return True if an event around this one has a name."""
        around = self.cpu_parent
        return around is not None and (around.key == key or around.is_inside(key))


class Row:
    """Events of one name, added up."""

    def __init__(self, events: list[Event], input_shapes: list, line: str):
        self.key, self.count, self.input_shapes, self.line = events[0].key, len(events), input_shapes, line
        outer = [e for e in events if not e.is_inside(e.key)]  # they contain the others
        self.cpu_time_total = sum([e.cpu_time_total for e in outer])
        self.cpu_memory_usage = sum([e.cpu_memory_usage for e in outer])
        self.self_cpu_time_total = sum([e.self_cpu_time_total for e in events])
        self.self_cpu_memory_usage = sum([e.self_cpu_memory_usage for e in events])
        self.cpu_time = self.cpu_time_total / self.count


SORTED_BY = "cpu_time cpu_time_total self_cpu_time_total cpu_memory_usage self_cpu_memory_usage count".split()


class EventList(list):
    """Events, or the rows that add them up, as a list that can be printed."""

    @property
    def self_cpu_time_total(self) -> float:
        """Sum of the rows' own times, in microseconds."""
        return sum([e.self_cpu_time_total for e in self])

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Return one row per name, or also per list of shapes, or per line of the program (`group_by_stack_n=1`)."""
        groups: dict[tuple, list[Event]] = {}
        for e in self:
            key = e.key, str(e.input_shapes) * group_by_input_shape, e.line * (group_by_stack_n > 0)
            groups.setdefault(key, []).append(e)
        shapes = lambda e: e.input_shapes if group_by_input_shape else []
        return EventList([Row(events, shapes(events[0]), line) for (_, _, line), events in groups.items()])

    def export_chrome_trace(self, path: Any) -> None:
        """Write a trace for https://ui.perfetto.dev or chrome://tracing."""
        at = lambda e: {"pid": os.getpid(), "tid": e.thread, "ts": e.start / 1000, "dur": e.cpu_time_total}
        args = lambda e: {"Input Dims": e.input_shapes, "Bytes": e.self_cpu_memory_usage, "Call stack": e.line}
        events = [{"ph": "X", "cat": e.kind, "name": e.key, **at(e), "args": args(e)} for e in self]
        with written(path) as file:
            file.write(json.dumps({"schemaVersion": 1, "traceEvents": events}).encode())

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """Return the rows as a table, sorted by `sort_by` in descending order, at most `row_limit` (-1: all).

        A GPU's columns, such as `cuda_time_total`, are the same, because the profiler waits for it.  Raises AttributeError for
        a `sort_by` that is not a column.
        """
        column = (sort_by or "count").replace("cuda", "cpu").replace("device", "cpu")
        if column not in SORTED_BY:
            what = f"{sort_by!r} is not a column to sort by"
            raise error(AttributeError, "table", what, f"use one of {', '.join(SORTED_BY)}")
        rows = sorted(self, key=lambda e: -getattr(e, column)) if sort_by else self
        rows, total = rows[: row_limit if row_limit >= 0 else None], self.self_cpu_time_total
        columns = {
            "Name": [e.key for e in rows],
            "Self CPU %": [f"{100 * e.self_cpu_time_total / total:.2f}%" for e in rows],
            "Self CPU": [time_of(e.self_cpu_time_total) for e in rows],
            "CPU total": [time_of(e.cpu_time_total) for e in rows],
            "CPU time avg": [time_of(e.cpu_time) for e in rows],
            "CPU Mem": [f"{e.cpu_memory_usage:,} B" for e in rows],
            "# of Calls": [str(e.count) for e in rows],
            "Input Shapes": [str(e.input_shapes or "") for e in rows],
            "Line": [e.line for e in rows],
        }
        columns = {name: texts for name, texts in columns.items() if any(texts)}
        widths = [max(map(len, [name, *texts])) for name, texts in columns.items()]
        rule = ["-" * width for width in widths]
        lines = [rule, list(columns), rule, *zip(*columns.values()), rule]
        text = "\n".join(["  ".join([text.rjust(width) for text, width in zip(line, widths)]) for line in lines])
        return f"{text}\nSelf CPU time total: {time_of(total)}\n"

    __str__ = table


def time_of(us: float) -> str:
    """Return a time as text.

    >>> time_of(1.5), time_of(2500.0), time_of(3e6)
    ('1.500us', '2.500ms', '3.000s')
    """
    return f"{us:.3f}us" if us < 1e3 else f"{us / 1e3:.3f}ms" if us < 1e6 else f"{us / 1e6:.3f}s"
