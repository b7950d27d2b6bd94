"""The summary of a value: all elements of a small one, the statistics of a large one."""

import math

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.kinds import distinct, host
from . import schema
from .grid import grid

BINS = 16
SMALL = 1e-150  # its square is still a normal number


def summary(a: np.ndarray, leaf: bool = False) -> dict:
    """Return all elements of a small array; else extremes, mean, spread, histogram, counts of NaN and infinities, and a grid.

    A leaf may be an image, whose grid has the values of pixels.
    """
    a = host(a)
    if a.size <= schema.WHOLE:
        return {"values": schema.jsonable(a.tolist())}
    return statistics(a) | {"grid": grid(a, leaf)}


def statistics(a: np.ndarray) -> dict:
    """Return what describes the elements of an array apart from their places."""
    elements, a = a.size, distinct(a)
    times = elements // a.size
    if a.dtype.kind == "b":
        a = a.astype(np.int8)
    finite = a.reshape(-1)
    counts: dict = {"nan": 0, "inf": 0, "-inf": 0}
    if a.dtype in FLOATS and not (known := np.isfinite(finite)).all():
        odd = np.isnan(finite), np.isinf(finite), np.isneginf(finite)
        counts = {word: int(found.sum()) * times for word, found in zip(counts, odd)}
        finite = finite[known]
    if not finite.size:
        return {"min": None, "max": None, "mean": None, "std": None, **counts, "histogram": {"edges": [], "counts": []}}
    wide = finite.astype(np.float64)
    low, high = float(np.minimum.reduce(wide)), float(np.maximum.reduce(wide))
    largest = max(abs(low), abs(high))
    unit = 1.0 if SMALL < largest < 1 / SMALL else largest or 1.0  # so that no sum, square or difference leaves float64
    if unit != 1.0:
        wide /= unit
    edges, found = histogram(wide, *extent(low / unit, high / unit))
    if unit != 1.0:
        with np.errstate(over="ignore"):
            edges = np.nan_to_num(edges * unit)
    mean = np.add.reduce(wide) / wide.size
    wide -= mean
    std = math.sqrt(np.add.reduce(wide * wide) / wide.size)
    return {"min": low, "max": high, "mean": float(mean) * unit, "std": std * unit, **counts,
            "histogram": {"edges": edges.tolist(), "counts": [n * times for n in found.tolist()]}}  # fmt: skip


def histogram(numbers: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of equal bins and the count in each, like np.histogram, which is three times slower on few numbers."""
    edges = np.arange(BINS + 1) * ((high - low) / BINS) + low
    edges[-1] = high
    bins = ((numbers - low) / (high - low) * BINS).astype(np.intp)
    bins[bins == BINS] -= 1
    bins[numbers < edges[bins]] -= 1  # a division may round across an edge
    bins[(numbers >= edges[bins + 1]) & (bins != BINS - 1)] += 1
    return edges, np.bincount(bins, minlength=BINS)


def extent(low: float, high: float) -> tuple[float, float]:
    """Return the range of a histogram, widened if the numbers are too close for bins between them."""
    bin = (high - low) / BINS
    if low < low + bin and high - bin < high:
        return low, high
    margin = max(abs(low), abs(high)) / 2 or 0.5
    return low - margin, high + margin
