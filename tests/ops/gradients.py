"""Gradients of functions of one array, and arrays for them."""

import numpy as np
from hypothesis import strategies as st

import minigrad as torch


def leaf(data, dtype=torch.float64):
    return torch.tensor(data, dtype=dtype, requires_grad=True)


def normal(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape))


def gradient(f, data, cotangent=None):
    """Return the gradient at data of the sum of f, or of its product with a cotangent, as a list."""
    x = leaf(data)
    y = f(x)
    y.backward(torch.ones_like(y) if cotangent is None else torch.tensor(cotangent, dtype=torch.float64))
    return x.grad.tolist()


@st.composite
def rows(draw, low=-4, high=5, longest=5):
    """(an array of integers from low to below high, one of its dimensions, keepdim)"""
    shape = draw(st.lists(st.integers(1, longest), min_size=1, max_size=3))
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(low, high, shape).astype(np.float64)
    return values, draw(st.integers(-len(shape), len(shape) - 1)), draw(st.booleans())
