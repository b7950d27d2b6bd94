"""Kernels of reductions: the same over all dimensions and layouts, and sums as accurate as pairwise ones."""

import itertools

import numpy as np
import pytest

import minigrad
from minigrad.kernels.cpu import reductions_cpu
from tests.floats import FLOATS, some
from tests.kernels.definitions import agree, kernels, numbers

REDUCTIONS = {
    "sum": lambda x, dims: x.sum(dims),
    "nansum": lambda x, dims: x.nansum(dims),
    "mean": lambda x, dims: x.mean(dims, True),
    "prod": lambda x, dims: x.prod(dims[0]) if len(dims) == 1 else x.prod(),
    "amax": lambda x, dims: x.amax(dims),
    "amin": lambda x, dims: x.amin(dims, True),
    "norm": lambda x, dims: x.norm(2, dims),
    "var": lambda x, dims: x.var(dims, correction=0),
    "largest": lambda x, dims: x.norm(float("inf"), dims),
    "smallest": lambda x, dims: x.norm(-float("inf"), dims),
}
SHAPES = [(3, 4, 5, 6), (1, 7, 1, 2), (2, 70, 3, 1), (2, 3, 5, 600), (2, 67, 2, 1), (2, 3, 1, 1100), (2, 0, 3, 1)]


@FLOATS
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", some(REDUCTIONS, 4))
def test_reductions_over_all_choices_of_dimensions(name, shape, dtype, monkeypatch):
    x = numbers(shape, dtype)
    if not x.size and name not in ("sum", "nansum", "prod"):
        return
    x = np.sign(x) * np.clip(abs(x), 0.99, 1.01) if name == "prod" else x  # products of many stay in range
    for n in range(1, 5):
        for dims in itertools.combinations(range(4), n):
            agree(monkeypatch, lambda x, dims=dims: REDUCTIONS[name](x, dims), x)
    agree(monkeypatch, lambda x: REDUCTIONS[name](x.mT, (1,)), x)


@FLOATS
@pytest.mark.parametrize("name", some(REDUCTIONS, 4))
def test_infinities_nan_and_signs_of_zeros(name, dtype, monkeypatch):
    x = np.tile(1 + numbers((12, 1), dtype) / 100, (1, 70))
    x[0, 7], x[1, 9], x[2, :2], x[3, 66], x[4, 0], x[5, 3] = (
        np.nan,
        np.inf,
        (np.inf, -np.inf),
        -np.nan,
        -np.inf,
        -np.nan,
    )
    x[6, 1:3], x[7, 68:], x[8], x[9], x[10], x[11] = (-np.nan, np.inf), (-np.inf, np.nan), np.inf, -np.inf, -np.nan, 0
    for y, d in ((x, 1), (x.T.copy(), 0), (x, 0), (x.T.copy(), 1)):
        agree(monkeypatch, lambda y, d=d: REDUCTIONS[name](y, (d,)), y)


@pytest.mark.parametrize("shape", SHAPES)
def test_integers_are_added_up_modulo_two_to_the_64(shape):
    x = np.random.default_rng(0).integers(-(2**62), 2**62, shape)
    for n in range(1, 5):
        dims = tuple(range(4 - n, 4))
        for keepdim in (False, True):
            found = minigrad.tensor(x).sum(dims, keepdim)
            assert found.dtype == minigrad.int64
            np.testing.assert_array_equal(found.numpy(), x.sum(dims, keepdims=keepdim))


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


@pytest.mark.parametrize("name", some(REDUCTIONS, 4))
def test_long_rows_are_shared_in_pieces(name, monkeypatch):
    monkeypatch.setattr(reductions_cpu, "GRAIN", 1000)
    for n in (8191, 8192, 8193, 3 * 4096 + 17):
        x = np.sign(numbers((n,))) * (1 + numbers((n,), seed=1) / 1000)
        agree(monkeypatch, lambda x: REDUCTIONS[name](x, (0,)), x)


@pytest.mark.parametrize("keepdim", [False, True])
def test_all_elements_are_reduced_by_a_call_that_is_prepared_once(keepdim):
    x = np.linspace(-1, 2, 6000).reshape(60, 100)
    shape = (1, 1) if keepdim else ()
    for scale in (1, 3):  # the second time by the prepared call
        for a in (scale * x, (scale * x).astype(np.float32), np.asfortranarray(scale * x)):
            found = minigrad.tensor(a).sum((0, 1), keepdim=keepdim)
            assert found.shape == shape and abs(found.item() - a.sum(dtype=np.float64)) < 1e-2
    assert ("sum", (60, 100), np.dtype(np.float64), (0, 1), keepdim) in reductions_cpu.calls
