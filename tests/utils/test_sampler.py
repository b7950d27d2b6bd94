"""Samplers: every index as often as it should come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from minigrad.utils.data import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


@given(st.integers(1, 30), st.integers(1, 70), st.integers(0, 99))
def test_without_replacement_an_index_comes_again_only_after_all_others(n, wanted, seed):
    found = list(RandomSampler(range(n), num_samples=wanted, generator=torch.Generator().manual_seed(seed)))
    assert len(found) == wanted
    for begin in range(0, wanted, n):
        part = found[begin : begin + n]
        assert len(set(part)) == len(part)
        assert set(part) <= set(range(n))


@given(st.integers(1, 30), st.integers(1, 70))
def test_with_replacement_there_are_as_many_indices_as_asked_for(n, wanted):
    found = list(RandomSampler(range(n), replacement=True, num_samples=wanted))
    assert len(found) == wanted
    assert set(found) <= set(range(n))


@given(st.integers(0, 30), st.integers(1, 9), st.booleans())
def test_batches_of_indices_are_slices(n, size, drop_last):
    sampler = BatchSampler(SequentialSampler(range(n)), size, drop_last)
    expected = [list(range(n))[i : i + size] for i in range(0, n, size)]
    if drop_last:
        expected = [b for b in expected if len(b) == size]
    assert list(sampler) == expected
    assert len(sampler) == len(expected)


def test_each_pass_has_another_order_and_a_seed_gives_the_same_ones():
    torch.manual_seed(0)
    passes = [list(RandomSampler(range(50))) for _ in range(2)]
    assert passes[0] != passes[1]
    torch.manual_seed(0)
    assert passes == [list(RandomSampler(range(50))) for _ in range(2)]


def test_an_index_without_weight_never_comes():
    assert set(WeightedRandomSampler([0, 1, 0, 2], 200)) == {1, 3}
    assert sorted(WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]


def test_a_subset_is_shuffled():
    assert sorted(SubsetRandomSampler("abc")) == ["a", "b", "c"]


REFUSED = [
    (lambda: RandomSampler(range(3), replacement=1), TypeError, "replacement=1"),
    (lambda: RandomSampler(range(3), num_samples=0), ValueError, "num_samples=0"),
    (lambda: RandomSampler([]), ValueError, "num_samples=0"),
    (lambda: WeightedRandomSampler([1.0], True), ValueError, "num_samples=True"),
    (lambda: WeightedRandomSampler([1.0], 1, replacement=None), ValueError, "replacement=None"),
    (lambda: WeightedRandomSampler([[1.0]], 1), ValueError, "shape (1, 1)"),
    (lambda: BatchSampler([1], 0, False), ValueError, "batch_size=0"),
    (lambda: BatchSampler([1], 2.0, False), ValueError, "batch_size=2.0"),
    (lambda: BatchSampler([1], 2, None), ValueError, "drop_last=None"),
    (lambda: iter(Sampler()), NotImplementedError, "defines no __iter__"),
]


@pytest.mark.parametrize("call, kind, words", REFUSED, ids=[words for _, _, words in REFUSED])
def test_a_sampler_that_makes_no_sense_is_refused(call, kind, words):
    with pytest.raises(kind, match="To fix: ") as raised:
        call()
    assert words in str(raised.value)
