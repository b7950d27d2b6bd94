"""A program that begins with a seed prints what it prints in PyTorch."""

import json

import pytest

from .numbers import SAME, difference
from .seeded import KEPT, PROGRAMS, prints

PRINTS = json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_seeded_program_prints_what_it_prints_in_pytorch(name):
    ours, theirs = prints(name, "minigrad"), PRINTS[name]
    assert difference(ours, theirs) == SAME
    assert len(ours.splitlines()) == len(theirs.splitlines())


def test_there_are_many_and_all_are_kept():
    assert sorted(PRINTS) == sorted(PROGRAMS) and len(PROGRAMS) >= 30
