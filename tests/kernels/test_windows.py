"""Kernels of pooling say what the definitions say."""

import numpy as np
import pytest

import minigrad
from tests.floats import FLOATS
from tests.kernels.definitions import agree, numbers

F = minigrad.nn.functional
# kernel, stride, padding, dilation, of images of 9 by 11
CASES = [
    (2, 2, 0, 1),
    (3, 1, 1, 1),
    (5, 2, 2, 1),
    ((5, 4), (3, 2), (2, 2), 1),
    (3, 2, 1, 2),
    ((2, 5), 1, (1, 2), (4, 2)),
    (2, 2, 1, 1),
    (2, 2, 0, 2),
    (2, 3, 0, 1),
    ((2, 3), (1, 2), (0, 1), (3, 2)),
    ((4, 1), (3, 1), (2, 0), 1),
]


def rounded(shape, dtype="float64"):
    """Return numbers many of which are equal."""
    return np.round(numbers(shape, dtype))


@FLOATS
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_largest_of_windows(case, ceil, dtype, monkeypatch):
    x = rounded((2, 3, 9, 11), dtype)
    agree(monkeypatch, lambda x: F.max_pool2d(x, *case, ceil, True), x)
    agree(monkeypatch, lambda x: F.max_pool2d(x, *case, ceil, True), x[:, :, ::-1].swapaxes(0, 1))
    row = [c if isinstance(c, int) else c[1] for c in case]
    agree(monkeypatch, lambda x: F.max_pool1d(x, *row, ceil, True), x[:, 0])
    agree(monkeypatch, lambda x: F.max_pool1d(x.mT, *row, ceil, True), x[:, 0])
    planes = [c if isinstance(c, int) else (c[1], *c) for c in case]
    agree(monkeypatch, lambda x: F.max_pool3d(x, *planes, ceil, True), rounded((2, 8, 9, 11), dtype))


@FLOATS
def test_infinities_and_nan(dtype, monkeypatch):
    x = rounded((16, 1, 8, 8), dtype)
    for k in range(16):  # each choice of places in a window of two by two has a NaN
        for i in range(4):
            if k >> i & 1:
                x[k, 0, i // 2 :: 2, i % 2 :: 2] = -np.nan if k % 3 else np.nan
    x[3, 0, :4], x[5, 0, 2:], x[6] = -np.inf, np.inf, -np.inf
    for case in CASES:
        agree(monkeypatch, lambda x, case=case: F.max_pool2d(x, *case, return_indices=True), x)
    agree(monkeypatch, lambda x: F.max_pool3d(x, 2, 1, return_indices=True), x[:, 0][None])
    agree(monkeypatch, lambda x: F.max_pool1d(x, 2, return_indices=True), x[:, 0])


def test_windows_in_the_padding_have_no_largest_element(monkeypatch):
    agree(monkeypatch, lambda x: F.max_pool2d(x, 2, 1, 1, 3), numbers((3, 2, 2)))


def test_gradients_of_windows_that_overlap_add_up(monkeypatch):
    x = np.zeros((1, 2, 6, 6))
    x[0, :, 2, 3] = 5
    agree(monkeypatch, lambda x: F.max_pool2d(x, 3, 1), x)


@FLOATS
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 9, 12])
def test_means_of_even_parts(parts, dtype, monkeypatch):
    x = numbers((2, 3, 7, 9), dtype)
    for pool in (F.adaptive_avg_pool1d, lambda x, n: F.adaptive_avg_pool2d(x, (n, None))):
        agree(monkeypatch, lambda x, pool=pool: pool(x, parts), x[0])
        agree(monkeypatch, lambda x, pool=pool: pool(x, parts), x[0, :, ::-1].swapaxes(1, 2))
    agree(monkeypatch, lambda x: F.adaptive_avg_pool2d(x, (parts, 4)), x)
    agree(monkeypatch, lambda x: F.interpolate(x, (2, parts, 5), mode="area"), x[None])


@FLOATS
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 12])
def test_largest_of_even_parts(parts, dtype, monkeypatch):
    x = rounded((2, 3, 7, 9), dtype)
    x[0, 1, 2:4, 3:5], x[1, 2, 0], x[1, 1, 4] = np.nan, -np.inf, np.inf
    for image in (x, x[:, :, ::-1].swapaxes(0, 1)):
        agree(monkeypatch, lambda x: F.adaptive_max_pool2d(x, (parts, 4), True), image)
        agree(monkeypatch, lambda x: F.adaptive_max_pool1d(x, parts, True), image[0])
        agree(monkeypatch, lambda x: F.adaptive_max_pool3d(x, (2, parts, 4), True), image)


def test_means_of_even_parts_of_nothing(monkeypatch):
    agree(monkeypatch, lambda x: F.adaptive_avg_pool1d(x, 3), numbers((2, 0, 5)))
    agree(monkeypatch, lambda x: F.adaptive_avg_pool1d(x, 0), numbers((2, 3, 5)))
    agree(monkeypatch, lambda x: F.adaptive_avg_pool2d(x, (1, 1)), numbers((2, 3, 1, 1)))


def test_an_infinity_stays_in_its_part(monkeypatch):
    x = numbers((2, 3, 10))
    x[0, 1, 4], x[1, 2, 0] = np.inf, np.nan
    agree(monkeypatch, lambda x: F.adaptive_avg_pool1d(x, 4), x)


@pytest.mark.parametrize(
    "kernel, stride, padding", [(2, 2, 0), (3, 1, 1), (3, 2, 1), (2, 3, 1), ((5, 4), (3, 2), (2, 1))]
)
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("count_pad", [False, True])
@FLOATS
def test_means_of_windows(kernel, stride, padding, ceil, count_pad, dtype, monkeypatch):
    x = numbers((2, 3, 9, 41), dtype)  # few windows are added up in another way than many
    agree(monkeypatch, lambda x: F.avg_pool2d(x, kernel, stride, padding, ceil, count_pad), x)
    agree(
        monkeypatch,
        lambda x: F.avg_pool2d(x, kernel, stride, padding, divisor_override=5),
        x[:, :, ::-1].swapaxes(0, 1),
    )
    along = [c if isinstance(c, int) else c[1] for c in (kernel, stride, padding)]
    agree(monkeypatch, lambda x: F.avg_pool1d(x, *along, ceil, count_pad), x[:, 0])


@FLOATS
@pytest.mark.parametrize("parts", [1, 3, 17, 25, 60])
def test_means_of_even_parts_of_long_rows(parts, dtype, monkeypatch):
    x = numbers((2, 3, 5, 40), dtype)
    agree(monkeypatch, lambda x: F.adaptive_avg_pool2d(x, (3, parts)), x)
    agree(monkeypatch, lambda x: F.adaptive_avg_pool1d(x, parts), x[0])
