"""The functions of vecmath: errors, edge values, dtypes, and that loops over them become vector code."""

import os
import platform
import re
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
import scipy.special
from numba import njit

from minigrad.kernels import vecmath
from tests.floats import some
from tests.kernels.reference import BINARY, DTYPES, INF, NAN, UNARY, evaluate, in_domain, loop, samples, worst

LIMIT = 2.0  # units in the last place
NUMPY = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
         "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power, "erf": scipy.special.erf, "erfc": scipy.special.erfc,
         "erfinv": lambda x: np.copysign(scipy.special.erfinv(x), x),
         "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "rsqrt": lambda x: 1 / np.sqrt(x)}  # fmt: skip
DIVISIONS = ["fmod", "remainder", "floor_divide"]  # exact, as NumPy's are
ids = lambda dtype: np.dtype(dtype).name


def same(values, expected, rtol):
    """Check that arrays are equal, with the signs of zeros."""
    np.testing.assert_allclose(values, expected, rtol=rtol, atol=0)
    signs = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(values[signs]), np.signbit(expected[signs]))


@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64], ids=ids)
@pytest.mark.parametrize("name", some(UNARY, 2))
def test_error_is_at_most_two_units(name, dtype):
    x = in_domain(name, samples(name, dtype, 60))
    found, at = worst(evaluate(name, x), [UNARY[name][0](mp.mpf(v)) for v in x.tolist()], dtype)
    assert found <= LIMIT, f"{name}({x[at]!r}) is wrong by {found} units"


@pytest.mark.parametrize("name", some(UNARY, 2))
def test_error_in_float32_is_at_most_two_units_on_a_dense_grid(name):
    every = np.arange(0, 2**32, 4001, dtype=np.uint32).view(np.float32)
    x = in_domain(name, every[np.isfinite(every)])
    with np.errstate(all="ignore"):
        exact = NUMPY.get(name, getattr(np, name, None))(x.astype(np.float64))
    keep = np.abs(exact) < 3.4028235e38
    unit = np.ldexp(1.0, np.maximum(np.frexp(exact[keep])[1] - 24, -149))
    error = np.abs(evaluate(name, x)[keep] - exact[keep]) / unit
    assert error.max() <= LIMIT, f"{name}({x[keep][error.argmax()]!r}) is wrong by {error.max()} units"


@pytest.mark.parametrize("dtype", DTYPES, ids=ids)
@pytest.mark.parametrize("name", BINARY)
def test_error_of_two_arguments_is_at_most_two_units(name, dtype):
    r, top = np.random.default_rng(3), 30 if dtype == np.float32 else 300
    x = np.concatenate([10.0 ** r.uniform(-top, top, 400), 1 + r.normal(size=200) * 1e-4, r.uniform(0.1, 3, 200)])
    x = np.abs(x).astype(dtype)
    if name == "pow":  # results of every size
        logs = np.where(x == 1, 1, np.log(x.astype(np.float64)))
        y = (r.uniform(-1, 1, x.size) * (88 if dtype == np.float32 else 709) / logs).astype(dtype)
    else:
        x *= r.choice([-1, 1], x.size).astype(dtype)
        y = (x * 10.0 ** r.uniform(-3, 3, x.size) * r.choice([-1, 1], x.size)).astype(dtype)
    exact = [BINARY[name](mp.mpf(a), mp.mpf(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    found, at = worst(evaluate(name, x, y), exact, dtype)
    assert found <= LIMIT, f"{name}({x[at]!r}, {y[at]!r}) is wrong by {found} units"


def edge_values(dtype):
    """Return zeros, infinities, NaN, denormals, the largest numbers, integers, each with both signs."""
    f = np.finfo(dtype)
    ends = [f.max, f.tiny, f.smallest_subnormal, 5 * f.smallest_subnormal]
    x = np.array([0.0, INF, 1.0, 2.0, 0.5, 3.0, 1000.0, 1e-10, 1e5, 1e10, *ends], dtype)
    return np.concatenate([x, -x, np.array([NAN], dtype)])


@pytest.mark.parametrize("dtype", DTYPES, ids=ids)
@pytest.mark.parametrize("name", some(UNARY, 2))
def test_edge_values_are_numpys(name, dtype):
    x = np.tile(edge_values(dtype), 3)  # in whole vectors and in the rest of the loop
    with np.errstate(all="ignore"):
        expected = NUMPY.get(name, getattr(np, name, None))(x.astype(np.float64)).astype(dtype)
    if name == "sigmoid" and dtype == np.float64:
        expected[x == -1000] = 0
    same(evaluate(name, x), expected, 1e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("dtype", DTYPES, ids=ids)
@pytest.mark.parametrize("name", BINARY)
def test_edge_values_of_two_arguments_are_numpys(name, dtype):
    x, y = (a.ravel().copy() for a in np.meshgrid(edge_values(dtype), edge_values(dtype)))
    with np.errstate(all="ignore"):
        expected = NUMPY.get(name, getattr(np, name, None))(x, y)
    same(evaluate(name, x, y), expected, 1e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("dtype", DTYPES, ids=ids)
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions_are_numpys_to_the_last_digit(name, dtype):
    r, top, n = np.random.default_rng(4), 30 if dtype == np.float32 else 300, 20_000
    tenths, sizes = r.integers(1, 1000, n) * 0.1, 10.0 ** r.uniform(-top, top, n)
    edges = np.concatenate([edge_values(dtype), np.array([0.1, 2**24, 2**24 + 2, 2.0**53], dtype)])
    pairs = [a.ravel() for a in np.meshgrid(edges, edges)]
    for x, y in (pairs, (r.normal(size=n), r.normal(size=n)), (tenths, np.full(n, 0.1)), (sizes, r.permutation(sizes)),
                 (sizes, -sizes * 10.0 ** r.uniform(-12, 1, n)), (r.integers(-99, 99, n), r.integers(-9, 9, n))):  # fmt: skip
        x, y = x.astype(dtype), y.astype(dtype)
        with np.errstate(all="ignore"):
            same(evaluate(name, x, y), getattr(np, name)(x, y), 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=ids)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles_are_reduced_exactly(name, dtype):
    x = (10.0 ** np.linspace(6, 37 if dtype == np.float32 else 307, 100)).astype(dtype)
    with mp.workprec(1400):
        exact = [UNARY[name][0](mp.mpf(v)) for v in x.tolist()]
    assert worst(evaluate(name, x), exact, dtype)[0] <= LIMIT


def test_one_huge_angle_leaves_its_neighbours_as_they_were():
    x = np.linspace(-3, 3, 99)
    usual = evaluate("sin", x)
    for i in range(0, 99, 7):
        y = x.copy()
        y[i] = 1e22
        found = evaluate("sin", y)
        assert found[i] == pytest.approx(-0.8522008497671888) and (np.delete(found, i) == np.delete(usual, i)).all()


def test_sine_cosine_and_tangent_go_together_in_one_loop():
    @njit(error_model="numpy")
    def kernel(x_, out_):
        for i in range(out_.size):
            out_[i] = vecmath.sin(x_[i]) + 2 * vecmath.cos(x_[i]) + 3 * vecmath.tan(x_[i])

    x = np.append(np.linspace(-9, 9, 200), [1e9, -1e300])
    out = np.empty_like(x)
    kernel(x, out)
    np.testing.assert_allclose(out, np.sin(x) + 2 * np.cos(x) + 3 * np.tan(x), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES, ids=ids)
def test_trigamma_errs_by_at_most_ten_units(dtype):
    r = np.random.default_rng(0)
    x = np.concatenate([r.uniform(-30, 30, 600), 10.0 ** r.uniform(-15, 15, 300), np.linspace(0.01, 20, 300)]).astype(
        dtype
    )
    assert worst(evaluate("trigamma", x), [mp.psi(1, mp.mpf(v)) for v in x.tolist()], dtype)[0] <= 10


@pytest.mark.parametrize("dtype", DTYPES, ids=ids)
def test_trigamma_is_infinite_at_its_poles_and_ends_at_zero(dtype):
    x = np.array([0.0, -0.0, -1.0, -2.0, INF, NAN, -INF, np.finfo(dtype).max], dtype)
    expected = np.array([INF, INF, INF, INF, 0.0, NAN, NAN, 1 / float(x[-1])], dtype)
    same(evaluate("trigamma", x), expected, 1e-15)


@pytest.mark.parametrize("dtype", DTYPES, ids=ids)
def test_lgamma_errs_by_at_most_four_units(dtype):
    r = np.random.default_rng(0)
    roots = [1 + 10.0 ** r.uniform(-7, -1, 200), 2 - 10.0 ** r.uniform(-7, -1, 200), np.arange(1, 30)]
    x = np.concatenate([r.uniform(-5, 30, 400), 10.0 ** r.uniform(-20, 20, 300), *roots]).astype(dtype)
    exact = [mp.re(mp.loggamma(mp.mpf(v))) for v in x.tolist()]
    assert worst(evaluate("lgamma", x), exact, dtype)[0] <= 4


@pytest.mark.parametrize("dtype", DTYPES, ids=ids)
def test_lgamma_is_infinite_at_its_poles_and_ends(dtype):
    x = np.array([0.0, -0.0, -1.0, -2.0, -1e10, INF, -INF, NAN], dtype)
    same(evaluate("lgamma", x), np.array([INF] * 7 + [NAN], dtype), 0)


def test_exact_powers_have_exact_logarithms():
    assert (evaluate("log2", 2.0 ** np.arange(-1074, 1024)) == np.arange(-1074, 1024)).all()
    assert (evaluate("log10", 10.0 ** np.arange(0, 23)) == np.arange(0, 23)).all()
    assert (evaluate("exp2", np.arange(-149, 128, dtype=np.float32)) == np.ldexp(1.0, np.arange(-149, 128))).all()


@pytest.mark.parametrize("name", [*some(UNARY, 2), *BINARY, *DIVISIONS])
def test_loops_become_vector_code(name):
    arity = 1 if name in UNARY else 2
    for dtype in DTYPES:
        evaluate(name, *[np.ones(40, dtype)] * arity)
    packed = {
        "x86_64": r"\bv?(div|mul|sqrt|fn?m(add|sub)\d*)p[sd]\b",
        "arm64": r"\bf(div|mul|sqrt|ml[as])\b.*\bv?\d+\.(2d|4s)|\bf(div|mul|sqrt|ml[as])\.(2d|4s)",
    }
    machine = {"AMD64": "x86_64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    if machine not in packed:
        pytest.skip(f"what vector code looks like on {machine} is not written here")
    for signature, text in loop(name, arity).inspect_asm().items():
        assert re.search(packed[machine], text), f"{name}{signature} runs number by number"


@pytest.mark.slow
def test_processors_without_fused_multiplication_get_the_same_accuracy():
    code = """
import numpy as np, mpmath as mp
from minigrad.kernels.vecmath import lanes
from tests.kernels.reference import UNARY, evaluate, in_domain, samples, worst
assert not lanes.has("fma")
for name in ("sin", "erfc", "log10"):
    x = in_domain(name, samples(name, np.float64, 30))
    assert worst(evaluate(name, x), [UNARY[name][0](mp.mpf(v)) for v in x.tolist()], np.float64)[0] <= 2, name
y, x = 10.0 ** -np.linspace(300, 322, 99), 10.0 ** -np.linspace(300, 321, 99)
assert worst(evaluate("atan2", y, x), [mp.atan2(a, b) for a, b in zip(y.tolist(), x.tolist())], np.float64)[0] <= 2
x, y = x * 1e305 - 5, y * 1e302
for name in ("fmod", "remainder", "floor_divide"):
    assert (evaluate(name, x, y) == getattr(np, name)(x, y)).all(), name
"""
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_importing_minigrad_imports_no_compiler():
    code = "import sys, minigrad; assert not {'numba', 'llvmlite'} & set(sys.modules), 'numba'"
    subprocess.run([sys.executable, "-c", code], check=True)
