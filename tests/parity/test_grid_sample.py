"""Images and volumes looked at between their points, in all modes, beside PyTorch."""

from itertools import product

import numpy as np
import pytest
import torch

import minigrad

LIBRARIES = torch, minigrad
SHAPES = [
    ((2, 3, 4, 5), (2, 3, 2, 2)),
    ((1, 1, 1, 4), (1, 3, 2, 2)),
    ((2, 2, 3, 4, 5), (2, 2, 3, 2, 3)),
    ((1, 2, 1, 3, 1), (1, 2, 2, 2, 3)),
]
CASES = [
    case
    for case in product(SHAPES, ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True))
    if not (case[1] == "bicubic" and len(case[0][0]) == 5)
]


def sampled(lib, image, grid, *settings):
    x, where = (lib.tensor(a).requires_grad_() for a in (image, grid))
    out = lib.nn.functional.grid_sample(x, where, *settings)
    return [out.detach().numpy(), *[g.numpy() for g in lib.autograd.grad((out**2).sum(), [x, where])]]


@pytest.mark.parametrize("shapes, mode, padding, corners", CASES, ids=str)
def test_samples_and_gradients(shapes, mode, padding, corners):
    random = np.random.default_rng(0)
    image, grid = random.standard_normal(shapes[0]), 2 * random.standard_normal(shapes[1])
    theirs, ours = (sampled(lib, image, grid, mode, padding, corners) for lib in LIBRARIES)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
def test_points_on_edges_and_centres(padding, corners):
    """An identity grid meets centres exactly, and with corners also the edges, where half a gradient is PyTorch's choice."""
    told, image = [], np.random.default_rng(0).standard_normal((1, 2, 4, 4))
    for lib in LIBRARIES:
        theta = lib.eye(2, 3, dtype=lib.float64).unsqueeze(0)
        grid = lib.nn.functional.affine_grid(theta, (1, 2, 4, 4), corners).numpy()
        told.append(sampled(lib, image, grid, "bilinear", padding, corners))
    for a, b in zip(told[1], told[0]):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 3), (2, 1, 2, 3, 4)], ids=str)
@pytest.mark.parametrize("corners", [False, True])
def test_grids_and_their_gradients(size, corners):
    told, n = [], len(size) - 2
    for lib in LIBRARIES:
        theta = lib.tensor(np.random.default_rng(0).standard_normal((2, n, n + 1))).requires_grad_()
        grid = lib.nn.functional.affine_grid(theta, size, corners)
        told.append([grid.detach().numpy(), lib.autograd.grad((grid**2).sum(), theta)[0].numpy()])
    for a, b in zip(told[1], told[0]):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


CALLS = {
    "F.grid_sample(ones(1, 1, 2, 2), ones(1, 2, 2, 2), 'cubic')": "grid_sample: expected mode to be one of",
    "F.grid_sample(ones(1, 1, 2, 2), ones(1, 2, 2, 2), padding_mode='wrap')": "expected padding_mode to be one of",
    "F.grid_sample(ones(1, 1, 2, 2), ones(1, 2, 2, 3))": "expected input .n, c, h, w. and grid",
    "F.grid_sample(ones(2, 1, 2, 2), ones(1, 2, 2, 2))": "expected input .n, c, h, w. and grid",
    "F.grid_sample(ones(1, 2, 2), ones(1, 2, 2))": "expected input .n, c, h, w. and grid",
    "F.grid_sample(ones(1, 1, 0, 2), ones(1, 2, 2, 2))": "has no elements to sample",
    "F.grid_sample(ones(1, 1, 2, 2, 2), ones(1, 2, 2, 2, 3), 'bicubic')": "only supports 4D input",
    "F.grid_sample(ones(1, 1, 2, 2).double(), ones(1, 2, 2, 2))": "must have one dtype",
    "F.affine_grid(ones(1, 2, 2), (1, 1, 2, 2))": "affine_grid: expected theta of shape",
    "F.affine_grid(ones(1, 2, 3), (1, 1, 0, 2))": "affine_grid: expected theta of shape",
    "F.affine_grid(ones(1, 2, 3), (2, 1, 2, 2))": "affine_grid: expected theta of shape",
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", CALLS)
def test_refusals(call):
    kinds = []
    for lib in LIBRARIES:
        with pytest.raises(Exception) as e:
            eval(call, {"F": lib.nn.functional, "ones": lib.ones})
        kinds.append(type(e.value))
    assert issubclass(kinds[1], kinds[0])
    with pytest.raises(Exception, match=CALLS[call]):
        eval(call, {"F": minigrad.nn.functional, "ones": minigrad.ones})
