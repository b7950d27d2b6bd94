"""Activations: huge and special arguments, kinks, second derivatives, inplace=, errors, fused kernels."""

import numpy as np
import pytest

import minigrad as torch
from minigrad.autograd import grad
from minigrad.ops.base.registry import TABLE
from tests.floats import FLOATS, some
from tests.ops.kernels import check_fused
from tests.ops.test_pointwise import INF, NAN, T, leaf, same, slope

F = {n: e.function for n, e in TABLE.items() if e.module == "minigrad.ops.nn.activation"}
CALLS = {
    **{n: f for n, f in F.items() if n not in ("glu", "prelu", "threshold")},
    "gelu tanh": lambda x: F["gelu"](x, approximate="tanh"),
    "threshold": lambda x: F["threshold"](x, 0.5, 2.0),
    "prelu": lambda x: F["prelu"](x, torch.full((1,), 0.25, dtype=x.dtype)),
    "softplus sharp": lambda x: F["softplus"](x, 2.0, 3.0),
    "elu steep": lambda x: F["elu"](x, 2.5),
}
FLAGGED = ["relu", "leaky_relu", "elu", "celu", "selu", "silu", "mish", "relu6", "hardtanh", "hardsigmoid", "hardswish"]


@pytest.mark.parametrize(("name", "values", "slopes"), [
    ("relu", [0, 0, 1000, NAN, 0], [0, 0, 1, 1, 0]),
    ("softplus", [0, np.log(2), 1000, NAN, 0], [0, 0.5, 1, NAN, 0]),
    ("logsigmoid", [-1000, -np.log(2), 0, NAN, -INF], [1, 0.5, 0, NAN, 1]),
    ("elu", [-1, 0, 1000, NAN, -1], [0, 1, 1, NAN, 0]),
    ("mish", [0, 0, 1000, NAN, NAN], [0, 0.6, 1, NAN, NAN]),
    ("silu", [0, 0, 1000, NAN, NAN], [0, 0.5, 1, NAN, NAN]),
    ("gelu", [0, 0, 1000, NAN, NAN], [0, 0.5, 1, NAN, NAN]),
    ("gelu tanh", [0, 0, 1000, NAN, NAN], [0, 0.5, 1, NAN, NAN]),
    ("softsign", [-1000 / 1001, 0, 1000 / 1001, NAN, NAN], [1 / 1001**2, 1, 1 / 1001**2, NAN, 0]),
    ("tanhshrink", [-999, 0, 999, NAN, -INF], [1, 0, 1, NAN, 1]),
    ("hardtanh", [-1, 0, 1, NAN, -1], [0, 1, 0, 0, 0]),
    ("leaky_relu", [-10, 0, 1000, NAN, -INF], [0.01, 0.01, 1, 0.01, 0.01]),
])  # fmt: skip
def test_values_and_slopes_at_huge_and_special_arguments(name, values, slopes):
    points = (-1000.0, 0.0, 1000.0, NAN, -INF)
    assert same(CALLS[name](leaf(*points)), values)
    assert same(slope(CALLS[name], *points), slopes)


@pytest.mark.parametrize(("f", "at", "slopes"), [
    (F["relu6"], [-1.0, 0.0, 3.0, 6.0, 7.0], [0, 0, 1, 0, 0]),
    (F["hardsigmoid"], [-4.0, -3.0, 0.0, 3.0, 4.0], [0, 0, 1 / 6, 0, 0]),
    (F["hardswish"], [-4.0, -3.0, 0.0, 3.0, 4.0], [0, 0, 0.5, 1, 1]),
    (F["hardshrink"], [-1.0, -0.5, 0.0, 0.5, 1.0], [1, 0, 0, 0, 1]),
    (F["softshrink"], [-1.0, -0.5, 0.0, 0.5, NAN], [1, 0, 0, 0, 0]),
    (lambda x: F["threshold"](x, 1, 5), [0.0, 1.0, 2.0], [0, 0, 1]),
    (lambda x: F["elu"](x, -1.0), [-1.0, 0.0, 1.0], [-np.exp(-1), -1, 1]),
])  # fmt: skip
def test_slopes_at_kinks_are_torchs(f, at, slopes):
    assert same(slope(f, *at), slopes)


@pytest.mark.parametrize("name", CALLS)
def test_second_derivatives_are_finite_far_out(name):
    x = leaf(-800.0, -90.0, 90.0, 800.0)
    (g,) = grad(CALLS[name](x).sum(), x, create_graph=True)
    if g.requires_grad:
        assert np.isfinite(grad(g.sum(), x, materialize_grads=True)[0].numpy()).all()


@pytest.mark.parametrize("name", FLAGGED)
def test_inplace_argument_writes_into_the_input_and_is_differentiated(name):
    x = leaf(-2.0, 0.7, 5.0)
    y = x * 1
    assert F[name](y, inplace=True) is y
    assert same(y, F[name](x).detach().numpy())
    assert same(grad(y.sum(), x)[0], slope(F[name], -2.0, 0.7, 5.0).detach().numpy())
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        F[name](x, inplace=True)


def test_threshold_takes_inplace_by_position():
    x = T([0.0, 3.0])
    assert F["threshold"](x, 1.0, 5.0, True) is x and x.tolist() == [5, 3]


def test_integers():
    i = T([-3, 0, 9])
    assert (
        F["relu"](i).tolist() == [0, 0, 9]
        and F["relu6"](i).tolist() == [0, 0, 6]
        and F["hardtanh"](i).tolist() == [-1, 0, 1]
    )
    assert F["softsign"](i).dtype == torch.float32


def test_prelu_has_a_weight_for_each_channel():
    x, w = leaf(0.0, -1.0, 2.0), leaf(0.25, 0.5, 0.3)
    y = F["prelu"](x.reshape(1, 3), w)
    assert same(y, [[0, -0.5, 2]])
    dx, dw = grad(y.sum(), (x, w))
    assert same(dx, [0.25, 0.5, 1]) and same(dw, [0, -1, 0])


@pytest.mark.parametrize("name", ["relu", "sigmoid", "tanh", "prelu", "hardshrink"])
def test_some_activations_are_methods(name):
    assert hasattr(torch.Tensor, name)
    assert not hasattr(torch.Tensor, "gelu")


@FLOATS
@pytest.mark.parametrize("name", some(CALLS, 4))
def test_fused_kernels_equal_numpy(name, dtype):
    random = np.random.default_rng(1)
    check_fused(CALLS[name], [random.uniform(-8, 8, (70, 70))], dtype)
    check_fused(
        CALLS[name], [np.array([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, -3.0, 3.0, 6.0, 1000.0, -1000.0])], dtype
    )


def test_fused_prelu_and_glu():
    random = np.random.default_rng(1)
    check_fused(F["prelu"], [random.standard_normal((20, 3, 80)), random.standard_normal(3)], "float32")
    check_fused(F["glu"], [random.standard_normal((50, 200))], "float64")
