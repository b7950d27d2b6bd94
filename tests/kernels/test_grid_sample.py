"""Samples of images and volumes, and their gradients, by kernels, beside the program of the operation."""

from itertools import product

import numpy as np
import pytest

from minigrad.kernels import threads
from minigrad.kernels.cpu import grid_sample_cpu as kernels
from minigrad.kernels.fallback import by_numpy
from minigrad.nn.functional import grid_sample
from minigrad.ops.from_data import tensor
from minigrad.ops.nn.grid_sampling import WEIGHTS

SHAPES = [((2, 3, 7, 5), (2, 4, 9, 2)), ((1, 1, 1, 1), (1, 1, 600, 2)), ((2, 2, 3, 4, 5), (2, 2, 3, 4, 3))]
CASES = [
    (*shapes, mode, padding, corners)
    for shapes, mode, padding, corners in product(SHAPES, WEIGHTS, kernels.PADDINGS, (False, True))
    if mode != "bicubic" or len(shapes[0]) == 4
]
UNUSUAL = [np.nan, np.inf, -np.inf, 1.0, -1.0, 0.0, 40.0, -2.5]  # coordinates


@pytest.fixture(autouse=True)
def kernels_from_one_term_on(monkeypatch):
    monkeypatch.setattr(kernels, "SUMS_FROM", 1)


def computed(shape, points, mode, padding, corners, dtype="float64", unusual=()):
    """Return samples, and the gradients of the image and the grid."""
    random = np.random.default_rng(0)
    x, grid, g = (random.standard_normal(s).astype(dtype) for s in (shape, points, (*shape[:2], *points[1:-1])))
    grid.reshape(-1)[: len(unusual)] = unusual
    x, grid = tensor(x, requires_grad=True), tensor(grid, requires_grad=True)
    out = grid_sample(x, grid, mode, padding, corners)
    out.backward(tensor(g))
    return [a.detach().numpy() for a in (out, x.grad, grid.grad)]


@pytest.mark.parametrize(("shape", "points", "mode", "padding", "corners"), CASES)
def test_the_kernels_compute_what_the_program_computes(shape, points, mode, padding, corners):
    found = computed(shape, points, mode, padding, corners)
    expected = by_numpy(computed, shape, points, mode, padding, corners)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("shape", "points", "mode", "padding", "corners"), CASES)
def test_points_far_away_have_the_same_samples(shape, points, mode, padding, corners):
    found = computed(shape, points, mode, padding, corners, unusual=UNUSUAL[3:])
    expected = by_numpy(computed, shape, points, mode, padding, corners, unusual=UNUSUAL[3:])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("mode", WEIGHTS)
def test_points_nowhere_have_zeros_and_move_nothing(mode):
    found = computed((1, 1, 3, 3), (1, 2, 2, 2), mode, "zeros", False, unusual=UNUSUAL[:3])
    assert found[0][0, 0, 0].tolist() == [0.0, 0.0]
    assert not np.isnan(found[1]).any()
    assert found[2][0, 0].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_float32_has_its_kernels():
    case = (*SHAPES[0], "bilinear", "reflection", False)
    for a, b in zip(computed(*case, dtype="float32"), computed(*case), strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_threads_share_the_examples(monkeypatch):
    case = ((5, 2, 6, 7), (5, 20, 20, 2), "bilinear", "border", True)
    alone = computed(*case)
    monkeypatch.setattr(threads, "parts", lambda size: 3)
    for a, b in zip(computed(*case), alone, strict=True):
        np.testing.assert_array_equal(a, b)
