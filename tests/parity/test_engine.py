"""Every program of `programs/` under PyTorch and under minigrad: same values, dtypes, shapes, same kind of error."""

import pytest

import minigrad

from .harness import Raised, collect, contradictions, differences, report, run

torch = pytest.importorskip("torch")
PROGRAMS = collect()
NAMES = [name for name, _ in PROGRAMS]


@pytest.mark.parametrize("name, program", PROGRAMS, ids=NAMES)
def test_minigrad_agrees_with_torch(name, program):
    wanted, found = run(program, torch), run(program, minigrad)
    lines = differences(wanted, found)
    if lines:
        pytest.fail(report(name, program, ("torch", wanted), ("minigrad", found), lines), pytrace=False)


@pytest.mark.parametrize("name, program", PROGRAMS, ids=NAMES)
def test_torch_gives_what_the_program_states(name, program):
    found, stated = run(program, torch), getattr(program, "expected", "nothing")
    lines = contradictions(stated, found) if hasattr(program, "expected") else []
    if isinstance(found, Raised) and found.escaped:
        lines.append("the program as a whole raises under torch")
    if lines:
        pytest.fail(report(name, program, ("stated", stated), ("torch", found), lines), pytrace=False)
