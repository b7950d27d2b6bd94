"""Every program of `programs/` under PyTorch and under minigrad: same values, dtypes, shapes, same kind of error."""

import itertools

import pytest
import torch

import minigrad
from tests.parity.in_both import same_in_both

from .harness import Raised, collect, contradictions, differences, report, run

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


@pytest.mark.parametrize("order", list(itertools.permutations("kmwra", 4)), ids="".join)
@same_in_both
def test_hooks_of_one_tensor_see_and_change_the_same_gradient(lib, order):
    """k keeps it, m marks the object, w writes to the kept one, r replaces it, a returns another after all."""
    kept = [lib.zeros(2)]
    hooks = {
        "k": lambda g: kept.append(g),
        "m": lambda g: setattr(g, "mark", 1),
        "w": lambda g: (kept[-1].mul_(5), None)[1],
        "r": lambda g: g * 2,
        "a": lambda g: g.add_(1),
    }
    x = lib.tensor([1.0, 3.0], requires_grad=True)
    y = x * 2
    for name in order:
        y.register_hook(hooks[name])
    (y * y).sum().backward()
    return (x.grad.tolist(), [k.tolist() for k in kept], [hasattr(k, "mark") for k in kept])


def test_a_test_in_both_libraries_fails_where_they_differ():
    with pytest.raises(AssertionError):
        same_in_both(lambda library: library.__name__)()
