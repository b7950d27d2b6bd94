"""Special functions: values beside SciPy's at the ends of their domains."""

import numpy as np
import pytest
import scipy.special

import minigrad
from tests.floats import FLOATS

ODD = np.array([0.0, -0.0, 1e-12, 0.5, -0.5, 3.0, -3.0, 40.0, -40.0, 900.0, np.inf, -np.inf, np.nan])
NAMES = ["entr", "erfcx", "i0", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri"]


@FLOATS
@pytest.mark.parametrize("name", NAMES)
def test_values_are_scipys(name, dtype):
    x = ODD.astype(dtype)
    found = getattr(minigrad.special, name)(minigrad.tensor(x)).numpy()
    assert found.dtype == dtype
    np.testing.assert_allclose(
        found, getattr(scipy.special, name)(x), rtol=2e-6 if dtype == "float32" else 1e-13, atol=1e-30
    )


def test_the_slope_of_bessel_functions_at_zero():
    for name, slope in (("i0", 0.0), ("i1", 0.5), ("i1e", 0.5)):
        x = minigrad.zeros(1, requires_grad=True)
        getattr(minigrad.special, name)(x).sum().backward()
        assert x.grad.item() == slope


def test_xlog1py_is_zero_at_a_zero_x():
    assert minigrad.special.xlog1py(minigrad.zeros(2), minigrad.tensor([-1.0, 5.0])).tolist() == [0, 0]


def test_logaddexp2_does_not_overflow():
    x, y = minigrad.tensor([2000.0, np.inf, -np.inf]), minigrad.tensor([2000.0, 0.0, -np.inf])
    assert minigrad.logaddexp2(x, y).tolist() == [2001.0, np.inf, -np.inf]


def test_a_correlation_does_not_leave_its_range():
    x = minigrad.randn(1, 9).expand(4, 9) * minigrad.tensor([[1.0], [3.0], [-0.1], [1e-3]])
    assert minigrad.corrcoef(x).abs().max() <= 1


def test_weights_of_a_covariance_count_observations():
    x, times = minigrad.randn(2, 3), minigrad.tensor([1, 3, 2])
    assert minigrad.allclose(minigrad.cov(x, fweights=times), minigrad.cov(x.repeat_interleave(times, 1)), atol=1e-6)
