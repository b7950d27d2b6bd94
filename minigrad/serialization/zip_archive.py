"""The container of a file: a zip archive of uncompressed entries, each beginning at a multiple of 64 bytes.

    archive/data.pkl    the object, as a pickle that names its storages
    archive/byteorder   little or big
    archive/data/0      the memory of storage "0", and so on
    archive/version     3

`Archive` reads files that may be damaged or malicious: nothing is decompressed and no byte is read twice, so memory use never
exceeds the file's size. The format is PyTorch's: caffe2/serialize/inline_container.h.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from ..errors import error
from .rebuild import Damaged, as_numbers, need, quote

ALIGNMENT = 64
LOCAL = struct.Struct("<4s22x2H")  # an entry's header: its signature, and the lengths of its name and extra field
EXTRA = struct.Struct("<2H")  # the head of an extra field: its kind and length
PADDING = 0x4246  # "FB", PyTorch's kind of extra field for padding
LARGE = 1 << 31  # from here on zipfile writes 64-bit sizes, in an extra field of 20 bytes


# ---------------------------------------------------------------------- writing
class ArchiveWriter:
    """Writes entries one after the other, even into a pipe; the directory follows if no error occurs."""

    def __init__(self, file: IO[bytes]):
        self.zip: Any = zipfile.ZipFile(file, "w")

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            self.zip.fp = None  # or zipfile would complete a broken archive
        self.zip.close()

    def add(self, name: str, content: Any) -> None:
        """Write an entry of bytes, or of a contiguous array, without copying it."""
        content = memoryview(content)
        content = content.cast("B") if content.nbytes else memoryview(b"")
        info = zipfile.ZipInfo(f"archive/{name}")
        info.file_size = content.nbytes
        large = content.nbytes * 1.05 > LARGE
        begin = self.zip.fp.tell() + 30 + len(info.filename) + EXTRA.size + 20 * large
        filled = -begin % ALIGNMENT
        info.extra = EXTRA.pack(PADDING, filled) + b"Z" * filled
        with self.zip.open(info, "w", force_zip64=large) as entry:
            for i in range(0, content.nbytes, LARGE // 2):
                entry.write(content[i : i + LARGE // 2])


# ---------------------------------------------------------------------- reading
class Archive:
    """Reads the entries of an archive. With `mapped`, the memory of tensors stays in the file until it is used."""

    def __init__(self, file: IO[bytes], mapped: bool = False):
        self.file = file
        try:
            entries = zipfile.ZipFile(file).infolist()
        except (zipfile.BadZipFile, NotImplementedError, struct.error) as e:
            raise Damaged(f"no readable directory ({e})") from None
        self.entries = {e.filename: e for e in entries}
        need(len(self.entries) == len(entries), "two entries of one name")
        self.left = self.length = file.seek(0, os.SEEK_END)
        found = [name for name in self.entries if name.count("/") == 1 and name.endswith("/data.pkl")]
        need(len(found) == 1, "{} entries called data.pkl", len(found))
        self.folder = found[0].removesuffix("data.pkl")
        need(not self.has("constants.pkl"), "a TorchScript program; minigrad reads only its state_dict")
        self.mapping: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if mapped else None
        order = self.content("byteorder") if self.has("byteorder") else b"little"
        need(order in (b"little", b"big"), "the byte order {}", order)
        self.swapped = order.decode() != sys.byteorder

    def has(self, name: str) -> bool:
        """Return True if there is an entry of that name."""
        return self.folder + name in self.entries

    def content(self, name: str) -> bytes:
        """Return an entry as bytes."""
        return self.bytes_of(name, None, mapped=False).tobytes()

    def storage(self, key: str, nbytes: int, kind: np.dtype) -> np.ndarray:
        """Return the memory of a storage."""
        return as_numbers(self.bytes_of(f"data/{key}", nbytes, self.mapping is not None), kind, self.swapped)

    def bytes_of(self, name: str, nbytes: int | None, mapped: bool) -> np.ndarray:
        """Return the first bytes of an entry, or all, as a new array."""
        need(self.has(name), "no entry {}", name)
        entry = self.entries[self.folder + name]
        need(entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 1, "a compressed entry {}", name)
        nbytes = entry.file_size if nbytes is None else nbytes
        fits = nbytes <= entry.file_size == entry.compress_size
        need(fits, "{} bytes in {}, not {}", entry.file_size, name, nbytes)
        self.left -= entry.file_size
        begin = self.begin(entry)
        need(self.left >= 0 and begin + entry.file_size <= self.length, "more bytes in {} than there are", name)
        if mapped and nbytes:
            found = np.frombuffer(self.mapping, np.uint8, nbytes, begin)
            return found if begin % 16 == 0 else found.copy()  # kernels need aligned numbers
        found: Any = np.empty(entry.file_size, np.uint8)
        self.file.seek(begin)
        need(read_into(self.file, found) == entry.file_size, "a truncated entry")
        if self.mapping is None and zlib.crc32(found) != entry.CRC:  # a checksum would read all of the mapped memory
            raise Damaged(f"changed bytes in {quote(name)}: the checksum differs")
        return found[:nbytes]

    def begin(self, entry: zipfile.ZipInfo) -> int:
        """Return the position of an entry's content."""
        need(0 <= entry.header_offset < self.length, "no entry where {} should be", entry.filename)
        self.file.seek(entry.header_offset)
        head = self.file.read(LOCAL.size)
        need(len(head) == LOCAL.size and head[:4] == b"PK\3\4", "no entry where {} should be", entry.filename)
        _, name, extra = LOCAL.unpack(head)
        return entry.header_offset + LOCAL.size + name + extra


def read_into(file: Any, found: np.ndarray) -> int:
    """Fill an array from a file; return the number of bytes read."""
    done = 0
    while done < found.size:
        part = found[done : done + LARGE // 2]
        if hasattr(file, "readinto"):
            n = file.readinto(part)
        else:
            content = file.read(part.size)
            n = len(content)
            part[:n] = np.frombuffer(content, np.uint8)
        if not n:
            break
        done += n
    return done


@contextmanager
def opened(f: Any) -> Iterator[IO[bytes]]:
    """Yield a file to read from: the given one, or the one at a path."""
    if hasattr(f, "read"):
        yield f
        return
    if not isinstance(f, (str, bytes, os.PathLike)):  # an int would open, and close, the descriptor of another file
        what = f"argument 'f' must be a path or a file to read from, not {type(f).__name__}"
        raise error(TypeError, "load", what, "write load('model.pt')")
    with open(f, "rb") as file:
        yield file
