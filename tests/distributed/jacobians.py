"""The Jacobian of a function that all ranks run together: of all ranks' outputs by all ranks' inputs, in three ways."""

import numpy as np

import minigrad as torch
import minigrad.distributed as dist
from minigrad.autograd import forward_ad

STEP = 1e-6


def jacobians(f, x):
    """Return the Jacobian by central differences, by forward mode and by backward, the same on all ranks.

    f takes this rank's x, in float64, and returns a tensor or several.
    """
    x = x.detach()
    counts = everywhere(x.numel()), everywhere(flat(f(x)).numel())

    def pushed(unit):
        with forward_ad.dual_level():
            out = flat(f(forward_ad.make_dual(x, unit.reshape(x.shape))))
            return forward_ad.unpack_dual(out)[1]

    def difference(unit):
        by = STEP * unit.reshape(x.shape)
        return (flat(f(x + by)) - flat(f(x - by))) / (2 * STEP)

    def pulled(unit):
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(flat(f(leaf)), leaf, unit)[0]

    central, forward = [joined(way, counts[0], counts[1]) for way in (difference, pushed)]
    return central, forward, joined(pulled, counts[1], counts[0]).T


def close(f, x):
    """Return True if forward mode and backward agree with central differences."""
    central, *others = jacobians(f, x)
    return all(np.allclose(found, central, rtol=1e-3, atol=1e-5) for found in others)


def joined(way, rows, columns):
    """Return a row for each element of each rank: what all ranks get where it is 1 and all others are 0."""
    me, found = dist.get_rank(), []
    for rank, count in enumerate(rows):
        for i in range(count):
            unit = torch.zeros(rows[me], dtype=torch.float64)
            unit[i if rank == me else slice(0)] = 1
            row = way(unit)
            found.append(np.zeros(columns[me]) if row is None else row.detach().reshape(-1).numpy())
    return np.concatenate(everywhere(np.reshape(found, (sum(rows), columns[me]))), axis=1)


def flat(outputs):
    """Return all elements of a tensor, or of several."""
    return torch.cat([o.reshape(-1) for o in (outputs if isinstance(outputs, tuple) else (outputs,))])


def everywhere(mine):
    """Return the objects of all ranks."""
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, mine)
    return found
