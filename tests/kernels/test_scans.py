"""Kernels of scans say what the definitions say."""

import numpy as np
import pytest

from minigrad.ops.scan import Recurrence
from tests.floats import FLOATS, some
from tests.kernels.definitions import agree, differentiated, kernels, numbers

FUNCTIONS = {
    "cumsum": lambda x, d: x.cumsum(d),
    "cumprod": lambda x, d: (x * 0.3).cumprod(d),
    "cummax": lambda x, d: x.cummax(d),
    "cummin": lambda x, d: x.cummin(d),
    "logcumsumexp": lambda x, d: x.logcumsumexp(d),
}
SHAPES = [(3, 17, 5), (1, 40, 1), (7, 1, 3), (2, 3, 130), (6, 0, 2), (0, 3, 2)]


@FLOATS
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", some(FUNCTIONS, 2))
def test_kernels_compute_what_the_definitions_say(name, shape, dtype, monkeypatch):
    x = np.round(numbers(shape, dtype) * 2) / 4  # with equal elements
    for d in range(3):
        if shape[d] or name not in ("cummax", "cummin"):
            agree(monkeypatch, lambda x, d=d: FUNCTIONS[name](x, d), x)
    agree(monkeypatch, lambda x: FUNCTIONS[name](x.permute(2, 0, 1), 0), x[:, :, ::-1].copy()[:, :, ::2])


@pytest.mark.parametrize("name", some(FUNCTIONS, 2))
def test_infinities_nan_and_signs_of_zeros(name, monkeypatch):
    x = numbers((6, 20, 2))
    x[0, 3], x[1, 5], x[1, 9], x[2, 4], x[3, 2], x[3, 7] = np.nan, np.nan, np.nan, np.inf, -np.inf, np.inf
    x[4], x[5] = -0.0, 0.0
    for rows in (x, x[:, :, :1]):
        for on in (True, False):
            with kernels(monkeypatch, on):
                found = differentiated(lambda x: FUNCTIONS[name](x, 1), rows)
            if on:
                ours = found
        for a, b in zip(ours, found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
            np.testing.assert_array_equal(np.signbit(a[4:]), np.signbit(b[4:]))


def test_recurrence_in_both_directions(monkeypatch):
    for reverse in (False, True):
        for shape in ((2, 30, 3), (4, 30, 1)):
            f = lambda a, b, reverse=reverse: Recurrence.apply(a, b, 1, reverse)
            agree(monkeypatch, f, numbers(shape) / 4, numbers(shape, seed=1))


@FLOATS
@pytest.mark.parametrize("shape", [(3, 17, 5), (2, 33, 1), (5, 64, 1), (1, 100, 1), (2, 1, 3), (4, 3, 1), (2, 3, 700)])
def test_gradient_of_a_product(shape, dtype, monkeypatch):
    x = np.sign(numbers(shape, dtype)) * np.clip(abs(numbers(shape, dtype)), 0.95, 1.05)
    for zeros in range(3):
        x[:, :zeros] = 0
        for d in range(3):
            agree(monkeypatch, lambda x, d=d: x.prod(d), x)
        agree(monkeypatch, lambda x: x.prod(), x[:, -30:])
        agree(monkeypatch, lambda x: x.prod(1, True), x[:, ::-1])
    x[0, 0], x[-1, -1] = np.inf, np.nan
    agree(monkeypatch, lambda x: x.prod(1), x)


def test_sums_of_float32_are_carried_in_double_precision(monkeypatch):
    x = numbers((2, 100_000), "float32") + np.float32(10)
    for y in (x, x.T.copy()):
        d = int(y is x)
        with kernels(monkeypatch, True):
            (found, _) = differentiated(lambda x, d=d: x.cumsum(d), y)
        np.testing.assert_allclose(found, y.astype("float64").cumsum(d), rtol=1e-7)
