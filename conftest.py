"""Leaves out the examples of what needs PyTorch where it is not installed, and counts what becomes of the mistakes."""

from collections import Counter
from importlib.util import find_spec

CELLS = [
    "lessons/[0-9]*.py",
    "lessons/exercises/*",
    "lessons/solutions/*",
    "tests/lessons/answers/*",
]  # tests/lessons runs them
collect_ignore_glob = CELLS + ([] if find_spec("torch") else ["viz/pytorch/*"])


def pytest_terminal_summary(terminalreporter):
    """How many mistakes of the collection (tests/mistakes) are detected, explained and located."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    found = Counter(value for r in reports for key, value in getattr(r, "user_properties", ()) if key == "mistake")
    collected = sum(r.when == "call" and "test_a_mistake_is" in r.nodeid for r in reports)
    if collected:
        counts = ", ".join(f"{found[word]} {word}" for word in ("detected", "explained", "located"))
        terminalreporter.write_line(f"mistakes of autograd code: {collected} collected, {counts}")
