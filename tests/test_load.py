"""The loads of load.py, each for some seconds."""

import sys

import pytest

from . import load

pytestmark = pytest.mark.slow
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")


def test_threads_do_mixed_work():
    done = load.threads(4, 3.0)
    assert set(done) == {f.__name__ for f in load.WORK}


def test_processes_start_at_once_on_an_empty_cache(monkeypatch):
    monkeypatch.setenv("MINIGRAD_CACHE", "")  # put back afterwards
    assert load.processes(4) > 2


@LINUX
def test_training_does_not_grow():
    _, grown = load.soak(3.0)
    assert grown < 1_000_000


@LINUX
def test_records_of_different_programs_do_not_pile_up():
    assert load.notebook(45) < 10_000_000
