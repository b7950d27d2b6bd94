"""DataLoader: batches of a dataset, in the order of a sampler, fetched in this process or ahead of time by workers.

It draws random numbers as often and in the same order as PyTorch: each pass draws the workers' seed first, then the
sampler's numbers.  worker.py fetches the batches, worker_pool.py runs the processes.
"""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from ...errors import error
from ...events import intercept
from ...ops.generator import Generator
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .pin_memory import can_pin, pin_memory
from .sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed
from .worker import AGAIN, Ended, Failure, Fetcher, Job
from .worker_pool import WorkerPool

T_co = TypeVar("T_co", covariant=True)
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[T_co]):
    """Batches of a dataset; you can iterate over it any number of times.

    Raises ValueError for arguments that exclude each other. An exception in a worker is raised here, with the same type if
    that accepts a message, with the index of the sample and the worker's traceback.

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
        Number of processes that fetch ahead; 0 fetches in this process. The order of batches is the same.
    collate_fn
        Function that makes a batch from a list of samples: `default_collate`, or `default_convert` with `batch_size=None`.
    pin_memory
        Return the tensors of batches in pinned memory, for `batch.to("cuda", non_blocking=True)`; warns if there is no GPU.
    drop_last
        Leave out a smaller last batch.
    timeout
        Seconds to wait for a worker's batch before a RuntimeError; 0 waits without a limit.
    worker_init_fn
        Called in each worker with its number, before it fetches. Its generators are seeded with `base_seed + number`.
    multiprocessing_context
        How processes start: "fork", "spawn", "forkserver", or a context of `multiprocessing`.
    generator
        Generator of the order and of the workers' seed.
    prefetch_factor
        Number of batches that each worker fetches ahead; 2 if there are workers.
    persistent_workers
        Keep the processes for the next pass.
    in_order
        With False, a batch that is ready comes before an earlier one that is not.

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
        multiprocessing_context: str | BaseContext | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset, self.num_workers = dataset, num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout, self.worker_init_fn, self.in_order = timeout, worker_init_fn, in_order
        self.multiprocessing_context = multiprocessing_context
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
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self._iterator: Any = None
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in FIXED:
            what = f"{name} attribute should not be set after {type(self).__name__} is initialized"
            raise error(ValueError, "DataLoader", what, "make a new DataLoader")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """The multiprocessing context that starts the workers, None for the system's default."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: str | BaseContext | None) -> None:
        self._context = None if context is None else context_of(context, self.num_workers)

    @property
    def _auto_collation(self) -> bool:
        """True if samples come in batches."""
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Iterable:
        """The sampler of the indices of each batch."""
        return self.batch_sampler if self._auto_collation else self.sampler  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Any]:
        begin = intercept.fetch(self._begin) or self._begin  # it draws a seed
        return begin()

    def _begin(self) -> Iterator[Any]:
        """Begin a pass."""
        if not (self.num_workers and self.persistent_workers):
            return self._get_iterator()
        if self._iterator is None or not self._iterator.pool.stop.alive:
            self._iterator = self._get_iterator()
        else:
            self._iterator.again()
        return self._iterator

    def _get_iterator(self) -> Any:
        return WorkerIterator(self) if self.num_workers else LoaderIterator(self)

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)  # type: ignore[arg-type]
        n, size = len(self.dataset), self.batch_size or 1
        return n // size if self.drop_last else -(-n // size)


class Endless:
    """The sampler of an IterableDataset, whose samples have no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


# ---------------------------------------------------------------------- checks
def check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    """Raise an error for arguments that do not fit the number of workers."""
    if not isinstance(num_workers, int):
        what = f"num_workers has to be an int, got {type(num_workers).__name__}"
        raise error(TypeError, "DataLoader", what, "pass num_workers=0 to fetch in this process")
    if num_workers < 0:
        what = f"num_workers option should be non-negative, got {num_workers}"
        raise error(ValueError, "DataLoader", what, "pass num_workers=0 to fetch in this process")
    if timeout < 0:
        what = f"timeout option should be non-negative, got {timeout}"
        raise error(ValueError, "DataLoader", what, "pass timeout=0 to wait without a limit")
    if num_workers == 0 and prefetch_factor is not None:
        what = f"prefetch_factor={prefetch_factor} is for workers, but num_workers is 0"
        raise error(ValueError, "DataLoader", what, "pass num_workers=1 or more, or leave out prefetch_factor")
    if prefetch_factor is not None and prefetch_factor < 0:
        what = f"prefetch_factor option should be non-negative, got {prefetch_factor}"
        raise error(ValueError, "DataLoader", what, "pass prefetch_factor=1 or more")
    if num_workers == 0 and persistent_workers:
        what = "persistent_workers option needs num_workers > 0, but num_workers is 0"
        raise error(ValueError, "DataLoader", what, "pass num_workers=1 or more, or leave out persistent_workers")


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


def context_of(context: str | BaseContext, num_workers: int) -> BaseContext:
    """Return a multiprocessing context from its name or from itself."""
    if not num_workers:
        what = "multiprocessing_context can only be used with multi-process loading, but num_workers is 0"
        raise error(ValueError, "DataLoader", what, "pass num_workers=1 or more, or leave it out")
    methods = multiprocessing.get_all_start_methods()
    if isinstance(context, str):
        if context not in methods:
            what = f"multiprocessing_context={context!r} is not a start method here; these are: {methods}"
            raise error(ValueError, "DataLoader", what, f"pass one of {', '.join(map(repr, methods))}")
        return multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        what = f"multiprocessing_context has to be a string or a context, got {type(context).__name__}"
        raise error(TypeError, "DataLoader", what, 'pass "spawn", or multiprocessing.get_context("spawn")')
    return context


# ---------------------------------------------------------------------- a pass
class LoaderIterator:
    """One pass over a DataLoader in this process."""

    def __init__(self, loader: DataLoader):
        if loader.timeout and not loader.num_workers:
            what = f"timeout={loader.timeout} is for workers, but num_workers is 0"
            raise error(AssertionError, "DataLoader", what, "pass num_workers=1 or more, or leave out timeout")
        self.indices = loader._index_sampler
        self.sampled = iter(self.indices)
        self.base_seed = drawn_seed(loader.generator)
        self.finish = pin_memory if loader.pin_memory and can_pin() else lambda batch: batch
        if not loader.num_workers:
            batched = loader._auto_collation
            self.fetcher = Fetcher(loader.dataset, batched, loader.collate_fn, loader.drop_last)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        fetch = intercept.fetch(self.fetch) or self.fetch
        return fetch()

    def fetch(self) -> Any:
        """Return the next batch."""
        return self.finish(self.fetcher.fetch(next(self.sampled)))

    def __len__(self) -> int:
        return len(self.indices)  # type: ignore[arg-type]


class WorkerIterator(LoaderIterator):
    """One pass with workers, each with `prefetch_factor` tasks ahead.

    `waiting` lists the worker of each unanswered task, the oldest first; a worker answers in order.
    """

    def __init__(self, loader: DataLoader):
        if loader.prefetch_factor == 0:
            what = "prefetch_factor=0 lets the workers fetch nothing"
            raise error(AssertionError, "DataLoader", what, "pass prefetch_factor=1 or more")
        super().__init__(loader)
        n, self.timeout, self.in_order = loader.num_workers, loader.timeout, loader.in_order
        self.ahead, self.persistent = (loader.prefetch_factor or 2) * n, loader.persistent_workers
        batched = loader._auto_collation
        common = (loader.dataset, batched, loader.collate_fn, loader.drop_last, loader.worker_init_fn, self.base_seed)
        self.pool = WorkerPool(loader.multiprocessing_context, [Job(*common, i, n) for i in range(n)])
        self.waiting: list[int] = []
        self.begin()

    def begin(self) -> None:
        """Hand out the first tasks of a pass."""
        self.sampled = iter(self.indices)  # a second time, as in PyTorch: a sampler may draw numbers here
        self.active = set(range(len(self.pool.processes)))
        self.turns = itertools.cycle(sorted(self.active))
        for _ in range(self.ahead):
            self.ask()

    def again(self) -> None:
        """Begin another pass with the same workers, and drop the batches that they had fetched ahead."""
        while self.waiting:
            self.take()
        for i in range(len(self.pool.processes)):
            self.pool.give(i, AGAIN)
        self.begin()

    def ask(self) -> None:
        """Give the next task to the worker whose turn it is."""
        index = next(self.sampled, self)  # self marks the end
        if index is self or not self.active:
            return
        share = self.ahead // len(self.active)
        for worker in self.turns:
            if worker in self.active and (self.in_order or self.waiting.count(worker) < share):
                self.waiting.append(worker)
                return self.pool.give(worker, (index,))

    def take(self) -> tuple[int, Any]:
        """Wait for an answer: the next one in order, or any."""
        worker, result = self.pool.take(set(self.waiting[:1] if self.in_order else self.waiting), self.timeout)
        self.waiting.remove(worker)
        return worker, result

    def __next__(self) -> Any:
        while self.waiting:
            worker, result = self.take()
            if not isinstance(result, Ended) or worker in self.active:
                self.active -= {worker} if isinstance(result, Ended) else set()
                self.ask()
            if isinstance(result, Failure):
                raise result.error()
            if not isinstance(result, Ended):
                return self.finish(result)
        if not self.persistent:
            self.pool.stop()
        raise StopIteration
