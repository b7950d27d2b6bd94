"""torch.nn.grad: a convolution's gradients by themselves, beside PyTorch's; refusals need no PyTorch but its types."""

import numpy as np
import pytest
import torch

import minigrad

CASES = [dict(stride=2, padding=1, dilation=2), dict(stride=(1, 2), padding=(0, 1)), dict(groups=2)]


@pytest.mark.parametrize("options", CASES)
def test_gradients_are_pytorchs_and_have_gradients(options):
    draw = np.random.default_rng(2)
    x, w = draw.normal(size=(2, 4, 6, 7)), draw.normal(size=(6, 4 // options.get("groups", 1), 3, 2))
    found = []
    for m in (minigrad, torch):
        xs, ws = (m.from_numpy(a).requires_grad_() for a in (x, w))
        y = m.nn.functional.conv2d(xs, ws, **options)
        g = m.from_numpy(np.cos(np.arange(y.numel())).reshape(y.shape)).requires_grad_()
        by_input = m.nn.grad.conv2d_input(x.shape, ws, g, **options)
        by_weight = m.nn.grad.conv2d_weight(xs, w.shape, g, **options)
        second = m.autograd.grad(by_input.sin().sum() + by_weight.sin().sum(), (xs, ws, g))
        first = m.autograd.grad(y, (xs, ws), g.detach())
        for mine, engine in zip((by_input, by_weight), first):
            np.testing.assert_allclose(mine.detach().numpy(), engine.numpy(), rtol=1e-9, atol=1e-12)
        found.append([t.detach().numpy() for t in (by_input, by_weight, *second)])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
