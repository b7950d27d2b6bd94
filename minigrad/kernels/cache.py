"""Generated modules and their machine code: small readable Python files that Numba compiles once and keeps.

A module is named by the hash of its text, of the functions it calls and of the versions that matter.  The text on disk is
for people; what runs is the text in memory.  Machine code lies beside it, a file for each signature and processor, with a
seal of its name and content in front (seal.py).  Files are written under another name and moved into place, so that processes
may race, be killed or find the disk full.  A file that cannot be read, or whose seal is not right, counts as missing.

Machine code runs as the user who loads it, and the seal says that this user has made it.  That a file belongs to them does not
(seal.py has examples); where it does not even do that, or others can write to it, a warning tells them.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import pathlib
import pickle
import platform
import stat
import sys
import tempfile
import time
import types
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..errors import warn
from . import compiler, seal

without: ContextVar[bool] = ContextVar("minigrad.without", default=False)  # NumPy computes alone, nothing is compiled
_modules: dict[str, Any] = {}
_refused: set[pathlib.Path] = set()  # folders of which the user knows that a file in them is not read
STALE = 3600  # seconds after which the unfinished file of a killed process is removed
UNFINISHED = "minigrad_*.part"  # what others in the folder call so is theirs
ODD = {errno.ELOOP: "it is a link", errno.EISDIR: "it is a folder", errno.ENXIO: "it is a socket"}  # what open says


def folder() -> pathlib.Path | None:
    """Where generated modules lie: MINIGRAD_CACHE, or minigrad/ under XDG_CACHE_HOME or ~/.cache; None without a home."""
    own = os.environ.get("MINIGRAD_CACHE")
    return pathlib.Path(own) if own else seal.folder("XDG_CACHE_HOME", ".cache")


@functools.cache
def stamp() -> str:
    """What besides the text decides whether compiled code fits: our functions, Python, Numba, LLVM, NumPy, the processor."""
    import llvmlite
    import numba
    import numpy

    here = pathlib.Path(__file__).parent
    files = [*sorted((here / "vecmath").glob("*.py")), here / "cpu" / "gemm.py", here / "cpu" / "conv_tiles.py"]
    functions = hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()
    versions = sys.version_info[:2], numba.__version__, llvmlite.__version__, numpy.__version__
    return f"{functions} {versions} {sys.platform} {platform.machine()}"


def load(name: str, source: str) -> Any:
    """The module with this text; the machine code of its functions is kept in the cache folder."""
    if not _modules:
        compiler.prepare()
    with compiler.loading:
        tag = hashlib.sha256((source + stamp()).encode()).hexdigest()[:16]
        key = f"minigrad_kernel_{name}_{tag}"
        if key not in _modules:
            _modules[key] = compiler.whole(build, key, source)
        return _modules[key]


def by_dtype(name: str, source: str, load: Callable = load) -> Callable:
    """The modules of one text by dtype: {real} is its name there, {whole} that of the integers of its size.

    `load` is another function for the kernels of a device (cuda/kernel_modules.py).
    """

    def module(dtype: Any) -> Any:
        return load(f"{name}_{dtype.name}", source.format(real=dtype.name, whole=f"int{8 * dtype.itemsize}"))

    return functools.cache(module)


def build(key: str, source: str) -> Any:
    """Run the text as a module, and have Numba keep in our files what it compiles."""
    from numba.core.dispatcher import Dispatcher

    module = executed(key, source)
    for name, f in vars(module).items():
        if isinstance(f, Dispatcher) and not f.targetoptions.get("forceinline"):
            f._cache = Compiled(f"{key}.{name}")
    return module


def executed(key: str, source: str) -> types.ModuleType:
    """Run the text as a module; it lies in the cache folder for people to read."""
    place, name, text = folder(), f"{key}.py", source.encode()
    shown = place is not None and (read(name) == text or write(name, text))
    module = types.ModuleType(key)
    module.__file__ = str(place / name) if shown else f"<{key}>"  # type: ignore[operator]
    sys.modules[key] = module  # compiled code that was kept looks its module up by name
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    return module


class Compiled:
    """What a Numba function asks for its machine code, in place of Numba's own cache: that one trusts what it finds."""

    cache_path = ""

    def __init__(self, name: str):
        self.name = name

    def file(self, signature: Any, codegen: Any) -> str:
        """The name of the file for these argument types on this processor."""
        text = f"{signature} {codegen.magic_tuple()}"
        return f"{self.name}.{hashlib.sha256(text.encode()).hexdigest()[:16]}.bin"

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function, or None.  Numba's own cache first loads all that compiling needs, a third of a second."""
        from numba.core.compiler import CompileResult
        from numba.core.runtime import rtsys

        rtsys.initialize(target)
        data = kept(self.file(signature, target.codegen()))
        if data is not None:
            with contextlib.suppress(Exception):  # whatever it is that Numba cannot use, it can compile
                return with_own_dtypes(CompileResult._rebuild(target, *pickle.loads(data)))
        compiler.whole(compiler.fill_tables, target)  # before it compiles
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a function that has just been compiled, if that can be done."""
        from numba.core.serialize import dumps

        if compiled.library.has_dynamic_globals or compiled.lifted:
            return
        keep(self.file(signature, compiled.codegen), dumps(compiled._reduce()))

    def flush(self) -> None:
        """Numba asks for this when a function is recompiled: the next one to be saved replaces what is there."""


def with_own_dtypes(compiled: Any) -> Any:
    """Have a function from a file make arrays of NumPy's own dtype objects: a dtype that was pickled is equal, not the same."""
    for environment in (compiled.environment, *compiled.referenced_envs):
        held = environment.consts
        held[:] = [np.dtype(a.str) if isinstance(a, np.dtype) and a.names is None else a for a in held]
    return compiled


def keep(name: str, data: bytes) -> bool:
    """Write a file of the cache folder with its seal in front; say whether that was done."""
    sealed = None if folder() is None else seal.seal(name, data)
    return sealed is not None and write(name, sealed + data)


def kept(name: str) -> bytes | None:
    """Return what `keep` wrote under this name; None if it is not there, or not that."""
    found = read(name)
    return None if found is None else opened(name, found)


def opened(name: str, found: bytes) -> bytes | None:
    """Return what is behind the seal of a file; None if the seal is not right."""
    data = found[seal.LENGTH :]
    return data if seal.holds(name, data, found[: seal.LENGTH]) else None


def read(name: str) -> bytes | None:
    """Return the content of a file of the cache folder; None if it cannot be read, or others may have written it."""
    place = folder()
    if place is None:
        return None
    try:
        with seal.plainly(place / name) as file:
            reason = distrust(os.fstat(file.fileno()))
            if not reason:
                return file.read()
    except OSError as e:
        if e.errno not in ODD:
            return None
        reason = ODD[e.errno]
    refuse(place, name, reason)
    return None


def distrust(found: os.stat_result) -> str:
    """Say why a file may have been written by somebody else; nothing if it looks like the user's own."""
    if not stat.S_ISREG(found.st_mode):
        return "it is no regular file"
    if os.name != "posix":
        return ""  # a user's folders are not open to others
    if found.st_uid != os.geteuid():
        return f"it belongs to the user with the number {found.st_uid}"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"other users can write to it (its mode is {found.st_mode & 0o777:o})"
    return ""


def refuse(place: pathlib.Path, name: str, reason: str) -> None:
    """Warn that a file is not read, for the first of a folder."""
    if place not in _refused:
        _refused.add(place)
        what = f"{place / name} is not read: {reason}, and machine code that it holds would run as you"
        warn("untrusted-kernels", "kernel cache", what, "set MINIGRAD_CACHE to a folder that only you can write to")


@functools.cache
def sweep(place: pathlib.Path) -> None:
    """Remove what killed processes have left unfinished; once a process, as the folder may hold thousands of files."""
    for old in place.glob(UNFINISHED):
        with contextlib.suppress(OSError):  # another process has been quicker
            if time.time() - old.stat().st_mtime > STALE:
                old.unlink()


def write(name: str, data: bytes) -> bool:
    """Write a file of the cache folder, whole or not at all; say whether that was done."""
    place = folder()
    if place is None:
        return False
    try:
        place.mkdir(0o700, parents=True, exist_ok=True)
        sweep(place)
        with tempfile.NamedTemporaryFile(dir=place, prefix="minigrad_", suffix=".part", delete=False) as part:
            try:
                part.write(data)
                part.close()
                os.replace(part.name, place / name)
            except BaseException:
                pathlib.Path(part.name).unlink(missing_ok=True)
                raise
    except OSError:
        return False
    return True
