"""Device memory, kept for the next tensor: asking the driver for memory waits for the GPU, so freed blocks are used again.

Sizes are rounded up, so that blocks fit more often: to a multiple of 512 bytes, above 1 MiB to one of 2 MiB.  A freed block
may be handed out at once though kernels that read it are still waiting in the stream: there is one stream, and whoever writes
to the block next comes later in it.  Where the GPU has no room left, all free blocks go back to it before that is an error.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ...arrays.nowhere import NOWHERE, fresh_address, inside
from ...errors import OutOfMemoryError, error
from . import machine

SMALL, LARGE = 512, 2 << 20
LARGE_FROM = 1 << 20


class Block:
    """Memory on the device; it returns to the allocator when nobody holds it any more.

    Memory of another library is a Block too: `owner` keeps it alive, and it is not given to anybody else.
    """

    __slots__ = ("__weakref__", "address", "nbytes", "owner", "pool", "reserved")

    def __init__(self, address: int, nbytes: int, reserved: int, owner: Any = None, pool: Pool | None = None):
        self.address, self.nbytes, self.reserved, self.owner, self.pool = address, nbytes, reserved, owner, pool

    def __del__(self):
        if self.owner is None and ALLOCATOR is not None:  # when a program ends, modules are emptied before
            ALLOCATOR.give_back(self)


class Pool:
    """Memory of a captured graph, which goes on using it by address: free here is not free for others."""

    def __init__(self, allocator: Allocator):
        self.allocator, self.free = allocator, defaultdict(list)

    def __del__(self):
        with self.allocator.lock:
            for size, addresses in self.free.items():
                self.allocator.free[size] += addresses


class Pooling(threading.local):
    """The pool whose memory is handed out, while the thread that asks captures a graph."""

    pool: Pool | None = None


class Allocator:
    """Blocks by size, and counts of them.  Safe in several threads: memory may be freed in any of them."""

    def __init__(self):
        self.lock = threading.RLock()  # a Block may be freed while this thread is inside
        self.free: dict[int, list[int]] = defaultdict(list)
        self.pooling = Pooling()
        self.allocated = self.reserved = self.most_allocated = self.most_reserved = self.allocations = self.reused = 0

    def take(self, nbytes: int) -> Block:
        """A block of at least so many bytes.  Raises OutOfMemoryError where the device has no room."""
        if inside.yes:
            return Block(fresh_address(nbytes), nbytes, 0, NOWHERE)
        size, pool = rounded(nbytes), self.pooling.pool
        with self.lock:
            free = self.free if pool is None else pool.free
            if free[size]:
                address, self.reused = free[size].pop(), self.reused + 1
            else:
                address = self.fresh(size)
                self.reserved += size
                self.most_reserved = max(self.most_reserved, self.reserved)
            self.allocations += 1
            self.allocated += size
            self.most_allocated = max(self.most_allocated, self.allocated)
        return Block(address, nbytes, size, None, pool)

    def fresh(self, size: int) -> int:
        """Memory from the device."""
        place = machine.current()
        with suppress(MemoryError):
            return place.allocate(size)
        self.empty()
        try:
            return place.allocate(size)
        except MemoryError:
            free, total = place.free_memory()
            raise error(
                OutOfMemoryError,
                "cuda",
                f"out of memory: {size} bytes were asked for, {free} of {total} are free, tensors here hold {self.allocated}",
                "delete tensors that are not needed, use smaller batches, or compute under no_grad where no gradient is "
                "wanted; minigrad.cuda.memory_summary() shows what is in use",
            ) from None

    def give_back(self, block: Block) -> None:
        """A block that nobody holds."""
        with self.lock:
            self.allocated -= block.reserved
            free = self.free if block.pool is None else block.pool.free
            free[block.reserved].append(block.address)

    @contextmanager
    def pooled(self) -> Iterator[Pool]:
        """Hand out memory that nobody else gets, as long as the pool is there."""
        before, pool = self.pooling.pool, Pool(self)
        self.pooling.pool = pool
        try:
            yield pool
        finally:
            self.pooling.pool = before

    def reset_peaks(self) -> None:
        """Let the maxima begin from what is in use now."""
        with self.lock:
            self.most_allocated, self.most_reserved = self.allocated, self.reserved

    def empty(self) -> None:
        """Give the free blocks back to the device."""
        with self.lock:
            place = machine.current()
            place.synchronize()
            for size, addresses in self.free.items():
                for address in addresses:
                    place.free(address)
                self.reserved -= size * len(addresses)
            self.free.clear()


def rounded(nbytes: int) -> int:
    """The size of the block for so many bytes."""
    unit = LARGE if nbytes >= LARGE_FROM else SMALL
    return max(-(-nbytes // unit), 1) * unit


ALLOCATOR = Allocator()
