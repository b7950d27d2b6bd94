"""The programs of `parity/programs/` whose result is stated beside them, under minigrad alone (no PyTorch needed)."""

import pytest

import minigrad

from .parity.harness import collect, contradictions, report, run

STATED = [(name, program) for name, program in collect() if hasattr(program, "expected")]


@pytest.mark.parametrize("name, program", STATED, ids=[name for name, _ in STATED])
def test_program_gives_what_it_states(name, program):
    found = run(program, minigrad)
    lines = contradictions(program.expected, found)
    if lines:
        pytest.fail(report(name, program, ("stated", program.expected), ("minigrad", found), lines), pytrace=False)
