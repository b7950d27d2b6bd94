"""Kernels of the k largest and smallest say what a stable sort says."""

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cpu import topk
from tests.floats import FLOAT, FLOATS
from tests.kernels.definitions import agree, from_several_threads, kernels, numbers

SHAPES = [(3, 40, 1), (2, 50, 3), (1, 64, 17), (5, 33, 16), (1, 1000, 1), (40, 32, 1)]
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("int64", "int32", "int16", "int8", "uint8")]
BOTH = pytest.mark.parametrize("largest", [True, False])


def sorted_first(x, k, largest):
    """Return the definition of topk: the first k of a stable sort along dimension 1, NaN as the largest."""
    order = np.argsort(x, 1, kind="stable")
    if largest:
        order = x.shape[1] - 1 - np.argsort(x[:, ::-1], 1, kind="stable")[:, ::-1]
    return order[:, :k]


def check(monkeypatch, x, largest):
    for share in (1, 4):
        monkeypatch.setattr(topk, "SHARE", share)
        for k in {1, 2, 7, x.shape[1] // share}:
            with kernels(monkeypatch, True):
                values, places = minigrad.tensor(x).topk(k, 1, largest)
            expected = sorted_first(x, k, largest)
            np.testing.assert_array_equal(places.numpy(), expected)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, 1))


@BOTH
@pytest.mark.parametrize("dtype", [*FLOAT, *OTHERS])
@pytest.mark.parametrize("shape", SHAPES)
def test_as_a_stable_sort_with_equal_elements(shape, dtype, largest, monkeypatch):
    check(monkeypatch, np.round(numbers(shape) * 2).astype(dtype), largest)


@BOTH
@pytest.mark.parametrize("made", [np.arange, lambda n: -np.arange(n), np.zeros, lambda n: np.arange(n) % 7])
def test_rows_that_are_in_order_already_or_all_equal(made, largest, monkeypatch):
    check(monkeypatch, np.tile(made(90)[:, None].astype("float64"), (2, 1, 2)), largest)


@BOTH
@FLOATS
def test_nan_counts_as_the_largest(dtype, largest, monkeypatch):
    x = numbers((9, 40, 2), dtype)
    x[0, 3], x[1, 5:9], x[2], x[3, :39], x[4, 39] = np.nan, np.nan, np.nan, np.nan, -np.nan
    x[5, ::2], x[6, 1::2], x[7, 4], x[7, 9], x[8, :20], x[8, 20:] = np.nan, np.inf, np.nan, -np.inf, 0.0, -0.0
    check(monkeypatch, x, largest)


def test_gradients_and_layouts(monkeypatch):
    x = numbers((4, 40, 6))
    agree(monkeypatch, lambda x: tuple(x.topk(2, 1)), x)
    agree(monkeypatch, lambda x: tuple(x.topk(2, 1, largest=False)), x[:, ::-1, ::2])
    agree(monkeypatch, lambda x: tuple(x.permute(1, 2, 0).topk(3, 0)), x)


def test_several_threads(monkeypatch):
    from_several_threads(monkeypatch, lambda x: tuple(x.topk(2, 1)), numbers((9, 40, 3)))


def test_small_arrays_and_many_of_a_row_are_numpys(monkeypatch):
    monkeypatch.setattr(topk, "module", None)
    minigrad.ones(30, 30).topk(1)
    minigrad.ones(300, 300).topk(200)
    minigrad.ones(300, 300).topk(0)
    minigrad.ones(300, 300).bool().topk(2)
