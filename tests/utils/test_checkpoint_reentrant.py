"""The older form of checkpoint, use_reentrant=True: backward alone, first derivatives alone."""

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.utils.checkpoint import checkpoint, checkpoint_sequential

from .checkpoints import close, leaf


def test_the_older_form_reaches_parameters_inside():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    net(leaf(5, 3)).sum().backward()
    expected = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    checkpoint_sequential(net, 2, leaf(5, 3), use_reentrant=True).sum().backward()
    close([p.grad for p in net.parameters()], expected)


@pytest.mark.parametrize("call", [lambda y, x: torch.autograd.grad(y, x), lambda y, x: y.backward(inputs=[x])])
def test_the_older_form_works_with_backward_alone(call):
    x = leaf(3)
    y = checkpoint(torch.exp, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="does not work with grad\\(\\)(?s:.*)write use_reentrant=False"):
        call(y, x)


def test_the_older_form_has_no_second_derivative():
    x = leaf(3)
    checkpoint(torch.exp, x, use_reentrant=True).sum().backward(create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable|twice"):
        torch.autograd.grad(x.grad.sum(), x)


def test_the_older_form_needs_an_output_with_a_gradient():
    y = checkpoint(lambda x: x.detach(), leaf(3), use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of the outputs requires grad"):
        y.sum().backward()


def test_the_older_form_takes_and_gives_several():
    x, w = leaf(3), leaf(3)
    a, b = checkpoint(lambda x, k, w: (x * w * k, x.exp()), x, 2, w, use_reentrant=True)
    (a * b).sum().backward()
    found = x.grad, w.grad
    x.grad = w.grad = None
    (x * w * 2 * x.exp()).sum().backward()
    close(found, (x.grad, w.grad))
