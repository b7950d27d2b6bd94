"""Leaves out what needs PyTorch where it is not installed, counts what becomes of the mistakes, and runs the suites on another
device where that is asked for: `pytest --device cuda tests/ops`."""

import faulthandler
import gc
import math
import os
import sys
import time
from collections import Counter
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numba  # noqa: F401  once it is loaded, kernels run on small arrays, too, in whatever order tests run
import pytest

CELLS = [
    "lessons/[0-9]*.py",
    "lessons/exercises/*",
    "lessons/solutions/*",
    "tests/lessons/answers/*",
]  # tests/lessons runs them
PROGRAMS = ["tests/programs/scripts/*"]  # for PyTorch; tests/programs runs them
CHOOSE_THEMSELVES = Path(__file__).parent / "tests" / "kernels" / "cuda"
collect_ignore_glob = CELLS + PROGRAMS + ([] if find_spec("torch") else ["viz/pytorch/*", "tests/parity/*"])
collect_ignore_glob += [] if find_spec("mpi4py") else ["minigrad/distributed/*"]
collect_ignore_glob += [] if find_spec("anywidget") else ["viz/notebook/widget.py", "viz/notebook/live.py"]


def listed(name):
    """Return the ids of the tests in a list of tests/, or their beginnings, by file."""
    ids, by_file = (Path(__file__).parent / "tests" / f"{name}.txt").read_text(encoding="utf-8").splitlines(), {}
    for file, _, test in (line.partition("::") for line in ids if not line.startswith("#")):
        by_file[file] = (*by_file.get(file, ()), test)
    return by_file


# marks of tests, beside those that stand at a test: they run in make test-slow, and with NIGHTLY=1
LISTED = {"slow": listed("slow"), "nightly": listed("nightly")}


def pytest_addoption(parser):
    """Add the option for the device of the tests' tensors."""
    parser.addoption("--device", default="cpu", metavar="NAME", help="device of tensors that name none: cpu, cuda")


def pytest_configure(config):
    """Let no test fail for the time that it takes, and put the tensors on the device that is asked for."""
    from hypothesis import HealthCheck, settings

    settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("patient")
    config.pluginmanager.register(Watchdog())
    if config.getoption("device") != "cpu":
        config.pluginmanager.register(OnDevice(config.getoption("device")))


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """Mark those of the lists, and those beside PyTorch."""
    for item in items:
        file, _, test = item.nodeid.partition("::")
        if file.startswith("tests/parity/"):
            item.add_marker("parity")
        for mark, beginnings in LISTED.items():
            if file in beginnings and test.startswith(beginnings[file]):
                item.add_marker(mark)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Leave the millions of objects that 14,000 tests are out of what the collector walks from now on."""
    gc.disable()
    yield
    gc.enable()
    gc.collect()
    gc.freeze()


GENERATORS = []  # of random numbers, that the tests of a module share; each with its first state


def pytest_collection_finish():
    """Find them."""
    from numpy.random import Generator

    modules = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("tests.")]
    found = [g for names in modules for g in names.values() if isinstance(g, Generator)]
    GENERATORS.extend((g, g.bit_generator.state) for g in found)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Let a test draw the same numbers whatever tests have run before it, and each time."""
    import minigrad

    minigrad.manual_seed(0)
    for generator, state in GENERATORS:
        generator.bit_generator.state = state


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a test in which a search in the user's program fails, which users would see in the note of a later error at most."""
    from minigrad.diagnose.report import Failed

    failures, note = [], Failed.note
    Failed.note = lambda failed, e: (failures.append(e), note(failed, e))[1]
    try:
        with process_group(item):
            result = yield
    finally:
        Failed.note = note
    if failures and item.get_closest_marker("failed_search") is None:
        raise failures[0]
    return result


@contextmanager
def process_group(item):
    """Join the group of this process, for an example that comes after init_process_group."""
    test = getattr(item, "dtest", None)
    if test is None or not any("# after dist.init_process_group" in example.source for example in test.examples):
        yield
        return
    from minigrad import distributed

    distributed.init_process_group("mpi")
    yield
    if distributed.is_initialized():
        distributed.destroy_process_group()


class Watchdog:
    """Ends the run of a worker in which a test hangs, and shows where: nine to ten minutes after the test has begun.

    pytest's own clock for this (faulthandler_timeout) starts and joins a thread for each test.
    """

    SECONDS, AGAIN = 600, 60  # until it ends the run, and until it is set anew

    def __init__(self):
        self.stderr, self.set_at = os.dup(2), -math.inf

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self):
        now = time.monotonic()
        if now - self.set_at > self.AGAIN:
            faulthandler.dump_traceback_later(self.SECONDS, exit=True, file=self.stderr)
            self.set_at = now

    def pytest_unconfigure(self):
        faulthandler.cancel_dump_traceback_later()
        os.close(self.stderr)


class OnDevice:
    """Tests as they stand, with tensors made on a device, also those that a module makes when it is imported.

    They compare numbers through `.numpy()`, which a tensor on a GPU refuses as PyTorch's does; here, and only here, it copies.
    Tests that are about the processor alone say why: `@pytest.mark.cpu("...")`.  Those of tests/kernels/cuda choose their
    devices themselves.
    """

    def __init__(self, name):
        self.name = name

    @contextmanager
    def entered(self, node):
        """Where the tests of a node make their tensors."""
        import minigrad

        if CHOOSE_THEMSELVES in node.path.parents:
            yield
            return
        numpy = minigrad.Tensor.numpy
        minigrad.Tensor.numpy = lambda t, **options: numpy(t.cpu() if t.is_cuda else t, **options)
        try:
            with minigrad.device(self.name):
                yield
        finally:
            minigrad.Tensor.numpy = numpy

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        with self.entered(collector):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        with self.entered(item):
            return (yield)

    def pytest_collection_modifyitems(self, items):
        for item in items:
            for mark in item.iter_markers("cpu"):
                item.add_marker(pytest.mark.skip(reason=f"about the processor: {mark.args[0]}"))


def pytest_terminal_summary(terminalreporter):
    """How many mistakes of the collection (tests/mistakes) are detected, explained and located."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    found = Counter(value for r in reports for key, value in getattr(r, "user_properties", ()) if key == "mistake")
    collected = sum(r.when == "call" and "test_a_mistake_is" in r.nodeid for r in reports)
    if collected:
        counts = ", ".join(
            f"{found[word]} {word}" for word in ("detected", "explained", "located", "made at another line")
        )
        terminalreporter.write_line(f"mistakes of autograd code: {collected} collected, {counts}")
