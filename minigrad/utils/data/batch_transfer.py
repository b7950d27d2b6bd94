"""Batches from one process to another: large arrays through memory that both share, the rest pickled through the pipe.

The sender writes them into an anonymous file in memory (Linux's memfd) and passes its descriptor; the receiver maps it, so
that nothing is copied there, and nothing is left behind when either dies.  A batch of 4 MB arrives in 2.7 ms instead of the
15 ms through the pipe, one of 40 KB sooner through the pipe.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler, recv_handle, send_handle
from typing import Any, NamedTuple

import numpy as np

from ...arrays.memory import storage
from ...core.tensor import Tensor
from ...tensors.conversion import restore

LARGE = 1 << 16  # bytes of arrays that are worth a file
ALIGNED = 64  # where arrays begin in it: at cache lines
SHARES = hasattr(os, "memfd_create")


class Packed(NamedTuple):
    """An object on its way: its pickle, and the file with the arrays that the pickle leaves out, and their places in it."""

    pickle: bytes
    file: int | None
    places: list[tuple[int, int]]  # where each begins, and its bytes


class Pickler(ForkingPickler):
    """Leaves large arrays to be sent beside the pickle, and of a tensor that is a part of another sends the part alone."""

    def __init__(self, file: Any, arrays: list):
        super().__init__(file, 5, True, self.beside if SHARES else None)
        self.arrays = arrays

    def beside(self, buffer: pickle.PickleBuffer) -> bool:
        """Keep an array beside the pickle if it is large; return whether it goes into the pickle."""
        raw = buffer.raw()
        if raw.nbytes < LARGE:
            return True
        self.arrays.append(raw)
        return False

    def reducer_override(self, obj: Any) -> Any:
        """Return how a tensor is pickled."""
        if not isinstance(obj, Tensor) or type(obj._a) is not np.ndarray or not obj.is_leaf:
            return NotImplemented
        if obj._a.nbytes == storage(obj._a).nbytes:
            return NotImplemented
        return restore, (type(obj), obj._a.copy("K"), obj.requires_grad, None), obj.__dict__ or None


def packed(obj: Any) -> Packed:
    """Return an object ready to be sent, which may change from now on; what pickle raises is raised here."""
    arrays: list[memoryview] = []
    text = io.BytesIO()
    Pickler(text, arrays).dump(obj)
    if not arrays:
        return Packed(text.getvalue(), None, [])
    file, places, end = os.memfd_create("minigrad batch"), [], 0  # type: ignore[attr-defined]
    for raw in arrays:
        places.append((end, raw.nbytes))
        written = 0
        while written < raw.nbytes:  # a write takes 2 GB at most
            written += os.pwrite(file, raw[written:], end + written)
        end += -(-raw.nbytes // ALIGNED) * ALIGNED
    return Packed(text.getvalue(), file, places)


def send(pipe: Connection, given: Packed) -> None:
    """Send an object through a pipe; OSError where nobody reads."""
    try:
        pipe.send_bytes(pickle.dumps((given.pickle, given.places)))
        if given.file is not None:
            send_handle(pipe, given.file, 0)
    finally:
        if given.file is not None:
            os.close(given.file)


def receive(pipe: Connection) -> tuple[bytes, list[np.ndarray]]:
    """Return the next object's pickle and the arrays beside it; EOFError or OSError where the sender is no more."""
    text, places = pickle.loads(pipe.recv_bytes())
    if not places:
        return text, []
    file = recv_handle(pipe)
    try:
        memory = mmap.mmap(file, 0)
    finally:
        os.close(file)
    # each on its own, not parts of one array: they share no storage
    return text, [np.frombuffer(memory, np.uint8, n, begin) for begin, n in places]
