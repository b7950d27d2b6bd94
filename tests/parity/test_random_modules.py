"""Modules with random slopes and channels beyond their samples: bounds, whole channels, refusals."""

import numpy as np
import pytest
import torch

import minigrad

LIBRARIES = torch, minigrad


def data(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def test_slopes_are_random_within_their_bounds_where_elements_are_negative():
    x = minigrad.tensor(data(1000)).requires_grad_()
    out = minigrad.nn.RReLU(0.2, 0.4)(x)
    (slopes,) = minigrad.autograd.grad(out.sum(), x)
    negative = slopes[x < 0]
    assert (
        (slopes[x > 0] == 1).all() and negative.min() >= 0.2 and negative.max() <= 0.4 and len(negative.unique()) > 100
    )
    assert minigrad.allclose(out, slopes * x) and abs(negative.mean().item() - 0.3) < 0.02


def test_whole_channels_are_dropped():
    out = minigrad.nn.FeatureAlphaDropout(0.5)(minigrad.ones(50, 20, 3, 2)).flatten(2)
    assert (out == out[..., :1]).all() and 0.4 < (out[..., 0] < 0).float().mean().item() < 0.6


CALLS = {
    "F.channel_shuffle(ones(1, 3, 2), 2)": "that are divisible by groups = 2",
    "F.rrelu(ones(3), 0.5, 0.1)": "lower bound should be less than or equal to the upper bound, but got 0.5 and 0.1",
    "F.feature_alpha_dropout(ones(3), 0.5, True)": "requires at least 2 dimensions in the input",
}


@pytest.mark.parametrize("call", CALLS)
def test_refusals(call):
    kinds = []
    for lib in LIBRARIES:
        given = {"F": lib.nn.functional, "ones": lib.ones, "index": lambda n, lib=lib: lib.zeros(n, dtype=lib.int64)}
        with pytest.raises(Exception) as e:
            eval(call, given)
        kinds.append(type(e.value))
    assert issubclass(kinds[1], kinds[0])
    with pytest.raises(Exception, match=CALLS[call]):
        eval(call, given)
