"""CTC loss is minus the logarithm of the summed probabilities of all ways to read the labels."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad.nn import functional as F
from tests.ops.gradients import normal as scores


def read(way, blank):
    """Return the labels of a way: repeated ones once, blanks not at all."""
    return tuple(k for t, k in enumerate(way) if k != blank and (t == 0 or way[t - 1] != k))


def by_hand(probabilities, labels, blank):
    """Return the probability of all ways."""
    steps, classes = probabilities.shape
    ways = [way for way in product(range(classes), repeat=steps) if read(way, blank) == tuple(labels)]
    return sum(np.prod([probabilities[t, k] for t, k in enumerate(way)]) for way in ways)


@settings(deadline=None, max_examples=60)
@given(st.data(), st.integers(1, 5), st.integers(0, 2))
def test_the_loss_sums_over_all_alignments(data, steps, blank):
    labels = st.lists(st.sampled_from([k for k in range(3) if k != blank]), max_size=3)
    batch = data.draw(st.lists(labels, min_size=1, max_size=3))
    times = [data.draw(st.integers(0, steps)) for _ in batch]
    x = scores(steps, len(batch), 3).log_softmax(-1)
    flat = minigrad.tensor([k for row in batch for k in row], dtype=minigrad.int64)
    loss = F.ctc_loss(x, flat, times, [len(row) for row in batch], blank, "none")
    for n, (row, t) in enumerate(zip(batch, times)):
        wanted = by_hand(x[:t, n].exp().numpy(), row, blank)
        assert np.allclose(np.exp(-loss[n].item()), wanted, rtol=1e-9, atol=0)


def test_padded_and_concatenated_targets_and_one_example_are_the_same():
    x = scores(6, 2, 4).log_softmax(-1)
    rows, flat = minigrad.tensor([[1, 2, 3], [2, -1, 99]]), minigrad.tensor([1, 2, 3, 2])
    apart = [
        F.ctc_loss(x[:t, n], rows[n, :s], (t,), (s,), reduction="none") for n, (t, s) in enumerate([(6, 3), (5, 1)])
    ]
    for targets in (rows, flat):
        found = F.ctc_loss(x, targets, minigrad.tensor([6, 5]), minigrad.tensor([3, 1]), reduction="none")
        assert minigrad.allclose(found, minigrad.stack(apart))
        assert minigrad.allclose(F.ctc_loss(x, targets, (6, 5), (3, 1)), (apart[0] / 3 + apart[1]) / 2)
        assert minigrad.allclose(F.ctc_loss(x, targets, (6, 5), (3, 1), reduction="sum"), apart[0] + apart[1])


def test_first_and_second_derivatives_equal_finite_differences():
    x = scores(4, 2, 3).log_softmax(-1).requires_grad_()
    f = lambda x: F.ctc_loss(x, minigrad.tensor([[1, 1], [2, 0]]), (4, 3), (2, 1), reduction="none")
    assert minigrad.autograd.gradcheck(f, x) and minigrad.autograd.gradgradcheck(f, x)


def test_an_impossible_alignment_has_an_infinite_or_zero_loss_and_no_gradient():
    x = scores(2, 2, 3).requires_grad_()
    for zero, wanted in ((False, np.inf), (True, 0.0)):
        loss = F.ctc_loss(x.log_softmax(-1), minigrad.tensor([[1, 1], [1, 2]]), (2, 2), (2, 2), 0, "none", zero)
        assert loss[0].item() == wanted and 0 < loss[1].item() < np.inf
        (g,) = minigrad.autograd.grad(loss.sum(), x)
        assert (g[:, 0] == 0).all() and g.isfinite().all() and (g[:, 1] != 0).all()


def test_classes_that_cannot_be_are_read_never():
    x = minigrad.tensor([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]).log().requires_grad_()
    loss = F.ctc_loss(x, minigrad.tensor([1]), (2,), (1,))
    loss.backward()
    assert np.isclose(loss.item(), -np.log(0.75)) and x.grad.isfinite().all()


def test_nan_gives_nan():
    assert F.ctc_loss(minigrad.full((3, 1, 3), float("nan")), minigrad.tensor([[1]]), (3,), (1,)).isnan()


def test_vmap_and_jvp():
    x, labels = (
        scores(3, 5, 2, 4).log_softmax(-1),
        minigrad.tensor([[[1, 2], [3, 3]], [[2, 1], [1, 1]], [[3, 2], [2, 2]]]),
    )
    f = lambda x, y: F.ctc_loss(x, y, (5, 4), (2, 1))
    assert minigrad.allclose(minigrad.vmap(f)(x, labels), minigrad.stack([f(*each) for each in zip(x, labels)]))
    t = scores(5, 2, 4, seed=1)
    _, tangent = minigrad.func.jvp(lambda x: f(x, labels[0]), (x[0],), (t,))
    (g,) = minigrad.func.vjp(lambda x: f(x, labels[0]), x[0])[1](minigrad.ones((), dtype=minigrad.float64))
    assert minigrad.allclose(tangent, (g * t).sum())


@pytest.mark.parametrize("kind", [minigrad.float32, minigrad.float64])
def test_a_network_learns_to_read(kind):
    minigrad.manual_seed(0)
    x, labels = minigrad.randn(12, 4, 6, dtype=kind), minigrad.randint(1, 5, (4, 4))
    net = minigrad.nn.Sequential(minigrad.nn.Linear(6, 32), minigrad.nn.Tanh(), minigrad.nn.Linear(32, 5)).to(kind)
    optimizer, loss = minigrad.optim.Adam(net.parameters(), lr=0.05), minigrad.nn.CTCLoss()
    for _ in range(150):
        optimizer.zero_grad()
        value = loss(net(x).log_softmax(-1), labels, (12,) * 4, (4,) * 4)
        value.backward()
        optimizer.step()
    best = net(x).argmax(-1)
    assert [read(best[:, n].tolist(), 0) for n in range(4)] == [tuple(row) for row in labels.tolist()]
