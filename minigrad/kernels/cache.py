"""Generated modules and their machine code: small readable Python files that Numba compiles once and caches.

The name of a module holds the hash of its text, of the functions it calls and of the relevant versions. The text on disk is
for people; the text in memory is what runs. Machine code is stored next to it, one file per signature and processor, and
starts with a seal of its name and content (seal.py). Files are written under a temporary name and then renamed, so processes
may race, be killed or run out of disk space. A file that cannot be read or has a wrong seal counts as missing.

Machine code runs with the rights of the user who loads it, and the seal proves that this user made it. Ownership of the file
does not prove that (seal.py gives examples). A file that another user owns or can write to gets a warning.
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
from .cpu import scipy_blas

without: ContextVar[bool] = ContextVar("minigrad.without", default=False)  # NumPy computes alone, nothing is compiled
_modules: dict[str, Any] = {}
_refused: set[pathlib.Path] = set()  # folders for which the user already got a warning
STALE = 3600  # seconds after which the unfinished file of a killed process is removed
UNFINISHED = "minigrad_*.part"  # only our own unfinished files
ODD = {errno.ELOOP: "it is a link", errno.EISDIR: "it is a folder", errno.ENXIO: "it is a socket"}  # open's errors


def folder() -> pathlib.Path | None:
    """Return the folder of generated modules: MINIGRAD_CACHE, else minigrad/ in XDG_CACHE_HOME or ~/.cache, or None."""
    own = os.environ.get("MINIGRAD_CACHE")
    return pathlib.Path(own) if own else seal.folder("XDG_CACHE_HOME", ".cache")


@functools.cache
def stamp() -> str:
    """Return all that compiled code depends on besides its text: our functions, Python, Numba, LLVM, NumPy, the processor."""
    import llvmlite
    import numba
    import numpy

    here = pathlib.Path(__file__).parent
    files = [
        *sorted((here / "vecmath").glob("*.py")),
        *[here / "cpu" / f"{n}.py" for n in ("gemm", "new_arrays", "conv_tiles")],
    ]
    functions = hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()
    versions = sys.version_info[:2], numba.__version__, llvmlite.__version__, numpy.__version__
    return f"{functions} {versions} {sys.platform} {platform.machine()}"


def load(name: str, source: str) -> Any:
    """Return the module with this text; the machine code of its functions is stored in the cache folder."""
    if not _modules:
        compiler.prepare()
    with compiler.loading:
        tag = hashlib.sha256((source + stamp()).encode()).hexdigest()[:16]
        key = f"minigrad_kernel_{name}_{tag}"
        if key not in _modules:
            _modules[key] = compiler.uninterrupted(build, key, source)
        return _modules[key]


def by_dtype(name: str, source: str, load: Callable = load) -> Callable:
    """Return a function from dtype to module: in the text, {real} is the dtype and {whole} the integer dtype of that size.

    Kernels of a device pass their own `load` (cuda/kernel_modules.py).
    """

    def module(dtype: Any) -> Any:
        return load(f"{name}_{dtype.name}", source.format(real=dtype.name, whole=f"int{8 * dtype.itemsize}"))

    return functools.cache(module)


def build(key: str, source: str) -> Any:
    """Run the text as a module; Numba stores the compiled functions in our files."""
    from numba.core.dispatcher import Dispatcher

    module = executed(key, source)
    if "product" in vars(module):
        scipy_blas.load()
    for name, f in vars(module).items():
        if isinstance(f, Dispatcher):
            f.targetoptions["no_cfunc_wrapper"] = True  # our callers are Python and Numba
        if isinstance(f, Dispatcher) and not f.targetoptions.get("forceinline"):
            f._cache = CompiledCache(f"{key}.{name}")
            f._compiler.compile = compiler.uncollected(f._compiler.compile)
    return module


def executed(key: str, source: str) -> types.ModuleType:
    """Run the text as a module, and write it to the cache folder for people to read."""
    place, name, text = folder(), f"{key}.py", source.encode()
    shown = place is not None and (read(name) == text or write(name, text))
    module = types.ModuleType(key)
    module.__file__ = str(place / name) if shown else f"<{key}>"  # type: ignore[operator]
    sys.modules[key] = module  # cached machine code looks up its module by name
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    return module


class CompiledCache:
    """Replacement for Numba's own cache, which trusts the files it finds."""

    cache_path = ""

    def __init__(self, name: str):
        self.name = name

    def file(self, signature: Any, codegen: Any) -> str:
        """Return the file name for these argument types on this processor."""
        text = f"{signature} {codegen.magic_tuple()}"
        return f"{self.name}.{hashlib.sha256(text.encode()).hexdigest()[:16]}.bin"

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the compiled function, or None. Numba's own cache first imports the whole compiler, which takes 0.3 s."""
        from numba.core.compiler import CompileResult
        from numba.core.runtime import rtsys

        rtsys.initialize(target)
        data = stored(self.file(signature, target.codegen()))
        if data is not None:
            with contextlib.suppress(Exception):  # if Numba cannot use the file, it compiles
                return with_own_dtypes(CompileResult._rebuild(target, *pickle.loads(data)))
        compiler.uninterrupted(compiler.fill_tables, target)  # needed before it compiles
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Store a newly compiled function, if possible."""
        from numba.core.serialize import dumps

        if compiled.library.has_dynamic_globals or compiled.lifted:
            return
        store(self.file(signature, compiled.codegen), dumps(compiled._reduce()))

    def flush(self) -> None:
        """Do nothing: Numba calls this before it recompiles a function, and saving replaces the old file."""


def with_own_dtypes(compiled: Any) -> Any:
    """Give a function from a file NumPy's own dtype objects: an unpickled dtype is equal to them, but not identical."""
    for environment in (compiled.environment, *compiled.referenced_envs):
        held = environment.consts
        held[:] = [np.dtype(a.str) if isinstance(a, np.dtype) and a.names is None else a for a in held]
    return compiled


def store(name: str, data: bytes) -> bool:
    """Write a sealed file to the cache folder; return True on success."""
    sealed = None if folder() is None else seal.seal(name, data)
    return sealed is not None and write(name, sealed + data)


def stored(name: str) -> bytes | None:
    """Return the data that `store` wrote under this name; None if it is missing or was altered."""
    found = read(name)
    return None if found is None else opened(name, found)


def opened(name: str, found: bytes) -> bytes | None:
    """Return the data behind the seal of a file; None if the seal is wrong."""
    data = found[seal.LENGTH :]
    return data if seal.holds(name, data, found[: seal.LENGTH]) else None


def read(name: str) -> bytes | None:
    """Return the content of a file of the cache folder; None if it cannot be read or another user may have written it."""
    place = folder()
    if place is None:
        return None
    try:
        with seal.open_regular(place / name) as file:
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
    """Return why another user may have written the file; "" if it looks like the user's own."""
    if not stat.S_ISREG(found.st_mode):
        return "it is not a regular file"
    if os.name != "posix":
        return ""  # on Windows, other users cannot reach these folders
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"other users can write to it (its mode is {found.st_mode & 0o777:o})"
    return ""


def refuse(place: pathlib.Path, name: str, reason: str) -> None:
    """Warn that a file is ignored, once per folder."""
    if place not in _refused:
        _refused.add(place)
        what = f"ignores {place / name}: {reason}, and its machine code would run with your rights"
        warn("untrusted-kernels", "kernel cache", what, "set MINIGRAD_CACHE to a folder that only you can write to")


@functools.cache
def remove_unfinished(place: pathlib.Path) -> None:
    """Remove unfinished files of killed processes, once per process: the folder may hold thousands of files."""
    for old in place.glob(UNFINISHED):
        with contextlib.suppress(OSError):  # another process was quicker
            if time.time() - old.stat().st_mtime > STALE:
                old.unlink()


def write(name: str, data: bytes) -> bool:
    """Write a file to the cache folder, either whole or not at all; return True on success."""
    place = folder()
    if place is None:
        return False
    try:
        place.mkdir(0o700, parents=True, exist_ok=True)
        remove_unfinished(place)
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
