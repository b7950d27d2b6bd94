"""Leaves out the examples of what needs PyTorch where it is not installed, counts what becomes of the mistakes, and runs the
suites on another device where that is asked for: `pytest --device cuda tests/ops`."""

from collections import Counter
from importlib.util import find_spec

import pytest

CELLS = [
    "lessons/[0-9]*.py",
    "lessons/exercises/*",
    "lessons/solutions/*",
    "tests/lessons/answers/*",
]  # tests/lessons runs them
collect_ignore_glob = CELLS + ([] if find_spec("torch") else ["viz/pytorch/*"])


def pytest_addoption(parser):
    """The device that the tests' tensors are made on."""
    parser.addoption(
        "--device", default="cpu", metavar="NAME", help="where tensors are made that are not told: cpu, cuda"
    )


def pytest_configure(config):
    """Only who asks for a device meets it."""
    if config.getoption("device") != "cpu":
        config.pluginmanager.register(OnDevice(config.getoption("device")))


class OnDevice:
    """Tests as they stand, with tensors made on a device.

    They compare numbers through `.numpy()`, which a tensor on a GPU refuses as PyTorch's does; here, and only here, it copies.
    """

    def __init__(self, name):
        self.name = name

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        import minigrad

        numpy = minigrad.Tensor.numpy
        minigrad.Tensor.numpy = lambda t, **options: numpy(t.cpu() if t.is_cuda else t, **options)
        try:
            with minigrad.device(self.name):
                return (yield)
        finally:
            minigrad.Tensor.numpy = numpy


def pytest_terminal_summary(terminalreporter):
    """How many mistakes of the collection (tests/mistakes) are detected, explained and located."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    found = Counter(value for r in reports for key, value in getattr(r, "user_properties", ()) if key == "mistake")
    collected = sum(r.when == "call" and "test_a_mistake_is" in r.nodeid for r in reports)
    if collected:
        counts = ", ".join(f"{found[word]} {word}" for word in ("detected", "explained", "located"))
        terminalreporter.write_line(f"mistakes of autograd code: {collected} collected, {counts}")
