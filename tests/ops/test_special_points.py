"""Derivatives at NaN, at kinks and at the edges of domains, and results whose intermediate steps overflow or vanish.

All ways to a derivative give the same: formulas on arrays and on tensors, tangents, kernels for large arrays, `compile`.
PyTorch's own are in tests/parity/test_special_points.py.
"""

import mpmath
import numpy as np
import pytest

import minigrad as torch
from minigrad.autograd import grad
from minigrad.nn import functional as F
from tests.floats import FLOATS

INF, NAN = float("inf"), float("nan")
LARGE = 10_000  # elements, for which there are kernels


def backward(f, x):
    return grad(f(x).sum(), x)[0]


def on_tensors(f, x):
    return grad(f(x).sum(), x, create_graph=True)[0].detach()


def tangent(f, x):
    return torch.func.jvp(f, (x.detach(),), (torch.ones_like(x),))[1]


def by_kernel(f, x):
    n = x.numel()
    return backward(f, x.detach().repeat(LARGE // n + 1).requires_grad_())[:n]


def compiled(f, x):
    return torch.compile(lambda x: grad(f(x).sum(), x)[0])(x)


WAYS = [backward, on_tensors, tangent, by_kernel, pytest.param(compiled, marks=pytest.mark.slow)]
SLOPES = {  # at these points: these
    "elu": (F.elu, [-1e3, 0, 1, NAN], [0, 1, 1, NAN]),
    "celu": (lambda x: F.celu(x, 2.0), [-1e4, 0, 1, NAN], [0, 1, 1, NAN]),
    "hardswish": (F.hardswish, [-4, -3, 0, 3, 4, NAN], [0, 0, 0.5, 1, 1, NAN]),
    "hardtanh": (F.hardtanh, [-1, 0, 1, NAN], [0, 1, 0, 0]),
    "relu6": (F.relu6, [0, 3, 6, NAN], [0, 1, 0, 0]),
    "hardshrink": (F.hardshrink, [-1, 0.5, 0, NAN], [1, 0, 0, 0]),
    "softshrink": (F.softshrink, [-1, 0.5, 0, NAN], [1, 0, 0, 0]),
    "logit": (torch.logit, [-0.5, -0.0, 0, 0.5, 1, 1.5, INF, NAN], [NAN, INF, INF, 4, INF, NAN, NAN, NAN]),
}


@FLOATS
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_at_special_points_agree_on_all_code_paths(name, way, dtype):
    f, points, slopes = SLOPES[name]
    x = torch.tensor(points, dtype=getattr(torch, dtype), requires_grad=True)
    np.testing.assert_allclose(way(f, x).numpy(), slopes, rtol=1e-6)


@pytest.mark.parametrize("f", [F.elu, F.selu, F.celu], ids=["elu", "selu", "celu"])
def test_the_second_derivative_of_elu_is_zero_at_0_and_nan_at_nan(f):
    x = torch.tensor([0.0, NAN], requires_grad=True)
    (first,) = grad(f(x).sum(), x, create_graph=True)
    np.testing.assert_array_equal(grad(first.sum(), x)[0].numpy(), [0, NAN])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scale", [1e-25, 1e-10, 1.0, 1e10, 1e25])
def test_atan2_in_float32_has_its_slopes_at_points_of_any_length(scale, way):
    x, y = torch.tensor([3 * scale, -3 * scale], requires_grad=True), torch.tensor(4 * scale)
    np.testing.assert_allclose(way(lambda x: torch.atan2(x, y), x).numpy(), [0.16 / scale] * 2, 1e-5, 0)
    np.testing.assert_allclose(way(lambda x: torch.atan2(y, x), x).numpy(), [-0.16 / scale] * 2, 1e-5, 0)


@pytest.mark.parametrize("way", WAYS)
def test_atan2_has_slope_0_at_the_origin(way):
    x = torch.tensor([0.0, -0.0], requires_grad=True)
    assert way(lambda x: torch.atan2(x, torch.tensor(0.0)), x).tolist() == [0, 0]


def test_the_slope_of_addcdiv_is_right_where_the_squared_divisor_overflows():
    b = torch.tensor([1e-25, 1e25], requires_grad=True)
    out = torch.addcdiv(torch.zeros(2), torch.tensor([1e-30, 1e30]), b, value=2)
    np.testing.assert_allclose(grad(out.sum(), b)[0].numpy(), [-2e20, -2e-20], 1e-5)


def test_trigamma_has_no_limit_at_minus_infinity():
    for x in (torch.tensor([-INF]), torch.full((LARGE,), -INF)):
        assert torch.polygamma(1, x).isnan().all()


SPREADS = {
    "all over": lambda f, x: f(x),
    "along": lambda f, x: f(x.repeat(2, 1), 1),
    "across": lambda f, x: f(x.repeat(2, 1).T, 0),
    "large": lambda f, x: f(x.repeat(LARGE // x.numel())),
}


@pytest.mark.parametrize("how", SPREADS)
@pytest.mark.parametrize(("numbers", "wanted"), [
    ([-1e30] * 3, 0), ([0.1] * 3, 0), ([1e15, 1e15 + 2e8], 1e16), ([1e-20, 3e-20], 1e-20**2), ([1e25, -1e25], INF),
    ([1e6, 1e6 + 2], 1), ([3.0, 5.0], 1), ([INF, 1.0], NAN),
])  # fmt: skip
def test_the_variance_in_float32_is_accurate_for_large_numbers(numbers, wanted, how):
    x = torch.tensor(numbers)
    wanted = np.var(x.double().numpy()) if wanted not in (0, INF) and wanted == wanted else wanted
    found = SPREADS[how](lambda x, *dims: torch.var(x, *dims, correction=0), x).numpy()
    np.testing.assert_allclose(found, np.full(found.shape, np.float32(wanted)), 1e-5)
    root = SPREADS[how](lambda x, *dims: torch.std(x, *dims, correction=0), x).numpy()
    np.testing.assert_allclose(root, np.full(root.shape, 1e25 if wanted == INF else np.sqrt(wanted)), 1e-5)
    assert np.isfinite(found).all() or wanted != 0


@pytest.mark.parametrize("p", [1, 2, 3, 0.5, INF, -INF])
def test_norm_of_one_element_is_its_size_also_where_its_power_overflows(p):
    x = torch.tensor([[1e30], [-1e-30]])
    for out in (x.norm(p, 1), torch.linalg.vector_norm(x, p, 1), torch.dist(x[0], torch.zeros(1), p).reshape(1)):
        np.testing.assert_allclose(out.numpy(), [1e30, 1e-30][: len(out)], 1e-6)
    assert x.norm(p, 1, True).shape == (2, 1) and x[0, 0].norm(p).shape == ()


# ---------------------------------------------------------------------- differences that lose digits
SMALL = [1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 0.0999, 0.1001, 0.3, 0.499, 0.501, 0.7]
LARGE_TOO = [*SMALL, 1.5, 5.5, 7.99, 8.01, 9.4, 12.5, 25.0, 100.0]
normal = lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2
EXACT = {  # the function, the same of mpmath, and points
    "sinc": (
        torch.sinc,
        lambda x: mpmath.sin(mpmath.pi * x) / (mpmath.pi * x),
        [s * x for s in (1, -1) for x in SMALL],
    ),
    "i1": (torch.special.i1, lambda x: mpmath.besseli(1, x), [s * x for s in (1, -1) for x in SMALL]),
    "i1e": (
        torch.special.i1e,
        lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
        [s * x for s in (1, -1) for x in LARGE_TOO],
    ),
    "erfcx": (
        torch.special.erfcx,
        lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
        [-3.0, -0.5, *LARGE_TOO, 1e3, 1e4, 1e6],
    ),
    "log_ndtr": (
        torch.special.log_ndtr,
        lambda x: mpmath.log(normal(x)),
        [-1e6, -1e4, -100.0, -12.0, -1.0, *SMALL, 5.0, 8.9, 9.1, 12.0],
    ),
    "asinh": (torch.asinh, mpmath.asinh, [-1e6, *LARGE_TOO, 1e6, 1e10]),
}


def exact(f, x):
    """Return the first and second derivative of a function of mpmath at a number, by differences with 120 digits."""
    with mpmath.workdps(120):
        x = mpmath.mpf(float(x))
        h = abs(x) * mpmath.mpf(10) ** -25
        before, here, behind = f(x - h), f(x), f(x + h)
        return float((behind - before) / (2 * h)), float((behind - 2 * here + before) / h**2)


@FLOATS
@pytest.mark.parametrize("name", EXACT)
def test_slopes_and_second_slopes_keep_their_digits(name, dtype):
    f, f_exact, points = EXACT[name]
    points = np.array(points, dtype)
    right = np.array([exact(f_exact, p) for p in points])
    x = torch.tensor(points, requires_grad=True)
    second = {
        "reverse": lambda x: torch.autograd.grad(grad(f(x).sum(), x, create_graph=True)[0].sum(), x)[0],
        "forward": lambda x: tangent(lambda x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[1], x),
    }
    few, tiny = (2e-3, 1e-30) if dtype == "float32" else (1e-6, 1e-280)
    for way in (backward, on_tensors, tangent, by_kernel):
        np.testing.assert_allclose(way(f, x).numpy(), right[:, 0], rtol=few / 10, atol=tiny, err_msg=way.__name__)
    for way, run in second.items():
        np.testing.assert_allclose(run(x).numpy(), right[:, 1], rtol=few, atol=tiny, err_msg=way)


@pytest.mark.parametrize("name", [name for name in EXACT if name != "i1"])  # i1 itself is infinite there
def test_second_slopes_are_finite_far_from_the_series(name):
    f = EXACT[name][0]
    x = torch.tensor([1e20, 1e30], requires_grad=True)
    (h,) = grad(grad(f(x).sum(), x, create_graph=True)[0].sum(), x)
    assert not h.isnan().any(), h


def test_the_slope_of_asinh_does_not_overflow():
    x = torch.tensor([1e25, 1e30], requires_grad=True)
    np.testing.assert_allclose(backward(torch.asinh, x).numpy(), [1e-25, 1e-30], rtol=1e-5)
