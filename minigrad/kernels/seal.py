"""The seal of cached machine code: an authentication code over a file's name and content that only the user can make.

Ownership of a file does not prove authorship. Files from an archive belong to the user who unpacks it, and another user who
owns a folder on the path to the cache can redirect the path. So files are sealed (HMAC, RFC 2104) with a key of random
bytes, which is stored apart from the cache, in a private folder that no other user can read.
"""

import contextlib
import functools
import hmac
import os
import pathlib
import secrets
import stat
import tempfile
from typing import BinaryIO

from ..errors import warn

LENGTH = 32  # bytes of a key, and of a seal


def folder(variable: str, usual: str) -> pathlib.Path | None:
    """Return minigrad/ in the folder that `variable` names, or in the usual one under the home folder; None without a home."""
    base = pathlib.Path(os.environ.get(variable, ""))
    try:
        return (base if base.is_absolute() else pathlib.Path.home() / usual) / "minigrad"
    except RuntimeError:
        return None


def file() -> pathlib.Path | None:
    """Return the path of the key; None without a home."""
    place = folder("XDG_STATE_HOME", ".local/state")
    return place and place / "kernel_key"


def seal(name: str, data: bytes) -> bytes | None:
    """Return the seal for a file of this name and content; None without a key, which warns once."""
    secret = key(file())
    return hmac.digest(secret, f"{name}\0".encode() + data, "sha256") if secret else None


def holds(name: str, data: bytes, found: bytes) -> bool:
    """Return True if `found` is the seal of that name and content."""
    wanted = seal(name, data)
    return wanted is not None and hmac.compare_digest(wanted, found)


@functools.cache
def key(place: pathlib.Path | None) -> bytes | None:
    """Return the key at `place`, creating it if there is none; once per process."""
    try:
        if place is None:
            raise ValueError("there is no home folder to store it in")
        if not os.path.lexists(place):
            make(place)
        return content(place)
    except (OSError, ValueError) as e:
        what = f"cannot use the key of compiled kernels, so every process compiles again: {e}"
    warn("no-kernel-key", "kernel cache", what, "set XDG_STATE_HOME to a folder that only you can write to")
    return None


def make(place: pathlib.Path) -> None:
    """Write a key, whole or not at all. If several processes start at once, one writes its key, and all read that one."""
    place.parent.mkdir(0o700, parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=place.parent, prefix="minigrad_", suffix=".part")  # of mode 0600
    try:
        with open(number, "wb") as part:
            part.write(secrets.token_bytes(LENGTH))
            part.flush()
            os.fsync(number)
        with contextlib.suppress(FileExistsError):
            os.link(name, place)  # unlike a rename, a link never replaces an existing key
    finally:
        os.unlink(name)


def content(place: pathlib.Path) -> bytes:
    """Return the key in a file; raise ValueError if it is not a key, or another user may know it."""
    with open_regular(place) as f:
        found, data = os.fstat(f.fileno()), f.read(LENGTH + 1)
    if not stat.S_ISREG(found.st_mode) or len(data) != LENGTH:
        raise ValueError(f"{place} is not a key: remove it")
    if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
        raise ValueError(f"{place} is not private (user {found.st_uid}, mode {found.st_mode & 0o777:o}): remove it")
    return data


def open_regular(path: pathlib.Path) -> BinaryIO:
    """Open a file for reading without following a link or waiting for a pipe."""
    flags = [getattr(os, flag, 0) for flag in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK")]
    return open(path, "rb", opener=lambda name, mode: os.open(name, mode | sum(flags)))
