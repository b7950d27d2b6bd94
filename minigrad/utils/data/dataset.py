"""Datasets: samples by index (Dataset) or in sequence (IterableDataset), and combinations of datasets.

A map-style dataset has `__getitem__` and `__len__`.  If it can fetch many samples at once faster than one by one, it also has
`__getitems__(indices)`, which a DataLoader then calls.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ...core.tensor import Tensor
from ...errors import error
from ...ops.generator import Generator, default_generator
from ...ops.random import randperm
from .sampler import device_of

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Base class of datasets whose samples have indices.  A subclass defines `__getitem__`, and `__len__` for samplers.

    >>> from minigrad.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> [Squares()[i] for i in range(3)], len(Squares() + Squares())
    ([0, 1, 4], 6)
    """

    def __getitem__(self, index: Any) -> T_co:
        raise error(
            NotImplementedError,
            type(self).__name__,
            "this Dataset has no samples: its class defines no __getitem__",
            "write `def __getitem__(self, index):` in the class, or derive it from IterableDataset and write `__iter__`",
        )

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Base class of datasets that are read from beginning to end, such as streams.  A subclass defines `__iter__`.

    Each worker of a DataLoader has a copy of the dataset and reads all of it, unless `__iter__` asks `get_worker_info` for
    its share.

    >>> from minigrad.utils.data import DataLoader, IterableDataset
    >>> class Counter(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(5))
    >>> list(DataLoader(Counter(), batch_size=2))
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    def __iter__(self) -> Iterator[T_co]:
        what = "this IterableDataset has no samples: its class defines no __iter__"
        raise error(NotImplementedError, type(self).__name__, what, "write `def __iter__(self):` in the class")


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """A dataset of the rows of tensors: index i returns `(a[i], b[i], ...)`, views of the tensors.

    Raises AssertionError for tensors whose first dimensions differ.

    >>> import minigrad
    >>> from minigrad.utils.data import TensorDataset
    >>> data = TensorDataset(minigrad.tensor([[1, 2], [3, 4]]), minigrad.tensor([0, 1]))
    >>> len(data), data[1]
    (2, (tensor([3, 4]), tensor(1)))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor):
        sizes = [t.size(0) for t in tensors]
        if len(set(sizes)) > 1:
            what = f"size mismatch between tensors: they have {listed(sizes)} rows"
            raise error(AssertionError, "TensorDataset", what, "pass tensors with one row for each sample")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([t[index] for t in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class ConcatDataset(Dataset[T_co]):
    """Several datasets, one after another, as one.

    Raises AssertionError without datasets and for an IterableDataset, ValueError or IndexError for an index out of range.

    >>> from minigrad.utils.data import ConcatDataset
    >>> data = ConcatDataset([range(3), range(10, 12)])
    >>> len(data), data[3], data[-1], data.cumulative_sizes
    (5, 10, 11, [3, 5])
    """

    datasets: list
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise error(AssertionError, "ConcatDataset", "there are no datasets to join", "pass at least one")
        for i, d in enumerate(self.datasets):
            if isinstance(d, IterableDataset):
                what = f"dataset {i} is an IterableDataset ({type(d).__name__}), which has no indices"
                raise error(AssertionError, "ConcatDataset", what, "iterate over them with itertools.chain(a, b)")
            if not hasattr(d, "__len__"):
                what = f"dataset {i} is of type {type(d).__name__}, which has no length"
                raise error(TypeError, "ConcatDataset", what, "pass datasets, ConcatDataset([a, b])")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return the number of samples up to the end of each dataset."""
        return list(itertools.accumulate(map(len, sequence)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        place = idx + len(self) if idx < 0 else idx
        i = bisect_right(self.cumulative_sizes, place)
        if place < 0 or i == len(self.datasets):
            what = f"index {idx} is out of range for {len(self)} samples"
            fix = f"use an index from {-len(self)} to {len(self) - 1}"
            raise error(ValueError if place < 0 else IndexError, "ConcatDataset", what, fix)
        return self.datasets[i][place - (self.cumulative_sizes[i - 1] if i else 0)]


class Subset(Dataset[T_co]):
    """The samples of a dataset at the given indices.

    Raises NotImplementedError for a subclass that overrides `__getitem__` but not `__getitems__`, which a DataLoader calls.

    >>> from minigrad.utils.data import Subset
    >>> list(Subset("abcdef", [4, 0, 3]))
    ['e', 'a', 'd']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            what = "the class overrides __getitem__ but not __getitems__, which a DataLoader calls"
            fix = "write `def __getitems__(self, indices): return [self[i] for i in indices]` in the class"
            raise error(NotImplementedError, cls.__name__, what, fix)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list:
        chosen = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)
        return [self.dataset[i] for i in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset]:
    """Split a dataset at random into Subsets of these lengths, or of these fractions, which add up to 1.

    A fraction gets `floor(fraction * len(dataset))` samples; the remainder goes to the first parts, one sample each.
    A part may be empty.  Raises ValueError for lengths that do not add up to the dataset's, and for a fraction outside [0, 1].

    >>> import minigrad
    >>> from minigrad.utils.data import random_split
    >>> parts = random_split(range(10), [0.75, 0.25], minigrad.Generator().manual_seed(0))
    >>> [len(part) for part in parts], sorted([x for part in parts for x in part]) == list(range(10))
    ([8, 2], True)
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = of_fractions(lengths, total)
    if sum(lengths) != total:
        what = f"the lengths {list(lengths)} add up to {sum(lengths)}, but the dataset has {total} samples"
        fix = "pass lengths that add up to len(dataset), or fractions that add up to 1"
        raise error(ValueError, "random_split", what, fix)
    order = randperm(total, generator=generator, device=device_of(generator)).tolist()
    ends = itertools.accumulate(map(int, lengths))
    return [Subset(dataset, order[end - int(n) : end]) for end, n in zip(ends, lengths)]


def of_fractions(fractions: Sequence[float], total: int) -> list[int]:
    """Return the number of samples for each fraction of `total`."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            what = f"fraction {i} is {fraction}, which is not between 0 and 1"
            raise error(ValueError, "random_split", what, "pass fractions between 0 and 1 that add up to 1")
    found = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(found)):
        found[i % len(found)] += 1
    return found


def listed(sizes: Sequence[int]) -> str:
    """Return numbers as text: "3 and 4", "3, 4 and 5"."""
    return f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]}"
