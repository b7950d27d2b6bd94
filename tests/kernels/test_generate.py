"""The text of kernels: constants in the dtype of the loop, vecmath's functions, and what cannot be compiled."""

import math

import numpy as np
import pytest

import minigrad
from minigrad.arrays import dtypes
from minigrad.arrays.dtypes import ALL
from minigrad.fast import is_pointwise
from minigrad.kernels import cache, choose, fallback, formula, generate, pointwise_calls, pointwise_gradients
from minigrad.ops.base.families import Pointwise
from minigrad.ops.base.registry import TABLE
from minigrad.ops.compare import ClampBetween, where
from tests.floats import FLOATS, some

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
FACTOR, NEVER = 0.25, math.inf


def text(f, dtype=F32):
    return formula.scalar_text(f, dtype)


def test_constants_take_the_dtype_of_the_kernel():
    f = lambda x: 2 * x + 0.5
    assert text(f) == "float32(2) * x + float32(0.5)"
    assert text(f, F64) == "2 * x + 0.5"
    assert text(lambda x: x * math.pi) == "x * float32(pi)"


def test_functions_and_powers_are_vecmaths():
    assert text(lambda x: math.exp(x) ** 2) == "exp(x) ** 2"
    assert text(lambda x, y: x**y) == "pow(x, y)"
    assert text(lambda x: 2.0**x) == "exp2(x)"
    assert text(lambda x: x**0.5) == "pow(x, float32(0.5))"
    assert text(lambda x, y: x**y, np.dtype(np.int64)) == "x ** y"


def test_prelude_defines_what_the_formula_names():
    lines = formula.prelude([lambda x: where(x > NEVER, math.exp(x), FACTOR * x)], F32).split("\n")
    assert lines[0] == "from minigrad.kernels.vecmath import exp, where"
    assert lines[-2:] == ["NEVER = float32(float('inf'))", "FACTOR = float32(0.25)"]


def test_helper_operations_are_defined_in_the_dtype_too():
    text = formula.prelude([lambda x: softplus(x, 1.0, 20.0)], F32)  # noqa: F821
    assert "def softplus(x, beta, threshold):\n    return where(" in text and "import exp, log1p, where" in text


def test_formula_with_an_unknown_function_has_no_kernel():
    unknown = print
    assert formula.prelude([lambda x: unknown(x)], F32) is None
    assert generate.forward("none", lambda x: unknown(x), (True,), F32) is None


def test_formula_that_names_the_library_computes_with_numpy_on_arrays():
    class RootOfSquares(Pointwise):
        kernel = lambda x: minigrad.sqrt(x * x + 1)
        dx = lambda x: x / minigrad.sqrt(x * x + 1)

    def f(x):
        return RootOfSquares.apply(x)

    steps = minigrad.record(f, minigrad.tensor([1.0, -2.0])).to_dict()["ops"]
    assert [step["name"] for step in steps] == ["root_of_squares"] * 3, "inside of an operation no other one is applied"
    assert type(formula.on_arrays(RootOfSquares.kernel)(np.ones(2))) is np.ndarray


def test_formula_written_as_a_function_of_statements_runs_on_arrays():
    class Distance(Pointwise):
        def kernel(x, y):
            total = x * x + y * y
            return minigrad.sqrt(total)

        def dx(x, out):
            return x / out

        dy = lambda y, out: y / out

    x, y = minigrad.tensor([3.0], requires_grad=True), minigrad.tensor([4.0], requires_grad=True)
    assert formula.text(Distance.kernel) is None
    assert minigrad.autograd.gradcheck(Distance.apply, (x.double(), y.double()))
    wide = x.expand(pointwise_gradients.GRADIENTS_FROM)
    Distance.apply(wide, y).sum().backward()
    assert [x.grad.item(), y.grad.item()] == pytest.approx(
        [0.6 * pointwise_gradients.GRADIENTS_FROM, 0.8 * pointwise_gradients.GRADIENTS_FROM]
    )


@pytest.mark.parametrize(
    "name", some(["gelu", "softplus", "mish", "silu", "logsigmoid", "tanh", "lerp", "elu", "log1p"])
)
def test_kernels_of_float32_compute_in_float32(name, monkeypatch, tmp_path):
    monkeypatch.setenv("MINIGRAD_CACHE", str(tmp_path))
    cls = TABLE[name].cls
    is_array = tuple(i < len(cls.names) - cls.n_settings for i in range(len(cls.names)))
    x = np.linspace(-2, 2, 64, dtype=np.float32)
    module = cache.build(f"float32_{name}", generate.forward(name, cls.kernel, is_array, F32))
    f = getattr(module, f"{name}_forward")
    f(*[x if a else np.float32(0.5) for a in is_array], np.empty_like(x))
    (code,) = f.inspect_llvm().values()
    assert "x float>" in code, "not vectorised"
    assert "x double>" not in code and "fpext" not in code


def test_large_arrays_take_the_quicker_of_numpy_and_the_kernel(monkeypatch):
    assert pointwise_calls.beats_numpy(TABLE["exp"].cls, F32, pointwise_calls.SIZES["many"])
    assert not pointwise_calls.beats_numpy(TABLE["exp"].cls, np.dtype(np.int64), pointwise_calls.SIZES["many"])
    assert not pointwise_calls.beats_numpy(TABLE["add"].cls, F32, 10**9)
    monkeypatch.setattr(pointwise_calls, "parts", lambda size: 4)
    assert pointwise_calls.beats_numpy(TABLE["log2"].cls, F32, 10**7)
    monkeypatch.setitem(pointwise_calls.SIZES, "many", 10)
    x = np.linspace(0.1, 3, 100, dtype=np.float32)
    out = minigrad.log2(minigrad.tensor(x))
    assert out.dtype == minigrad.float32
    np.testing.assert_allclose(out.numpy(), np.log2(x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("vectorised", (True, False))
def test_elementary_functions_take_kernels_where_numpy_computes_one_by_one(vectorised, monkeypatch):
    monkeypatch.setattr(pointwise_calls, "numpy_is_vectorised", lambda: vectorised)
    monkeypatch.setattr(pointwise_calls, "parts", lambda size: 1)
    tan = TABLE["tan"].cls
    assert pointwise_calls.beats_numpy(tan, F32, 10**6) is not vectorised
    size = pointwise_calls.kernel_from.__wrapped__  # a process finds out once
    assert (size(tan) == "few") is not vectorised
    assert not pointwise_calls.beats_numpy(TABLE["floor"].cls, F32, 10**6)


@pytest.mark.parametrize(
    ("info", "vectorised"),
    [({}, False), ({"tan": {"f": {"current": "SSE2"}}}, False), ({"tan": {"f": {"current": "AVX512_SKX"}}}, True)],
)
def test_numpy_may_have_no_variants_of_a_function(info, vectorised, monkeypatch):
    monkeypatch.setattr(pointwise_calls, "opt_func_info", lambda *names: info)
    assert pointwise_calls.numpy_is_vectorised.__wrapped__() is vectorised


def test_every_function_of_numpys_that_is_slow_has_a_kernel_instead():
    classes = [Pointwise]
    for cls in classes:
        classes += cls.__subclasses__()
    slow = [cls for cls in classes if cls.numpy_is]
    assert len(slow) > 40
    for cls in slow:
        assert cls.numpy_is in pointwise_calls.KERNEL_FROM and cls.ufunc is not None
        assert formula.needs([cls.kernel], formula.F64) is not None, cls


ODD = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.5, 1e-30, 1e30, np.inf, -np.inf, np.nan, -np.nan, 7.0, -7.0]


@FLOATS
@pytest.mark.parametrize(
    "name", ["sign", "clamp_min", "clamp_max", "where", "pow", "fmod", "remainder", "floor_divide", "frac", "clamp"]
)
def test_kernels_in_place_of_numpys_functions_agree_at_odd_numbers(name, dtype, monkeypatch):
    x, y = (a.reshape(-1).astype(dtype) for a in np.meshgrid(ODD, ODD))
    args = {"sign": (x,), "frac": (x,), "where": (x > y, x, y), "clamp": (x, -1.0, 2.0)}.get(name, (x, y))
    op = ClampBetween if name == "clamp" else TABLE[name].cls
    found = []
    for size in (10**9, 1):
        monkeypatch.setitem(pointwise_calls.SIZES, "many", size)
        monkeypatch.setitem(pointwise_calls.SIZES, "few", 1)
        monkeypatch.setattr(choose, "calls", {})
        with np.errstate(all="ignore"):
            found.append(op.impl(*args))
    assert found[0].dtype == found[1].dtype == dtype
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6 if dtype == "float32" else 1e-15, equal_nan=True)


@pytest.mark.parametrize("size", [15, 100_000])
@pytest.mark.parametrize("y", [1, 2, 3, 0.5, -0.5, -1, -2, 0, 4, 1.5])
def test_powers_and_their_gradients(y, size):
    x = np.resize(ODD, size)
    t = minigrad.tensor(x, requires_grad=True)
    (dx,) = minigrad.autograd.grad((t**y).sum(), t)
    with np.errstate(all="ignore"):
        usual = np.isfinite(x) & (x != 0)  # tests/parity has the others
        np.testing.assert_allclose((t**y).detach().numpy()[usual], (x**y)[usual], rtol=1e-14)
        np.testing.assert_allclose(dx.numpy()[usual], (y * x ** (y - 1))[usual], rtol=1e-14)


# arguments of formulas without a function of NumPy's: arrays of one shape, 0-d arrays and settings
FORMULAS = {
    "threshold": "(x, 0.5, -1.0)", "leaky_relu": "(x, 0.1)", "softplus": "(x, 1.0, 20.0)", "hardtanh": "(x, -1, 1)",
    "lerp": "(x, y, half)", "addcmul": "(x, y, z, 2)", "prelu": "(x, half)", "isposinf": "(x,)",
    "isclose": "(x, y, 1e-5, 1e-8, True)",
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (1,), (), (0, 3), (40, 50), (300, 2, 100)])
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_without_a_function_of_numpys_have_kernels_at_any_size(monkeypatch, name, shape, dtype):
    op = TABLE[name].cls
    rng = np.random.default_rng(0)
    x, y, z = [rng.standard_normal(shape).astype(dtype) for _ in range(3)]
    args = eval(FORMULAS[name], {"x": x, "y": y, "z": z, "half": np.array(0.25, dtype)})
    monkeypatch.setattr(choose, "calls", {})
    with np.errstate(all="ignore"):
        expected = fallback.by_numpy(op.compute, *args)
    for out in (op.compute(*args), op.compute(*args)):
        assert type(out) is np.ndarray and out.dtype == expected.dtype and out.shape == expected.shape
        np.testing.assert_allclose(out, expected, rtol=1e-6 if dtype == "float32" else 1e-14, atol=1e-7)
    assert None not in choose.calls.values()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,), (2, 3)])
@pytest.mark.parametrize("other", [(), (1,), (1, 1), (1, 1, 1), (3,), (0,)])
def test_arrays_of_one_element_meet_others_as_in_numpy(shape, other):
    x, y = minigrad.randn(shape), minigrad.randn(other)
    if 0 in other and shape not in ((), (1,), (1, 1)):
        return
    expected = np.where(x.numpy() > 0, x.numpy(), y.numpy() * x.numpy())
    for _ in range(3):
        out = minigrad.ops.nn.activation.Prelu.apply(x, y)
        assert out.shape == expected.shape
        np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
@pytest.mark.parametrize("dtype", [d.dtype for d in ALL if d.name != "bool"], ids=lambda d: d.name)
def test_formulas_of_every_dtype_are_the_same_with_and_without_kernels(dtype, shape):
    with_kernels = [op for op in {e.cls for e in TABLE.values()} if op and is_pointwise(op) and op.ufunc is None]
    for op in sorted(with_kernels, key=lambda op: op.name):
        if op.n_conditions or dtypes.kind(dtype) not in op.accepts:
            continue
        n = len(op.names) - op.n_settings
        args = [np.arange(k + 1, k + 1 + math.prod(shape)).reshape(shape).astype(dtype) for k in range(n)]
        args += [name == "equal_nan" or 1 for name in op.names[n:]]
        with np.errstate(all="ignore"):
            found, expected = op.compute(*args), fallback.by_numpy(op.compute, *args)
        assert found.dtype == expected.dtype and found.shape == expected.shape, op.name
        np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=1e-6, err_msg=op.name)


def of_one_operand():
    """Operations of one operand with a gradient that a kernel may compute."""
    found = [op for op in {e.cls for e in TABLE.values()} if op and is_pointwise(op) and op.differentiable]
    found = [op for op in found if len(op.names) - op.n_settings == 1 and any(op.reads.values())]
    return sorted([op for op in found if not pointwise_gradients.is_light(op)], key=lambda op: op.name)


@pytest.mark.parametrize("op", some(of_one_operand(), 12), ids=lambda op: op.name)
def test_gradients_by_kernels_equal_the_formulas_in_every_layout(op):
    rng = np.random.default_rng(0)
    x = minigrad.tensor(rng.uniform(0.1, 0.9, (70, 80)).astype("f4"), requires_grad=True)
    g = minigrad.tensor(rng.standard_normal((70, 80)).astype("f4"))

    settings = op.defaults if len(op.defaults) == op.n_settings else [1] * op.n_settings

    def gradient(a, g):
        return minigrad.autograd.grad(op.apply(a, *settings), x, g)[0].numpy()

    for a, b in ((x, g[0, 0].expand(70, 80)), (x, g), (x[:5], g[:5]), (x, g[0].expand(70, 80)), (x.T, g.reshape(80, 70)),
                 (x[:, 1:], g[:, 1:]), (x[:2], g[:2]), (x[:0], g[:0])):  # fmt: skip
        expected = fallback.by_numpy(gradient, a, b)
        for _ in range(2):
            np.testing.assert_allclose(gradient(a, b), expected, rtol=1e-4, atol=1e-6)


def test_other_layouts_are_computed_too():
    x = minigrad.randn(30, 40)
    y = minigrad.randn(40)
    for a in (x.T, x[::2], x[:, 1:], x.flip(0).T, x[:0], x.expand(2, 30, 40)):
        expected = minigrad.where(a > 0, a, a * 0.01)
        for _ in range(2):
            assert minigrad.nn.functional.leaky_relu(a).equal(expected)
    for _ in range(2):
        assert minigrad.addcmul(x, x, y).equal(x + x * y)
        assert minigrad.addcmul(y, x, y).equal(y + x * y)


def test_a_kernel_that_fails_is_computed_again(monkeypatch):
    x, op = minigrad.linspace(-2, 2, 5000), TABLE["threshold"].cls
    expected = minigrad.threshold(x, 0.5, -1.0)

    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(choose, "calls", dict.fromkeys(choose.calls, fail))
    monkeypatch.setattr(op, "compute", classmethod(lambda cls, *arrays: expected.numpy()))
    assert minigrad.threshold(x, 0.5, -1.0).equal(expected)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logarithms_of_sums_keep_infinities_and_nan(name):
    x, y = (a.reshape(-1) for a in np.meshgrid(ODD, ODD))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, y)
    many = [np.tile(a, 40) for a in (x, y)]
    found = getattr(minigrad, name)(*map(minigrad.tensor, many)).numpy()
    np.testing.assert_allclose(found, np.tile(expected, 40), rtol=1e-14, equal_nan=True)
