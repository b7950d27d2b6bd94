"""Garbage in each argument raises no error that blames minigrad, and each call ends at once."""

import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import minigrad
from tests import garbage

SECONDS = 10  # of the processor, for one call: those that end at once take a thousandth
ROOM = 6 << 30  # bytes of addresses, so that what is lazily given counts as asked for

PROGRAM = """
import resource, sys
from tests import garbage

resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
found = garbage.told_wrongly(int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
print(*found, sep="\\n")
"""


def told_wrongly(seed, share):
    """Return the faults that a separate process with little memory finds in a share of all calls."""
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", PROGRAM, *map(str, (ROOM, seed, share, SECONDS))]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split("\n")[:-1]


@pytest.mark.cpu("is about the processor's memory")
def test_a_sample_of_garbage_is_told_rightly():
    assert [line for line in told_wrongly(1, 0.01) if line] == []


@pytest.mark.slow
@pytest.mark.cpu("is about the processor's memory")
def test_a_large_sample_of_garbage_is_told_rightly():
    assert [line for line in told_wrongly(2, 0.1) if line] == []


MISNAMED = """
import sys
from tests import garbage
from tests.docs.test_reference import PUBLIC

public = {name: value for name, value in PUBLIC.items() if name.startswith("minigrad.") and "distributed" not in name}
made, found = garbage.misnamed(public, int(sys.argv[1]), float(sys.argv[2]), 10)
print(made, *found, sep="\\n")
"""


def misnamed(seed, share):
    """Return how many wrong calls of public functions and methods a separate process makes, and those told in our own words."""
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", MISNAMED, str(seed), str(share)]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    made, *found = done.stdout.rstrip().split("\n")
    return int(made), found


@pytest.mark.cpu("messages are the same on a GPU")
def test_errors_of_a_sample_of_wrong_arguments_name_no_internals():
    made, found = misnamed(4, 0.02)
    assert made > 300 and found == []


@pytest.mark.slow
@pytest.mark.cpu("messages are the same on a GPU")
def test_errors_of_all_wrong_arguments_name_no_internals():
    made, found = misnamed(5, 1.0)
    assert made > 20_000 and len(found) < 0.005 * made, "\n".join(found)


def test_there_is_garbage_for_every_operation_and_module():
    calls = {name: len(list(garbage.calls(name, f, sample))) for name, (f, sample, _) in garbage.everything().items()}
    assert len(calls) > 500 and min(calls.values()) >= len(garbage.GARBAGE)
    assert random.Random(1).random() == random.Random(1).random()


def test_a_fault_of_minigrad_itself_is_not_told_as_one_of_an_argument(monkeypatch):
    monkeypatch.delattr("minigrad.ops.transfer.dlpack")  # as after a slip in its imports
    with pytest.raises(
        minigrad.InternalError, match="not your mistake, with ext_tensor .*name 'dlpack' is not defined"
    ):
        minigrad.from_dlpack(SimpleNamespace(__dlpack_device__=lambda: (1, 0)))
