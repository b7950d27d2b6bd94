"""Generated modules and where they lie: small readable Python files that Numba compiles once and keeps.

A module is named by the hash of its text and of the versions that matter, written to a temporary name and moved into
place, so that several processes may race for it.  Where no folder can be written the module lives in memory only.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pathlib
import platform
import sys
import tempfile
import types
from typing import Any

_modules: dict[str, Any] = {}


def folder() -> pathlib.Path:
    """Where generated modules lie: MINIGRAD_CACHE, or minigrad/ under XDG_CACHE_HOME or ~/.cache."""
    own = os.environ.get("MINIGRAD_CACHE")
    if own:
        return pathlib.Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (pathlib.Path(base) if base else pathlib.Path.home() / ".cache") / "minigrad"
    except RuntimeError:  # no home at all
        return pathlib.Path(tempfile.gettempdir()) / "minigrad"


def stamp() -> str:
    """What besides the text decides whether compiled code fits: Python, Numba, NumPy, the processor."""
    import numba
    import numpy

    return f"{sys.version_info[:2]} {numba.__version__} {numpy.__version__} {platform.machine()}"


def load(name: str, source: str) -> Any:
    """The module with this text, imported from the cache folder."""
    tag = hashlib.sha256((source + stamp()).encode()).hexdigest()[:12]
    key = f"minigrad_kernel_{name}_{tag}"
    module = _modules.get(key)
    if module is None:
        module = _modules[key] = import_file(key, source) or import_text(key, source)
    return module


def import_file(key: str, source: str) -> Any:
    """Write the module (unless it is there, whole) and import it; None where that cannot be done."""
    path = folder() / f"{key}.py"
    try:
        if not path.exists() or path.read_text() != source:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False) as part:
                part.write(source)
            os.replace(part.name, path)
    except OSError:
        return None
    spec = importlib.util.spec_from_file_location(key, path)
    if spec is None or spec.loader is None:
        return None
    module = sys.modules[key] = importlib.util.module_from_spec(spec)  # Numba's cached code imports it by name
    spec.loader.exec_module(module)
    return module


def import_text(key: str, source: str) -> Any:
    """The module in memory only: compiled anew in each process."""
    module = types.ModuleType(key)
    exec(compile(source.replace("cache=True", "cache=False"), f"<{key}>", "exec"), module.__dict__)
    return module
