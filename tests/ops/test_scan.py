"""Running sums, products and extremes, and differences: closed forms, zeros, ties, NaN, infinities, errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from minigrad.ops.scan import Recurrence
from tests.ops.gradients import gradient, leaf

INF, NAN = float("inf"), float("nan")


@st.composite
def rows(draw):
    """(an array with at least one dimension, one of them)"""
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(-3, 4, shape).astype(np.float64)
    return values, draw(st.integers(-len(shape), len(shape) - 1))


@given(rows())
def test_scans_are_numpys(case):
    a, dim = case
    x = torch.tensor(a)
    np.testing.assert_array_equal(x.cumsum(dim).numpy(), np.cumsum(a, dim))
    np.testing.assert_array_equal(x.cumprod(dim).numpy(), np.cumprod(a, dim))
    np.testing.assert_array_equal(x.cummax(dim).values.numpy(), np.maximum.accumulate(a, dim))
    np.testing.assert_array_equal(x.cummin(dim).values.numpy(), np.minimum.accumulate(a, dim))
    np.testing.assert_allclose(x.logcumsumexp(dim).numpy(), np.log(np.cumsum(np.exp(a), dim)), atol=1e-12)
    np.testing.assert_array_equal(x.diff(dim=dim).numpy(), np.diff(a, axis=dim))


@given(rows())
def test_indices_of_running_extremes_point_at_the_values(case):
    a, dim = case
    for scan in (torch.cummax, torch.cummin):
        values, indices = scan(torch.tensor(a), dim)
        assert indices.dtype == torch.int64
        np.testing.assert_array_equal(np.take_along_axis(a, indices.numpy(), dim), values.numpy())


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    "shape, dim",
    [((7,), 0), ((5, 3), 0), ((5, 40), 0), ((40, 5), 1), ((2, 5, 20), 1), ((0, 3), 0), ((3, 0), 0), ((1, 50), 0)],
)
def test_recurrence_is_its_definition(shape, dim, reverse):
    random = np.random.default_rng(1)
    a, b = random.standard_normal(shape), random.standard_normal(shape)
    rows_a, rows_b = (np.moveaxis(t, dim, 0)[:: -1 if reverse else 1] for t in (a, b))
    expected = []
    for c, d in zip(rows_a, rows_b, strict=True):
        expected.append(c * expected[-1] + d if expected else d)
    found = Recurrence.apply(torch.tensor(a), torch.tensor(b), dim, reverse).numpy()
    steps = np.moveaxis(found, dim, 0)[:: -1 if reverse else 1]
    np.testing.assert_allclose(steps, np.reshape(expected, steps.shape))


def test_gradient_of_cumprod_at_zeros():
    g = [1.0, 10.0, 100.0]
    assert gradient(lambda x: x.cumprod(0), [2.0, 3.0, 4.0], g) == [1 + 30 + 1200, 20 + 800, 600]
    assert gradient(lambda x: x.cumprod(0), [2.0, 0.0, 4.0], g) == [1, 20 + 800, 0]
    assert gradient(lambda x: x.cumprod(0), [0.0, 0.0, 4.0], g) == [1, 0, 0]


def test_second_derivative_of_cumprod_at_zeros():
    x = leaf([0.0, 2.0, 0.0, 3.0])
    (first,) = torch.autograd.grad(x.cumprod(0).sum(), x, create_graph=True)
    hessian = [torch.autograd.grad(first[i], x, retain_graph=True)[0].tolist() for i in range(4)]
    # f = a + ab + abc + abcd
    assert hessian == [[0, 1 + 0 + 0, 2 + 6, 0], [1, 0, 0, 0], [8, 0, 0, 0], [0, 0, 0, 0]]


def test_an_overflow_in_cumprod_does_not_affect_earlier_gradients():
    assert gradient(lambda x: x.cumprod(0)[0], [10.0] * 200) == [1.0] + [0.0] * 199


def test_float32_scans_round_once():
    a = np.random.default_rng(0).random(100_000, dtype=np.float32)
    x = torch.tensor(a)
    np.testing.assert_allclose(x.cumsum(0).numpy(), np.cumsum(a.astype(np.float64)), rtol=1e-7)
    assert x.cumsum(0).dtype == x.cumprod(0).dtype == x.logcumsumexp(0).dtype == torch.float32


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_integers_and_bools_become_int64(name):
    f = getattr(torch, name)
    assert f(torch.tensor([True, True]), 0).dtype == f(torch.tensor([1, 2], dtype=torch.int32), 0).dtype == torch.int64
    assert f(torch.tensor([1, 2]), 0, dtype=torch.float32).dtype == torch.float32


def test_running_extremes_take_the_latest_of_ties_and_keep_nan():
    values, indices = torch.cummax(torch.tensor([1, 3, 3, 2, NAN, 5, NAN]), 0)
    np.testing.assert_array_equal(values.numpy(), np.float32([1, 3, 3, 3, NAN, NAN, NAN]))
    assert indices.tolist() == [0, 1, 2, 2, 4, 4, 6]
    assert torch.cummin(torch.tensor([1.0, 3.0, 1.0, 2.0]), 0).indices.tolist() == [0, 0, 2, 2]
    assert gradient(lambda x: x.cummax(0).values, [1.0, 3.0, 3.0, 2.0]) == [1, 1, 2, 0]


def test_logcumsumexp_does_not_overflow_and_starts_at_minus_infinity():
    x = torch.tensor([-INF, 1000.0, 1000.0])
    np.testing.assert_allclose(x.logcumsumexp(0).numpy(), [-INF, 1000, 1000 + np.log(2)], rtol=1e-6)
    np.testing.assert_allclose(gradient(lambda x: x.logcumsumexp(0)[-1], [1000.0, 1000.0]), [0.5, 0.5])
    np.testing.assert_allclose(gradient(lambda x: x.logcumsumexp(0)[-1], [-INF, -INF, 1.0]), [NAN, NAN, 1])


def test_nan_in_logcumsumexp_starts_at_its_infinity():
    """Its slopes at -inf, and at inf, are unknown; those of other elements are not."""
    x = torch.tensor([-INF, -INF, 1.0, 2.0], dtype=torch.float64)
    along = torch.func.jvp(lambda x: x.logcumsumexp(0), (x,), (torch.ones_like(x),))[1]
    np.testing.assert_allclose(along.numpy(), [0, 0, 1, 1], rtol=1e-12)
    for numbers in ([-INF, 1.0, 2.0, 3.0], [1.0, INF, 2.0, 3.0], [-INF, -INF, 1.0, INF]):
        x = leaf(numbers)
        (first,) = torch.autograd.grad(x.logcumsumexp(0).sum(), x, create_graph=True)
        second = torch.autograd.grad(first.nansum(), x)[0].numpy()
        certain = np.isfinite(numbers)
        assert np.isnan(first.detach().numpy()).tolist() == (~certain).tolist()
        np.testing.assert_allclose(second[certain], 0, atol=1e-12)


def test_scans_of_a_number_are_the_number():
    x = leaf(3.0)
    for y in (x.cumsum(0), x.cumprod(-1), x.cummax(0).values, x.logcumsumexp(0)):
        assert y.item() == 3 and y.shape == ()
        assert torch.autograd.grad(y, x)[0].item() == 1
    assert x.cummin(0).indices.item() == 0


def test_in_place_forms_write_into_the_tensor():
    x = torch.tensor([1.0, 2.0, 3.0])
    assert x.cumsum_(0) is x and x.tolist() == [1, 3, 6]
    assert x.cumprod_(0) is x and x.tolist() == [1, 3, 18]


def test_diff_of_order_n_and_with_ends():
    x = torch.tensor([1, 4, 9, 16])
    assert x.diff().tolist() == [3, 5, 7] and x.diff(2).tolist() == [2, 2] and x.diff(9).tolist() == []
    assert x.diff(0).tolist() == x.tolist()
    assert x.diff(prepend=torch.tensor([0]), append=torch.tensor([25, 36])).tolist() == [1, 3, 5, 7, 9, 11]
    assert torch.tensor([True, False, False]).diff().tolist() == [True, False]
    assert gradient(lambda x: x.diff(2), [1.0, 2.0, 3.0, 4.0]) == [1, -1, -1, 1]


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp"])
def test_gradients_on_arrays_are_those_on_tensors(name):
    for values in (
        [[2.0, 0.0, -1.0], [0.0, 3.0, 0.0]],
        [[1.0, float("nan"), 2.0], [float("-inf"), -float("inf"), 1.0]],
    ):
        for dtype in (torch.float32, torch.float64):
            x = torch.tensor(values, dtype=dtype, requires_grad=True)
            for dim in (0, -1):
                out = getattr(x, name)(dim)
                g = torch.arange(6, dtype=dtype).reshape(2, 3).cos()
                found, expected = (torch.autograd.grad(out, x, g, True, create)[0] for create in (False, True))
                assert found.dtype == dtype
                np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-6)
