"""A program that begins with a seed prints what it prints in PyTorch."""

import json

import pytest

from .numbers import SAME, difference
from .seeded import KEPT, PROGRAMS, prints

PRINTS = json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_seeded_program_prints_what_it_prints_in_pytorch(name):
    ours = prints(name, "minigrad")
    assert difference(ours, PRINTS[name]) == SAME and ours.count("\n") == PRINTS[name].count("\n")
