"""DataLoader: batches of a dataset, in the order of a sampler.

It draws random numbers as often and in the same order as PyTorch: each pass draws first the seed that PyTorch's worker
processes would get, then the sampler's numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ...errors import error
from ...ops.generator import Generator
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .pin_memory import can_pin, pin_memory
from .sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed

T_co = TypeVar("T_co", covariant=True)
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset")


class DataLoader(Generic[T_co]):
    """Batches of a dataset; you can iterate over it any number of times.

    Raises ValueError for arguments that exclude each other.

    Parameters
    ----------
    dataset
        A Dataset with indices or an IterableDataset; a list works too.
    batch_size
        Number of samples per batch; None yields single samples.
    shuffle
        Draw a new random order for each pass.
    sampler, batch_sampler
        Iterables of indices, or of lists of indices, each of which is a batch.
    num_workers
        Number of processes that fetch ahead in PyTorch. minigrad fetches each batch in this process, when it is needed; the
        batches are the same. The other settings of workers have no effect either: `timeout`, `worker_init_fn`,
        `multiprocessing_context`, `prefetch_factor`, `persistent_workers`, `in_order`.
    collate_fn
        Function that makes a batch from a list of samples: `default_collate`, or `default_convert` with `batch_size=None`.
    pin_memory
        Return the tensors of batches in pinned memory, for `batch.to("cuda", non_blocking=True)`; warns if there is no GPU.
    drop_last
        Leave out a smaller last batch.
    generator
        Generator of the order.

    Examples
    --------
    >>> import minigrad
    >>> from minigrad.utils.data import DataLoader, TensorDataset
    >>> data = TensorDataset(minigrad.arange(10).reshape(5, 2), minigrad.arange(5))
    >>> for x, y in DataLoader(data, batch_size=2, drop_last=True):
    ...     print(tuple(x.shape), y)
    (2, 2) tensor([0, 1])
    (2, 2) tensor([2, 3])
    """

    _initialized = False
    batch_size: int | None

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable | None = None,
        batch_sampler: Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        if num_workers < 0:
            what = f"num_workers option should be non-negative, got {num_workers}"
            raise error(ValueError, "DataLoader", what, "pass num_workers=0 to fetch in this process")
        self.dataset, self.num_workers, self.pin_memory = dataset, num_workers, pin_memory
        self._iterable = isinstance(dataset, IterableDataset)
        check_order(self._iterable, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None and self._iterable:
            sampler = Endless()
        elif sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in FIXED:
            what = f"{name} attribute should not be set after {type(self).__name__} is initialized"
            raise error(ValueError, "DataLoader", what, "make a new DataLoader")
        super().__setattr__(name, value)

    @property
    def _indices(self) -> Iterable:
        """The sampler of the indices of each batch."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Any]:
        return LoaderIterator(self)

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._indices)  # type: ignore[arg-type]
        n, size = len(self.dataset), self.batch_size or 1
        return n // size if self.drop_last else -(-n // size)


class Endless:
    """The sampler of an IterableDataset, whose samples have no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def check_order(
    iterable: bool, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: Any
) -> None:
    """Raise ValueError for arguments that contradict each other about the order of samples."""
    options = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in options.items():
        if iterable and value is not None:
            what = f"an IterableDataset has its own order: expected unspecified {name} option, but got {name}={value!r}"
            raise error(ValueError, "DataLoader", what, f"leave out {name}, and order the samples in its __iter__")
    if sampler is not None and shuffle:
        what = "sampler option is mutually exclusive with shuffle"
        raise error(ValueError, "DataLoader", what, "leave out one of them; RandomSampler(dataset) shuffles")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        what = "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
        raise error(ValueError, "DataLoader", what, "leave them out: batch_sampler yields whole batches")
    if batch_sampler is None and batch_size is None and drop_last:
        what = "batch_size=None yields single samples, and is mutually exclusive with drop_last"
        raise error(ValueError, "DataLoader", what, "leave out drop_last, or pass a batch_size")


# ---------------------------------------------------------------------- a pass
class LoaderIterator:
    """One pass over a DataLoader."""

    def __init__(self, loader: DataLoader):
        self.indices, self.batched = loader._indices, loader.batch_sampler is not None
        self.dataset, self.collate_fn, self.drop_last = loader.dataset, loader.collate_fn, loader.drop_last
        self.sampled = iter(self.indices)
        drawn_seed(loader.generator)
        self.finish = pin_memory if loader.pin_memory and can_pin() else lambda batch: batch
        self.samples = iter(loader.dataset) if loader._iterable else None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        index = next(self.sampled)
        found = self.samples_at(index) if self.samples is None else self.next_samples(self.samples, index)
        return self.finish(self.collate_fn(found if self.batched else found[0]))

    def __len__(self) -> int:
        return len(self.indices)  # type: ignore[arg-type]

    def samples_at(self, index: Any) -> list:
        """Return the samples at the indices of a batch, or at a single one."""
        at: Any = getattr(self.dataset, "__getitems__", None)
        if self.batched and at is not None:
            return at(index)
        return [self.dataset[i] for i in (index if self.batched else (index,))]

    def next_samples(self, samples: Iterator, index: Any) -> list:
        """Return the next samples of an IterableDataset, as many as there are indices; raise StopIteration at its end."""
        wanted = len(index) if self.batched else 1
        found = list(itertools.islice(samples, wanted))
        if len(found) < wanted:
            self.samples = iter(())  # do not ask it again
        if not found or self.drop_last and len(found) < wanted:
            raise StopIteration
        return found


def get_worker_info() -> None:
    """Return None, as PyTorch does outside its worker processes: this process reads the whole dataset.

    >>> from minigrad.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
