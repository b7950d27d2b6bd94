"""Elementary and special functions: edge values, derivatives at the ends of domains, dtypes, fused kernels."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.autograd import grad
from minigrad.ops.base.registry import TABLE
from tests.floats import FLOATS, some
from tests.ops.kernels import check_fused
from tests.ops.test_pointwise import INF, NAN, T, leaf, same, slope

MODULE = "minigrad.ops.elementary"
UNARY = [n for n, e in TABLE.items() if e.module == MODULE and len(e.cls.names) == 1 and n not in e.cls.aliases]
PAIRS = ["hypot", "logaddexp", "xlogy", "atan2"]


def test_sigmoid_and_its_derivative_saturate():
    assert same(torch.sigmoid(T([-1000.0, 0.0, 1000.0, INF, -INF, NAN])), [0, 0.5, 1, 1, 0, NAN])
    assert same(slope(torch.sigmoid, -1000.0, 0.0, 1000.0), [0, 0.25, 0])


def test_roots_at_zero_have_infinite_slope():
    assert same(slope(torch.sqrt, 0.0, INF, 1.0), [INF, 0, 0.5])
    assert same(slope(torch.rsqrt, 0.0, 1.0), [-INF, -0.5])
    assert np.isnan(torch.sqrt(T([-1.0])).item())


def test_logaddexp_at_infinities():
    x, y = T([INF, -INF, INF, -INF, NAN]), T([INF, -INF, -INF, 0.0, 1.0])
    assert same(torch.logaddexp(x, y), [INF, -INF, INF, 0, NAN])
    x = leaf(INF, -INF, 1000.0)
    assert same(grad(torch.logaddexp(x, T([-INF, 0.0, -1000.0])).sum(), x)[0], [1, 0, 1])


def test_xlogy_is_zero_at_zero_unless_y_is_nan():
    assert same(torch.xlogy(T([0.0, 0.0, 0.0, 1.0]), T([0.0, NAN, INF, 0.0])), [0, NAN, 0, -INF])
    assert same(torch.xlogy(0, T([0.0, INF])), [0, 0])
    assert same(slope(lambda x: torch.xlogy(x, T([0.0, -1.0, 1.0])), 0.0, 0.0, 0.0), [0, 0, 0])


def test_atan2_at_the_origin_has_derivative_zero():
    y, x = leaf(0.0, 1.0, 0.0), leaf(0.0, 0.0, -1.0)
    assert same(torch.atan2(y, x), [0, np.pi / 2, np.pi])
    dy, dx = grad(torch.atan2(y, x).sum(), (y, x))
    assert same(dy, [0, 0, -1]) and same(dx, [0, -1, 0])


def test_hypot_does_not_overflow():
    assert same(torch.hypot(T([3e30]), T([4e30])), [5e30])


def test_sinc_at_zero():
    assert same(torch.sinc(T([0.0, 1.0, 0.5])) + 1, [2, 1, 1 + 2 / np.pi])
    assert same(slope(torch.sinc, 0.0, 0.5), [0, -4 / np.pi])
    assert torch.func.hessian(torch.sinc)(T(0.0)).item() == pytest.approx(-(np.pi**2) / 3)
    x = T([0.0, 0.5]).requires_grad_()
    (slopes,) = torch.autograd.grad(torch.sinc(x).sum(), x, create_graph=True)
    (found,) = torch.autograd.grad(slopes.sum(), x)
    assert same(found, [-(np.pi**2) / 3, 16 / np.pi - 2 * np.pi])


def test_special_functions_at_poles():
    assert same(torch.lgamma(T([0.0, -1.0, 1.0, 3.0, INF, -INF])), [INF, INF, 0, np.log(2), INF, INF])
    assert same(torch.digamma(T([0.0, -1.0, 1.0])), [-INF, NAN, -0.5772156649])
    assert same(slope(torch.lgamma, 1.0, 3.0), [-0.5772156649, 0.9227843351])


def test_lgamma_has_derivatives_of_every_order():
    x = leaf(1.0)
    y = torch.lgamma(x)
    zeta3 = 1.2020569031595942
    for expected in (-0.5772156649015329, np.pi**2 / 6, -2 * zeta3, np.pi**4 / 15):
        (y,) = grad(y.sum(), x, create_graph=True)
        assert y.item() == pytest.approx(expected)


def test_polygamma_takes_the_order_as_first_argument_and_as_the_methods_only_one():
    x = T([1.0, 2.0])
    assert same(torch.polygamma(1, x), [np.pi**2 / 6, np.pi**2 / 6 - 1]) and same(
        x.polygamma(1), torch.polygamma(1, x).numpy()
    )
    assert same(torch.polygamma(0, x), torch.digamma(x).numpy())


@pytest.mark.parametrize("name", UNARY)
def test_integers_become_the_default_dtype_and_float32_is_kept(name):
    f = TABLE[name].function
    for kind in (torch.int64, torch.uint8, torch.bool, torch.float32):
        assert f(T([1, 0], dtype=kind)).dtype == torch.float32
    x = T([0.9], dtype=torch.float32).requires_grad_()
    assert grad(f(x).sum(), x)[0].dtype == torch.float32


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh"])
def test_aliases_are_the_same_function(name):
    assert TABLE[name].function is TABLE[name.replace("arc", "a")].function and hasattr(torch.Tensor, name + "_")


@FLOATS
@pytest.mark.parametrize("name", some(UNARY, 4))
def test_fused_kernels_equal_numpy(name, dtype):
    entry = TABLE[name]
    if name == "sinc":  # whose derivative cancels near 0: more so in float32 than in the kernel's float64
        check_fused(entry.function, [np.random.default_rng(1).uniform(0.3, 2, 5000)], dtype)
    else:
        check_fused(entry.function, [np.random.default_rng(1).uniform(*entry.domain, 5000)], dtype)


@pytest.mark.parametrize("name", [*PAIRS, "sigmoid", "sqrt", "log1p", "tanh", "erf", "exp"])
def test_fused_kernels_agree_at_edge_values(name):
    edges = np.array([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, 1000.0, -1000.0])
    check_fused(TABLE[name].function, np.meshgrid(edges, edges) if name in PAIRS else [edges], "float64")
