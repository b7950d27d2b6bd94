"""DistributedSampler: each of several processes takes its share of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from importlib.util import find_spec
from itertools import cycle, islice

from ...errors import error
from ...ops.generator import Generator
from ...ops.random import randperm
from .sampler import Sampler

__all__ = ["DistributedSampler"]

WHO = "DistributedSampler"
group: tuple[int, int] | None = (
    None  # this process's rank and the number of ranks; distributed.init_process_group sets it
)


class DistributedSampler(Sampler[int]):
    """The share of `dataset` for process `rank` of `num_replicas`: every `num_replicas`-th index, starting at `rank`.

    The numbers default to this process's rank and the number of ranks (`torch.distributed`).  With `shuffle`, all processes
    use the same random order, which depends on `seed` and on the last `set_epoch`; call that before each pass.  All processes
    get equally many indices: without `drop_last` the first indices repeat at the end, with it the last ones are left out.

    Raises ValueError for a rank outside `num_replicas`.  If the numbers are not given, raises ValueError before
    `init_process_group`, and RuntimeError without mpi4py.

    >>> from minigrad.utils.data import DistributedSampler
    >>> [list(DistributedSampler(range(10), num_replicas=3, rank=r, shuffle=False)) for r in range(3)]
    [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]
    >>> [list(DistributedSampler(range(10), 3, r, shuffle=False, drop_last=True)) for r in range(3)]
    [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        number = initialized_group()[0] if rank is None else rank
        size = initialized_group()[1] if num_replicas is None else num_replicas
        if not 0 <= number < size:
            what = f"Invalid rank {number}, rank should be in the interval [0, {size - 1}]"
            raise error(ValueError, WHO, what, "pass rank=0 for the first process")
        self.dataset, self.num_replicas, self.rank = dataset, size, number
        self.epoch, self.drop_last, self.shuffle, self.seed = 0, drop_last, shuffle, seed
        self.num_samples = len(dataset) // size if drop_last else -(-len(dataset) // size)
        self.total_size = self.num_samples * size

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        indices = range(n)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(n, generator=generator, device=generator.device).tolist()
        return islice(cycle(indices), self.rank, self.total_size, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next pass; pass the same number on all processes."""
        self.epoch = epoch


def initialized_group() -> tuple[int, int]:
    """Return this process's rank and the number of ranks.

    Raises RuntimeError without mpi4py, and ValueError before init_process_group.
    """
    if group is not None:
        return group
    fix = "pass num_replicas= and rank=, or call torch.distributed.init_process_group('mpi') first"
    if find_spec("mpi4py") is None:
        raise error(RuntimeError, WHO, "requires mpi4py to find out the rank of this process", fix)
    raise error(ValueError, WHO, "the default process group has not been initialized", fix)
