"""all_reduce of 1e3 to 1e8 bytes: the sum of float32 numbers over all ranks, by minigrad on MPI and by PyTorch on gloo."""

import timeit

import numpy as np

from . import turns

SIZES = [10**k for k in range(3, 9)]
QUICK_SIZES = SIZES[:2]
ADDED = 10**6  # bytes of the numbers whose addition is timed


def measured(libraries, comm, settings):
    """The figures at each size, as plain data; raises ValueError where the libraries' sums are not the same."""
    return [at_size(n, libraries, comm, settings) for n in (QUICK_SIZES if settings.quick else SIZES)]


def at_size(nbytes, libraries, comm, settings):
    """The figures of an all_reduce of so many bytes.

    What is timed is the sum of zeros: it can be summed again and again, and MPI and gloo add them as they add all numbers.
    """
    check(nbytes, libraries, comm)
    tensors = {lib.__name__: lib.zeros(nbytes // 4, dtype=lib.float32) for lib in libraries}
    runs = {lib.__name__: (lambda lib=lib: lib.distributed.all_reduce(tensors[lib.__name__])) for lib in libraries}
    return {"bytes": nbytes, "seconds": turns.interleaved(runs, comm, settings)}


def check(nbytes, libraries, comm):
    """Raise ValueError unless all libraries give the sum, of numbers whose sum float32 has."""
    mine = (np.arange(nbytes // 4) % 1000 + comm.rank).astype(np.float32)
    wanted = (np.arange(nbytes // 4) % 1000 * comm.size + sum(range(comm.size))).astype(np.float32)
    for lib in libraries:
        found = lib.tensor(mine)
        lib.distributed.all_reduce(found)
        if not np.array_equal(found.numpy(), wanted):
            raise ValueError(f"{lib.__name__} gives another sum of {nbytes} bytes")


def seconds_to_add():
    """Seconds in which a byte is added to another: the work of a reduction without what travels."""
    a, b = np.zeros(ADDED // 4, np.float32), np.zeros(ADDED // 4, np.float32)
    return min(timeit.repeat(lambda: np.add(a, b, out=a), number=20, repeat=9)) / 20 / ADDED
