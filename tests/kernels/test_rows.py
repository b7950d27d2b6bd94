"""Kernels on rows say what the formulas of the operations say, for large arrays of all kinds."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import minigrad
from minigrad.core.backward import sum_to
from minigrad.kernels import choose, row_kernels
from minigrad.kernels.fallback import by_numpy
from minigrad.ops.base.program import Program
from minigrad.ops.reduce import Sum
from tests.floats import FLOATS, some

F = minigrad.nn.functional
pytestmark = pytest.mark.filterwarnings(r"ignore:(?s).*\[one-class\]")  # sizes of 1 are tried, too
SHAPES = [(512, 10), (5, 1031), (3, 4099), (2, 40, 67), (4096, 1), (1, 5000)]


def norm(x, dims=1):
    return F.layer_norm(x, x.shape[-dims:])


def loss(x, **options):
    """Return cross-entropy of rows, whatever the shape."""
    x = x.reshape(-1, x.shape[-1])
    target = minigrad.tensor(np.arange(len(x)) * 7 % x.shape[1])
    return F.cross_entropy(x, target, reduction="none", **options)


def affine(x):
    """Return layer norm with a weight and a bias that depend on x."""
    weight, bias = (x.reshape(-1, x.shape[-1])[i] for i in (0, -1))
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def mean_loss(x):
    x = x.reshape(-1, x.shape[-1])
    return F.cross_entropy(x, minigrad.zeros(len(x)).long())


FUNCTIONS = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": norm,
    "layer_norm of two dimensions": lambda x: norm(x, 2),
    "affine layer_norm": affine,
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-3),
    "rms_norm of two dimensions": lambda x: F.rms_norm(x, x.shape[-2:], eps=1e-3),
    "normalize": lambda x: F.normalize(x, dim=-1 if x.shape[-1] > 1 else (-2, -1)),  # one element is its own norm
    "normalize of two dimensions, shorter than eps": lambda x: F.normalize(x / 100, dim=(-2, -1), eps=1),
    "cross_entropy": loss,
    "cross_entropy without a class": lambda x: loss(x, ignore_index=3),
    "mean of cross_entropy": mean_loss,
}


def numbers(shape, dtype, seed=0):
    return (3 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def both(f, x, g=None, create_graph=False):
    """Return value and gradient, as arrays."""
    x = minigrad.tensor(x, requires_grad=True)
    y = f(x)
    g = minigrad.ones_like(y) if g is None else minigrad.tensor(g)
    (dx,) = minigrad.autograd.grad(y, x, g, create_graph=create_graph)
    return y.detach().numpy(), dx.detach().numpy()


@pytest.fixture
def count(monkeypatch):
    """Return a list that collects the function of each kernel called."""
    seen: list = []

    def counted(run):
        def counting(*args):
            if (made := run(*args)) is not None:
                seen.append(run)
            return made

        return counting

    for name in ("forward", "backward"):
        monkeypatch.setattr(row_kernels, name, counted(getattr(row_kernels, name)))
    monkeypatch.setattr(choose, "calls", {})
    return seen


def along_lines(cls):
    """Yield the operations below a class that have kernels."""
    for below in cls.__subclasses__():
        if below.gives:
            yield below
        yield from along_lines(below)


def defined(*args):
    """Return the same results by NumPy and the formulas."""
    return by_numpy(both, *args, create_graph=True)


@FLOATS
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", some(FUNCTIONS))
def test_kernels_compute_what_the_formulas_say(name, shape, dtype, count):
    f, x = FUNCTIONS[name], numbers(shape, dtype)
    g = numbers(f(minigrad.tensor(x)).shape, dtype, 1)
    count.clear()
    found = both(f, x, g)
    assert len(count) == 2  # one forward, one backward
    expected = defined(f, x, g)
    assert len(count) == 2
    scale = 1 if shape[-1] > 1 else 300  # of one element alone the standardised is 0, and its gradient large
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype == dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=0, atol=scale * 30 * np.finfo(dtype).eps * max(1, abs(b).max()))


@pytest.mark.parametrize("name", some(["softmax", "log_softmax", "cross_entropy"]))
@FLOATS
@pytest.mark.parametrize("odd", [[np.nan], [np.inf], [-np.inf], [-np.inf, np.nan], [np.inf, -np.inf], [1e30, -1e30]])
def test_infinities_and_nan(name, dtype, odd):
    x = numbers((64, 100), dtype)
    x[3, 7 : 7 + len(odd)] = odd
    x[4, -len(odd) :] = odd
    x[5] = odd[0]
    x[6, 0] = -np.nan if np.isnan(odd[0]) else odd[0]
    found, expected = both(FUNCTIONS[name], x), defined(FUNCTIONS[name], x)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-6)


@pytest.mark.parametrize("name", some(["softmax", "log_softmax", "layer_norm", "rms_norm", "cross_entropy"], 5))
@pytest.mark.parametrize("n", [4096, 100_000])
def test_long_rows_of_float32_are_as_accurate_as_numpys(name, n):
    f, x = FUNCTIONS[name], numbers((2, n), "float32") + np.float32(10)
    g = numbers(f(minigrad.tensor(x)).shape, "float32", 1)
    exact = defined(f, x.astype("float64"), g.astype("float64"))
    for ours, numpys, value in zip(both(f, x, g), defined(f, x, g), exact, strict=True):
        scale = np.finfo("float32").eps * abs(value).max()
        assert abs(ours - value).max() <= 2 * abs(numpys - value).max() + 2 * scale


def test_other_layouts_are_numpys(count):
    x = minigrad.tensor(numbers((64, 128), "float64"))
    for made in (x.mT, x[:, ::2], x.long()):
        x.new_tensor(made.numpy())
        made.softmax(-1, dtype=minigrad.float64) if made.dtype == minigrad.int64 else made.softmax(-1)
    x.softmax(0)
    assert len(count) == 2  # integers, once they are converted, and columns


def test_gradient_that_is_broadcast(count):
    x = numbers((64, 100), "float64")
    _, dx = both(lambda x: x.log_softmax(-1).sum(), x)
    p = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(dx, 1 - 100 * p / p.sum(1, keepdims=True), atol=1e-12)
    assert len(count) == 2


def test_classes_are_checked():
    x = minigrad.tensor(numbers((512, 10), "float64"))
    with pytest.raises(IndexError, match="Target 10 is out of bounds for 10 classes"):
        F.cross_entropy(x, minigrad.full((512,), 10))
    with pytest.raises(IndexError, match="Target -1 is out of bounds"):
        F.cross_entropy(x, minigrad.full((512,), -1))


def test_transforms_and_higher_orders_use_the_formulas():
    x = minigrad.tensor(numbers((8, 600), "float64"))
    t = minigrad.tensor(numbers((8, 600), "float64", 1))
    for f in (FUNCTIONS["softmax"], FUNCTIONS["log_softmax"], norm, loss):
        _, tangent = minigrad.func.jvp(f, (x,), (t,))
        y, pull = minigrad.func.vjp(f, x)
        g = minigrad.arange(y.numel(), dtype=y.dtype).reshape(y.shape)
        np.testing.assert_allclose((pull(g)[0] * t).sum().item(), (g * tangent).sum().item(), rtol=1e-9)
        np.testing.assert_allclose(both(f, x.numpy(), g.numpy())[1], pull(g)[0].numpy(), atol=1e-11)
    one = minigrad.func.vmap(lambda row: row.softmax(0))(x)
    np.testing.assert_allclose(one.numpy(), x.softmax(-1).numpy(), atol=1e-14)


PROGRAM = """
import minigrad
from minigrad.kernels import cache
x = minigrad.ones(100, 100).requires_grad_()
minigrad.nn.functional.cross_entropy(x.softmax(1), minigrad.zeros(100).long()).backward()
print(list(cache._modules))
"""


def test_generic_mode_has_the_formulas_alone():
    environment = {**os.environ, "MINIGRAD_GENERIC": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


class Tempered(Program):
    """Softmax of signal * warmth + floor: its parameters have names that no other operation has."""

    gives, along, scalars = (row_kernels.ALL,), "way", ("floor",)

    @staticmethod
    def program(signal, warmth, way, floor):
        e = minigrad.exp(signal * warmth + floor)
        return e / Sum.apply(e, way, True)

    dsignal = lambda g, warmth, out, way: (g - Sum.apply(g * out, way, True)) * out * warmth
    dwarmth = lambda g, signal, out, way, shape: sum_to((g - Sum.apply(g * out, way, True)) * out * signal, shape)


@pytest.mark.parametrize("shape", [(3,), (300, 40)])
def test_the_class_says_what_each_parameter_is_in_a_kernel(shape, count):
    x, w, g = [minigrad.tensor(numbers(s, np.float64, 1), requires_grad=True) for s in (shape, shape[-1:], shape)]
    both = [Tempered.apply(x, w, (len(shape) - 1,), 0.5), (x * w).softmax(-1)]
    for found, expected in zip(*[(y, *minigrad.autograd.grad(y, (x, w), g)) for y in both], strict=True):
        assert found.detach().allclose(expected.detach(), rtol=1e-10, atol=1e-12)


def test_a_batch_dimension_reaches_weights_and_dimensions():
    x, w = minigrad.randn(5, 4, 3, dtype=minigrad.float64), minigrad.randn(5, 3, dtype=minigrad.float64)
    f = lambda x, w: Tempered.apply(x, w, (1,), 0.5)
    assert minigrad.vmap(f)(x, w).allclose((x * w[:, None]).softmax(-1), rtol=1e-12)
    assert minigrad.vmap(f, (0, None))(x, w[0]).allclose((x * w[0]).softmax(-1), rtol=1e-12)
    assert minigrad.autograd.gradgradcheck(f, (x[0].requires_grad_(), w[0].clone().requires_grad_()))


def test_a_class_that_names_no_dimensions_is_refused():
    with pytest.raises(TypeError, match="has no parameter 'dims', which would hold the dimensions of a line"):
        type("Unsaid", (Program,), {"gives": (row_kernels.ALL,), "program": lambda signal, way: signal})
    gc.collect()  # others look through all classes
