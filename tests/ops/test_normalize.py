"""Normalisation, dropout and embedding: what they promise, and their errors."""

import numpy as np
import pytest

import minigrad
from minigrad.nn import functional as F
from tests.ops.gradients import normal as random


def test_norms_are_one_operation_over_different_dimensions():
    x = random(2, 4, 3)
    assert np.allclose(F.group_norm(x, 1).numpy(), F.layer_norm(x, (4, 3)).numpy())
    assert np.allclose(F.group_norm(x, 4).numpy(), F.instance_norm(x).numpy())


def test_large_mean_in_float32_does_not_destroy_the_variance():
    x = minigrad.tensor((np.arange(8) + 1e4).astype("f4"))
    assert np.allclose(F.layer_norm(x, (8,)).numpy(), (np.arange(8) - 3.5) / np.std(np.arange(8)), atol=1e-4)


def test_batch_norm_moves_running_statistics_towards_the_batch():
    x, mean, var = random(10, 3), minigrad.zeros(3, dtype=minigrad.float64), minigrad.ones(3, dtype=minigrad.float64)
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    assert np.allclose(mean.numpy(), 0.25 * x.numpy().mean(0))
    assert np.allclose(var.numpy(), 0.75 + 0.25 * x.numpy().var(0, ddof=1))


def test_batch_norm_in_evaluation_uses_them_and_leaves_them():
    x, mean, var = random(4, 3), random(3), random(3).square() + 1
    before = mean.clone(), var.clone()
    y = F.batch_norm(x, mean, var, eps=0.0)
    assert np.allclose(y.numpy(), (x.numpy() - mean.numpy()) / np.sqrt(var.numpy()))
    assert np.array_equal(before[0].numpy(), mean.numpy()) and np.array_equal(before[1].numpy(), var.numpy())


def test_writing_to_the_input_of_a_norm_is_detected_and_to_its_result_is_allowed():
    x = random(3, 4).requires_grad_()
    inner = x * 1
    y = F.layer_norm(inner, (4,))
    y.mul_(2)
    y.sum().backward(retain_graph=True)
    inner.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_dropout_keeps_the_mean_and_drops_the_right_share():
    minigrad.manual_seed(0)
    x = minigrad.ones(20000).requires_grad_()
    y = F.dropout(x, 0.3)
    y.sum().backward()
    kept = y.detach().numpy() != 0
    assert abs(kept.mean() - 0.7) < 0.02 and np.allclose(y.detach().numpy()[kept], 1 / 0.7)
    assert np.array_equal(x.grad.numpy(), y.detach().numpy())


def test_dropout2d_drops_whole_channels():
    minigrad.manual_seed(0)
    y = F.dropout2d(minigrad.ones(8, 16, 3, 3), 0.5).numpy()
    assert set(np.unique(y)) == {0.0, 2.0} and (y == y[..., :1, :1]).all()


@pytest.mark.parametrize(
    ("f", "shape", "lead", "says"),
    [
        (F.dropout2d, (30, 20), 2, "the first two dimensions are n and c"),
        (F.dropout2d, (8, 16, 9), 2, r"a single image \(c, height, width\) is input.unsqueeze\(0\)"),
        (F.dropout2d, (8, 16, 2, 2, 2), 2, r"but got \(8, 16, 2, 2, 2\)"),
        (F.dropout3d, (90, 3), 1, "the first dimension is c"),
    ],
)
def test_a_dropout_of_other_dimensions_takes_the_first_ones_and_warns(f, shape, lead, says):
    minigrad.manual_seed(0)
    with pytest.warns(minigrad.MinigradWarning, match=says) as given:
        y = f(minigrad.ones(*shape), 0.5)
    assert given[0].message.name == "dropout-dimensions" and "use feature_dropout" in str(given[0].message)
    assert 0.3 < (y == 0).double().mean().item() < 0.7
    channels = y.reshape(*shape[:lead], -1)
    assert bool((channels == channels[..., :1]).all())


def test_dropout_in_evaluation_or_with_p_0_returns_its_input():
    x = minigrad.ones(3)
    assert F.dropout(x, 0.5, training=False) is x
    assert F.dropout(x, 1.0).tolist() == [0, 0, 0]


def test_alpha_dropout_keeps_mean_and_variance():
    minigrad.manual_seed(0)
    y = F.alpha_dropout(minigrad.randn(50000), 0.2, training=True).numpy()
    assert abs(y.mean()) < 0.03 and abs(y.var() - 1) < 0.04


def test_padding_row_is_read_and_gets_no_gradient():
    w = minigrad.ones(4, 2).requires_grad_()
    out = F.embedding(minigrad.tensor([1, 3, 1]), w, padding_idx=-3)
    out.sum().backward()
    assert out.tolist() == [[1, 1]] * 3 and w.grad.tolist() == [[0, 0], [0, 0], [0, 0], [1, 1]]


def test_embedding_renormalises_the_read_rows_in_place():
    w = minigrad.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]).requires_grad_()
    out = F.embedding(minigrad.tensor([0, 1, 0]), w, max_norm=1.0)
    assert np.allclose(out.tolist(), [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]]) and w[2].tolist() == [6, 8]
    assert np.allclose(w[0].tolist(), [0.6, 0.8]) and w.is_leaf


def test_gradients_of_rows_are_divided_by_their_frequency():
    w = minigrad.ones(3, 1).requires_grad_()
    rows = F.embedding(minigrad.tensor([0, 2, 0]), w, scale_grad_by_freq=True)
    rows.backward(minigrad.tensor([[1.0], [5.0], [3.0]]))
    assert w.grad.tolist() == [[2], [0], [5]]


def test_padding_row_gets_no_gradient_from_a_batch_of_tables():
    w = minigrad.ones(2, 3, 1).requires_grad_()
    minigrad.vmap(lambda t: F.embedding(minigrad.tensor([0, 1, 1]), t, padding_idx=1))(w).sum().backward()
    assert w.grad[..., 0].tolist() == [[1, 0, 0]] * 2


def test_batch_norm_of_an_empty_batch_is_empty():
    mean, w = minigrad.ones(3), minigrad.ones(3).requires_grad_()
    out = F.batch_norm(minigrad.ones(0, 3), mean, minigrad.ones(3), w, training=True)
    out.sum().backward()
    assert out.shape == (0, 3) and mean.tolist() == [1, 1, 1] and w.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [2, 3, 300])
def test_the_gradient_of_a_unit_vector(n):
    x = minigrad.tensor(np.random.default_rng(0).standard_normal((4, n))).requires_grad_()
    g = minigrad.tensor(np.random.default_rng(1).standard_normal((4, n)))
    unit = F.normalize(x)
    (dx,) = minigrad.autograd.grad(unit, x, g)
    length, along = np.linalg.norm(x.detach().numpy(), axis=1, keepdims=True), unit.detach().numpy()
    expected = (g.numpy() - along * (g.numpy() * along).sum(1, keepdims=True)) / length
    np.testing.assert_allclose(dx.numpy(), expected, 1e-12)


@pytest.mark.parametrize("n", [2, 300])
def test_vectors_shorter_than_eps_are_divided_by_eps(n):
    x = minigrad.zeros(3, n, dtype=minigrad.float64)
    x[1], x[2, 0] = 1e-6, 4.0
    x.requires_grad_()
    y = F.normalize(x, eps=2.0)
    y.sum().backward()
    assert y[1].tolist() == [5e-7] * n and y[2].tolist() == [1.0] + [0.0] * (n - 1)
    assert x.grad[:2].tolist() == [[0.5] * n] * 2 and x.grad[2].tolist() == [0.0] + [0.25] * (n - 1)


def test_second_derivatives_at_the_zero_vector_are_finite():
    x = minigrad.zeros(2, 3, dtype=minigrad.float64, requires_grad=True)
    (g,) = minigrad.autograd.grad(F.normalize(x, eps=0.5).square().sum(), x, create_graph=True)
    (h,) = minigrad.autograd.grad(g.sum(), x)
    assert g.tolist() == [[0.0] * 3] * 2 and h.tolist() == [[8.0] * 3] * 2  # of (x / 0.5)**2
