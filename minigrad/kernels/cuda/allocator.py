"""Device memory, cached for reuse: asking the driver for memory waits for the GPU, so freed blocks are handed out again.

Sizes are rounded up so that blocks fit more often: to a multiple of 512 bytes, from 1 MiB on to a multiple of 2 MiB. A freed
block may be reused at once, even if kernels that read it are still queued: there is one stream, and the next writer comes
later in it. If the GPU is out of memory, all free blocks go back to it before an error is raised.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ...arrays.meta import NOWHERE, fresh_address, inside
from ...errors import OutOfMemoryError, error
from . import machine

SMALL, LARGE = 512, 2 << 20
LARGE_FROM = 1 << 20


class MemoryBlock:
    """Memory on the device, which returns to the allocator when its last reference is gone.

    Memory of another library is a MemoryBlock too: `owner` keeps it alive, and the allocator does not reuse it. `memory` is the
    block as NumPy sees it, of which shadows of arrays are views (device_array.py).
    """

    __slots__ = ("__weakref__", "address", "memory", "nbytes", "owner", "pool", "reserved")

    def __init__(self, address: int, nbytes: int, reserved: int, owner: Any = None, pool: MemoryPool | None = None,
                 memory: np.ndarray | None = None):  # fmt: skip
        self.address, self.nbytes, self.reserved, self.owner, self.pool = address, nbytes, reserved, owner, pool
        self.memory = machine.bytes_of(address, max(nbytes, reserved)) if memory is None else memory

    def __del__(self):
        if self.owner is None and ALLOCATOR is not None:  # at exit, modules are cleared first
            ALLOCATOR.give_back(self)


class MemoryPool:
    """Memory of a captured graph, which uses it by address: other code must not get a block that is free here."""

    def __init__(self, allocator: Allocator):
        self.allocator, self.free = allocator, defaultdict(list)

    def __del__(self):
        with self.allocator.lock:
            for size, blocks in self.free.items():
                self.allocator.free[size] += blocks


class Pooling(threading.local):
    """The pool from which this thread's memory comes while it captures a graph."""

    pool: MemoryPool | None = None


class Allocator:
    """Blocks by size, with counters. Thread-safe, because any thread may free memory."""

    def __init__(self):
        self.lock = threading.RLock()  # a MemoryBlock may be freed while this thread holds the lock
        self.free: dict[int, list[tuple[int, np.ndarray]]] = defaultdict(list)  # blocks' addresses and memory
        self.pooling = Pooling()
        self.allocated = self.reserved = self.most_allocated = self.most_reserved = self.allocations = self.reused = 0

    def take(self, nbytes: int) -> MemoryBlock:
        """Return a block of at least `nbytes` bytes. Raises OutOfMemoryError if the device is full."""
        if inside.active:
            return MemoryBlock(fresh_address(nbytes), nbytes, 0, NOWHERE)
        size, pool = SMALL if 0 < nbytes <= SMALL else rounded(nbytes), self.pooling.pool
        with self.lock:
            free = (self.free if pool is None else pool.free)[size]
            if free:
                address, memory = free.pop()
                self.reused += 1
            else:
                address, memory = self.fresh(size), None
                self.reserved += size
                self.most_reserved = max(self.most_reserved, self.reserved)
            self.allocations += 1
            self.allocated = allocated = self.allocated + size
            if allocated > self.most_allocated:
                self.most_allocated = allocated
        block = MemoryBlock(address, nbytes, size, None, pool, memory)
        if machine.recorded.now is not None:
            machine.recorded.now.blocks.append(block)
        return block

    def fresh(self, size: int) -> int:
        """Return the address of new memory from the device."""
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
                f"out of memory: {size} bytes requested, {free} of {total} are free, tensors here hold {self.allocated}",
                "delete tensors that are not needed, use smaller batches, or compute under no_grad if you need no "
                "gradient; minigrad.cuda.memory_summary() shows the memory in use",
            ) from None

    def give_back(self, block: MemoryBlock) -> None:
        """Take back a block that has no references."""
        with self.lock:
            self.allocated -= block.reserved
            free = self.free if block.pool is None else block.pool.free
            free[block.reserved].append((block.address, block.memory))

    @contextmanager
    def pooled(self) -> Iterator[MemoryPool]:
        """Hand out memory that no other code gets while the pool exists."""
        before, pool = self.pooling.pool, MemoryPool(self)
        self.pooling.pool = pool
        try:
            yield pool
        finally:
            self.pooling.pool = before

    def reset_peaks(self) -> None:
        """Reset the maxima to the current values."""
        with self.lock:
            self.most_allocated, self.most_reserved = self.allocated, self.reserved

    def empty(self) -> None:
        """Return the free blocks to the device."""
        with self.lock:
            place = machine.current()
            place.synchronize()
            for size, blocks in self.free.items():
                for address, _ in blocks:
                    place.free(address)
                self.reserved -= size * len(blocks)
            self.free.clear()


def rounded(nbytes: int) -> int:
    """Return the size of the block for `nbytes` bytes."""
    unit = LARGE if nbytes >= LARGE_FROM else SMALL
    return max(-(-nbytes // unit), 1) * unit


ALLOCATOR = Allocator()
