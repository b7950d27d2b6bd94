"""Write files completely or not at all, and leave nothing unfinished behind."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any


@contextmanager
def written(f: Any) -> Iterator[IO[bytes]]:
    """Yield a file to write to, next to the one at a path; once complete, it replaces that one and takes its permissions.

    It has no name until it is complete where the system can do that, so that a killed process leaves nothing.  Links are
    followed.  Devices and pipes are written to directly.
    """
    if hasattr(f, "write"):
        yield f
        return
    path = os.fsdecode(f)
    if is_no_file(path):
        with open(path, "wb") as file:
            yield file
        return
    path = os.path.realpath(path)  # the target of a link
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f"{name[:40]}.{secrets.token_hex(8)}")  # at most 255 bytes
    with suppress(FileNotFoundError), open(path, "r+b"):  # a file without write permission is not replaced either
        pass
    try:
        nameless = without_name(folder)
        with open(temporary, "xb") if nameless is None else open(nameless, "w+b") as file:
            yield file
            file.flush()
            os.fsync(number := file.fileno())
            if nameless is not None:  # src_dir_fd makes `link` follow the link /proc/self/fd/N
                os.link(f"/proc/self/fd/{number}", temporary, src_dir_fd=number)
        if os.path.exists(path):
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(temporary)
        raise


def without_name(folder: str) -> int | None:
    """Open a new file without a name in a folder, on Linux; return None where the system or the folder's disk has none."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder or ".", os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:  # `open` says why the folder cannot be written to
        return None


def is_no_file(path: str) -> bool:
    """Return True if a path leads to a device or pipe, or to an open file of a process, as /dev/stdout does.

    >>> is_no_file(os.devnull), is_no_file(__file__)
    (True, False)
    """
    if os.path.exists(path) and not os.path.isfile(path):
        return True
    for _ in range(40):  # `open` reports links that form a ring
        if os.path.realpath(os.path.dirname(path) or ".").startswith("/proc/"):
            return True
        if not os.path.islink(path):
            break
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    return False
