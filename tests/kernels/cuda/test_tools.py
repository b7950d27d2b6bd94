"""Records, drawings, explanations, gradcheck, anomaly detection and debug mode work on a device."""

import numpy as np
import pytest

import minigrad
import viz
from minigrad.record import record
from tests.functions import custom

F = minigrad.nn.functional


def loss(x, w, y):
    h = F.linear(x, w).relu() * 1
    h.mul_(2)
    return F.cross_entropy(h, y)


def arguments(device):
    x, w = np.random.default_rng(0).standard_normal((2, 4, 4)).astype("f4")
    tensors = [minigrad.tensor(x), minigrad.tensor(w), minigrad.tensor([0, 3, 1, 2])]
    x, w, y = [t.to(device) for t in tensors]
    return x, w.requires_grad_(), y


def numbers(document):
    """Return the values of a record, by their order."""
    return [v["summary"].get("values") for v in document["values"]]


def test_a_record_has_the_numbers_of_the_device():
    here, there = [record(loss, *arguments(device)).to_dict() for device in ("cpu", "cuda")]
    assert [(op["phase"], op["name"]) for op in here["ops"]] == [(op["phase"], op["name"]) for op in there["ops"]]
    for a, b in zip(numbers(here), numbers(there), strict=True):
        np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), 1e-5, 1e-6)


def test_a_program_is_drawn_and_explained():
    x, w, y = arguments("cuda")
    assert "cross_entropy" in viz.draw(loss, x, w, y).svg()
    derived = str(minigrad.explain(lambda x, w: F.linear(x, w).sin().sum(), x, w, of="w"))
    assert "cos(" in derived and "3 steps" in derived


def test_gradients_are_checked_on_the_device():
    x = minigrad.rand(3, dtype=minigrad.float64, device="cuda", requires_grad=True)
    assert minigrad.autograd.gradcheck(lambda x: (x.sin() * x).sum(), (x,), check_forward_ad=True)
    assert minigrad.autograd.gradgradcheck(lambda x: x.exp(), (x,))


def test_anomalies_and_debug_mode_look_at_the_device():
    x = minigrad.zeros(3, device="cuda", requires_grad=True)
    with minigrad.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="SqrtBackward0"):
        (x.sqrt() * 0).sum().backward()
    with minigrad.debug():
        loss(*arguments("cuda")).backward()


class Split(minigrad.autograd.Function):
    """Two results, of which a program may use one: the other's gradient is zeros."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x, x + 1

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        assert g.is_cuda and h.is_cuda
        return 2 * x * g + h


# A backward that gives None: what is behind it gets zeros.
Nothing = custom("Nothing", forward=lambda ctx, x: x * 1, backward=lambda ctx, g: None)


def test_gradients_of_nothing_are_on_the_device():
    x = minigrad.ones(2, device="cuda", requires_grad=True)
    Split.apply(x)[0].sum().backward()
    assert x.grad.tolist() == [2, 2]
    Nothing.apply(Split.apply(x)[0]).sum().backward()
    assert x.grad.is_cuda and x.grad.tolist() == [2, 2]
