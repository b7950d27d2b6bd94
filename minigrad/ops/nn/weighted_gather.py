"""Weighted sums of elements at given places: the core of resampling an image, once places and weights are known.

CombinedPlaces computes the places.  The other three operations, each linear in both of its tensors, are each other's
gradients, so derivatives of every order are these three again.  x is (n, c, size); places and w are (n, k, points), the
same for all channels; a negative place counts as zero.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...kernels.cpu import weighted_places_cpu as kernels
from ...layers.batching import front
from ..base.families import Bilinear, NonDifferentiable
from ..gather import Gather, added_at


class AtPlaces(Bilinear):
    """Base class of the three: a batch of examples is more examples."""

    integers = ("places",)

    def vmap(info: Any, in_dims: tuple, *args: Any) -> tuple:
        """Merge the batch dimension with the examples."""
        merged = [
            t.flatten(0, 1) if isinstance(t := front(a, d, info.batch_size), Tensor) else t
            for a, d in zip(args, in_dims)
        ]
        out = info.function.apply(*merged)
        return out.unflatten(0, (info.batch_size, -1)), 0


class WeightedGather(AtPlaces):
    """out[n, c, p] = sum over k of w[n, k, p] * x[n, c, places[n, k, p]]."""

    @staticmethod
    def impl(x: np.ndarray, w: np.ndarray, places: np.ndarray) -> np.ndarray:
        if (found := kernels.gather(x, w, places)) is not None:
            return found
        return where_there(places, taken(x, places) * w[:, None]).sum(2)

    dx = lambda g, w, places, shape: WeightedScatter.apply(g, w, places, shape[2])
    dw = lambda g, x, places: GatheredProducts.apply(g, x, places)


class WeightedScatter(AtPlaces):
    """out[n, c, places[n, k, p]] += w[n, k, p] * y[n, c, p], over all k and p."""

    @staticmethod
    def impl(y: np.ndarray, w: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
        if (found := kernels.scatter(y, w, places, size)) is not None:
            return found
        terms = where_there(places, y[:, :, None] * w[:, None])
        return added_at((*y.shape[:2], size), 2, every_channel(places, y.shape[1]), terms.reshape(*y.shape[:2], -1))

    dy = lambda g, w, places: WeightedGather.apply(g, w, places)
    dw = lambda g, y, places: GatheredProducts.apply(y, g, places)


class GatheredProducts(AtPlaces):
    """out[n, k, p] = sum over c of y[n, c, p] * x[n, c, places[n, k, p]]."""

    @staticmethod
    def impl(y: np.ndarray, x: np.ndarray, places: np.ndarray) -> np.ndarray:
        if (found := kernels.products(y, x, places)) is not None:
            return found
        return where_there(places, taken(x, places) * y[:, :, None]).sum(1)

    dy = lambda g, x, places: WeightedGather.apply(x, g, places)
    dx = lambda g, y, places, shape: WeightedScatter.apply(y, g, places, shape[2])


class CombinedPlaces(NonDifferentiable):
    """Flat places of all combinations of one tap per dimension; the first dimension has the smallest step.

    taps is (n, dimensions, k, points), the result (n, k**dimensions, points), -1 if a tap is outside 0 to size - 1.
    """

    @staticmethod
    def impl(taps: np.ndarray, sizes: tuple) -> np.ndarray:
        if (found := kernels.combined(taps, sizes)) is not None:
            return found
        found = places_along(taps, sizes, 0)
        for d in range(1, len(sizes)):
            found = (places_along(taps, sizes, d)[:, :, None] + found[:, None]).reshape(len(taps), -1, taps.shape[3])
        return np.maximum(found, -1)

    vmap = AtPlaces.vmap


def places_along(taps: np.ndarray, sizes: tuple, d: int) -> np.ndarray:
    """Return the contribution of a dimension's taps to flat places; outside, one so low that every sum with it is negative."""
    there = (taps[:, d] >= 0) & (taps[:, d] < sizes[d])
    return np.where(there, taps[:, d], -math.prod(sizes)).astype(np.int64) * math.prod(sizes[:d])


def every_channel(places: np.ndarray, c: int) -> np.ndarray:
    """Return places as an index for each of c channels, (n, c, k * points)."""
    return np.repeat(np.maximum(places, 0).reshape(len(places), 1, -1), c, 1)


def taken(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the elements at the places, (n, c, k, points); negative places give the first element."""
    return Gather.impl(x, 2, every_channel(places, x.shape[1])).reshape(*x.shape[:2], *places.shape[1:])


def where_there(places: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return terms, (n, c, k, points), with zeros at negative places."""
    return np.where(places[:, None] < 0, terms.dtype.type(0), terms)
