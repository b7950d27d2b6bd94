"""Order and counting against NumPy and plain loops."""

import bisect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.autograd import grad
from minigrad.layers.batch import batched
from tests.indices import full_shapes


@st.composite
def arrays(draw, low=-3, high=3):
    shape = draw(full_shapes)
    return np.random.default_rng(draw(st.integers(0, 99))).integers(low, high, shape)


@given(arrays(), st.data())
def test_sort_is_stable_in_both_orders_and_agrees_with_topk_and_kthvalue(a, data):
    d = data.draw(st.integers(-max(a.ndim, 1), max(a.ndim, 1) - 1))
    x = minigrad.tensor(a * 0.5)
    for descending in (False, True):
        values, indices = x.sort(d, descending, stable=True)
        expected = np.argsort(-a if descending else a, d, kind="stable") if a.ndim else np.array(0)
        assert np.array_equal(indices.numpy(), expected)
        if a.ndim:
            assert np.array_equal(values.numpy(), np.take_along_axis(a, expected, d) * 0.5)
        k = data.draw(st.integers(1, a.shape[d] if a.ndim else 1))
        top = x.topk(k, d, largest=descending).values.numpy()
        assert np.array_equal(top, values.narrow(d, 0, k).numpy() if a.ndim else values.numpy())
    value, index = x.kthvalue(k, d)
    if a.ndim:
        assert np.array_equal(value.numpy(), np.sort(a, d).take(k - 1, d) * 0.5)
        assert np.array_equal(x.gather(d, index.unsqueeze(d)).squeeze(d).numpy(), value.numpy())


def test_nan_is_the_largest():
    x = minigrad.tensor([1.0, float("nan"), -1.0, float("inf")])
    assert x.argsort().tolist() == [2, 0, 3, 1] and x.argsort(descending=True).tolist() == [1, 3, 0, 2]
    assert x.topk(2).indices.tolist() == [1, 3]


def test_the_gradient_is_scattered_to_the_original_positions():
    x = minigrad.tensor([3.0, 1.0, 2.0]).requires_grad_()
    y = (x**2).sort().values * minigrad.tensor([1.0, 10.0, 100.0])
    (g,) = grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [600.0, 2.0, 40.0]
    assert grad(g.sum(), x)[0].tolist() == [200.0, 2.0, 20.0]


@given(arrays(0, 4))
def test_unique_returns_values_inverse_and_counts(a):
    x = minigrad.tensor(a)
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert values.tolist() == sorted(set(a.reshape(-1).tolist()))
    assert np.array_equal(values.numpy()[inverse.numpy()], a) and counts.sum().item() == a.size
    values, inverse, counts = x.unique_consecutive(return_inverse=True, return_counts=True)
    assert np.array_equal(np.repeat(values.numpy(), counts.numpy()), a.reshape(-1))
    assert np.array_equal(values.numpy()[inverse.numpy()], a) and not (values[1:] == values[:-1]).any()
    for d in range(a.ndim):
        rows, inverse, counts = x.unique(return_inverse=True, return_counts=True, dim=d)
        assert np.array_equal(rows.numpy().take(inverse.numpy(), d), a) and counts.sum().item() == a.shape[d]
        rows, inverse, counts = x.unique_consecutive(True, True, d)
        assert np.array_equal(np.repeat(rows.numpy(), counts.numpy(), d), a)


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=3),
    st.lists(st.integers(-4, 4), max_size=5),
    st.booleans(),
)
def test_searchsorted_equals_bisect_for_one_row_and_many(rows, values, right):
    rows = [sorted(r) for r in rows]
    find = bisect.bisect_right if right else bisect.bisect_left
    expected = [[find(r, v) for v in values] for r in rows]
    many = minigrad.tensor([values] * len(rows)).reshape(len(rows), -1)
    assert minigrad.searchsorted(minigrad.tensor(rows), many, right=right).tolist() == expected
    one = minigrad.searchsorted(minigrad.tensor(rows[0]), minigrad.tensor(values), right=right)
    assert (
        one.tolist() == expected[0]
        and minigrad.bucketize(minigrad.tensor(values), minigrad.tensor(rows[0]), right=right).tolist() == expected[0]
    )
    together = batched(
        lambda r, v: minigrad.searchsorted(r, v, right=right),
        (minigrad.tensor(rows), minigrad.tensor(values)),
        (0, None),
        len(rows),
    )
    assert together.tolist() == expected


@given(st.lists(st.integers(0, 6), max_size=9), st.integers(0, 9))
def test_bincount_and_histc_count(numbers, n):
    x = minigrad.tensor(numbers, dtype=minigrad.int64)
    found = minigrad.bincount(x, minlength=n).tolist()
    assert found == [numbers.count(k) for k in range(max(n, max(numbers, default=-1) + 1))]
    weights = minigrad.bincount(x, x.float(), n)
    assert weights.dtype == minigrad.float32 and weights.tolist() == [k * c for k, c in enumerate(found)]
    bins = minigrad.histc(x.float(), 3, 0, 3).tolist()
    assert bins == [numbers.count(0), numbers.count(1), numbers.count(2) + numbers.count(3)]
    assert minigrad.histc(minigrad.tensor([0.5])).tolist() == [0.0] * 50 + [1.0] + [0.0] * 49


def test_isin_with_tests_for_each_example():
    x, tests = minigrad.tensor([[1, 2], [3, 4]]), minigrad.tensor([[2, 3], [4, 9]])
    assert batched(lambda x, t: minigrad.isin(x, t), (x, tests), (0, 0), 2).tolist() == [[False, True], [False, True]]
    assert minigrad.isin(x, 3, invert=True).tolist() == [[True, True], [False, True]]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.unique(),
        lambda x: x.unique_consecutive(),
        lambda x: x.nonzero(),
        lambda x: minigrad.bincount(x.long()),
    ],
)
def test_results_of_unknown_length_cannot_be_batched(call):
    with pytest.raises(RuntimeError, match="depends on the values"):
        batched(call, (minigrad.zeros(2, 3),), (0,), 2)
