"""The buffer pool: memory of freed tensors stays with the process, so that the next large result does not pay for it again.

A page that the system hands out for the first time costs more than what is computed on it: on 320 kB the faults take four
times as long as a multiplication.  The C library keeps freed memory for itself if it is told to, and then it is the pool,
for NumPy's arrays as well; nothing is copied and no array is of another kind.  This works with glibc, on Linux; elsewhere
the functions here do nothing.  Whoever has set MALLOC_... or GLIBC_TUNABLES in the environment has decided otherwise already.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from ..errors import error

DEFAULT_LIMIT = 1 << 30
TRIM_THRESHOLD, MMAP_MAX = -1, -4  # mallopt's parameters, from malloc.h
DEFAULTS = 128 << 10, 65536
CHOSEN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_MMAP_MAX_", "MALLOC_TOP_PAD_", "GLIBC_TUNABLES")
_limit = 0


def library() -> Any:
    """The C library, if it is glibc."""
    try:
        libc = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return libc if hasattr(libc, "gnu_get_libc_version") and hasattr(libc, "mallopt") else None


def set_pool_limit(limit: int) -> None:
    """Keep up to `limit` bytes of freed memory for the next tensors; 0 gives large buffers back at once.

    At first the limit is 1 GiB.  Raises TypeError for no int, ValueError for negative ones and those from 2 GiB on.

    >>> set_pool_limit(512 * 2**20)
    >>> set_pool_limit(2**30)
    """
    global _limit
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise error(
            TypeError, "set_pool_limit", f"expected an int, got {type(limit).__name__}", "pass a number of bytes"
        )
    if not 0 <= limit < 1 << 31:
        raise error(ValueError, "set_pool_limit", f"the limit has to be from 0 to 2**31 - 1 bytes, got {limit}",
                    "pass 0 for no pool")  # fmt: skip
    libc = library()
    if libc is None:
        return
    trim, maps = (limit, 0) if limit else DEFAULTS
    libc.mallopt(TRIM_THRESHOLD, trim)
    libc.mallopt(MMAP_MAX, maps)
    _limit = limit


def get_pool_limit() -> int:
    """How many bytes of freed memory may stay with the process; 0 where there is no pool.

    >>> get_pool_limit() >= 0
    True
    """
    return _limit


def empty_pool() -> None:
    """Give the freed memory that the pool holds back to the system.

    >>> empty_pool()
    """
    libc = library()
    if libc is not None:
        libc.malloc_trim(0)


def install() -> None:
    """The pool as a process starts with it."""
    if not any(name in os.environ for name in CHOSEN):
        set_pool_limit(DEFAULT_LIMIT)
