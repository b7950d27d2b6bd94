"""Arithmetic: PyTorch's rules for integers and bools, edge values, kinks, errors, in-place forms, fused kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minigrad as torch
from minigrad.autograd import grad
from minigrad.kernels import formula
from minigrad.ops.base.families import Pointwise
from tests.floats import FLOATS, some
from tests.ops.kernels import check_fused

T = torch.tensor
INF, NAN = float("inf"), float("nan")


def same(t, values):
    np.testing.assert_allclose(t.detach().numpy(), np.array(values), rtol=1e-6, equal_nan=True)
    return True


def leaf(*values):
    return T(list(values), dtype=torch.float64).requires_grad_()


def slope(f, *values):
    x = leaf(*values)
    return grad(f(x).sum(), x, create_graph=True)[0]


# ---------------------------------------------------------------------- integers and bools
MIXED = {
    "pow": lambda x, y: torch.pow(y, x),
    "base": torch.pow,
    "xlogy": torch.xlogy,
    "div": torch.div,
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    "lerp": lambda x, y: torch.lerp(x, x + 1, x) * y,
}


@pytest.mark.parametrize("small", [torch.int8, torch.int64, torch.uint8, torch.bool])
@pytest.mark.parametrize("f", MIXED.values(), ids=MIXED)
def test_derivatives_with_integer_operands_equal_those_with_floats(f, small):
    y = T([100, 3, 7]).to(small)
    for create_graph in (False, True):
        x = leaf(1.25, 2.5, 0.5)
        found, wanted = (grad(f(x, z).sum(), x, create_graph=create_graph)[0] for z in (y, y.double()))
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-14)
    tangents = [
        torch.func.jvp(lambda x, z=z: f(x, z), (x.detach(),), (torch.ones_like(x),))[1] for z in (y, y.double())
    ]
    np.testing.assert_allclose(tangents[0].numpy(), tangents[1].numpy(), rtol=1e-14)


def test_the_second_derivative_of_a_remainder_is_zero_at_a_zero_divisor():
    y = leaf(0.0, 2.0)
    first = grad(torch.fmod(leaf(3.0, 3.0), y).sum(), y, create_graph=True)[0]
    assert grad(first.sum(), y, allow_unused=True, materialize_grads=True)[0].tolist() == [0, 0]


def test_integer_division_floors_and_remainders_have_the_signs_of_python_and_c():
    x, y = T([5, -5, 5, -5]), T([3, 3, -3, -3])
    assert (x // y).tolist() == [1, -2, -2, 1]
    assert (x % y).tolist() == [2, 1, -1, -2]
    assert torch.fmod(x, y).tolist() == [2, -2, 2, -2]
    assert torch.div(x, y, rounding_mode="trunc").tolist() == [1, -1, -1, 1]
    assert torch.div(T([2**62 + 1]), 1, rounding_mode="trunc").tolist() == [2**62 + 1]
    assert torch.div(x, y).dtype == torch.float32


@pytest.mark.cpu("a kernel raises nothing: on a GPU such a quotient is some number, as in PyTorch")
@pytest.mark.parametrize(
    "f", [lambda x, y: x // y, lambda x, y: x % y, torch.fmod, lambda x, y: torch.div(x, y, rounding_mode="trunc")]
)
def test_division_of_integers_by_zero_raises(f):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        f(T([1, 2]), T([1, 0]))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        f(T([1, 2]), 0)
    assert f(T([1.0]), 0.0).dtype == torch.float32
    assert f(torch.zeros(0, 2, dtype=torch.int64), T([0, 0])).shape == (0, 2)


def test_floats_are_divided_by_zero_and_infinity_as_in_torch():
    assert same(T([1.0, -2.5]) // 0, [INF, -INF])
    assert same(T([5.0, -5.0, 5.0, -5.0]) % T([INF, INF, -INF, -INF]), [5, INF, -INF, -5])
    assert same(T([INF, -INF, NAN, 5.0]) // T([2.0, 2.0, 2.0, INF]), [NAN, NAN, NAN, 0])
    assert same(torch.fmod(T([INF, 5.0]), T([2.0, INF])), [NAN, 5])


def test_integers_overflow_by_wrapping_around():
    assert (T([127], dtype=torch.int8) + 1).tolist() == [-128]
    assert (-T([-128], dtype=torch.int8)).tolist() == [-128]
    assert abs(T([-128], dtype=torch.int8)).tolist() == [-128]
    assert (T([1, 200], dtype=torch.uint8) * -1).tolist() == [255, 56]
    assert (T([1, 200], dtype=torch.uint8) + 300).tolist() == [45, 244]
    assert (T([-(2**63)]) // -1).tolist() == [-(2**63)]


def test_bools_add_as_or_and_multiply_as_and():
    b = T([True, False])
    assert (b + b).tolist() == [True, False] and (b * b).tolist() == [True, False]
    assert (b + b).dtype == torch.bool and (b / b).dtype == torch.float32
    assert torch.square(b).tolist() == [1, 0] and (b**2).dtype == torch.int64


def test_rounding_does_not_change_integers():
    for f in (torch.floor, torch.ceil, torch.trunc, torch.round):
        assert f(T([1, -2])).dtype == torch.int64 and f(T([1, -2])).tolist() == [1, -2]
    assert same(torch.round(T([0.5, 1.5, 2.5])), [0, 2, 2])
    assert same(torch.round(T([123.456]), decimals=-1), [120])


# ---------------------------------------------------------------------- powers
def test_integers_to_negative_powers():
    assert (T([1, -1, -1, 2, 0]) ** T([-1, -3, -2, -1, -1])).tolist() == [1, -1, 1, 0, 0]
    assert (2 ** T([-1, 3])).tolist() == [0, 8]
    assert (T([2, 3]) ** 2.5).dtype == torch.float32
    assert same(2.5 ** T([1, -2]), [2.5, 0.16])


def test_powers_at_zero():
    x, y = leaf(0, 0, 0, -1, 2, 0), leaf(0, 2, -1, 2, 0, 1)
    dx, dy = grad((x**y).sum(), (x, y))
    assert same(dx, [0, 0, -INF, -2, 0, 1])
    assert same(dy, [0, 0, -INF, NAN, np.log(2), 0])
    assert same(slope(lambda x: x**0.5, 0.0, 1.0), [INF, 0.5])
    assert same(slope(lambda y: 0**y, 0.0, 1.0), [0, 0])


@pytest.mark.parametrize("n", range(5))
def test_polynomials_have_derivatives_of_every_order_at_zero(n):
    x, y = leaf(0.0), None
    y = (x**n).sum()
    for k in range(1, 5):
        (y,) = grad(y.sum(), x, create_graph=True)
        assert y.item() == (float(np.prod(range(1, n + 1))) if k == n else 0)


# ---------------------------------------------------------------------- kinks and edge values
def test_absolute_value_sign_and_rounding_have_derivative_zero_at_kinks():
    assert same(slope(abs, 0.0, -0.0, INF, -INF, NAN, -2.0), [0, 0, 1, -1, 0, -1])
    for f in (torch.sign, torch.floor, torch.ceil, torch.trunc, torch.round, lambda x: torch.round(x, decimals=1)):
        assert same(slope(f, 0.0, 1.5, INF, NAN), [0, 0, 0, 0])
    assert same(torch.sign(T([NAN, 0.0, -3.0])), [0, 0, -1])
    assert same(torch.frac(T([-1.5, INF])), [-0.5, NAN])


def test_a_zero_derivative_stays_zero_under_an_infinite_gradient():
    x = leaf(1.5)
    assert grad(torch.floor(x), x, T([INF], dtype=torch.float64))[0].item() == 0


def test_copysign_and_nan_to_num():
    assert same(torch.copysign(T([1.0, -2.5]), -1), [-1, -2.5])
    assert np.signbit(torch.copysign(T([0.0]), T([-0.0])).numpy()).all()
    assert same(slope(lambda x: torch.copysign(x, T([1.0, -1.0])), 0.0, 1.0), [0, -1])
    f4 = np.finfo("f4").max
    assert same(torch.nan_to_num(T([NAN, INF, -INF, 2.0])), [0, f4, -f4, 2])
    assert same(torch.nan_to_num(T([NAN, INF, -INF]), 1.0, 2.0, 3.0), [1, 2, 3])
    assert same(slope(torch.nan_to_num, NAN, INF, 2.0), [0, 0, 1])
    assert torch.nan_to_num(T([1, 2])).dtype == torch.int64


def test_remainder_differentiates_by_the_divisor():
    y = leaf(3.0, 3.0, INF)
    assert same(grad((T([5.0, -5.0, 5.0]) % y).sum(), y)[0], [-1, 2, 0])
    y = leaf(3.0, 3.0)
    assert same(grad(torch.fmod(T([5.0, -5.0]), y).sum(), y)[0], [-1, 1])


def test_division_that_rounds_has_gradient_zero():
    for mode in ("floor", "trunc"):
        assert same(slope(lambda x: torch.div(x, 2, rounding_mode=mode), 5.0, -5.0), [0, 0])


def test_scaled_sums():
    assert torch.add(T([1, 2]), T([3, 4]), alpha=2).tolist() == [7, 10]
    assert torch.sub(T([1, 2]), T([3, 4]), alpha=2).tolist() == [-5, -6]
    assert torch.add(2, T([1.0]), alpha=2).tolist() == [4.0]
    assert torch.sub(T([3], dtype=torch.uint8), T([2], dtype=torch.uint8), alpha=2).tolist() == [255]
    y = leaf(1.0)
    assert grad(torch.add(T([1.0]), y, alpha=2.5), y)[0].item() == 2.5
    assert torch.addcmul(T([1, 2]), T([1, 2]), T([1, 2]), value=2.9).tolist() == [3, 10]


def test_a_text_is_no_operand():
    with pytest.raises(TypeError, match="unsupported operand"):
        T([1.0]) + "a"


# ---------------------------------------------------------------------- in place, and out=
def test_in_place_forms_write_and_keep_the_dtype():
    x = T([1.0, 2.0])
    assert x.add_(1, alpha=2) is x and x.tolist() == [3, 4]
    assert x.div_(2, rounding_mode="floor").tolist() == [1, 2]
    assert x.pow_(2).sub_(T([1, 1])).clamp_(min=0.5).tolist() == [0.5, 3]
    assert x.round_(decimals=0).lerp_(T([2.0, 2.0]), 0.5).tolist() == [1, 2.5]
    i = T([7, -7])
    i //= 2
    assert i.tolist() == [3, -4]
    assert T([1, 2], dtype=torch.uint8).mul_(T([3, 100])).tolist() == [3, 200]


def test_out_of_another_shape_is_resized_with_a_warning_where_it_has_elements():
    out = torch.empty(3)
    with pytest.warns(UserWarning, match=r"^add: resizes out= from shape \(3,\) to \(2,\)"):
        assert torch.add(T([1.0, 2.0]), 1, out=out) is out and out.tolist() == [2, 3]
    assert torch.exp(T([0.0]), out=torch.empty(0)).tolist() == [1]


def test_nodes_have_pytorchs_names_where_classes_are_named_differently():
    x = leaf(1.0, 2.0)
    made = (torch.add(x, x, alpha=2), torch.sub(x, x, alpha=2), x.square(), x.log1p(), x.deg2rad(), x.rad2deg())
    names = [y.grad_fn.name() for y in (*made, torch.div(x, x, rounding_mode="trunc"))]
    assert names == [n + "Backward0" for n in ("Add", "Sub", "Pow", "Log1P", "Deg2Rad", "Rad2Deg", "Div")]


def test_in_place_is_differentiated_with_the_value_before():
    x = leaf(3.0)
    y = x * 1
    y.pow_(2)
    y.clamp_(0, 100)
    assert grad(y.sum(), x)[0].item() == 6


def test_out_takes_a_tensor_to_write_into():
    out = torch.zeros(2)
    assert torch.add(T([1, 2]), T([3, 4]), out=out) is out and out.tolist() == [4, 6]


# ---------------------------------------------------------------------- the fused kernels
F = {
    "mul": torch.mul,
    "div": torch.div,
    "add scaled": lambda x, y: torch.add(x, y, alpha=2.5),
    "rsub": lambda x, y: 2.5 - x * y,
    "pow": lambda x, y: abs(x) ** y,
    "pow number": lambda x, y: x**3 * y**2,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
    "copysign": torch.copysign,
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "addcmul": lambda x, y: torch.addcmul(x, y, x, value=1.5),
    "addcdiv": lambda x, y: torch.addcdiv(x, x, y, value=1.5),
    "reciprocal, square": lambda x, y: torch.reciprocal(x) + torch.square(y),
    "abs, nan_to_num": lambda x, y: abs(x) + torch.nan_to_num(y, 3.0),
}
EDGES = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, -3.0, 1e30]


@FLOATS
@pytest.mark.parametrize("name", some(F, 4))
def test_fused_kernels_equal_numpy(name, dtype):
    random = np.random.default_rng(1)
    check_fused(F[name], [random.uniform(0.2, 2, (60, 80)), random.uniform(-2, -0.2, (60, 80))], dtype)
    check_fused(F[name], [random.uniform(0.2, 2, (60, 1)), random.uniform(-2, -0.2, 80)], dtype)


def test_python_numbers_are_divided_like_tensors():
    assert torch.reciprocal(0).tolist() == torch.reciprocal(0.0).tolist() == INF
    assert same(torch.fmod(1.0, 0.0), NAN) and same(torch.remainder(1.0, 0.0), NAN)
    assert torch.pow(0, -1.0).tolist() == torch.div(1, 0).tolist() == INF
    assert torch.reciprocal(2).dtype == torch.float32 and torch.pow(2, 3).dtype == torch.int64


@pytest.mark.parametrize("name", ["mul", "remainder", "fmod", "copysign", "abs, nan_to_num"])
def test_fused_kernels_agree_at_edge_values(name):
    x, y = np.meshgrid(EDGES[:-1], EDGES[:-1])
    check_fused(F[name], [x, y], "float64")


@settings(max_examples=30)
@given(
    hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=4, max_dims=4),
    st.sampled_from(["div", "add scaled", "lerp"]),
)
def test_fused_kernels_broadcast_as_numpy_does(shapes, name):
    random = np.random.default_rng(2)
    check_fused(F[name], [random.uniform(0.5, 2, s) for s in shapes.input_shapes], "float64")


@settings(max_examples=20)
@given(st.permutations(range(3)), st.integers(1, 2), st.booleans())
def test_fused_kernels_take_any_layout(order, step, flip):
    base = np.random.default_rng(3).uniform(0.5, 2, (4, 5, 6))

    def laid_out(x, y):
        x = x.permute(*order)[:, ::step]
        return torch.div(x, x.flip(0) if flip else x * 2) * y

    check_fused(laid_out, [base, np.asarray(1.5)], "float32")


def subclasses(cls):
    return {
        c for s in cls.__subclasses__() for c in (s, *subclasses(s)) if c.__module__.startswith("minigrad.") and c.names
    }


BY_SCIPY = "Lgamma Digamma Trigamma Polygamma Erfcx I0 I0E I1 I1E LogNdtr Ndtri Zeta".split()  # as fast


@pytest.mark.parametrize("cls", sorted(subclasses(Pointwise), key=str), ids=lambda cls: cls.__name__)
def test_every_formula_has_a_scalar_form_for_the_kernels(cls):
    formulas = [f for f in cls.formulas.values() if formula.parameters(f)]
    if cls.ufunc is None:
        formulas.append(cls.kernel)
    fused = not formulas or formula.prelude(formulas) is not None
    assert fused == (cls.__name__ not in BY_SCIPY)
