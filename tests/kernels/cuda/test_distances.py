"""Sums of absolute differences on the device, and their gradient."""

import numpy as np
import pytest

from minigrad.kernels.cuda import distances_cuda
from minigrad.kernels.cuda.device_array import to_device

random = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "lead, n, m, d", [((), 3, 4, 2), ((2,), 5, 1, 3), ((2, 2), 1, 33, 1), ((), 2, 3, 0), ((), 0, 3, 2)]
)
def test_distances_and_their_gradient(lead, n, m, d, dtype):
    x, y = [random.integers(-3, 4, (*lead, k, d)).astype(dtype) for k in (n, m)]  # some points coincide
    g = random.integers(-3, 4, (*lead, n, m)).astype(dtype)
    difference = x[..., :, None, :] - y[..., None, :, :]
    there = [to_device(a) for a in (x, y, g)]
    assert np.array_equal(distances_cuda.distances(*there[:2]).to_host(), abs(difference).sum(-1))
    pulls = distances_cuda.pulls(there[2], *there[:2])
    assert pulls.dtype == dtype and np.array_equal(pulls.to_host(), (g[..., None] * np.sign(difference)).sum(-2))
