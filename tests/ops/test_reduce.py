"""Sums, means, products, any and all: closed forms, zeros, nothing at all, dtypes, accuracy, errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from tests.ops.gradients import gradient, leaf

INF, NAN = float("inf"), float("nan")


@st.composite
def reductions(draw):
    """(an array of up to three dimensions, some of them, keepdim)"""
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    dims = draw(st.lists(st.sampled_from(range(len(shape))), unique=True)) if shape else []
    signed = tuple(d - len(shape) if draw(st.booleans()) else d for d in dims)
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(-3, 4, shape).astype(np.float64)
    return values, signed, draw(st.booleans())


@given(reductions())
def test_sum_mean_any_all_are_numpys(case):
    a, dims, keepdim = case
    where = dims if dims else tuple(range(a.ndim))
    x = torch.tensor(a)
    with np.errstate(all="ignore"):
        n = np.sum(np.ones(a.shape), axis=where, keepdims=keepdim)
        mean = np.sum(a, axis=where, keepdims=keepdim) / n
    np.testing.assert_array_equal(x.sum(dims, keepdim).numpy(), np.sum(a, axis=where, keepdims=keepdim))
    np.testing.assert_allclose(x.mean(dims, keepdim).numpy(), mean)
    if dims:
        np.testing.assert_array_equal(x.any(dims, keepdim).numpy(), np.any(a, axis=dims, keepdims=keepdim))
        np.testing.assert_array_equal(x.all(dims, keepdim).numpy(), np.all(a, axis=dims, keepdims=keepdim))
    np.testing.assert_array_equal(torch.count_nonzero(x, dims).numpy(), np.count_nonzero(a, axis=where))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64])
@pytest.mark.parametrize("name", ["sum", "prod", "nansum"])
def test_integers_and_bools_add_up_to_int64(name, dtype):
    x = torch.tensor([1, 1, 0], dtype=dtype)
    assert getattr(torch, name)(x).dtype == torch.int64
    assert getattr(torch, name)(x, 0).dtype == torch.int64
    assert getattr(torch, name)(x, dtype=torch.int32).dtype == torch.int32


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "nansum", "nanmean"])
def test_float32_is_kept_and_dtype_converts_first(name):
    f = getattr(torch, name)
    x = torch.ones(3, 4, requires_grad=True)
    assert f(x).dtype == f(x, 1).dtype == f(x, -1, True).dtype == torch.float32
    y = f(x, 0, dtype=torch.float64)
    assert y.dtype == torch.float64
    y.sum().backward()
    assert x.grad.dtype == torch.float32


def test_empty_tensors_have_sum_zero_product_one_and_no_mean():
    x = torch.zeros(0, 3)
    assert x.sum().item() == 0 and x.prod().item() == 1 and np.isnan(x.mean().item()) and np.isnan(x.nanmean().item())
    assert x.sum(0).tolist() == [0, 0, 0] and x.prod(0).tolist() == [1, 1, 1] and np.isnan(x.mean(0).numpy()).all()
    assert x.sum(1).tolist() == [] and x.any().item() is False and x.all().item() is True
    y = torch.zeros(0, 3, requires_grad=True)
    y.mean().backward()
    assert y.grad.shape == (0, 3)


def test_the_gradient_of_a_product_with_zeros_is_the_product_of_the_other_elements():
    assert gradient(lambda x: x.prod(), [2.0, 3.0, 4.0]) == [12, 8, 6]
    assert gradient(lambda x: x.prod(), [2.0, 0.0, 4.0]) == [0, 8, 0]
    assert gradient(lambda x: x.prod(), [0.0, 0.0, 4.0]) == [0, 0, 0]
    assert gradient(lambda x: x.prod(1), [[2.0, 0.0], [0.0, 0.0]]) == [[0, 2], [0, 0]]
    assert gradient(lambda x: x.prod(), [[2.0, 0.0], [3.0, 5.0]]) == [[0, 30], [0, 0]]
    assert gradient(lambda x: x.prod(), 7.0) == 1


@pytest.mark.parametrize("zeros", [[], [1], [0, 2], [0, 1, 3]])
def test_derivatives_of_a_product_of_second_and_third_order_at_zeros(zeros):
    values = [2.0, 3.0, 5.0, 7.0]
    for z in zeros:
        values[z] = 0.0
    x = leaf(values)
    (first,) = torch.autograd.grad(x.prod(), x, create_graph=True)
    for i in range(4):
        (second,) = torch.autograd.grad(first[i], x, create_graph=True)
        rest = [[0.0 if i == j else np.prod([values[k] for k in range(4) if k not in (i, j)]) for j in range(4)]]
        assert second.tolist() == rest[0]
        for j in range(4):
            if j != i:
                (third,) = torch.autograd.grad(second[j], x, retain_graph=True)
                assert third.tolist() == [0.0 if k in (i, j) else values[6 - i - j - k] for k in range(4)]


def test_nansum_and_nanmean_ignore_nan():
    x = leaf([1.0, NAN, 4.0])
    assert x.nansum().item() == 5 and x.nanmean().item() == 2.5
    assert gradient(lambda x: x.nansum(), [1.0, NAN, 4.0]) == [1, 0, 1]
    assert gradient(lambda x: x.nanmean(), [1.0, NAN, 4.0]) == [0.5, 0, 0.5]
    assert np.isnan(torch.tensor([NAN, NAN]).nanmean().item())


def test_any_and_all_see_nan_and_keep_uint8():
    assert torch.tensor([NAN]).any().item() is True
    assert torch.tensor([0.0, 2.0]).all().item() is False
    x = torch.tensor([0, 2], dtype=torch.uint8)
    assert x.any().dtype == x.all(0).dtype == torch.uint8 and x.any().item() == 1
    assert torch.any(torch.tensor([[1, 0]]), dim=()).tolist() == [[True, False]]


@pytest.mark.parametrize(
    "shape, dim", [((1_000_000,), None), ((250_000, 4), 0), ((4, 250_000), 1), ((500, 1000, 2), (0, 1))]
)
@pytest.mark.parametrize("transposed", [False, True])
def test_float32_sums_of_a_million_numbers_are_exact_to_rounding(shape, dim, transposed):
    a = np.random.default_rng(0).random(shape, dtype=np.float32) + 1
    x = torch.tensor(a)
    if transposed:
        x = torch.tensor(np.asfortranarray(a).T.copy()).permute(*range(len(shape))[::-1])
    exact = np.sum(a.astype(np.float64), axis=dim)
    np.testing.assert_allclose(x.sum(dim).numpy(), exact, rtol=3e-7)
    np.testing.assert_allclose(x.mean(dim).numpy(), exact / (a.size / exact.size), rtol=3e-7)
    assert x.mean(dim).dtype == torch.float32


def test_out_is_written_into():
    out = torch.zeros(3)
    assert torch.sum(torch.ones(2, 3), 0, out=out) is out
    assert out.tolist() == [2, 2, 2]


TIES, LOST = [[2.0, -1.0, 2.0], [0.0, 2.0, 0.0]], [[2.0, float("nan"), 2.0], [0.0, 2.0, float("nan")]]
DIFFERENTIABLE = {
    "amax": lambda x, *d: x.amax(*d), "amin": lambda x, *d: x.amin(*d), "var": lambda x, *d: x.var(*d),
    "std": lambda x, *d: x.std(*d), "norm": lambda x, *d: x.norm(2, *d), "largest": lambda x, *d: x.norm(float("inf"), *d),
    "prod": lambda x, *d: x.prod(*d), "max": lambda x, *d: x.max(), "nanmedian": lambda x, *d: x.nanmedian(),
}  # fmt: skip


@pytest.mark.parametrize("values", [TIES, LOST, [[3.0]]])
@pytest.mark.parametrize("dims", [(1,), (0, True), ()])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_gradients_on_arrays_are_those_on_tensors(name, dims, values):
    if len(dims) == 0 and name not in ("max", "nanmedian"):
        dims = () if name in ("prod", "var", "std") else ((0, 1),)
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor(values, dtype=dtype, requires_grad=True)
        out = DIFFERENTIABLE[name](x, *dims)
        g = (out.detach() * 0 + 1).cos()
        found, (expected,) = torch.autograd.grad(out, x, g, True)[0], torch.autograd.grad(out, x, g, create_graph=True)
        assert found.dtype == expected.dtype == dtype and found.shape == x.shape
        np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-6)
