"""SciPy's BLAS for compiled code, without the rest of scipy.linalg.

Numba imports scipy.linalg.cython_blas when it fills its tables, and at the first call of each of its BLAS functions. That
imports all of scipy.linalg, which takes 0.2 s. The module alone takes 8 ms.
"""

import contextlib
import ctypes
import functools
import importlib.util
import sys
import types
from importlib.machinery import PathFinder
from pathlib import Path

NAME = "scipy.linalg.cython_blas"
CHAR, WORD, POINTER = ctypes.c_char, ctypes.c_ssize_t, ctypes.c_void_p
FUNCTIONS = {  # Numba's names of the products matrix @ matrix and matrix @ vector, and their parameters after the dtype
    "xxgemm": [CHAR, CHAR, WORD, WORD, WORD, POINTER, POINTER, WORD, POINTER, WORD, POINTER, POINTER, WORD],
    "xxgemv": [CHAR, WORD, WORD, POINTER, POINTER, WORD, POINTER, POINTER, POINTER],
}


@contextlib.contextmanager
def alone():
    """Offer the module without its package inside the block; if that is impossible, Numba imports both."""
    found = None if NAME in sys.modules else module()
    if found is None:
        yield
        return
    sys.modules[NAME] = found
    try:
        yield
    finally:
        del sys.modules[NAME]  # so that importing it later also imports its package, as usual


@functools.cache
def module() -> types.ModuleType | None:
    """Return the module, loaded without its package, or None."""
    with contextlib.suppress(Exception):
        import scipy

        spec = PathFinder.find_spec(NAME, [str(Path(folder, "linalg")) for folder in scipy.__path__])
        if spec is not None and spec.loader is not None:
            made = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(made)
            return made
    return None


@functools.cache
def load() -> None:
    """Let Numba look up the functions that gemm.py calls, which it does at the first call of each."""
    with alone(), contextlib.suppress(Exception):
        look_up()


def look_up() -> None:
    """Call each function on matrices without elements."""
    from numba import _helperlib

    number = ctypes.byref(ctypes.c_double(0))
    empty = {CHAR: b"n", WORD: 0, POINTER: ctypes.cast(number, POINTER)}
    for name, parameters in FUNCTIONS.items():
        call = ctypes.CFUNCTYPE(ctypes.c_int, CHAR, *parameters)(_helperlib.c_helpers[name])
        steps = [k for k, t in enumerate(parameters) if t is WORD and parameters[k - 1] is POINTER]  # at least 1
        for kind in (b"s", b"d"):
            call(kind, *[1 if k in steps else empty[t] for k, t in enumerate(parameters)])
