"""Derivatives at NaN, at kinks and at edges of domains: the device gives what the processor gives."""

import numpy as np
import pytest

import minigrad
from minigrad.autograd import grad
from tests.ops.test_special_points import SLOPES


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_at_special_points(name, dtype):
    f, points, slopes = SLOPES[name]
    x = minigrad.tensor(points, dtype=getattr(minigrad, dtype), device="cuda", requires_grad=True)
    np.testing.assert_allclose(grad(f(x).sum(), x)[0].cpu().numpy(), slopes, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-25, 1.0, 1e25])
def test_atan2_has_its_slopes_at_points_of_any_length(scale):
    x = minigrad.tensor([3 * scale], device="cuda", requires_grad=True)
    y = minigrad.tensor([4 * scale], device="cuda")
    np.testing.assert_allclose(grad(minigrad.atan2(x, y), x)[0].cpu().numpy(), [0.16 / scale], 1e-5, 0)
    np.testing.assert_allclose(grad(minigrad.atan2(y, x), x)[0].cpu().numpy(), [-0.16 / scale], 1e-5, 0)


def test_variance_and_masked_arrays():
    assert minigrad.tensor([-1e30] * 3, device="cuda").var().item() == 0
    with pytest.raises(ValueError, match="masked"):
        minigrad.tensor(np.ma.array([1.0, 2.0], mask=[0, 1]), device="cuda")
