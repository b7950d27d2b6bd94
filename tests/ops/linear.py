"""The tests of linear algebra share these helpers: arrays in several layouts, leaves, matrices of a kind."""

import numpy as np
from hypothesis import strategies as st

import minigrad


@st.composite
def arrays(draw, shape):
    """Return a float64 array of a shape: in order, transposed in memory, or every second element."""
    values = np.random.default_rng(draw(st.integers(0, 9))).uniform(-2, 2, shape)
    kind = draw(st.sampled_from(["plain", "transposed", "sliced"]))
    if kind == "transposed":
        return np.asfortranarray(values)
    return np.repeat(values, 2, axis=-1)[..., ::2] if kind == "sliced" else values


def tensor(array):
    """Return a tensor on exactly this memory, whatever its layout."""
    return minigrad.from_numpy(array)


def leaf(array):
    """Return a tensor to differentiate by."""
    return tensor(array).requires_grad_()


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def symmetric(*shape, seed=0):
    a = random(*shape, seed=seed)
    return a + np.swapaxes(a, -1, -2)


def positive(*shape, seed=0):
    a = random(*shape, seed=seed)
    return a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])
