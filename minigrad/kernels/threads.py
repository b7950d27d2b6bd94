"""Threads for kernels: each thread takes a slice of the arrays.

Kernels release the interpreter's lock, so Python's threads are enough; unlike Numba's, several threads may start them at
once. Small arrays stay in the calling thread, because waking a thread and waiting for it takes 20 to 40 microseconds. Two
threads overtake one at 2**18 elements of a softmax or a running sum, 2**19 of a norm, 2**21 of a sum.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..errors import error
from .choose import calls

GRAIN = 1 << 18  # elements that are worth a thread
_threads: int | None = None
_asked: int | None = None  # the number that the user set, which BLAS must keep to
_pool: Any = None


def get_num_threads() -> int:
    """Return the number of threads that share large kernels; the default is the number of processors for this process.

    >>> get_num_threads() >= 1
    True
    """
    global _threads
    if _threads is None:
        _threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return _threads


def set_num_threads(n: int) -> None:
    """Share large kernels and matrix products among n threads from now on.

    BLAS, which computes the products, starts a second thread even for matrices so small that it pays only on an idle machine.
    If other programs compute as well, a training step with small matrices is many times faster on one thread.

    Raises RuntimeError unless n is a positive int.

    >>> import minigrad
    >>> before = minigrad.get_num_threads()
    >>> minigrad.set_num_threads(1)
    >>> minigrad.get_num_threads()
    1
    >>> minigrad.set_num_threads(before)
    """
    global _threads, _asked, _pool
    if not isinstance(n, int) or isinstance(n, bool):
        raise error(RuntimeError, "set_num_threads", f"expected an int, got {type(n).__name__}", "write int(n)")
    if n < 1:
        raise error(RuntimeError, "set_num_threads", f"expected a positive integer, got {n}", "pass 1 for no threads")
    _threads, _asked, _pool = n, n, None  # a kernel that is running keeps the old pool
    calls.clear()
    limit_blas()


def limit_blas() -> None:
    """Limit the BLAS libraries loaded so far to the number of threads that the user set."""
    if _asked is not None:
        from threadpoolctl import threadpool_limits  # takes 40 ms, and few programs need it

        threadpool_limits(_asked, user_api="blas")


def parts(size: int) -> int:
    """Return the number of slices for a kernel over `size` elements."""
    return min(get_num_threads(), size // GRAIN) or 1


def launch(kernel: Any, args: list, work: int | None = None) -> list:
    """Call kernel(*args) on slices, and return the results in order.

    All arrays in args are flat and of one size, or have the same number of rows. `work` is the amount of work in elements, if
    it differs from the size of the last argument.
    """
    out = args[-1]
    n = parts(out.size if work is None else work)
    if n < 2 or len(out) < 2:
        return [kernel(*args)]
    step = (len(out) // n + 63) // 64 * 64 if out.ndim == 1 else -(-len(out) // n)  # whole cache lines, or rows
    slices = [[a[i : i + step] if isinstance(a, np.ndarray) else a for a in args] for i in range(0, len(out), step)]
    try:
        others = [pool().submit(kernel, *part) for part in slices[1:]]
    except RuntimeError:  # the interpreter is shutting down
        return [kernel(*args)]
    return [kernel(*slices[0]), *[other.result() for other in others]]


def pool() -> Any:
    """Return the pool of threads besides the caller."""
    global _pool
    from concurrent.futures import ThreadPoolExecutor

    if _pool is None:
        _pool = ThreadPoolExecutor(max(get_num_threads() - 1, 1), "minigrad")
    return _pool


def forget() -> None:
    """Drop the pool: a forked process has none of its parent's threads."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)
