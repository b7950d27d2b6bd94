"""Samplers: the order in which a DataLoader takes a dataset's samples.

Each sampler draws from its generator as often and in the same order as PyTorch's, so the numbers that a program draws
afterwards are the same too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from ...arrays.dtypes import float64, int64
from ...core.tensor import Tensor
from ...errors import error
from ...ops.create import empty
from ...ops.from_data import as_tensor
from ...ops.generator import Generator
from ...ops.random import multinomial, randint, randperm

T_co = TypeVar("T_co", covariant=True)


def device_of(generator: Generator | None) -> Any:
    """Return the device to draw indices on: the generator's, or the CPU for None, whatever device new tensors are on."""
    return "cpu" if generator is None else generator.device


def drawn_seed(generator: Generator | None) -> int:
    """Draw a seed from a generator, or from the CPU's default one for None."""
    return int(empty((), dtype=int64, device=device_of(generator)).random_(generator=generator).item())


def positive(who: str, name: str, value: Any) -> None:
    """Raise ValueError unless an argument is a positive int."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        what = f"{name} should be a positive integer value, but got {name}={value!r}"
        raise error(ValueError, who, what, f"pass a positive int as {name}")


def truth(kind: type[Exception], who: str, name: str, value: Any) -> None:
    """Raise an error unless an argument is True or False."""
    if not isinstance(value, bool):
        what = f"{name} should be a boolean value, but got {name}={value!r}"
        raise error(kind, who, what, f"pass {name}=True or {name}=False")


class Sampler(Generic[T_co]):
    """Base class of samplers.  A subclass defines `__iter__`, which yields indices or lists of them, and may define `__len__`.

    >>> from minigrad.utils.data import DataLoader, Sampler
    >>> class Backwards(Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...     def __iter__(self):
    ...         return reversed(range(len(self.data)))
    >>> list(DataLoader("abc", sampler=Backwards("abc")))
    [['c'], ['b'], ['a']]
    """

    def __iter__(self) -> Iterator[T_co]:
        what = "this Sampler yields no indices: its class defines no __iter__"
        raise error(NotImplementedError, type(self).__name__, what, "write `def __iter__(self):` in the class")


class SequentialSampler(Sampler[int]):
    """All indices of `data_source`, in order.

    >>> from minigrad.utils.data import SequentialSampler
    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Random indices of `data_source`: each once, or with `replacement=True` independent draws.

    Without a `generator`, each pass seeds a new one from the default generator.  Raises ValueError unless
    `num_samples` (default `len(data_source)`) is a positive int, and TypeError unless `replacement` is a bool.

    >>> from minigrad.utils.data import RandomSampler
    >>> sorted(RandomSampler(range(4)))
    [0, 1, 2, 3]
    >>> len(list(RandomSampler(range(4), replacement=True, num_samples=9)))
    9
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ):
        self.data_source, self.replacement, self._num_samples = data_source, replacement, num_samples
        self.generator = generator
        truth(TypeError, "RandomSampler", "replacement", replacement)
        positive("RandomSampler", "num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices per pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, left = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(drawn_seed(None))
        step = 32 if self.replacement else n
        for size in itertools.chain(
            itertools.repeat(step, left // step), [left % step]
        ):  # the last draw happens even for 0
            if self.replacement:
                yield from randint(n, (size,), generator=generator, device=generator.device).tolist()
            else:
                yield from randperm(n, generator=generator, device=generator.device)[:size].tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices, each once, in random order.

    >>> from minigrad.utils.data import SubsetRandomSampler
    >>> sorted(SubsetRandomSampler([3, 7, 5]))
    [3, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None):
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        order = randperm(len(self.indices), generator=self.generator, device=device_of(self.generator))
        for i in order.tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Random indices below `len(weights)`, with probabilities proportional to the weights, which need not add up to 1.

    Raises ValueError unless `num_samples` is a positive int, `replacement` a bool and `weights` has one dimension.

    >>> from minigrad.utils.data import WeightedRandomSampler
    >>> set(WeightedRandomSampler([0.0, 3.0, 1.0], 50)) <= {1, 2}
    True
    """

    weights: Tensor

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ):
        positive("WeightedRandomSampler", "num_samples", num_samples)
        truth(ValueError, "WeightedRandomSampler", "replacement", replacement)
        place = None if isinstance(weights, Tensor) else device_of(generator)
        self.weights = as_tensor(weights, dtype=float64, device=place)
        if self.weights.ndim != 1:
            what = f"weights should be a 1d sequence, but they have shape {tuple(self.weights.shape)}"
            raise error(ValueError, "WeightedRandomSampler", what, "pass one weight for each sample")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` indices from another sampler; `drop_last=True` leaves out a shorter last one.

    Raises ValueError unless `batch_size` is a positive int and `drop_last` a bool.

    >>> from minigrad.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), 2, drop_last=False)), list(BatchSampler(range(5), 2, drop_last=True))
    ([[0, 1], [2, 3], [4]], [[0, 1], [2, 3]])
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool):
        positive("BatchSampler", "batch_size", batch_size)
        truth(ValueError, "BatchSampler", "drop_last", drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n: int = len(self.sampler)  # type: ignore[arg-type]  (TypeError for a sampler without a length)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
