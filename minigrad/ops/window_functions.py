"""Windows that fade a signal in and out: hann_window, hamming_window, blackman_window, bartlett_window, kaiser_window.

Each is a formula over positions t from 0 to 1.  A `periodic` window of n numbers is the symmetric one of n + 1 without its
last, which suits Fourier transforms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..errors import error
from .create import factory, number
from .elementary import special
from .from_data import chosen

SAMPLES = ("5", "6, False", "1", "0", "4, dtype=torch.float64")


@factory(*SAMPLES)
def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None) -> Any:
    """Return Hann's window, (1 - cos(2 pi t)) / 2.  Raises RuntimeError for negative lengths and integer dtypes.

    >>> import minigrad
    >>> minigrad.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return window("hann_window", window_length, periodic, dtype, cosines(0.5, 0.5))


@factory(*SAMPLES, "5, True, 0.5, 0.4")
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """Return Hamming's window, alpha - beta * cos(2 pi t)."""
    return window("hamming_window", window_length, periodic, dtype, cosines(alpha, beta))


@factory(*SAMPLES)
def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None) -> Any:
    """Return Blackman's window, 0.42 - 0.5 * cos(2 pi t) + 0.08 * cos(4 pi t)."""
    return window("blackman_window", window_length, periodic, dtype, cosines(0.42, 0.5, 0.08))


@factory(*SAMPLES)
def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None) -> Any:
    """Return Bartlett's window, a triangle from 0 up to 1 and down to 0."""
    return window("bartlett_window", window_length, periodic, dtype, lambda t: 1 - np.abs(2 * t - 1))


@factory(*SAMPLES, "5, False, 3.0")
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, device: Any = None
) -> Any:
    """Return Kaiser's window, i0(beta * sqrt(1 - (2t - 1)**2)) / i0(beta)."""
    i0, beta = special("i0"), float(number(beta, "kaiser_window"))
    bell = lambda t: i0(beta * np.sqrt(1 - (2 * t - 1) ** 2)) / i0(beta)
    return window("kaiser_window", window_length, periodic, dtype, bell)


def cosines(constant: float, once: float, twice: float = 0.0) -> Callable:
    """Return the formula constant - once * cos(2 pi t) + twice * cos(4 pi t)."""
    return lambda t: constant - once * np.cos(2 * math.pi * t) + twice * np.cos(4 * math.pi * t)


def window(who: str, n: int, periodic: bool, dtype: Any, formula: Callable) -> np.ndarray:
    """Return the n numbers of a formula; a single one is 1."""
    if n < 0:
        raise error(RuntimeError, who, f"requires non-negative window_length, got window_length={n}", f"write {-n}")
    target = chosen(dtype)
    if target not in FLOATS:
        raise error(RuntimeError, who, f"expects floating point dtypes, got {dtype}", "leave dtype= out")
    t = np.arange(n) / max(n if periodic else n - 1, 1)
    return (formula(t) if n > 1 else np.ones(n)).astype(target)
