"""Copies between main memory and the device, staged in pinned memory where that is faster.

A GPU reads and writes pinned memory (pinned.py) at the full speed of the bus. Other memory is "pageable": the driver copies
it in one thread, which takes six times as long. A large pageable array therefore goes through two pinned buffers in turns:
while one chunk is on its way, several threads copy the next one. On the way back, these threads also take the page faults of
the new array, which cost more than the copy.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...arrays.memory import is_pinned
from . import machine
from .pinned import copy, flat_bytes, pinned

CHUNK = 32 << 20  # bytes
CHUNKED_FROM = 64 << 20  # bytes; below, the driver is as fast


def upload(address: int, a: np.ndarray, wait: bool = True) -> None:
    """Copy a contiguous array into device memory; if not `wait`, return while pinned memory is still being read."""
    place = machine.current()
    if not wait and is_pinned(a):
        place.send(address, a)
    elif a.nbytes < CHUNKED_FROM or is_pinned(a):
        place.upload(address, a)
    else:
        send_chunks(address, a)
        place.synchronize()


def download(address: int, a: np.ndarray) -> None:
    """Copy device memory into a contiguous array, after pending kernels."""
    place = machine.current()
    if a.nbytes < CHUNKED_FROM or is_pinned(a):
        place.download(address, a)
    else:
        receive_chunks(address, a)
        place.synchronize()  # which looks for errors


def send_chunks(address: int, a: np.ndarray) -> None:
    """Copy an array to the device through two buffers; return while they are on their way."""
    place, ends = machine.current(), []
    for n, (buffer, part) in enumerate(turns(a)):
        if n >= 2:
            ends[n - 2].sync()  # the device has read this buffer
        copy(buffer, part)
        ends.append(place.send(address + n * CHUNK, buffer))


def receive_chunks(address: int, a: np.ndarray) -> None:
    """Fill an array from the device through two buffers."""
    place, coming = machine.current(), deque()
    for n, (buffer, part) in enumerate(turns(a)):
        coming.append((place.receive(address + n * CHUNK, buffer), buffer, part))
        if n >= 1:
            take_out(*coming.popleft())
    for arriving in coming:
        take_out(*arriving)


def take_out(end: Any, buffer: np.ndarray, part: np.ndarray) -> None:
    """Copy a buffer into its part of the array once it has arrived."""
    end.sync()
    copy(part, buffer)


def turns(a: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the chunks of an array's bytes, each with a part of its size of one of two pinned buffers, in turns."""
    whole = flat_bytes(a)
    buffers = [pinned((CHUNK,), np.uint8) for _ in range(2)]
    for n, begin in enumerate(range(0, whole.size, CHUNK)):
        part = whole[begin : begin + CHUNK]
        yield buffers[n % 2][: part.size], part
