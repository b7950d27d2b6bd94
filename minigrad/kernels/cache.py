"""Generated modules and their machine code: small readable Python files that Numba compiles once and keeps.

A module is named by the hash of its text, of the functions it calls and of the versions that matter.  The text on disk is
for people; what runs is the text in memory.  Machine code lies beside it, a file for each signature and processor with a
checksum in front.  Files are written under another name and moved into place, so that processes may race, be killed or
find the disk full; whatever cannot be read, or is not whole, counts as missing.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pathlib
import pickle
import platform
import sys
import tempfile
import time
import types
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from . import compiler

without: ContextVar[bool] = ContextVar("minigrad.without", default=False)  # NumPy computes alone, nothing is compiled
_modules: dict[str, Any] = {}
STALE = 3600  # seconds after which the unfinished file of a killed process is removed


def folder() -> pathlib.Path | None:
    """Where generated modules lie: MINIGRAD_CACHE, or minigrad/ under XDG_CACHE_HOME or ~/.cache; None without a home."""
    own = os.environ.get("MINIGRAD_CACHE")
    if own:
        return pathlib.Path(own)
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (base if base.is_absolute() else pathlib.Path.home() / ".cache") / "minigrad"
    except RuntimeError:
        return None


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


def by_dtype(name: str, source: str) -> Callable:
    """The modules of one text by dtype: {real} is its name there, {whole} that of the integers of its size."""

    def module(dtype: Any) -> Any:
        return load(f"{name}_{dtype.name}", source.format(real=dtype.name, whole=f"int{8 * dtype.itemsize}"))

    return functools.cache(module)


def build(key: str, source: str) -> Any:
    """Run the text as a module, and have Numba keep in our files what it compiles."""
    from numba.core.dispatcher import Dispatcher

    place = folder()
    shown = place is not None and (read(f"{key}.py") == source.encode() or write(f"{key}.py", source.encode()))
    module = types.ModuleType(key)
    module.__file__ = str(place / f"{key}.py") if shown else f"<{key}>"  # type: ignore[operator]
    sys.modules[key] = module  # compiled code that was kept looks its module up by name
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    for name, f in vars(module).items():
        if isinstance(f, Dispatcher) and not f.targetoptions.get("forceinline"):
            f._cache = Compiled(f"{key}.{name}")
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
        data = read(self.file(signature, target.codegen()))
        if data is None or hashlib.sha256(data[32:]).digest() != data[:32]:
            return compiler.whole(compiler.fill_tables, target)  # before it compiles
        return CompileResult._rebuild(target, *pickle.loads(data[32:]))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a function that has just been compiled, if that can be done."""
        from numba.core.serialize import dumps

        if compiled.library.has_dynamic_globals or compiled.lifted:
            return
        data = dumps(compiled._reduce())
        write(self.file(signature, compiled.codegen), hashlib.sha256(data).digest() + data)

    def flush(self) -> None:
        """Numba asks for this when a function is recompiled: the next one to be saved replaces what is there."""


def read(name: str) -> bytes | None:
    """A file of the cache folder; None if it cannot be read."""
    place = folder()
    try:
        return None if place is None else (place / name).read_bytes()
    except OSError:
        return None


@functools.cache
def sweep(place: pathlib.Path) -> None:
    """Remove what killed processes have left unfinished; once a process, as the folder may hold thousands of files."""
    for old in place.glob("*.part"):
        with contextlib.suppress(OSError):  # another process has been quicker
            if time.time() - old.stat().st_mtime > STALE:
                old.unlink()


def write(name: str, data: bytes) -> bool:
    """Write a file of the cache folder, whole or not at all; whether that was done."""
    place = folder()
    if place is None:
        return False
    try:
        place.mkdir(parents=True, exist_ok=True)
        sweep(place)
        with tempfile.NamedTemporaryFile(dir=place, suffix=".part", delete=False) as part:
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
