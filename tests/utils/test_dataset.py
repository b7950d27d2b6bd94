"""Datasets and what is made of several."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from minigrad.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, TensorDataset, random_split

from .samples import Shared, Squares


def numbers(n):
    return TensorDataset(torch.arange(n), torch.arange(n) * 2)


def test_a_sample_of_tensors_is_a_view_of_them():
    t = torch.zeros(3, 2)
    TensorDataset(t)[1][0].fill_(1)
    assert t.tolist() == [[0, 0], [1, 1], [0, 0]]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_a_concatenation_has_all_samples_in_their_order(sizes):
    parts = [range(100 * k, 100 * k + n) for k, n in enumerate(sizes)]
    data, expected = ConcatDataset(parts), [x for part in parts for x in part]
    assert len(data) == len(expected)
    assert [data[i] for i in range(len(data))] == expected
    assert [data[i - len(data)] for i in range(len(data))] == expected


@given(st.integers(0, 40), st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 99))
def test_a_split_by_fractions_has_every_sample_once(n, shares, seed):
    parts = random_split(
        range(n), [s / sum(shares) for s in shares][:-1] + [1 - sum([s / sum(shares) for s in shares][:-1])]
    )
    assert sorted([x for part in parts for x in part]) == list(range(n))
    assert len(parts) == len(shares)


def test_a_split_with_a_generator_is_the_same_each_time():
    parts = [random_split(range(9), [4, 5], torch.Generator().manual_seed(3))[0].indices for _ in range(2)]
    assert parts[0] == parts[1]


def test_adding_datasets_joins_them():
    assert isinstance(Squares(2) + Squares(3), ConcatDataset)
    with pytest.raises(AssertionError, match="dataset 0 is an IterableDataset"):
        Shared(2) + Shared(3)


def test_a_subset_of_a_subset_asks_for_many_samples_at_once():
    class Counted(Squares):
        asked = []

        def __getitems__(self, indices):
            self.asked.append(indices)
            return [self[i] for i in indices]

    data = Subset(Subset(Counted(9), [8, 6, 4, 2]), [0, 2])
    assert [b.tolist() for b in DataLoader(data, batch_size=2)] == [[64, 16]]
    assert Counted.asked == [[8, 4]]


class Overridden(Subset):
    def __getitem__(self, i):
        return 0


REFUSED = [
    (lambda: TensorDataset(torch.ones(3), torch.ones(4, 2)), AssertionError, "3 and 4 rows"),
    (lambda: ConcatDataset([]), AssertionError, "no datasets"),
    (lambda: ConcatDataset([[1], Shared(1)]), AssertionError, "dataset 1 is an IterableDataset"),
    (lambda: ConcatDataset([1, 2]), TypeError, "dataset 0 is of type int, which has no length"),
    (lambda: ConcatDataset([[1], [2]])[2], IndexError, "index 2 is out of range for 2 samples"),
    (lambda: ConcatDataset([[1], [2]])[-3], ValueError, "index -3 is out of range for 2 samples"),
    (lambda: Overridden([1], [0]), NotImplementedError, "overrides __getitem__ but not __getitems__"),
    (lambda: random_split(range(5), [1, 2]), ValueError, "add up to 3, but the dataset has 5"),
    (lambda: random_split(range(5), [1.5, -0.5]), ValueError, "fraction 0 is 1.5"),
    (lambda: Dataset()[0], NotImplementedError, "defines no __getitem__"),
    (lambda: iter(IterableDataset()), NotImplementedError, "defines no __iter__"),
]


@pytest.mark.parametrize("call, kind, words", REFUSED, ids=[words for _, _, words in REFUSED])
def test_what_is_no_dataset_is_refused(call, kind, words):
    with pytest.raises(kind, match="To fix: ") as raised:
        call()
    assert words in str(raised.value)
