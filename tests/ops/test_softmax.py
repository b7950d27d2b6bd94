"""softmax, log_softmax, logsumexp: closed forms, huge numbers, infinities, higher derivatives, dtypes, errors."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from minigrad.ops.nn.softmax import softmin
from tests.ops.gradients import gradient, leaf

INF, NAN = float("inf"), float("nan")


def arrays(shape, seed):
    return np.random.default_rng(seed).normal(0, 20, shape)


CASES = st.lists(st.integers(1, 4), min_size=1, max_size=3).flatmap(
    lambda shape: st.tuples(
        st.builds(arrays, st.just(shape), st.integers(0, 99)), st.integers(-len(shape), len(shape) - 1)
    )
)


@given(CASES)
def test_softmax_is_positive_and_sums_to_one(case):
    a, dim = case
    x = torch.tensor(a)
    s = x.softmax(dim).numpy()
    e = np.exp(a - a.max(dim, keepdims=True))
    np.testing.assert_allclose(s, e / e.sum(dim, keepdims=True))
    np.testing.assert_allclose(s.sum(dim), 1)
    np.testing.assert_allclose(np.exp(x.log_softmax(dim).numpy()), s, atol=1e-300)
    np.testing.assert_allclose(softmin(-x, dim).numpy(), s)
    np.testing.assert_allclose((x - x.logsumexp(dim, True)).numpy(), x.log_softmax(dim).numpy(), atol=1e-12)


@given(CASES)
def test_gradient_of_logsumexp_is_softmax(case):
    a, dim = case
    x = torch.tensor(a, requires_grad=True)
    x.logsumexp(dim).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), x.detach().softmax(dim).numpy(), atol=1e-12)


def test_huge_numbers_do_not_overflow():
    assert torch.tensor([0.0, 0.0, 1000.0]).softmax(0).tolist() == [0, 0, 1]
    assert torch.tensor([0.0, 1000.0]).log_softmax(0).tolist() == [-1000, 0]
    np.testing.assert_allclose(torch.tensor([1e4, 1e4]).logsumexp(0).item(), 1e4 + np.log(2))
    assert gradient(lambda x: x.log_softmax(0)[0], [0.0, 1000.0]) == [1, -1]


def test_infinities():
    np.testing.assert_allclose(torch.tensor([-INF, 0.0]).softmax(0).numpy(), [0, 1])
    assert np.isnan(torch.tensor([-INF, -INF]).softmax(0).numpy()).all()
    assert np.isnan(torch.tensor([-INF, -INF]).log_softmax(0).numpy()).all()
    assert torch.tensor([-INF, -INF]).logsumexp(0).item() == -INF
    assert torch.tensor([1.0, INF]).logsumexp(0).item() == INF
    with warnings.catch_warnings():
        torch.silence("infinite-loss", "nan-gradient")
        np.testing.assert_array_equal(gradient(lambda x: x.logsumexp(0), [-INF, -INF]), [NAN, NAN])
        np.testing.assert_array_equal(gradient(lambda x: x.logsumexp(0), [1.0, INF]), [0, NAN])


def test_empty_tensors():
    assert torch.zeros(0, 3).softmax(0).shape == torch.zeros(0, 3).log_softmax(1).shape == (0, 3)
    assert torch.zeros(0, 3).logsumexp(0).tolist() == [-INF] * 3
    assert torch.zeros(3, 0).softmax(0).shape == (3, 0)


def test_a_0d_tensor():
    x = leaf(3.0)
    assert x.softmax(0).item() == 1 and x.log_softmax(-1).item() == 0 and x.logsumexp(0).item() == 3
    assert gradient(lambda x: x.softmax(0), 3.0) == 0 and gradient(lambda x: x.logsumexp(0), 3.0) == 1


def test_dtypes():
    x = torch.ones(2, 3)
    assert x.softmax(1).dtype == x.log_softmax(1).dtype == x.logsumexp(1).dtype == torch.float32
    assert x.softmax(1, torch.float64).dtype == torch.log_softmax(x, 1, dtype=torch.float64).dtype == torch.float64
    assert torch.arange(3).softmax(0, dtype=torch.float32).dtype == torch.arange(3).logsumexp(0).dtype == torch.float32


def test_logsumexp_over_several_dimensions():
    a = np.random.default_rng(0).standard_normal((2, 3, 4))
    np.testing.assert_allclose(
        torch.tensor(a).logsumexp((0, -1), True).numpy(), np.log(np.exp(a).sum((0, 2), keepdims=True))
    )
    with pytest.raises(TypeError, match="not None"):
        torch.logsumexp(torch.ones(2), None)


def test_softmax_keeps_only_its_result():
    x = leaf([1.0, 2.0])
    y = x.softmax(0)
    x.detach().zero_()
    y.sum().backward()  # x was not saved, so writing to it does no harm
    z = x.softmax(0)
    z.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax_without_a_dimension_uses_pytorchs_and_warns(name):
    f = getattr(torch.nn.functional, name)
    for shape, dim in {(): 0, (3,): 0, (2, 3): 1, (2, 3, 4): 0, (1, 2, 3, 4): 1}.items():
        x = torch.tensor(arrays(shape, 0))
        with pytest.warns(UserWarning, match=rf"implicit dimension choice for {name} .* it is dim={dim}\n"):
            found = f(x)
        assert found.tolist() == f(x, dim).tolist()
