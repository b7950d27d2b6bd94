"""Maxima, minima and their places: ties, NaN, nothing at all, the two kinds of gradient, errors."""

import pickle

import numpy as np
import pytest
from hypothesis import given

import minigrad as torch
from tests.ops.gradients import gradient, rows

NAN = float("nan")


def test_result_tuples_have_the_operations_name_and_pytorchs_text():
    x = torch.tensor([[1.0, 3.0], [2.0, 2.0]], device="cpu")
    found = torch.max(x, 0)
    assert repr(found) == "minigrad.return_types.max(\nvalues=tensor([2., 3.]),\nindices=tensor([1, 0]))"
    assert repr(torch.aminmax(x)) == "minigrad.return_types.aminmax(\nmin=tensor(1.),\nmax=tensor(3.))"
    assert isinstance(found, torch.return_types.max) and isinstance(found, tuple)
    for name in ("max", "min", "median", "mode", "cummax", "cummin", "sort"):
        found = getattr(torch, name)(x, 0)
        assert type(found) is getattr(torch.return_types, name)
        assert all(map(torch.equal, found, pickle.loads(pickle.dumps(found))))
    for name in ("qr", "svd", "eigh"):
        assert type(getattr(torch.linalg, name)(x)) is getattr(torch.return_types, f"linalg_{name}")


@given(rows(0, 3, 4))
def test_extremes_and_their_indices_equal_numpys(case):
    a, dim, keepdim = case
    x = torch.tensor(a)
    for f, whole, values, place in (
        (torch.max, torch.amax, np.max, np.argmax),
        (torch.min, torch.amin, np.min, np.argmin),
    ):
        found = f(x, dim, keepdim)
        np.testing.assert_array_equal(found.values.numpy(), values(a, dim, keepdims=keepdim))
        np.testing.assert_array_equal(found.indices.numpy(), place(a, dim, keepdims=keepdim))
        np.testing.assert_array_equal(whole(x, dim, keepdim).numpy(), values(a, dim, keepdims=keepdim))
        assert f(x).item() == whole(x).item() == values(a) and f(x).shape == ()
    np.testing.assert_array_equal(x.argmax(dim, keepdim).numpy(), np.argmax(a, dim, keepdims=keepdim))
    assert x.argmin().item() == np.argmin(a) and x.argmin(keepdim=True).shape == (1,) * a.ndim


@given(rows(0, 3, 4))
def test_gradients_of_all_kinds_sum_to_one_per_result(case):
    a, dim, keepdim = case
    for f in (
        lambda x: x.amax(dim, keepdim),
        lambda x: x.max(dim, keepdim).values,
        lambda x: x.min(dim, keepdim).values,
    ):
        np.testing.assert_allclose(np.sum(gradient(f, a), axis=dim), 1)


def test_equal_maxima_share_the_gradient_of_the_whole_but_the_first_gets_that_of_a_row():
    x = [1.0, 3.0, 3.0]
    assert (
        gradient(lambda x: x.amax(), x)
        == gradient(lambda x: x.max(), x)
        == gradient(lambda x: x.amax(0), x)
        == [0, 0.5, 0.5]
    )
    assert gradient(lambda x: x.max(0).values, x) == [0, 1, 0]
    assert gradient(lambda x: x.min(0).values, [2.0, 1.0, 1.0]) == [0, 1, 0]
    low, high = torch.aminmax(torch.tensor(x))
    assert (low.item(), high.item()) == (1, 3)


def test_nan_is_the_extreme():
    x = torch.tensor([1.0, NAN, 2.0, NAN])
    for result in (x.max(), x.min(), x.amax(), x.amin(), x.max(0).values, x.min(0).values):
        assert np.isnan(result.item())
    assert x.max(0).indices.item() == x.argmax().item() == x.argmin().item() == 1
    assert gradient(lambda x: x.max(), [1.0, NAN, NAN]) == [0, 0.5, 0.5]
    assert np.isnan(gradient(lambda x: x.amax(), [1.0, NAN, NAN])).all()


def test_values_are_tracked_and_indices_are_not():
    values, indices = torch.ones(2, 3, requires_grad=True).max(1)
    assert values.requires_grad and not indices.requires_grad and indices.dtype == torch.int64
    result = torch.max(torch.ones(2, 3), dim=1, keepdim=True)
    assert result.values.shape == result.indices.shape == (2, 1) and result[0] is result.values


def test_the_second_derivative_passes_through_the_index():
    x = torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(x.max(0).values ** 3, x, create_graph=True)
    assert first.tolist() == [0, 27, 0]
    assert torch.autograd.grad(first.sum(), x)[0].tolist() == [0, 18, 0]


def test_max_with_another_tensor_is_maximum():
    assert torch.max(torch.tensor([1, 5]), torch.tensor([3, 2])).tolist() == [3, 5]
    assert torch.min(torch.tensor([1, 5]), other=torch.tensor([3, 2])).tolist() == [1, 2]


def test_integers_and_bools():
    assert torch.max(torch.tensor([3, 7, 5])).item() == 7 and torch.max(torch.tensor([3, 7, 5])).dtype == torch.int64
    assert torch.max(torch.tensor([False, True]), 0).values.item() is True
    assert torch.amin(torch.tensor([[True], [False]]), 0).tolist() == [False]


def test_a_0d_tensor():
    x = torch.tensor(3.0, requires_grad=True)
    assert (
        x.max(0).values.item() == 3
        and x.max(-1).indices.item() == 0
        and x.argmax(0).item() == 0
        and x.amax(0).item() == 3
    )
    assert x.max(0, True).values.shape == () and torch.autograd.grad(x.max(0).values, x)[0].item() == 1


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "aminmax", "argmax", "argmin"])
def test_an_empty_tensor_has_no_extreme(name):
    f, kind = getattr(torch, name), IndexError if name[:3] == "arg" else RuntimeError
    with pytest.raises(kind, match=f"{name}: .*Expected reduction dim to be specified"):
        f(torch.zeros(0, 3))
    with pytest.raises(IndexError, match=f"{name}: Expected reduction dim 0 to have non-zero size"):
        f(torch.zeros(0, 3), dim=0)
    found = f(torch.zeros(0, 3), dim=1)
    assert all(t.shape == (0,) for t in (found if isinstance(found, tuple) else (found,)))


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.bool])
def test_extremes_of_no_rows_are_no_elements(dtype):
    x = torch.zeros(0, 3, dtype=dtype)
    for found in (x.amax(1), x.amin(1), x.aminmax(dim=1).max, x.max(1).values):
        assert tuple(found.shape) == (0,) and found.dtype == dtype
