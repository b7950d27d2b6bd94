"""Formulas of pointwise operations run one layer below vmap as a whole; what took no part in the batch stays without it."""

import numpy as np

import minigrad as torch


def test_a_gradient_without_batched_operands_is_unbatched():
    xs, y, g = torch.randn(4, 3), torch.randn(3), torch.randn(3)

    def both(x):
        _, pull = torch.func.vjp(lambda x, y: x * y, x, y)
        return pull(g)  # g * y is the same for all, g * x is not

    dx, dy = torch.vmap(both)(xs)
    np.testing.assert_allclose(dx.numpy(), (g * y).expand(4, 3).numpy())
    np.testing.assert_allclose(dy.numpy(), (g * xs).numpy())


def test_a_tangent_without_batched_operands_is_unbatched():
    xs, y, t = torch.randn(4, 3), torch.randn(3), torch.randn(3)
    _, tangent = torch.vmap(lambda x: torch.func.jvp(lambda x: x * y, (x,), (t,)))(xs)
    np.testing.assert_allclose(tangent.numpy(), (t * y).expand(4, 3).numpy())


def test_numbers_of_dimensions_are_aligned_behind_the_batch_dimension():
    xs, ys = torch.randn(4), torch.randn(4, 2, 3)
    dx, dy = torch.vmap(torch.func.grad(lambda x, y: (x * y.sin()).sum(), argnums=(0, 1)))(xs, ys)
    np.testing.assert_allclose(dx.numpy(), ys.sin().sum((1, 2)).numpy(), rtol=1e-5)
    np.testing.assert_allclose(dy.numpy(), (xs[:, None, None] * ys.cos()).numpy(), rtol=1e-5)
