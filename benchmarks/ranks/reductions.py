"""Time all_reduce of 1e3 to 1e8 bytes, the sum of float32 numbers over all ranks: minigrad on MPI and PyTorch on gloo."""

import timeit

import numpy as np

from . import turns

SIZES = [10**k for k in range(3, 9)]
QUICK_SIZES = SIZES[:2]
ADDED = 10**6  # bytes of the timed addition


def measured(libraries, comm, settings):
    """Return the figures at each size as plain data; raise ValueError if a library's sum is wrong."""
    return [at_size(n, libraries, comm, settings) for n in (QUICK_SIZES if settings.quick else SIZES)]


def at_size(nbytes, libraries, comm, settings):
    """Return the figures of an all_reduce of `nbytes` bytes.

    It sums zeros: they can be summed repeatedly, and MPI and gloo add them like any other numbers.
    """
    check(nbytes, libraries, comm)
    tensors = {lib.__name__: lib.zeros(nbytes // 4, dtype=lib.float32) for lib in libraries}
    runs = {lib.__name__: (lambda lib=lib: lib.distributed.all_reduce(tensors[lib.__name__])) for lib in libraries}
    return {"bytes": nbytes, "seconds": turns.interleaved(runs, comm, settings)}


def check(nbytes, libraries, comm):
    """Raise ValueError unless all libraries give the exact sum, for numbers whose sum float32 can represent."""
    mine = (np.arange(nbytes // 4) % 1000 + comm.rank).astype(np.float32)
    wanted = (np.arange(nbytes // 4) % 1000 * comm.size + sum(range(comm.size))).astype(np.float32)
    for lib in libraries:
        found = lib.tensor(mine)
        lib.distributed.all_reduce(found)
        if not np.array_equal(found.numpy(), wanted):
            raise ValueError(f"{lib.__name__} gives a wrong sum of {nbytes} bytes")


def seconds_to_add():
    """Return the seconds to add one byte to another: the work of a reduction without communication."""
    a, b = np.zeros(ADDED // 4, np.float32), np.zeros(ADDED // 4, np.float32)
    return min(timeit.repeat(lambda: np.add(a, b, out=a), number=20, repeat=9)) / 20 / ADDED
