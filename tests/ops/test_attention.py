"""Attention and gumbel_softmax: closed forms, masks, distributions."""

import numpy as np

import minigrad
from minigrad.nn import functional as F
from tests.ops.gradients import normal as random


def test_equal_scores_give_the_mean_of_the_values():
    v = random(2, 5, 3)
    out = F.scaled_dot_product_attention(minigrad.zeros(2, 4, 6, dtype=minigrad.float64), random(2, 5, 6), v)
    assert np.allclose(out.numpy(), np.broadcast_to(v.numpy().mean(1, keepdims=True), (2, 4, 3)))


def test_causal_attention_ignores_later_positions():
    q, k, v = (random(4, 3, seed=s) for s in range(3))
    v = v.requires_grad_()
    F.scaled_dot_product_attention(q, k, v, is_causal=True)[1].sum().backward()
    assert v.grad.numpy()[:2].all() and not v.grad.numpy()[2:].any()


def test_boolean_mask_is_one_that_adds_minus_infinity():
    q, k, v = (random(2, 4, 3, seed=s) for s in range(3))
    mask = minigrad.tensor(np.tri(4, dtype=bool))
    added = minigrad.zeros(4, 4, dtype=minigrad.float64).masked_fill(~mask, -np.inf)
    pair = [F.scaled_dot_product_attention(q, k, v, m).numpy() for m in (mask, added)]
    assert np.allclose(*pair)


def test_a_fully_masked_position_gets_zeros_and_finite_gradients():
    q, k, v = (random(2, 3, seed=s).requires_grad_() for s in range(3))
    out = F.scaled_dot_product_attention(q, k, v, minigrad.tensor([[False, False], [True, True]]))
    out.sum().backward()
    assert not out.detach().numpy()[0].any()
    assert all(np.isfinite(t.grad.numpy()).all() for t in (q, k, v))


def test_query_heads_share_keys():
    q, k, v = random(1, 4, 3, 2), random(1, 2, 3, 2, seed=1), random(1, 2, 3, 2, seed=2)
    shared = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    alone = F.scaled_dot_product_attention(q[:, 3:], k[:, 1:], v[:, 1:])
    assert np.allclose(shared.numpy()[:, 3:], alone.numpy())


def test_gumbel_draws_classes_with_the_probabilities_of_softmax():
    minigrad.manual_seed(0)
    p = np.array([0.2, 0.5, 0.3])
    draws = F.gumbel_softmax(minigrad.tensor(np.log(p)).expand(20000, 3), hard=True)
    assert np.allclose(draws.numpy().mean(0), p, atol=0.02)
    assert set(np.unique(draws.numpy().round(6))) == {0.0, 1.0}


def test_hard_gumbel_softmax_has_the_soft_gradient():
    logits = random(4, 3).requires_grad_()
    minigrad.manual_seed(1)
    soft = F.gumbel_softmax(logits, tau=0.5)
    minigrad.manual_seed(1)
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    weight = random(4, 3, seed=2)
    gradients = [minigrad.autograd.grad((y * weight).sum(), logits)[0].numpy() for y in (soft, hard)]
    assert np.allclose(*gradients) and gradients[0].any()
