"""The seal of kept machine code: a code over a file's name and content that nobody but the user can make.

That a file belongs to a user does not say that they wrote it.  What somebody packed into an archive belongs to whoever unpacks
it, and whoever owns a folder on the way to the cache can let the way end there.  So files are sealed (HMAC, RFC 2104) with a
key of random bytes, which lies apart from the cache, in a folder of the user's own, where nobody else can read it.
"""

from __future__ import annotations

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
    """The folder minigrad/ under the one that a variable names, or under the usual one at home; None without a home."""
    base = pathlib.Path(os.environ.get(variable, ""))
    try:
        return (base if base.is_absolute() else pathlib.Path.home() / usual) / "minigrad"
    except RuntimeError:
        return None


def file() -> pathlib.Path | None:
    """Where the key lies; None without a home."""
    place = folder("XDG_STATE_HOME", ".local/state")
    return place and place / "kernel_key"


def seal(name: str, data: bytes) -> bytes | None:
    """Return the seal of a file that has this name and content; None where no key can be had, which is said once."""
    secret = key(file())
    return hmac.digest(secret, f"{name}\0".encode() + data, "sha256") if secret else None


def holds(name: str, data: bytes, found: bytes) -> bool:
    """Say whether this is the seal of that name and content."""
    wanted = seal(name, data)
    return wanted is not None and hmac.compare_digest(wanted, found)


@functools.cache
def key(place: pathlib.Path | None) -> bytes | None:
    """Return the key that lies there, a new one if there was none; once a process."""
    try:
        if place is None:
            raise ValueError("there is no home to keep it in")
        if not os.path.lexists(place):
            make(place)
        return content(place)
    except (OSError, ValueError) as e:
        what = f"the key of compiled kernels cannot be used, so each process compiles anew: {e}"
    warn("no-kernel-key", "kernel cache", what, "set XDG_STATE_HOME to a folder that you, and only you, can write to")
    return None


def make(place: pathlib.Path) -> None:
    """Write a key, all of it or nothing.  Of processes that start at once, one puts its key there, and all read that."""
    place.parent.mkdir(0o700, parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=place.parent, prefix="minigrad_", suffix=".part")  # of mode 0600
    try:
        with open(number, "wb") as part:
            part.write(secrets.token_bytes(LENGTH))
            part.flush()
            os.fsync(number)
        with contextlib.suppress(FileExistsError):
            os.link(name, place)  # which, unlike a rename, replaces no key
    finally:
        os.unlink(name)


def content(place: pathlib.Path) -> bytes:
    """Read a key; ValueError if it is none, or somebody else may know it."""
    with plainly(place) as f:
        found, data = os.fstat(f.fileno()), f.read(LENGTH + 1)
    if not stat.S_ISREG(found.st_mode) or len(data) != LENGTH:
        raise ValueError(f"{place} is no key: remove it")
    if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
        raise ValueError(f"{place} is not yours alone (user {found.st_uid}, mode {found.st_mode & 0o777:o}): remove it")
    return data


def plainly(path: pathlib.Path) -> BinaryIO:
    """Open a file to be read: a link is not followed, a pipe not waited for."""
    flags = [getattr(os, flag, 0) for flag in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK")]
    return open(path, "rb", opener=lambda name, mode: os.open(name, mode | sum(flags)))
