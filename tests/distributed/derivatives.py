"""Derivatives of a function that all ranks run together, beside central differences in random directions."""

import minigrad as torch
import minigrad.distributed as dist
from minigrad.autograd import forward_ad

STEP, DIRECTIONS = 1e-6, 3


def agree(f, x):
    """Return True, on all ranks, if forward mode and backward of f agree with central differences.

    f takes this rank's x, in float64, and returns a tensor or several.  In each direction the inputs of all ranks move at
    once; backward is compared through the sum of outputs over all ranks, each times a random number.
    """
    x = x.detach()
    leaf = x.clone().requires_grad_()
    out = flat(f(leaf))
    for _ in range(DIRECTIONS):
        v, u = torch.randn_like(x), torch.randn_like(out)
        central = (flat(f(x + STEP * v)) - flat(f(x - STEP * v))) / (2 * STEP)
        with forward_ad.dual_level():
            pushed = forward_ad.unpack_dual(flat(f(forward_ad.make_dual(x, v))))[1]
        pushed = torch.zeros_like(central) if pushed is None else pushed
        (pulled,) = torch.autograd.grad(out, leaf, u, retain_graph=True)
        found = everywhere((close(pushed, central), (pulled * v).sum(), (u * central).sum()))
        forward, *sums = zip(*found)
        if not all(forward) or not close(*[torch.stack(terms).sum() for terms in sums]):
            return False
    return True


def close(a, b):
    """Return True if tensors agree but for the error of a central difference."""
    return torch.allclose(a, b, rtol=1e-5, atol=1e-6)


def flat(outputs):
    """Return all elements of a tensor, or of several."""
    return torch.cat([o.reshape(-1) for o in (outputs if isinstance(outputs, tuple) else (outputs,))])


def everywhere(mine):
    """Return the objects of all ranks."""
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, mine)
    return found
