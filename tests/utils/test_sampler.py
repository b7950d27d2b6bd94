"""Samplers: every index as often as it should come."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from minigrad.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
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


@given(st.integers(0, 40), st.integers(1, 6), st.booleans(), st.booleans(), st.integers(0, 9))
def test_processes_share_all_indices(n, processes, shuffle, drop_last, epoch):
    samplers = [DistributedSampler(range(n), processes, r, shuffle, 3, drop_last) for r in range(processes)]
    for sampler in samplers:
        sampler.set_epoch(epoch)
    shares = [list(sampler) for sampler in samplers]
    assert {len(share) for share in shares} == {len(samplers[0])} == {samplers[0].num_samples}
    found = [share[i] for i in range(len(samplers[0])) for share in shares]  # in the order of the passes
    if drop_last:
        assert len(set(found)) == len(found) == n // processes * processes
    else:
        assert set(found) == set(range(n)) and found[n:] == found[: len(found) - n] and len(found) < n + processes
    assert shares == [list(sampler) for sampler in samplers]  # the same order until the next epoch
    if not shuffle:
        assert found[:n] == list(range(n))[: len(found)]


def test_each_epoch_has_an_order_of_its_own_which_follows_from_the_seed():
    orders = []
    for seed, epoch in ((0, 0), (0, 1), (1, 0)):
        sampler = DistributedSampler(range(50), 2, 0, seed=seed)
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    assert orders[0] != orders[1] == orders[2]  # the seed and the epoch are added


def test_a_share_belongs_to_a_process():
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        DistributedSampler(range(4), num_replicas=2, rank=2)
    with pytest.raises((ValueError, RuntimeError), match="pass num_replicas= and rank="):
        DistributedSampler(range(4))


@pytest.mark.parametrize("replacement", [False, True])
def test_a_sampler_of_endless_length_begins_at_once(replacement):
    tracemalloc.start()
    try:
        sampler = RandomSampler(range(40), replacement, num_samples=10**12)
        batches = iter(DataLoader(range(40), batch_size=3, sampler=sampler))
        assert len(sampler) == 10**12 and [len(next(batches)) for _ in range(30)] == [3] * 30
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
