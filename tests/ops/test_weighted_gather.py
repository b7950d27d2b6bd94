"""Weighted sums at places, beside their definition term by term."""

import numpy as np
import pytest

import minigrad
from minigrad.ops.nn.weighted_gather import CombinedPlaces, GatheredProducts, WeightedGather, WeightedScatter
from tests.floats import some

SIZES = [
    (2, 3, 7, 4, 5),
    (1, 1, 1, 1, 1),
    (3, 2, 30, 2, 11),
    (1, 5, 6, 3, 0),
]  # examples, channels, elements, sums, points


def given(sizes, dtype=np.float64):
    n, c, size, k, points = sizes
    rng = np.random.default_rng(0)
    x, w, g = (rng.standard_normal(s).astype(dtype) for s in [(n, c, size), (n, k, points), (n, c, points)])
    return x, w, g, rng.integers(-1, size, (n, k, points))


def by_definition(x, w, g, places):
    """Return the sums, and their gradients with respect to x and w for the incoming gradient g, term by term."""
    out, dx, dw = np.zeros_like(g), np.zeros_like(x), np.zeros_like(w)
    for n, k, p in np.ndindex(places.shape):
        if (s := places[n, k, p]) >= 0:
            out[n, :, p] += w[n, k, p] * x[n, :, s]
            dx[n, :, s] += w[n, k, p] * g[n, :, p]
            dw[n, k, p] = g[n, :, p] @ x[n, :, s]
    return out, dx, dw


def computed(x, w, g, places):
    return (
        WeightedGather.impl(x, w, places),
        WeightedScatter.impl(g, w, places, x.shape[2]),
        GatheredProducts.impl(g, x, places),
    )


def same(found, expected, dtype=np.float64):
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", some([np.float64, np.float32]))
@pytest.mark.parametrize("sizes", SIZES)
def test_sums_and_gradients_are_those_of_the_definition(sizes, dtype):
    x, w, g, places = given(sizes, dtype)
    same(computed(x, w, g, places), by_definition(x, w, g, places), dtype)


def test_what_a_place_does_not_look_at_does_not_spoil_its_sum():
    x, w, y = np.array([[[np.nan, 2.0]]]), np.array([[[3.0], [np.inf]]]), np.array([[[5.0]]])
    places = np.array([[[1], [-1]]])
    assert WeightedGather.impl(x, w, places).tolist() == [[[6.0]]]
    assert WeightedScatter.impl(y, w, places, 2).tolist() == [[[0.0, 15.0]]]
    assert GatheredProducts.impl(y, x, places).tolist() == [[[10.0], [0.0]]]


def test_each_is_the_gradient_of_the_others():
    x, w, g, places = (minigrad.from_numpy(a) for a in given((2, 3, 5, 2, 4)))
    for f, args in (
        (lambda x, w: WeightedGather.apply(x, w, places), (x, w)),
        (lambda g, w: WeightedScatter.apply(g, w, places, 5), (g, w)),
        (lambda g, x: GatheredProducts.apply(g, x, places), (g, x)),
    ):
        args = tuple(a.requires_grad_() for a in args)
        assert minigrad.autograd.gradcheck(f, args, check_forward_ad=True, check_batched_grad=True)
        assert minigrad.autograd.gradgradcheck(f, args)


@pytest.mark.parametrize("sizes", [(3, 4), (5, 2, 4)])
def test_places_of_taps_are_those_of_each_combination(sizes):
    taps = np.random.default_rng(0).integers(-1, 5, (2, len(sizes), 3, 7)).astype(np.float32)
    taps[0, 0, 0, 0] = np.nan
    found = CombinedPlaces.impl(taps, sizes).reshape(2, *(3,) * len(sizes), 7)
    for n, *combination, p in np.ndindex(found.shape):
        at = [taps[n, d, k, p] for d, k in enumerate(reversed(combination))]
        there = all(0 <= a < size for a, size in zip(at, sizes))
        expected = sum(int(a) * int(np.prod(sizes[:d])) for d, a in enumerate(at)) if there else -1
        assert found[n, *combination, p] == expected
