"""Timing of statements: torch.utils.benchmark's Timer, its Measurements, and Compare, which prints them as a table.

After a warm-up block, a statement runs in blocks that are long enough for the clock, on one thread unless you ask for more.
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
from ..errors import error
from ..kernels.threads import get_num_threads, set_num_threads

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer"]

UNITS = {"ns": (1e-9, "nanosecond"), "us": (1e-6, "microsecond"), "ms": (1e-3, "millisecond"), "s": (1.0, "second")}
SHORTEST = 1e-9  # seconds; a lower bound for every time, which prevents division by 0
RESOLUTION = 25e-9  # seconds; no mean is more accurate than this
UNSTEADY = {0.25: "This suggests significant environmental influence.", 0.1: "This could indicate system fluctuation."}


def timer() -> float:
    """Return the time in seconds, after the GPU has finished its work."""
    if cuda.is_available():
        cuda.synchronize()
    return time.perf_counter()


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Compute with n threads inside the `with` block."""
    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)


# ---------------------------------------------------------------------- measurements
@dataclass(frozen=True)
class TaskSpec:
    """The statement that a Timer times, its setup and its labels.

    >>> from minigrad.utils.benchmark import TaskSpec
    >>> TaskSpec("x.sum()", "x = torch.ones(3)", sub_label="small").title
    'x.sum(): small'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, and the sub_label."""
        if self.label is None and "\n" in self.stmt:
            return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"
        return (self.stmt if self.label is None else self.label) + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """Return the setup for display."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return title, description and setup, as far as present, each on a separate line."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join([f"{part}\n" if "\n" in part else part for part in parts if part])


@dataclass(repr=False)
class Measurement:
    """The result of a Timer: the time in seconds of each block of `number_per_run` runs, and statistics.

    >>> from minigrad.utils.benchmark import Measurement, TaskSpec
    >>> m = Measurement(2, [2.0, 4.0, 6.0], TaskSpec("f()", ""))
    >>> m.times, m.median, m.mean, m.iqr, m.significant_figures
    ([1.0, 2.0, 3.0], 2.0, 2.0, 1.0, 1)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict | None = None  # free for the user

    def __getattr__(self, name: str) -> Any:
        """Return a field of the task_spec: stmt, label, num_threads, ..."""
        if name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds per run, for each block."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def median(self) -> float:
        """The median of the times."""
        return statistics.median(self.times)

    def quartiles(self) -> tuple[float, float]:
        """Return the first and the third quartile of the times."""
        low, high = np.quantile(self.times, [0.25, 0.75])
        return float(low), float(high)

    @property
    def iqr(self) -> float:
        """The interquartile range of the times."""
        low, high = self.quartiles()
        return high - low

    @property
    def significant_figures(self) -> int:
        """The number of trustworthy figures of the median, 1 to 4, by a rough 90% interval of the interquartile mean."""
        n = len(self.raw_times)
        middle = sorted(self.times)[n // 4 : ceil(3 * n / 4)]
        interval = max(1.645 * statistics.pstdev(middle) / len(middle) ** 0.5, RESOLUTION)
        return min(max(floor(log10(self.median / interval)), 1), 4)

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Return True if the interquartile range is below this fraction of the median."""
        return self.iqr / self.median < threshold

    @property
    def has_warnings(self) -> bool:
        """True if the times vary too much to be trusted."""
        return not self.meets_confidence()

    @property
    def title(self) -> str:
        """The title of the task_spec."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The name of the measurement's row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        n, unit = len(self.raw_times), unit_of(self.median)
        scale, several = UNITS[unit][0], n > 1
        low, high = self.quartiles()
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines += [f"  {'Median: ' if several else ''}{self.median / scale:.2f} {unit}"]
        if n >= 4:
            lines += [f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})"]
        runs = f"{self.number_per_run} runs {'per measurement,' if several else ','}"
        lines += [f"  {n} measurement{'s' * several}, {runs} {self.num_threads} thread{'s' * (self.num_threads > 1)}"]
        spread = self.iqr / self.median
        if (why := next((why for limit, why in UNSTEADY.items() if spread >= limit), None)) is not None:
            lines += [
                f"  WARNING: Interquartile range is {spread * 100:.1f}% of the median measurement.\n           {why}"
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
    """Return the unit in which a time is between 1 and 1000."""
    return {-3: "ns", -2: "us", -1: "ms"}.get(floor(log10(seconds) / 3), "s")


# ---------------------------------------------------------------------- measuring
class Timer:
    """Times a statement: `timeit` for a number of runs, `blocked_autorange` for a time, `adaptive_autorange` until steady.

    `stmt` and `setup` see `globals`, and minigrad as `torch`. `label`, `sub_label`, `description` and `env` identify it in
    a table. Raises ValueError for a statement that is not a string.

    >>> from minigrad.utils.benchmark import Timer
    >>> m = Timer("x + x", "x = torch.ones(3)", num_threads=1).timeit(10)
    >>> m.number_per_run, m.median > 0
    (10, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: str = "python",
    ):
        if not isinstance(stmt, str):
            what = f"stmt has to be a string, got {type(stmt).__name__}"
            raise error(ValueError, "Timer", what, 'write stmt="f(x)", globals={"f": f, "x": x}')
        if language not in ("python", "py") or global_setup:
            what = f"only Python is timed, got language={language!r} and global_setup={global_setup!r}"
            raise error(ValueError, "Timer", what, "leave out language, and move global_setup into setup")
        stmt, setup = [textwrap.dedent(text).removeprefix("\n").rstrip() for text in (stmt, setup)]
        self._timer = timeit.Timer(stmt, setup, timer, {"torch": minigrad, **(globals or {})})
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _seconds(self, number: int) -> float:
        """Return the seconds that a block of runs takes."""
        return max(self._timer.timeit(number), SHORTEST)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Measure one block of `number` runs."""
        with threads(self._task_spec.num_threads):
            self._seconds(max(number // 100, 2))  # warms up
            return Measurement(number, [self._seconds(number)], self._task_spec)

    def _block_size(self, min_run_time: float) -> int:
        """Return a number of runs large enough that the clock's overhead is negligible."""
        overhead, number = statistics.median([self._seconds(0) for _ in range(5)]), 1
        while number < 1e8:
            seconds = self._seconds(number)
            if seconds > min_run_time or overhead <= 1e-4 * seconds and seconds >= min_run_time / 1000:
                break
            number *= 10
        return number

    def _blocks(self, least: float, most: float, enough: Callable, callback: Callable | None) -> Measurement:
        """Measure blocks for `least` seconds, then more until `enough` holds or `most` seconds have passed."""
        with threads(self._task_spec.num_threads):
            found = Measurement(self._block_size(least), [], self._task_spec)
            while sum(found.raw_times) < least or not enough(found):
                found.raw_times.append(self._seconds(found.number_per_run))
                if callback:
                    callback(found.number_per_run, found.raw_times[-1])
                if sum(found.raw_times) > most:
                    break
        return found

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measure blocks for at least `min_run_time` seconds; call `callback(runs, seconds)` after each block."""
        return self._blocks(min_run_time, float("inf"), lambda found: True, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Measure blocks until their range is below this fraction of the median, or for `max_run_time` seconds."""
        steady = lambda found: len(found.raw_times) > 3 and found.meets_confidence(threshold)
        return self._blocks(min_run_time, max_run_time, steady, callback)


# ---------------------------------------------------------------------- a table
class Compare:
    """A table of measurements: a row for each sub_label or statement, a column for each description.

    Raises ValueError for anything but Measurements.

    >>> from minigrad.utils.benchmark import Compare, Measurement, TaskSpec
    >>> spec = lambda size, how: TaskSpec("f()", "", label="sum", sub_label=size, description=how)
    >>> table = Compare([Measurement(1, [2e-6], spec("3", "eager")), Measurement(1, [1e-6], spec("3", "compiled"))])
    >>> print(str(table).splitlines()[3])
          3  |   2.0   |    1.0
    """

    def __init__(self, results: Iterable[Measurement]):
        self._results: list[Measurement] = []
        self._trimmed = self._highlighted = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for r in results:
            if not isinstance(r, Measurement):
                what = f"expected a Measurement, got {type(r).__name__}"
                raise error(
                    ValueError, "Compare", what, "pass the results of timer.timeit() or timer.blocked_autorange()"
                )
            self._results.append(r)

    def trim_significant_figures(self) -> None:
        """Show only the significant figures."""
        self._trimmed = True

    def highlight_warnings(self) -> None:
        """Mark times that vary too much."""
        self._highlighted = True

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys([m.label for m in merged])
        return "\n".join([self._table(label, [m for m in merged if m.label == label]) for label in labels])

    def _table(self, label: str | None, results: list[Measurement]) -> str:
        """Return the table of the measurements with one label."""
        unit = unit_of(min([m.median for m in results]))
        columns = list(dict.fromkeys([m.description for m in results]))
        row_of = lambda m: (m.num_threads, m.env, m.as_row_name)
        rows = sorted(dict.fromkeys([row_of(m) for m in results]), key=lambda row: (row[0], row[1] or ""))
        at = {(row_of(m), m.description): m for m in results}
        cells = [self._column([at.get((row, c)) for row in rows], UNITS[unit][0]) for c in columns]
        several = len({m.env for m in results}) > 1
        texts = [["", *[str(c or "") for c in columns]]]
        widest = max([len(str(m.env)) + 4 for m in results]) if several else 4
        for i, (_, env, name) in enumerate(rows):
            first = several and (i == 0 or rows[i - 1][:2] != rows[i][:2])
            texts.append([f"  {(f'({env})' if first else '').ljust(widest)}{name}", *[column[i] for column in cells]])
        widths = [max(map(len, column)) for column in zip(*texts)]
        lines = ["  |  ".join([text.center(w) for text, w in zip(texts[0], widths)])]
        across = len(lines[0])
        for i, (row, text) in enumerate(zip(rows, texts[1:])):
            if i == 0 or rows[i - 1][0] != row[0]:
                lines.append(f"{row[0]} threads: ".ljust(across, "-"))
            lines.append("  |  ".join([text[0].ljust(widths[0]), *[t.center(w) for t, w in zip(text[1:], widths[1:])]]))
        lines += ["", f"Times are in {UNITS[unit][1]}s ({unit})."]
        if self._highlighted and any([m.has_warnings for m in results]):
            lines.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join([f"[{f' {label or str()} '.center(across - 2, '-')}]", *lines, ""])

    def _column(self, results: list[Measurement | None], scale: float) -> list[str]:
        """Return the cells of a column, all with the same number of decimals."""
        there = [m for m in results if m is not None]
        digits = [ceil(log10(m.median / scale)) for m in there]
        decimals = min([max(m.significant_figures - d, 0) for m, d in zip(there, digits)]) if self._trimmed else 1
        width, marked = (
            max(digits) + decimals + bool(decimals),
            self._highlighted and any([m.has_warnings for m in there]),
        )
        cells = []
        for m in results:
            value = None if m is None else m.median / scale
            if m is not None and value is not None and self._trimmed:
                value = trimmed(value, m.significant_figures)
            text = "" if value is None else f"{value:>{width}.{decimals}f}"
            mark = f" (! {m.iqr / m.median * 100:.0f}%)" if m is not None and marked and m.has_warnings else ""
            cells.append(text.rjust(width) + (mark.rjust(7) if marked else ""))
        return cells


def trimmed(x: float, n: int) -> float:
    """Return x with n significant figures."""
    scale = 10 ** (ceil(log10(abs(x))) - n)
    return round(x / scale) * scale
