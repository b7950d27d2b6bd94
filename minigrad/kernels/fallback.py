"""NumPy in place of compiled code that cannot be had: Numba cannot be imported, fails to compile, or finds a damaged file.

Whatever has a kernel has a definition in NumPy as well, and `alone` says when that runs.  Nobody asks beforehand whether a
kernel will compile: where one has failed, the operation runs once more without kernels.  If it fails again, its arguments
are at fault; if not, the compiler is, and kernels are switched off for the rest of the process, with one warning.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..config import GENERIC
from ..errors import MinigradError, warn
from ..places import chain
from .cache import without

HERE = os.path.dirname(__file__) + os.sep
CACHE = HERE + "cache.py"
DEVICE = HERE + "cuda" + os.sep  # what runs there has no other way


class Compiler:
    """Hold whether compiled code can be had: the exception that has shown that it cannot."""

    failed: Exception | None = None


def numpy_alone() -> bool:
    """Return whether nothing is compiled: it was asked for, or has failed."""
    return Compiler.failed is not None or without.get()


def alone() -> bool:
    """Return whether everything runs by its definition."""
    return GENERIC or Compiler.failed is not None or without.get()


def worth(x: Any, work: int, least: int) -> bool:
    """Return whether so much work on an array is worth a kernel: one of floats in the computer's memory."""
    return work >= least and type(x) is np.ndarray and not alone() and x.dtype.kind == "f"


def again(cause: Exception, f: Callable, *args: Any, **kwargs: Any) -> Any:
    """Return f(*args, **kwargs) by NumPy alone where `cause`, which it has raised, came from the compiler; else raise that."""
    if not from_compiler(cause) or numpy_alone():
        raise cause
    before = without.get()
    try:
        without.set(True)
        result = f(*args, **kwargs)
    finally:
        without.set(before)
    give_up(cause)
    return result


def from_compiler(e: Exception) -> bool:
    """Return whether an exception was raised while compiled code was made, looked for in the cache, or imported."""
    if isinstance(e, MinigradError):
        return False
    frames = [part.tb_frame for part in chain(e.__traceback__)]
    ours = [f.f_code for f in frames if f.f_code.co_filename.startswith(HERE)]
    if any(code.co_filename.startswith(DEVICE) for code in ours):
        return False
    imported = isinstance(e, ImportError) or any(code.co_name == "<module>" for code in ours)
    below = {str(f.f_globals.get("__name__")).partition(".")[0] for f in frames}
    return bool(ours and imported or below & {"numba", "llvmlite"} or any(c.co_filename == CACHE for c in ours))


def give_up(cause: Exception) -> None:
    """Compile nothing from now on, and say so.  Numba's errors of types concern one kernel, so the others stay."""
    if not any(cls.__name__ == "NumbaError" for cls in type(cause).__mro__):
        Compiler.failed = cause
    what = f"compiled code cannot be had, NumPy computes in its place, which is slower: {type(cause).__name__}: {cause}"
    warn("no-kernels", "minigrad", what, remedy())


def remedy() -> str:
    """Return what to do: Numba needs the name of the working folder, which may be gone."""
    try:
        os.getcwd()
    except OSError:
        return "start the program in another folder: the one that it runs in has been removed"
    return "run `minigrad doctor --fix`, and report it if that does not help"
