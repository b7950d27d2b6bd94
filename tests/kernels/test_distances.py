"""Distances by kernels, beside their definition."""

import numpy as np
import pytest

import minigrad
from minigrad.autograd import grad
from minigrad.kernels import threads
from minigrad.kernels.cpu import distances_cpu
from tests.floats import some

SHAPES = [((5, 3), (7, 3)), ((2, 4, 9), (2, 3, 9)), ((1, 1), (70, 1)), ((3, 2100), (2, 2100)), ((130, 2), (150, 2))]


@pytest.fixture(autouse=True)
def kernels_from_one_element_on(monkeypatch):
    monkeypatch.setattr(distances_cpu, "DISTANCES_FROM", 1)


def points(shape, dtype, seed):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype) / 4  # some coincide


@pytest.mark.parametrize("dtype", some([np.float64, np.float32]))
@pytest.mark.parametrize("shapes", SHAPES)
def test_distances_and_pulls_are_those_of_the_definition(shapes, dtype):
    x, y = (points(s, dtype, i) for i, s in enumerate(shapes))
    apart = x[..., :, None, :] - y[..., None, :, :]
    found = distances_cpu.distances(x, y)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.abs(apart).sum(-1), rtol=1e-6)
    g = np.random.default_rng(3).standard_normal(found.shape).astype(dtype)
    expected = (g[..., None].astype(np.float64) * np.sign(apart)).sum(-2)
    np.testing.assert_allclose(distances_cpu.pulls(g, x, y), expected, rtol=1e-5, atol=1e-5)


def test_threads_share_the_points(monkeypatch):
    x, y, g = points((2, 7, 3), np.float64, 0), points((2, 5, 3), np.float64, 1), points((2, 7, 5), np.float64, 2)
    alone = distances_cpu.distances(x, y), distances_cpu.pulls(g, x, y)
    monkeypatch.setattr(threads, "parts", lambda size: 3)
    np.testing.assert_array_equal(distances_cpu.distances(x, y), alone[0])
    np.testing.assert_array_equal(distances_cpu.pulls(g, x, y), alone[1])


def test_gradients_of_cdist_come_from_the_kernel(monkeypatch):
    x, y = (minigrad.tensor(points(s, np.float64, 0)).requires_grad_() for s in [(6, 3), (4, 3)])
    g = minigrad.tensor(points((6, 4), np.float64, 2))
    by_kernel = grad(minigrad.cdist(x, y, 1.0), (x, y), g)
    monkeypatch.setattr(distances_cpu, "DISTANCES_FROM", 10**9)
    for a, b in zip(by_kernel, grad(minigrad.cdist(x, y, 1.0), (x, y), g), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_nan_and_infinities_stay():
    x, y = np.array([[np.nan, 1.0], [np.inf, 2.0]]), np.array([[0.0, 0.0], [np.inf, 1.0]])
    with np.errstate(all="ignore"):
        expected = np.abs(x[:, None] - y).sum(-1)
    np.testing.assert_array_equal(distances_cpu.distances(x, y), expected)
