"""Random programs computed again in a page: all three passes, with the recorded numbers and with others."""

import pytest

import minigrad

from .again import computed, leaves
from .random_records import RandomProgram
from .sayings import equal
from .test_record import compare


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_a_random_program_follows_its_leaves(seed):
    assert agrees(RandomProgram(seed))


@pytest.mark.slow
def test_300_random_programs_follow_their_leaves():
    found = [agrees(RandomProgram(seed)) for seed in range(560)]
    programs, live, frozen = (sum(kind) for kind in zip(*[one for one in found if one], strict=True))
    assert programs >= 300 and frozen < 0.02 * live


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_a_random_program_in_float32_gives_its_numbers(seed):
    made = RandomProgram(seed).record(1.0, minigrad.float32)
    if not isinstance(made, Exception):
        live, _, arrays = made
        found = computed(live)
        assert compare(found, arrays) and set(arrays) <= {*found.numbers, *found.frozen}


def agrees(program):
    """Check a program with its leaves and with others; return 1 and the numbers of values and of frozen ones."""
    made, other = program.record(1.0), program.record(1.03)
    if isinstance(made, Exception) or isinstance(other, Exception):
        return ()
    live, document, arrays = made
    found = computed(live)
    compare(found, arrays)
    assert set(arrays) <= {*found.numbers, *found.frozen}
    _, again, expected = other
    if [op["call"] for op in document["ops"]] == [op["call"] for op in again["ops"]]:
        moved = computed(live, {i: expected[i] for i in leaves(live, document) & set(expected)})
        for i in set(moved.numbers) & set(expected) - {*moved.frozen, *moved.behind}:
            assert equal(moved.numbers[i], expected[i]), (document["values"][i]["label"], program.lines)
    return 1, len(arrays), len(found.frozen)
