"""From an input at which a row fails to the smallest one at which it fails in the same way.

First come sizes: all dimensions of one size shrink together, as they may have to match.  Then numbers become rounder.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np

from ...arrays.dtypes import FLOATS
from .case import Case
from .outcome import Fault

SECONDS = 3.0  # for one failure


def smallest(case: Case, fault: Fault, find: Callable[[Case], Fault | None]) -> tuple[Case, Fault]:
    """Return the smallest case and its fault; `find` returns the fault of a case."""
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
    """Yield cases that are one step smaller, the boldest step first."""
    arrays = list(case.arrays.values())
    for size in sorted({n for a in arrays for n in a.shape if n > 1}, reverse=True):
        for less in dict.fromkeys((1, 2, size // 2, size - 1)):
            if 0 < less < size:
                yield case.cut(size, less)
    if any(a.ndim for a in arrays) and all(a.size == 1 for a in arrays):
        yield case.changed(lambda a: a.reshape(()), floats=False)
    floats = [a for a in arrays if a.dtype in FLOATS]
    for rounder in (counting_numbers, halves):  # the boldest first; round numbers stay
        if all(np.array_equal(rounder(a), a, equal_nan=True) for a in floats):
            return
        yield case.changed(rounder)


def counting_numbers(array: np.ndarray) -> np.ndarray:
    """Return 1, 2, 3, ..., with the signs of the array."""
    signs = np.where(array < 0, -1.0, 1.0)
    return (signs * np.arange(1, array.size + 1).reshape(array.shape)).astype(array.dtype)


def halves(array: np.ndarray) -> np.ndarray:
    """Round to halves."""
    return np.round(array * 2) / 2
