"""Whole records computed again in a page: from the recorded leaves, and from others."""

import pytest

import minigrad
from tests.formulas.test_programs import PROGRAMS

from .again import computed, leaves, recorded
from .sayings import equal
from .test_programs import LONG, WITHOUT_JVP

PASSES = ("forward", "backward", "jvp")
KEPT = [name for name in PROGRAMS if name != "chain"]  # that has 900 operations
# what a page cannot compute, apart from what operations save for themselves
REASONS = {
    "sort": {"Sort.forward computes in NumPy"},
    "NumpyTake": {"Take.forward computes in NumPy"},
    "hooks": {"more than the record's formula makes this number"},
    "hessian": {"its call gives only the first result", "the record has no formula for this tangent",
                "more than the record's formula makes this number"},
}  # fmt: skip
DRAWN = {"random draws keep their numbers"}
SAVED = {"an operation computes it for its backward"}


def slow_if_long(names):
    return [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in names]


def record(name, x):
    minigrad.manual_seed(0)
    passes = PASSES[:2] if name in WITHOUT_JVP else PASSES
    return recorded(minigrad.record(PROGRAMS[name][0], x, passes=passes, inside=True, contents=True))


def compare(found, arrays, without=()):
    """Check all numbers that a page computes, and return how many there are."""
    known = [i for i in found.numbers if i in arrays and i not in found.frozen and i not in without]
    for i in known:
        assert equal(found.numbers[i], arrays[i]), i
    return len(known)


@pytest.mark.parametrize("name", slow_if_long(KEPT))
def test_a_record_gives_its_numbers_again_or_says_why_not(name):
    live, _, arrays = record(name, PROGRAMS[name][1].clone())
    found = computed(live)
    assert compare(found, arrays) and set(arrays) <= {*found.numbers, *found.frozen}
    assert set(found.frozen.values()) - DRAWN - SAVED == REASONS.get(name, set())


@pytest.mark.parametrize("name", slow_if_long(KEPT))
def test_with_other_inputs_a_page_gives_what_the_program_gives(name):
    x = PROGRAMS[name][1]
    live, document, arrays = record(name, x.clone())
    _, other, expected = record(name, (x.detach() * 1.01).requires_grad_(x.requires_grad))
    assert [op["call"] for op in document["ops"]] == [op["call"] for op in other["ops"]]
    found = computed(live, {i: expected[i] for i in leaves(live, document) & set(expected)})
    assert compare(found, expected, without=found.behind)
