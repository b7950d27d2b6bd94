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
from ...layers.batching import front
from ..base.families import Bilinear, NonDifferentiable
from ..compare import where
from ..gather import Gather, added_at, take_along_dim


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
        return where_there(places, taken(x, places) * w[:, None]).sum(2)

    dx = lambda g, w, places, shape: WeightedScatter.apply(g, w, places, shape[2])
    dw = lambda g, x, places: GatheredProducts.apply(g, x, places)
    definition = lambda x, w, places: there(places.unsqueeze(1), at_places(x, places) * w.unsqueeze(1)).sum(2)


class WeightedScatter(AtPlaces):
    """out[n, c, places[n, k, p]] += w[n, k, p] * y[n, c, p], over all k and p."""

    @staticmethod
    def impl(y: np.ndarray, w: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
        terms = where_there(places, y[:, :, None] * w[:, None])
        return added_at((*y.shape[:2], size), 2, every_channel(places, y.shape[1]), terms.reshape(*y.shape[:2], -1))

    dy = lambda g, w, places: WeightedGather.apply(g, w, places)
    dw = lambda g, y, places: GatheredProducts.apply(y, g, places)

    @staticmethod
    def definition(y: Tensor, w: Tensor, places: Tensor, size: int) -> Tensor:
        terms = there(places.unsqueeze(1), y.unsqueeze(2) * w.unsqueeze(1)).flatten(2)
        index = places.clamp_min(0).flatten(1).unsqueeze(1).expand(terms.shape)
        return y.new_zeros((*y.shape[:2], size)).scatter_add(2, index, terms)


class GatheredProducts(AtPlaces):
    """out[n, k, p] = sum over c of y[n, c, p] * x[n, c, places[n, k, p]]."""

    @staticmethod
    def impl(y: np.ndarray, x: np.ndarray, places: np.ndarray) -> np.ndarray:
        return where_there(places, taken(x, places) * y[:, :, None]).sum(1)

    dy = lambda g, x, places: WeightedGather.apply(x, g, places)
    dx = lambda g, y, places, shape: WeightedScatter.apply(y, g, places, shape[2])
    definition = lambda y, x, places: there(places, (at_places(x, places) * y.unsqueeze(2)).sum(1))


class CombinedPlaces(NonDifferentiable):
    """Flat places of all combinations of one tap per dimension; the first dimension has the smallest step.

    taps is (n, dimensions, k, points), the result (n, k**dimensions, points), -1 if a tap is outside 0 to size - 1.
    """

    @staticmethod
    def impl(taps: np.ndarray, sizes: tuple) -> np.ndarray:
        found = places_along(taps, sizes, 0)
        for d in range(1, len(sizes)):
            found = (places_along(taps, sizes, d)[:, :, None] + found[:, None]).reshape(len(taps), -1, taps.shape[3])
        return np.maximum(found, -1)

    vmap = AtPlaces.vmap

    @staticmethod
    def definition(taps: Tensor, sizes: tuple) -> Tensor:
        outside = -math.prod(sizes)
        one, *others = [
            where((here >= 0) & (here < size), here, outside).long() for here, size in zip(taps.unbind(1), sizes)
        ]
        for d, other in enumerate(others, 1):
            one = (other.unsqueeze(2) * math.prod(sizes[:d]) + one.unsqueeze(1)).flatten(1, 2)
        return one.clamp_min(-1)


def at_places(x: Tensor, places: Tensor) -> Tensor:
    """Return the elements at the given positions, of shape (n, c, k, points)."""
    return take_along_dim(x.unsqueeze(2), places.clamp_min(0).unsqueeze(1), -1)


def there(places: Tensor, terms: Tensor) -> Tensor:
    """Return terms with zeros where a position is negative."""
    return where(places < 0, 0.0, terms) if bool((places < 0).any()) else terms


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
