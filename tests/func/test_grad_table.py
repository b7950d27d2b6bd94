"""func.grad of every differentiable operation of the table gives the eager gradients: once (gradients are then arrays), and
with a graph for another derivative (gradients are then tensors).
"""

import numpy as np
import pytest

import minigrad as torch
from minigrad.func import grad
from minigrad.ops.base.registry import TABLE
from tests.func.test_vmap_table import call
from tests.table import NAMES

DIFFERENTIABLE = [n for n in NAMES if TABLE[n].differentiable and not TABLE[n].differs]


def weighted(name, sample, given):
    """Return the weighted sum of all differentiable results, with a separate weight for each element."""
    outs = [o for o in call(name, sample, given)[0] if o.is_floating_point()]
    return sum(
        [
            (o * torch.linspace(0.5, 1.5, max(o.numel(), 1), dtype=o.dtype)[: o.numel()].reshape(o.shape)).sum()
            for o in outs
        ]
    )


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_those_of_eager_mode(name):
    for sample in TABLE[name].samples:
        leaves = call(name, sample)[1]
        nums = tuple([i for i, leaf in enumerate(leaves) if leaf.is_floating_point()])
        if not nums:
            continue
        tracked = [leaf.clone().requires_grad_(leaf.is_floating_point()) for leaf in leaves]
        total = weighted(name, sample, tracked)
        if not total.requires_grad:  # matrix_power(x, 0)
            continue
        wanted = torch.autograd.grad(total, [tracked[i] for i in nums], materialize_grads=True)
        for given in (leaves, tracked):  # untracked below the transform, and tracked
            found = grad(lambda *given: weighted(name, sample, given), argnums=nums)(*given)
            for f, w in zip(found, wanted, strict=True):
                assert f.shape == w.shape and f.dtype == w.dtype, f"{name}({sample})"
                same = np.allclose(f.detach().numpy(), w.numpy(), rtol=1e-9, atol=1e-10, equal_nan=True)
                assert same, f"{name}({sample}): {f} is not {w}"
