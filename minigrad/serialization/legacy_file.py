"""PyTorch's file format before version 1.6: several pickles in a row, followed by the memory of each storage.

magic number | version | facts about the machine | the object | keys of the storages | elements, bytes | ...
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from .rebuild import Storages, as_numbers, need

MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."  # the pickle of 0x1950A86A20F9469CFC6C
VERSION = 1001


def read_legacy(content: bytes, map_location: Any, read: Callable) -> Any:
    """Read a file; `read` takes one pickle from it, and the Storages that the pickle refers to."""
    file, left = io.BytesIO(content), len(content)

    def blank(key: str, nbytes: int, kind: np.dtype) -> np.ndarray:
        nonlocal left
        left -= nbytes
        need(left >= 0, "storages larger than the file")
        return np.zeros(nbytes // kind.itemsize, kind)

    storages = Storages(blank, map_location)
    file.seek(len(MAGIC))
    version, machine = plain(file, read), plain(file, read)
    need(version == VERSION and isinstance(machine, dict), "the version {} of the old format", version)
    found = read(file, storages)
    keys: Any = plain(file, read)
    need(all([type(key) is str for key in keys]) if type(keys) is list else False, "no list of storages")
    need(sorted(keys) == sorted(storages.found), "other storages than it refers to")
    for key in keys:
        storage, kind = storages.found[key], storages.dtypes[key].dtype
        fill(storage._array, file, kind, machine.get("little_endian") is False)
    return found


def plain(file: IO[bytes], read: Callable) -> Any:
    """Read a pickle without tensors."""
    return read(file, Storages(lambda *_: need(False, "an unexpected storage"), None))


def fill(memory: Any, file: IO[bytes], kind: np.dtype, swapped: bool) -> None:
    """Fill the memory of a storage."""
    head = file.read(8)
    need(len(head) == 8 and struct.unpack("<q", head)[0] == memory.size, "a storage of another size")
    content = file.read(memory.size * kind.itemsize)
    need(len(content) == memory.size * kind.itemsize, "a truncated storage")
    memory[...] = as_numbers(np.frombuffer(bytearray(content), np.uint8), kind, swapped)
