"""Variance, norms and distances: closed forms, constants, zeros, nothing at all, accuracy, errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad as torch
from tests.ops.gradients import gradient, rows

INF, NAN = float("inf"), float("nan")


@given(rows(), st.sampled_from([0, 1]))
def test_variance_is_numpys(case, correction):
    a, dim, keepdim = case
    if a.shape[dim] <= correction:
        return
    x = torch.tensor(a)
    np.testing.assert_allclose(
        x.var(dim, keepdim=keepdim, correction=correction).numpy(), np.var(a, dim, ddof=correction, keepdims=keepdim)
    )
    np.testing.assert_allclose(
        x.std(dim, bool(correction), keepdim).numpy(), np.std(a, dim, ddof=correction, keepdims=keepdim)
    )
    v, m = torch.var_mean(x, dim, keepdim=keepdim, correction=correction)
    np.testing.assert_allclose(m.numpy(), np.mean(a, dim, keepdims=keepdim))
    np.testing.assert_allclose(
        torch.std_mean(x, dim, keepdim=keepdim, correction=correction)[0].numpy() ** 2, v.numpy(), atol=1e-12
    )


@given(rows(), st.sampled_from([0, 0.5, 1, 2, 3, -1, INF, -INF]))
def test_norm_is_numpys(case, p):
    a, dim, keepdim = case
    with np.errstate(all="ignore"):
        expected = np.linalg.norm(a, p, axis=dim, keepdims=keepdim)
    np.testing.assert_allclose(torch.norm(torch.tensor(a), p, dim, keepdim).numpy(), expected)


def test_variance_of_a_constant_and_of_one_number():
    x = [1.0, 1.0, 1.0]
    assert gradient(lambda x: x.var(), x) == gradient(lambda x: x.std(), x) == [0, 0, 0]
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert np.isnan(torch.tensor([1.0]).var().item()) and np.isnan(torch.tensor([]).std().item())
        assert np.isnan(gradient(lambda x: x.var(), [1.0])).all()
    assert torch.tensor([1.0]).var(correction=0).item() == 0


def test_large_offsets_cost_no_digits_of_the_variance():
    a = np.random.default_rng(0).random(1_000_000, dtype=np.float32) + np.float32(1000)
    np.testing.assert_allclose(torch.tensor(a).var().item(), np.var(a.astype(np.float64), ddof=1), rtol=1e-6)
    wide = torch.tensor(a.reshape(-1, 4))
    np.testing.assert_allclose(wide.std(0).numpy(), np.std(a.reshape(-1, 4).astype(np.float64), 0, ddof=1), rtol=1e-6)
    assert wide.var(0).dtype == wide.norm(dim=0).dtype == torch.float32


def test_each_signature_of_var_gives_the_same_variance():
    x = torch.tensor([1.0, 3.0])
    assert (
        x.var().item() == 2
        and x.var(False).item()
        == x.var(unbiased=False).item()
        == x.var(0, False).item()
        == x.var(correction=0).item()
        == 1
    )
    with pytest.raises(TypeError, match="both unbiased and correction"):
        x.var(0, False, correction=1)
    with pytest.raises(RuntimeError, match="only support for floating point"):
        torch.arange(3).std()


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, INF, -INF, -1])
def test_subgradient_of_a_norm_at_zero_is_zero(p):
    assert gradient(lambda x: torch.norm(x, p), [0.0, 0.0]) == [0, 0]


def test_gradients_of_norms():
    np.testing.assert_allclose(gradient(lambda x: x.norm(), [3.0, -4.0]), [0.6, -0.8])
    assert gradient(lambda x: x.norm(1), [3.0, 0.0, -4.0]) == [1, 0, -1]
    assert gradient(lambda x: x.norm(INF), [3.0, -3.0, 1.0]) == [0.5, -0.5, 0]
    assert gradient(lambda x: x.norm(0), [3.0, 0.0]) == [0, 0]


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e20])
def test_deviation_of_numbers_whose_squares_no_float32_can_hold(scale):
    x = torch.tensor([0.0, 1.0, 3.0]) * scale
    x.requires_grad_()
    x.std().backward()
    assert x.std().item() == pytest.approx(np.std([0, 1, 3], ddof=1) * scale, rel=1e-5)
    assert x.grad.tolist() == pytest.approx([-0.43643576, -0.10910894, 0.5455447], rel=1e-5)


@pytest.mark.parametrize("f", [torch.std, torch.var, torch.var_mean, torch.std_mean])
def test_a_spread_without_degrees_of_freedom_is_warned_of_with_its_numbers(f):
    with pytest.warns(
        UserWarning, match=f"^{f.__name__}: degrees of freedom is <= 0: 2 elements less the correction 3"
    ):
        f(torch.ones(4, 2), 1, correction=3)
    with pytest.warns(UserWarning, match="1 elements less the correction 1"):
        f(torch.tensor(1.0))


def test_norms_of_empty_tensors():
    assert torch.norm(torch.zeros(0)).item() == torch.norm(torch.zeros(0), 0).item() == 0
    for p in (INF, -INF, -1):
        with pytest.raises(RuntimeError, match="does not have an identity"):
            torch.norm(torch.zeros(0, 3), p, 0)
