"""The buffer pool: the process keeps the memory of freed tensors and reuses it for the next large result.

The first access to a fresh page costs more than the arithmetic on it: on 320 kB the page faults take four times as long as
a multiplication. `mallopt` makes the C library keep freed memory, for NumPy's arrays too, so the library itself is the
pool: nothing is copied, and arrays stay ordinary arrays. This needs glibc on Linux; elsewhere the functions here do nothing.
If the environment sets MALLOC_... or GLIBC_TUNABLES, minigrad leaves the allocator alone.
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
    """Return the C library if it is glibc, else None."""
    try:
        libc = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return libc if hasattr(libc, "gnu_get_libc_version") and hasattr(libc, "mallopt") else None


def set_pool_limit(limit: int) -> None:
    """Keep up to `limit` bytes of freed memory for later tensors; with 0, large buffers go back to the system at once.

    The default is 1 GiB. Raises TypeError if `limit` is not an int, ValueError if it is negative or 2 GiB or more.

    >>> set_pool_limit(512 * 2**20)
    >>> set_pool_limit(2**30)
    """
    global _limit
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise error(
            TypeError, "set_pool_limit", f"expected an int, got {type(limit).__name__}", "pass a number of bytes"
        )
    if not 0 <= limit < 1 << 31:
        raise error(ValueError, "set_pool_limit", f"the limit must be between 0 and 2**31 - 1 bytes, got {limit}",
                    "pass 0 for no pool")  # fmt: skip
    libc = library()
    if libc is None:
        return
    trim, maps = (limit, 0) if limit else DEFAULTS
    libc.mallopt(TRIM_THRESHOLD, trim)
    libc.mallopt(MMAP_MAX, maps)
    _limit = limit


def get_pool_limit() -> int:
    """Return the number of bytes of freed memory that the process may keep; 0 without a pool.

    >>> get_pool_limit() >= 0
    True
    """
    return _limit


def empty_pool() -> None:
    """Return the freed memory in the pool to the system.

    >>> empty_pool()
    """
    libc = library()
    if libc is not None:
        libc.malloc_trim(0)


def install() -> None:
    """Set the default limit, unless the environment configures the allocator."""
    if not any(name in os.environ for name in CHOSEN):
        set_pool_limit(DEFAULT_LIMIT)
