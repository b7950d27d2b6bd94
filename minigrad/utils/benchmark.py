"""Timer, which times a statement, its Measurement, and Compare, which prints measurements as a table.

After a warm-up, a statement runs in blocks that are long enough for the clock, on one thread unless you ask for more.
"""

from __future__ import annotations

import statistics
import textwrap
import time
import timeit
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

import numpy as np

import minigrad

from .. import cuda
from ..diagnose.boundary import guard as _guard
from ..errors import error
from ..kernels.threads import get_num_threads, set_num_threads

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer"]

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
SHORTEST = 1e-9  # seconds; a lower bound for every time, which prevents division by 0


def timer() -> float:
    """Return the time in seconds, after the GPU has finished its work."""
    if cuda.is_available():
        cuda.synchronize()
    return time.perf_counter()


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Compute with n threads inside the block."""
    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)


@dataclass(frozen=True)
class TaskSpec:
    """The statement that a Timer times, its setup and its labels.

    >>> TaskSpec("x.sum()", "x = torch.ones(3)", sub_label="small").title
    'x.sum(): small'
    """

    stmt: str
    setup: str
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, and the sub_label."""
        return (self.label or self.stmt) + (f": {self.sub_label}" if self.sub_label else "")

    def summarize(self) -> str:
        """Return title, description and setup, as far as present, each on its lines."""
        setup = "" if self.setup in ("", "pass") else f"setup: {textwrap.indent(self.setup, '  ').lstrip()}"
        return "\n".join([part for part in (self.title, self.description, setup) if part])


@dataclass(repr=False)
class Measurement:
    """The result of a Timer: the seconds of each block of `number_per_run` runs, and statistics of the times per run.

    >>> m = Measurement(2, [2.0, 4.0, 6.0], TaskSpec("f()", ""))
    >>> m.times, m.median, m.mean, m.iqr, m.stmt
    ([1.0, 2.0, 3.0], 2.0, 2.0, 1.0, 'f()')
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict | None = None  # free for the user

    def __getattr__(self, name: str) -> Any:
        """Return a field of the task_spec: stmt, label, num_threads, ..."""
        if name in TaskSpec.__dataclass_fields__ or name == "title":
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    times = property(lambda m: [t / m.number_per_run for t in m.raw_times], doc="Seconds per run, for each block.")
    mean = property(lambda m: statistics.fmean(m.times), doc="The mean of the times.")
    median = property(lambda m: statistics.median(m.times), doc="The median of the times.")
    quartiles = property(lambda m: np.quantile(m.times, [0.25, 0.75]).tolist(), doc="First and third quartile.")
    iqr = property(lambda m: m.quartiles[1] - m.quartiles[0], doc="The interquartile range of the times.")
    has_warnings = property(lambda m: not m.meets_confidence(), doc="True if the times vary too much to be trusted.")

    @property
    def significant_figures(self) -> int:
        """The number of trustworthy figures of the median, 1 to 4, by a rough 90% interval of the middle half."""
        n = len(self.raw_times)
        middle = sorted(self.times)[n // 4 : ceil(3 * n / 4)]
        interval = max(1.645 * statistics.pstdev(middle) / len(middle) ** 0.5, 25e-9)
        return min(max(floor(log10(self.median / interval)), 1), 4)

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Return True if the interquartile range is below this fraction of the median."""
        return self.iqr / self.median < threshold

    def __repr__(self) -> str:
        n, unit = len(self.raw_times), unit_of(self.median)
        low, high, iqr, median = [t / UNITS[unit] for t in (*self.quartiles, self.iqr, self.median)]
        lines = [object.__repr__(self), self.task_spec.summarize(), f"  {'Median: ' * (n > 1)}{median:.2f} {unit}"]
        lines += [f"  IQR:    {iqr:.2f} {unit} ({low:.2f} to {high:.2f})"] if n > 3 else []
        each = f"{n} measurement{'s' * (n > 1)}, {self.number_per_run} runs{' per measurement' * (n > 1)}"
        lines += [f"  {each}, {self.num_threads} thread{'s' * (self.num_threads > 1)}"]
        if self.has_warnings:
            lines += [
                f"  WARNING: Interquartile range is {100 * iqr / median:.1f}% of the median: times vary too much."
            ]
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merge the measurements of each task_spec into one."""
        groups: dict[TaskSpec, list[float]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(1, times, spec) for spec, times in groups.items()]


def unit_of(seconds: float) -> str:
    """Return the unit in which a time is between 1 and 1000.

    >>> unit_of(2e-5), unit_of(0.3), unit_of(90)
    ('us', 'ms', 's')
    """
    return next((unit for unit, scale in UNITS.items() if seconds < 999.95 * scale), "s")


class Timer:
    """Times a statement: `timeit` for a number of runs, `blocked_autorange` for a time, `adaptive_autorange` until steady.

    `stmt` and `setup` see `globals`, and minigrad as `torch`.  The labels identify it in a table.  Raises ValueError for a
    statement that is not a string, or not Python.

    >>> m = Timer("x + x", "x = torch.ones(3)", num_threads=1).timeit(10)
    >>> m.number_per_run, m.median > 0
    (10, True)
    """

    def __init__(
        self, stmt: str = "pass", setup: str = "pass", global_setup: str = "", timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None, label: str | None = None, sub_label: str | None = None,
        description: str | None = None, env: str | None = None, num_threads: int = 1, language: str = "python",
    ):  # fmt: skip
        if not isinstance(stmt, str):
            what = f"stmt has to be a string, got {type(stmt).__name__}"
            raise error(ValueError, "Timer", what, 'write stmt="f(x)", globals={"f": f, "x": x}')
        if language not in ("python", "py") or global_setup:
            what = f"only Python is timed, got language={language!r} and global_setup={global_setup!r}"
            raise error(ValueError, "Timer", what, "leave out language, and move global_setup into setup")
        stmt, setup = [textwrap.dedent(text).strip("\n") for text in (stmt, setup)]
        self._timer = timeit.Timer(stmt, setup, timer, {"torch": minigrad, **(globals or {})})
        self._task_spec = TaskSpec(stmt, setup, label, sub_label, description, env, num_threads)

    def _seconds(self, number: int) -> float:
        """Return the seconds that a block of runs takes."""
        return max(self._timer.timeit(number), SHORTEST)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Measure one block of `number` runs."""
        with threads(self._task_spec.num_threads):
            self._seconds(max(number // 100, 2))  # warms up
            return Measurement(number, [self._seconds(number)], self._task_spec)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measure blocks for at least `min_run_time` seconds; call `callback(runs, seconds)` after each block."""
        return self._blocks(min_run_time, float("inf"), lambda found: True, callback)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:  # fmt: skip
        """Measure blocks until their range is below this fraction of the median, or for `max_run_time` seconds."""
        steady = lambda found: len(found.raw_times) > 3 and found.meets_confidence(threshold)
        return self._blocks(min_run_time, max_run_time, steady, callback)

    def _blocks(self, least: float, most: float, enough: Callable, callback: Callable | None) -> Measurement:
        """Measure blocks for `least` seconds, then more until `enough` holds or `most` seconds have passed."""
        with threads(self._task_spec.num_threads):
            number, seconds = 1, self._seconds(1)
            while seconds < max(least / 1000, 1e-5) and number < 1e8:  # the clock itself takes less than 1% of a block
                number, seconds = 10 * number, self._seconds(10 * number)
            found = Measurement(number, [], self._task_spec)
            while sum(found.raw_times) < least or not enough(found):
                found.raw_times.append(self._seconds(number))
                if callback:
                    callback(number, found.raw_times[-1])
                if sum(found.raw_times) > most:
                    break
        return found


class Compare:
    """A table of measurements: a row for each sub_label or statement, a column for each description.

    Raises ValueError for anything but Measurements.

    >>> spec = lambda size, how: TaskSpec("f()", "", label="sum", sub_label=size, description=how)
    >>> print(Compare([Measurement(1, [2e-6], spec("3", "eager")), Measurement(1, [1e-6], spec("3", "compiled"))]))
    [sum]
               |  eager  |  compiled
    1 threads  |         |
      3        |    2.0  |       1.0
    Times are in us.
    """

    def __init__(self, results: Iterable[Measurement]):
        self._results: list[Measurement] = []
        self._trimmed = self._marked = self._coloured = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for r in results:
            if not isinstance(r, Measurement):
                what = f"expected a Measurement, got {type(r).__name__}"
                fix = "pass the results of timer.timeit() or timer.blocked_autorange()"
                raise error(ValueError, "Compare", what, fix)
            self._results.append(r)

    def trim_significant_figures(self) -> None:
        """Show only the significant figures."""
        self._trimmed = True

    def highlight_warnings(self) -> None:
        """Mark times that vary too much with the relative interquartile range."""
        self._marked = True

    def colorize(self, rowwise: bool = False) -> None:
        """Print the smallest time of each row in green."""
        self._coloured = True

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys([m.label for m in merged])
        return "\n".join([self._table(label, [m for m in merged if m.label == label]) for label in labels])

    def _table(self, label: str | None, results: list[Measurement]) -> str:
        """Return the table of the measurements with one label."""
        unit, columns = unit_of(min([m.median for m in results])), list(dict.fromkeys([m.description for m in results]))
        row_of = lambda m: (m.num_threads, m.env or "", m.sub_label or m.stmt)
        at = {(row_of(m), m.description): m for m in results}
        texts, before = [["", *[c or "" for c in columns]]], 0
        for row in sorted(dict.fromkeys(map(row_of, results)), key=lambda row: row[:2]):
            texts += [[f"{row[0]} threads", *[""] * len(columns)]] if row[0] != before else []
            texts.append([f"  {' '.join(row[1:]).strip()}", *[self._cell(at.get((row, c)), unit) for c in columns]])
            before = row[0]
        widths = [max(map(len, column)) for column in zip(*texts)]
        lines = [[a.ljust(widths[0]), *[b.rjust(w) for b, w in zip(rest, widths[1:])]] for a, *rest in texts]
        lines = [
            self._green(line) if self._coloured and text[0][:1] == " " else line for line, text in zip(lines, texts)
        ]
        return "\n".join(
            [f"[{label or ''}]", *["  |  ".join(line).rstrip() for line in lines], f"Times are in {unit}."]
        )

    def _cell(self, m: Measurement | None, unit: str) -> str:
        """Return a time as text."""
        if m is None:
            return ""
        x, mark = m.median / UNITS[unit], f" (! {100 * m.iqr / m.median:.0f}%)" * (self._marked and m.has_warnings)
        digits = m.significant_figures - ceil(log10(x)) if self._trimmed else 1
        return f"{round(x, digits):.{max(digits, 0)}f}{mark}"

    def _green(self, line: list[str]) -> list[str]:
        """Return a row with its smallest time in green."""
        times = {k: float(text.split()[0]) for k, text in enumerate(line) if k and text.strip()}
        best = min(times, key=times.__getitem__)
        return [f"\033[32m{text}\033[0m" if k == best else text for k, text in enumerate(line)]


_guard(__name__)
