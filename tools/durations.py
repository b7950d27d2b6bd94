"""Tables of the time that tests take, by folder and by file: `make test DURATIONS=1`.

As a plugin of pytest (`-p tools.durations`) this module appends a line for each test to build/durations.tsv; run as a program,
it adds the lines up. Processor time counts the programs that a test starts, too, and hardly depends on what else runs on the
machine; the clock's time does. With `--slow 0.5` the tests that take that many seconds go into tests/slow.txt.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent / "build" / "durations.tsv"
SHOWN = 25  # files and tests

Line = tuple[str, float, float]  # a test's id, its seconds of processor time, its seconds by the clock


def processor_seconds() -> float:
    """Return the time of this process, of the programs that it waited for, and of the forks of tests/forked.py."""
    own = os.times()
    forked = sys.modules.get("tests.forked")
    return sum(own[:4]) + (forked.spent() if forked else 0)


class Measured:
    """The plugin: a worker measures its tests, and the process that prints the reports writes the lines."""

    def __init__(self, file: Path, is_worker: bool):
        self.file, self.is_worker, self.start, self.clock = file, is_worker, 0.0, defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self):
        self.start = processor_seconds()
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> None:
        if call.when == "teardown":
            item.user_properties.append(("processor", processor_seconds() - self.start))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.is_worker:  # the process that distributes the tests gets this report as well
            return
        self.clock[report.nodeid] += report.duration
        if report.when == "teardown":
            spent = dict(report.user_properties).get("processor", 0.0)
            self.file.parent.mkdir(exist_ok=True)
            with open(self.file, "a", encoding="utf-8") as file:
                test = report.nodeid.replace("\t", " ").replace("\n", " ")
                print(test, f"{spent:.3f}", f"{self.clock.pop(report.nodeid):.3f}", sep="\t", file=file)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Measured(FILE, is_worker=hasattr(config, "workerinput")))


def read(file: Path) -> list[Line]:
    """Return the lines of a file."""
    rows = [line.rsplit("\t", 2) for line in file.read_text(encoding="utf-8").splitlines()]
    return [(test, float(processor), float(clock)) for test, processor, clock in rows]


def folder(test: str) -> str:
    """Return the folder of a test; below tests/, as tests/viz for tests/viz/viewer/test_page.py.

    >>> folder("tests/viz/viewer/test_page.py::test_keys"), folder("minigrad/core/graph.py::minigrad.core.graph")
    ('tests/viz', 'minigrad')
    """
    parts = file_of(test).split("/")
    return "/".join(parts[: 2 if parts[0] == "tests" and len(parts) > 2 else 1])


def file_of(test: str) -> str:
    """Return the file of a test.

    >>> file_of("tests/test_errors.py::test_one[a::b]")
    'tests/test_errors.py'
    """
    return test.partition("::")[0]


def table(lines: Iterable[Line], title: str, group=lambda test: test, shown: int | None = None) -> str:
    """Return a table of the seconds of each group of tests, the longest first.

    >>> print(table([("a.py::b", 1.5, 2.0), ("a.py::c", 1.0, 1.0), ("d.py::e", 9.0, 9.5)], "file", file_of, shown=1))
    processor   clock   tests  file
          9.0     9.5       1  d.py
          2.5     3.0       2  1 more
    """
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
    for test, processor, clock in lines:
        sums[group(test)] = [a + b for a, b in zip(sums[group(test)], (processor, clock, 1))]
    ordered = sorted(sums.items(), key=lambda item: -item[1][0])
    rest = ordered[shown:] if shown is not None else []
    rows = ordered[: len(ordered) - len(rest)]
    if rest:
        rows.append((f"{len(rest)} more", [sum(values) for values in zip(*(values for _, values in rest))]))
    text = [f"{processor:9.1f} {clock:7.1f} {tests:7.0f}  {name}" for name, (processor, clock, tests) in rows]
    return "\n".join([f"processor   clock   tests  {title}", *text])


def main() -> None:
    """Print the tables: folders, the longest files, the longest tests; or add to the list of slow tests."""
    lines = read(FILE)
    if sys.argv[1:2] == ["--slow"]:
        slow = FILE.parent.parent / "tests" / "slow.txt"
        known, least = slow.read_text(encoding="utf-8").splitlines(), float(sys.argv[2])
        new = {test for test, processor, _ in lines if processor >= least and test.startswith("tests/")}
        slow.write_text("\n".join([*known[:2], *sorted({*known[2:], *new})]) + "\n", encoding="utf-8")
        return
    print("Seconds by the processor and by the clock:", table(lines, "folder", folder), sep="\n")
    print("", table(lines, "file", file_of, SHOWN), sep="\n")
    print("", table(lines, "test", shown=SHOWN), sep="\n")


if __name__ == "__main__":
    main()
