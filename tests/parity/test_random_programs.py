"""Random programs of views, writes and arithmetic under PyTorch and under minigrad; a failure prints a short program."""

import pytest

import minigrad

from .harness import Raised, differences, run
from .random_programs import compile_program, shrink, write

torch = pytest.importorskip("torch")
PROGRAMS = 300


def compare(source):
    """What PyTorch makes of the program, and where minigrad differs."""
    program = compile_program(source)
    wanted = run(program, torch)
    return wanted, differences(wanted, run(program, minigrad))


def differs(source):
    """Whether the program runs under PyTorch and gives something else under minigrad."""
    wanted, lines = compare(source)
    return bool(lines) and not isinstance(wanted, Raised)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program_agrees_with_torch(seed):
    source = write(seed, torch)
    _, lines = compare(source)
    if lines:
        short = shrink(source, differs)
        _, lines = compare(short)
        pytest.fail("\n".join(["", short, "differences, torch against minigrad:", *lines]), pytrace=False)
