"""Fallback to NumPy when kernels cannot run: Numba fails to import or to compile, or a cached file is damaged.

Every operation with a kernel also has a definition in NumPy, and `only_definitions` returns True when that definition runs.
minigrad does not test in advance whether a kernel compiles: if one fails, the operation runs again without kernels. If the
second run fails as well, the arguments are at fault. If it succeeds, the compiler is: one warning, and no more kernels in
this process.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..config import GENERIC
from ..errors import MinigradError, warn
from ..places import chain
from .cache import without

HERE = os.path.dirname(__file__) + os.sep
CACHE = HERE + "cache.py"
DEVICE = HERE + "cuda" + os.sep  # no fallback for kernels on a GPU


class Compiler:
    """State of the compiler: the exception that made it unusable, if any, and how often it was not loaded."""

    failed: Exception | None = None
    refused = 0  # calls of `is_ready`


def numpy_only() -> bool:
    """Return True if nothing is compiled, on request or after a failure."""
    return Compiler.failed is not None or without.get()


def only_definitions() -> bool:
    """Return True if every operation runs by its definition."""
    return GENERIC or Compiler.failed is not None or without.get()


# A program loads Numba, which takes half a second, for this many elements, or once this many calls had fewer.  A first lesson,
# or the first step of a small network, does not wait for it.
LOAD_FROM, PATIENCE = 4096, 1000
FEW = 256  # fewer elements neither load it nor count, because a dozen NumPy calls take microseconds


def is_ready(size: int) -> bool:
    """Return True if a kernel may run on this number of elements: the compiler is loaded, or it is time to load it."""
    if size >= LOAD_FROM or "numba" in sys.modules:
        return True
    Compiler.refused += size >= FEW
    return size >= FEW and Compiler.refused > PATIENCE


def is_few(x: Any) -> bool:
    """Return True for an array of so few elements that no kernel takes it before the compiler is loaded."""
    return type(x) is np.ndarray and x.size < FEW and "numba" not in sys.modules


def is_spoilt(out: np.ndarray) -> bool:
    """Return True for few numbers of which one is not finite: NumPy computes them again, and signals where they arise.

    Kernels send no signal (diagnose/nan.py). A sum of squares that overflows costs the second calculation, no more.
    """
    return out.size < FEW and not math.isfinite((flat := out.ravel()).dot(flat))


def worth(x: Any, work: int, least: int) -> bool:
    """Return True if this is a float array in main memory with at least `least` work to do on it."""
    return work >= least and is_ready(work) and type(x) is np.ndarray and not only_definitions() and x.dtype.kind == "f"


def again(cause: Exception, f: Callable, *args: Any, **kwargs: Any) -> Any:
    """Return f(*args, **kwargs) computed by NumPy alone if its exception `cause` came from the compiler; else raise `cause`."""
    if not from_compiler(cause) or numpy_only():
        try:
            raise cause
        finally:
            del cause  # as in raise_instead
    result = by_numpy(f, *args, **kwargs)
    give_up(cause)
    return result


def by_numpy(f: Callable, *args: Any, **kwargs: Any) -> Any:
    """Return f(*args, **kwargs) computed by NumPy alone."""
    before = without.get()
    try:
        without.set(True)
        return f(*args, **kwargs)
    finally:
        without.set(before)


def retried(f: Callable) -> Callable:
    """Return f as a function that computes by NumPy alone what the compiler cannot."""

    def run(*args: Any) -> Any:
        try:
            return f(*args)
        except Exception as e:
            return again(e, f, *args)

    return run


def from_compiler(e: Exception) -> bool:
    """Return True if the exception comes from compiling a kernel, looking it up in the cache, or importing it."""
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
    """Warn, and switch kernels off. Numba's typing errors concern a single kernel, so the others stay on.

    If the warning is raised as an error, they stay on, so that a caller that computes again raises it as well.
    """
    what = f"cannot use compiled code and falls back to NumPy, which is slower: {type(cause).__name__}: {cause}"
    warn("no-kernels", "minigrad", what, remedy())
    if not any(cls.__name__ == "NumbaError" for cls in type(cause).__mro__):
        Compiler.failed = cause


def remedy() -> str:
    """Return the fix: Numba needs the name of the working directory, which may have been removed."""
    try:
        os.getcwd()
    except OSError:
        return "start the program in another folder: its working directory has been removed"
    return "run `minigrad doctor --fix`, and report it if that does not help"
