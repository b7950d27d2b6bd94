"""Random programs of views, writes and arithmetic under PyTorch and under minigrad; a failure prints a short one."""

import pytest
import torch

import minigrad

from .harness import Raised, differences
from .random_programs import shrink, write

PROGRAMS = 300


def found(program):
    """Return the differences between PyTorch and minigrad; none for a program that PyTorch itself refuses."""
    wanted = program.run(torch)
    refused = isinstance(wanted, Raised) and not issubclass(wanted.type, RuntimeError)
    return [] if refused else differences(wanted, program.run(minigrad))


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program_agrees_with_torch(seed):
    program = write(seed, torch)
    if found(program):
        short = shrink(program, found)
        text = ["", short.source, "differences, torch against minigrad:", *found(short)]
        pytest.fail("\n".join(text), pytrace=False)
