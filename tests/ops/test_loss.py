"""Losses in closed form, at their edges, and their errors."""

import math

import numpy as np
import pytest

import minigrad
from minigrad import tensor
from minigrad.errors import MinigradWarning
from minigrad.nn import functional as F
from tests.ops.linear import random


@pytest.mark.parametrize("n", [4, 4000])  # computed by NumPy, and by a kernel
@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_an_index_to_ignore_may_be_a_tensor(loss, n):
    x, target = minigrad.randn(n, 3), minigrad.arange(n) % 3
    for reduction in ("mean", "none"):
        given = loss(x, target, ignore_index=tensor(2), reduction=reduction)
        assert minigrad.equal(given, loss(x, target, ignore_index=2, reduction=reduction))
    with pytest.raises(TypeError, match="argument 'ignore_index' must be an int, not 2.0"):
        loss(x, target, ignore_index=2.0)


def test_class_probabilities_that_are_one_hot_are_classes():
    x, t = random(4, 3, 2), np.array([[0, 1], [2, 2], [1, 0], [0, 0]])
    hot = np.moveaxis(np.eye(3)[t], -1, 1)
    for smoothing in (0.0, 0.3):
        pair = [F.cross_entropy(tensor(x), tensor(y), label_smoothing=smoothing).item() for y in (t, hot)]
        assert np.isclose(*pair)


def test_huge_logits_do_not_overflow():
    x = tensor([[1e4, 0.0], [-math.inf, 0.0]]).requires_grad_()
    loss = F.cross_entropy(x, tensor([1, 1]), reduction="none")
    loss.sum().backward()
    assert loss.tolist() == [1e4, 0.0]
    assert x.grad.tolist() == [[1.0, -1.0], [0.0, 0.0]]


@pytest.mark.parametrize("shape", [(2, 3), (40, 50), (2, 5, 600)])
@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan])
def test_cross_entropy_of_odd_logits_equals_nll_of_log_softmax(shape, odd):
    logits = random(*shape).astype("float32")
    logits[0, 1] = odd
    logits[1] = odd
    classes = tensor(np.arange(np.prod(shape) // shape[1]).reshape(shape[0], *shape[2:]) % shape[1])
    found = []
    for loss in (F.cross_entropy, lambda x, t, **how: F.nll_loss(F.log_softmax(x, 1), t, **how)):
        for reduction in ("none", "mean"):
            x = tensor(logits).requires_grad_()
            loss(x, classes, reduction=reduction).sum().backward()
            found.append((loss(x, classes, reduction=reduction).detach().numpy(), x.grad.numpy()))
    for fused, plain in zip(found, found[2:]):
        assert np.allclose(fused[0], plain[0], equal_nan=True)
        assert np.allclose(fused[1], plain[1], 1e-4, 1e-6, equal_nan=True)


def test_logits_may_be_overwritten_after_cross_entropy():
    x = tensor(random(3, 4)).requires_grad_()
    y = x * 1
    loss = F.cross_entropy(y, tensor([0, 1, 2]))
    y.zero_()
    loss.backward()
    assert np.allclose(x.grad.numpy().sum(), 0)


def test_binary_cross_entropy_from_logits_and_from_probabilities_agree():
    x, t = random(3, 4), np.random.default_rng(1).random((3, 4))
    leaves = [tensor(x).requires_grad_() for _ in range(2)]
    F.binary_cross_entropy_with_logits(leaves[0], tensor(t)).backward()
    F.binary_cross_entropy(leaves[1].sigmoid(), tensor(t)).backward()
    assert np.allclose(leaves[0].grad.numpy(), leaves[1].grad.numpy())


def test_certain_and_wrong_probabilities_cost_a_hundred():
    x = tensor([0.0, 1.0]).requires_grad_()
    loss = F.binary_cross_entropy(x, tensor([1.0, 0.0]), reduction="none")
    loss.sum().backward()
    assert loss.tolist() == [100.0, 100.0] and np.isfinite(x.grad.numpy()).all()


def test_extreme_logits_give_finite_losses():
    x = tensor([-1000.0, 1000.0]).requires_grad_()
    loss = F.binary_cross_entropy_with_logits(x, tensor([1.0, 0.0]), reduction="none")
    loss.sum().backward()
    assert loss.tolist() == [1000.0, 1000.0] and x.grad.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("pos_weight", [None, 1.0, 3.0])
def test_slopes_of_the_cross_entropy_of_confident_logits_keep_their_digits(pos_weight):
    x = np.array([-30.0, -18, -10, 10, 18, 30], "f4")
    leaf, p = tensor(x).requires_grad_(), None if pos_weight is None else tensor(np.float32(pos_weight))
    right = tensor((x > 0).astype("f4"))
    F.binary_cross_entropy_with_logits(leaf, right, pos_weight=p, reduction="sum").backward()
    wanted = -np.sign(x) * np.where(x > 0, pos_weight or 1, 1) / (1 + np.exp(abs(x.astype("f8"))))
    np.testing.assert_allclose(leaf.grad.numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("d, smooth, huber", [(0.5, 0.125 / 2, 0.125), (2.0, 1.0, 2.0), (3.0, 2.0, 4.0)])
def test_smooth_l1_and_huber_are_quadratic_then_linear(d, smooth, huber):
    assert F.smooth_l1_loss(tensor(d), tensor(0.0), beta=2.0).item() == smooth
    assert F.huber_loss(tensor(d), tensor(0.0), delta=2.0).item() == huber


def test_kl_div_of_equal_distributions_is_zero():
    p = np.array([[0.2, 0.8], [1.0, 0.0]])
    x = minigrad.where(tensor(p) > 0, tensor(p).log(), tensor(-50.0))
    assert F.kl_div(x, tensor(p), reduction="batchmean").item() == pytest.approx(0)


def test_poisson_loss_is_least_at_the_target():
    x = tensor(2.0).log().requires_grad_()
    F.poisson_nll_loss(x, tensor(2.0)).backward()
    assert x.grad.item() == pytest.approx(0)


def test_other_shapes_are_broadcast_with_a_warning():
    with pytest.warns(MinigradWarning, match="different to the input size"):
        F.mse_loss(minigrad.ones(3, 1), minigrad.ones(3))


def test_mean_cross_entropy_leaves_out_ignored_targets():
    logits, target = (
        minigrad.randn(4, 3, dtype=minigrad.float64, requires_grad=True),
        minigrad.tensor([0, -100, 2, -100]),
    )
    loss = F.cross_entropy(logits, target)
    expected = -(logits.detach().log_softmax(1)[0, 0] + logits.detach().log_softmax(1)[2, 2]) / 2
    assert abs(loss.item() - expected.item()) < 1e-12
    loss.backward()
    assert logits.grad[1].tolist() == [0.0] * 3 and abs(logits.grad[0].sum().item()) < 1e-12
    assert F.cross_entropy(logits, minigrad.full((4,), -100)).isnan()


@pytest.mark.parametrize("name", ["binary_cross_entropy", "binary_cross_entropy_with_logits"])
@pytest.mark.parametrize("dtype", [minigrad.int64, minigrad.int32, minigrad.bool])
def test_binary_cross_entropy_takes_probabilities_and_no_classes(name, dtype):
    target = minigrad.tensor([0, 1, 1]).to(dtype)
    with pytest.raises(RuntimeError, match=rf"{name}: expected a target of probabilities, .*32, got {dtype}") as raised:
        getattr(minigrad.nn.functional, name)(minigrad.rand(3), target)
    assert raised.value.remedy == "write target.float()"
