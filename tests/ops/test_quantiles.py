"""Medians, modes and quantiles: NumPy's values, ties, NaN, nothing at all, gradients, errors."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from tests.ops.gradients import gradient, rows

NAN = float("nan")


@given(rows())
def test_medians_and_modes_are_elements_at_their_indices(case):
    a, dim, keepdim = case
    x = torch.tensor(a)
    k = (a.shape[dim] - 1) // 2
    for f in (torch.median, torch.nanmedian):
        values, indices = f(x, dim, keepdim)
        np.testing.assert_array_equal(np.squeeze(values.numpy()), np.squeeze(np.take(np.sort(a, dim), [k], dim)))
        kept = indices.numpy() if keepdim else np.expand_dims(indices.numpy(), dim)
        np.testing.assert_array_equal(np.squeeze(np.take_along_axis(a, kept, dim)), np.squeeze(values.numpy()))
        assert f(x).item() == np.sort(a.ravel())[(a.size - 1) // 2]
    for row, value in zip(
        np.moveaxis(a, dim, -1).reshape(-1, a.shape[dim]), torch.mode(x, dim).values.numpy().ravel(), strict=True
    ):
        found, counts = np.unique(row, return_counts=True)
        assert value == found[np.argmax(counts)]


@given(rows(), st.sampled_from(["linear", "lower", "higher", "midpoint", "nearest"]), st.floats(0, 1))
def test_quantiles_are_numpys(case, interpolation, q):
    a, dim, keepdim = case
    found = torch.quantile(torch.tensor(a), q, dim, keepdim, interpolation=interpolation).numpy()
    np.testing.assert_allclose(found, np.quantile(a, q, axis=dim, keepdims=keepdim, method=interpolation), atol=1e-9)
    many = torch.quantile(torch.tensor(a), torch.tensor([0.25, q], dtype=torch.float64)).numpy()
    np.testing.assert_allclose(many, np.quantile(a, [0.25, q]), atol=1e-9)


def test_the_median_shares_its_gradient_and_that_of_a_row_goes_to_its_index():
    assert gradient(lambda x: x.median(), [1.0, 1.0, 2.0]) == [0.5, 0.5, 0]
    assert sorted(gradient(lambda x: x.median(0).values, [1.0, 1.0, 2.0])) == [0, 0, 1]
    assert gradient(lambda x: x.nanmedian(), [NAN, 5.0, 3.0]) == [0, 0, 1]


def test_medians_and_nan():
    x = torch.tensor([1.0, NAN, 3.0, NAN])
    assert np.isnan(x.median().item()) and np.isnan(x.median(0).values.item()) and x.median(0).indices.item() == 1
    assert x.nanmedian().item() == x.nanmedian(0).values.item() == 1
    assert np.isnan(torch.tensor([NAN, NAN]).nanmedian(0).values.item())
    assert np.isnan(torch.tensor([]).median().item())


def test_mode_takes_the_smallest_of_the_most_frequent():
    values, indices = torch.mode(torch.tensor([3, 1, 3, 1, 2]))
    assert values.item() == 1 and indices.item() == 3
    assert gradient(lambda x: torch.mode(x).values, [2.0, 5.0, 2.0]) == [0, 0, 1]


def test_quantiles_with_nan_and_shapes():
    x = torch.tensor([[1.0, NAN, 3.0], [4.0, 5.0, 6.0]])
    np.testing.assert_array_equal(torch.quantile(x, 0.5, 1).numpy(), np.float32([NAN, 5]))
    assert torch.nanquantile(x, 0.5, 1).tolist() == [2, 5]
    q = torch.tensor([0.5, 0.1])
    assert torch.quantile(torch.ones(2, 3, 4), q, 1, True).shape == (2, 2, 1, 4)
    assert torch.quantile(torch.ones(2, 3, 4), q, keepdim=True).shape == (2, 1, 1, 1)
    assert gradient(lambda x: torch.quantile(x, 0.25), [1.0, 2.0, 3.0]) == [0.5, 0.5, 0]
