"""Kernels of sums: the same over all dimensions and layouts, and as accurate as pairwise ones."""

import itertools

import numpy as np
import pytest

import minigrad
from minigrad.kernels import sums
from tests.kernels.definitions import agree, differentiated, from_several_threads, kernels, numbers


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 4, 5, 6), (1, 7, 1, 2), (2, 70, 3, 1), (2, 3, 5, 600), (2, 0, 3, 1)])
def test_sums_over_all_choices_of_dimensions(shape, dtype, monkeypatch):
    x = numbers(shape, dtype)
    for n in range(1, 5):
        for dims in itertools.combinations(range(4), n):
            agree(monkeypatch, lambda x, dims=dims: x.sum(dims), x)
            agree(monkeypatch, lambda x, dims=dims: x.mean(dims, True), x) if x.size else None
    agree(monkeypatch, lambda x: x.mT.sum(1), x)


@pytest.mark.parametrize("n", [10_000, 1_000_000])
def test_float32_is_as_accurate_as_numpys_pairwise_sums(n, monkeypatch):
    x = numbers((n,), "float32") + np.float32(10)
    exact = x.astype("float64").sum()
    with kernels(monkeypatch, True):
        for shape, dims in (((n,), 0), ((1, n), 1), ((n, 1), 0), ((n // 5, 5), (0, 1))):
            found = minigrad.tensor(x.reshape(shape)).sum(dims).item()
            assert abs(found - exact) <= 2 * abs(float(x.sum()) - exact) + np.finfo("float32").eps * exact
        columns = minigrad.tensor(np.stack([x, -x, x], 1)).sum(0).numpy()
    np.testing.assert_allclose(columns, [exact, -exact, exact], rtol=2e-7)


def test_infinities_and_nan(monkeypatch):
    x = numbers((5, 2000), "float32")
    x[0, 7], x[1, 9], x[2, :2] = np.nan, np.inf, (np.inf, -np.inf)
    agree(monkeypatch, lambda x: x.sum(1), x)
    agree(monkeypatch, lambda x: x.sum(0), x)


def test_several_threads(monkeypatch):
    from_several_threads(monkeypatch, lambda x: x.sum(2).sum(0) * x.sum(), numbers((6, 7, 50)))


def test_small_arrays_and_integers_are_numpys(monkeypatch):
    monkeypatch.setattr(sums, "module", None)
    differentiated(lambda x: x.sum(), numbers((100,)))
    differentiated(lambda x: x.sum(), np.arange(100_000))
