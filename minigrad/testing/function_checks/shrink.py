"""From an input at which a row fails to the smallest one at which it fails in the same way.

First sizes: all dimensions of one size are cut together, as they may have to match; then numbers: rounder and rounder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from ...arrays.dtypes import FLOATS
from .case import Case
from .outcome import Fault

SECONDS = 3.0  # for one failure


def smallest(case: Case, fault: Fault, find: Callable[[Case], Fault | None]) -> tuple[Case, Fault]:
    """The smallest case, and what is wrong in it; `find` gives the fault of a case."""
    end, again = time.monotonic() + SECONDS, True
    while again:
        again = False
        for smaller in candidates(case):
            if time.monotonic() > end:
                return case, fault
            found = find(smaller)
            if found is not None and (found.kind, found.method) == (fault.kind, fault.method):
                case, fault, again = smaller, found, True
                break
    return case, fault


def candidates(case: Case) -> Iterator[Case]:
    """Cases that are one step smaller, the boldest first."""
    arrays = list(case.arrays.values())
    for size in sorted({n for a in arrays for n in a.shape if n > 1}, reverse=True):
        for less in dict.fromkeys((1, 2, size // 2, size - 1)):
            if 0 < less < size:
                cut = lambda a, s=size, n=less: a[tuple(slice(n if d == s else None) for d in a.shape)]
                yield case.changed(cut, floats=False)
    if any(a.ndim for a in arrays) and all(a.size == 1 for a in arrays):
        yield case.changed(lambda a: a.reshape(()), floats=False)
    floats = [a for a in arrays if a.dtype in FLOATS]
    for rounder in (counted, halves):  # the boldest first; what is round already stays
        if all(np.array_equal(rounder(a), a, equal_nan=True) for a in floats):
            return
        yield case.changed(rounder)


def counted(array: np.ndarray) -> np.ndarray:
    """1, 2, 3 and so on, with the signs as they are."""
    signs = np.where(array < 0, -1.0, 1.0)
    return (signs * np.arange(1, array.size + 1).reshape(array.shape)).astype(array.dtype)


def halves(array: np.ndarray) -> np.ndarray:
    """To the next half."""
    return np.round(array * 2) / 2
