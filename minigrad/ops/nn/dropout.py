"""Dropout of elements and of whole channels, and rrelu: the input times random noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.dtypes import F8
from ...core.tensor import Tensor, wrap
from ...errors import error, warn
from ...events import events
from ..base.families import NonDifferentiable
from ..base.registry import op
from ..compare import where
from ..generator import source
from ..random import per_example, uniform
from .activation import leaky_relu
from .entry import functional

LIMIT = -1.7580993408473766  # the negative limit of SELU: -scale * alpha


@functional("T(3, 4), 0.5, False", shown="T(3, 4)")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to zero with probability `p` and divide the others by 1 - p, in training; otherwise do nothing.

    Raises ValueError if p is not a probability.  Source: Srivastava et al., "Dropout", 2014.
    """
    return drop("dropout", input, p, training, inplace)


@functional("T(2, 3, 4), 0.5, False", shown="T(2, 3, 4)")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of (n, c, length) or (c, length).  Raises RuntimeError for other shapes."""
    check_probability("dropout1d", p)
    if input.ndim not in (2, 3):
        what = (
            f"expects an input of 2 or 3 dimensions, (n, c, length) or (c, length), but got shape {tuple(input.shape)}"
        )
        raise error(RuntimeError, "dropout1d", what, "use dropout2d for images, dropout to drop elements")
    return drop("dropout1d", input, p, training, inplace, input.ndim - 1)


@functional("T(2, 3, 4, 2), 0.5, False", shown="T(2, 3, 4, 2)")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of (n, c, height, width).

    The first two dimensions count as n and c in any shape, with a warning; a single image is no exception.
    """
    if input.ndim != 4:
        one = "; a single image (c, height, width) is input.unsqueeze(0)" if input.ndim == 3 else ""
        expect_dimensions("dropout2d", input, f"(n, c, height, width){one}", "the first two dimensions are n and c")
    return drop("dropout2d", input, p, training, inplace, 2)


@functional("T(2, 3, 2, 2, 2), 0.5, False", shown="T(2, 3, 2, 2, 2)")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of (n, c, depth, height, width) or (c, depth, height, width).

    In other shapes the first dimension counts as c, with a warning.
    """
    if input.ndim not in (4, 5):
        shapes = "(n, c, depth, height, width) or (c, depth, height, width)"
        expect_dimensions("dropout3d", input, shapes, "the first dimension is c")
    return drop("dropout3d", input, p, training, inplace, 2 if input.ndim == 5 else 1)


@op("T(2, 3, 4), 0.5, False", method=False, shown="T(2, 3, 4), 0.5, True")
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Drop whole channels of (n, c, ...): in (n, c) every element.  Raises RuntimeError for fewer dimensions.

    >>> import minigrad
    >>> x = minigrad.feature_dropout(minigrad.ones(8, 3, 2), 0.5, train=True)
    >>> bool((x[..., 0] == x[..., 1]).all())
    True
    """
    return drop("feature_dropout", input, p, train, False, 2)


@functional("T(3, 4), training=False", "T(3, 4), 0.1, 0.3", shown="T(3, 4), training=True", node="RreluWithNoise")
def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Apply leaky_relu: in training with a random slope in [`lower`, `upper`] per negative element, else with their mean.

    Raises RuntimeError if `lower` is above `upper`.
    Source: Xu et al., "Empirical evaluation of rectified activations in convolutional network", 2015.
    """
    if lower > upper:
        what = f"lower bound should be less than or equal to the upper bound, but got {lower} and {upper}"
        raise error(RuntimeError, "rrelu", what, "swap them")
    if not training:
        out = leaky_relu(input, (lower + upper) / 2, inplace)
        return out if inplace else out.contiguous()
    generator = source(None, input.device, "rrelu")
    slopes = RandomSlopes.apply(per_example("rrelu", None, input.detach()), lower, upper, generator)
    if type(slopes) is Tensor:
        events.drawn(slopes := wrap(slopes._a.copy()))  # a record shows it as an input, like the noise of dropout
    out = input * slopes
    return input.copy_(out) if inplace else out


class RandomSlopes(NonDifferentiable):
    """The slopes of rrelu: 1 for positive elements; for the others one is drawn, in their order."""

    batch = lambda x, lower, upper, generator: (x, lower, upper, generator)

    @staticmethod
    def impl(x: np.ndarray, lower: float, upper: float, generator: Any) -> np.ndarray:
        slopes, drawn = np.ones_like(x, order="C"), x <= 0
        slopes[drawn] = generator._rng.uniform((int(np.count_nonzero(drawn)),), F8) * (upper - lower) + lower
        return slopes


@functional("T(3, 4), 0.5, False", shown="T(3, 4), 0.5, True")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Drop elements to SELU's negative limit and rescale, which keeps mean 0 and variance 1.

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.
    """
    return drop("alpha_dropout", input, p, training, inplace, None, LIMIT)


@functional("T(2, 3, 4), 0.5, False", shown="T(2, 3, 4), 0.5, True")
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply alpha_dropout to whole channels of (n, c, ...).  Raises RuntimeError for fewer dimensions."""
    return drop("feature_alpha_dropout", input, p, training, inplace, 2, LIMIT)


def drop(
    who: str, input: Tensor, p: float, training: bool, inplace: bool, lead: int | None = None, limit: float = 0.0
) -> Tensor:
    """Replace elements by `limit` with probability p, and rescale so that the mean stays, and for SELU's limit the variance.

    The elements at one place of the first `lead` dimensions (None: all dimensions) are replaced together.
    """
    check_probability(who, p)
    if not training or p == 0 or 0 in input.shape:
        return input
    events.dropped(who)
    if p == 1:
        return input.mul_(0) if inplace else input * 0
    shape = tuple(input.shape)
    if lead is not None:
        if len(shape) < lead or not shape:
            what = f"feature dropout requires at least 2 dimensions in the input, but got shape {shape}"
            raise error(RuntimeError, who, what, f"pass (n, c, ...), or use {'alpha_' if limit else ''}dropout")
        shape = (*shape[:lead], *(1,) * (len(shape) - lead))
    keep = uniform(shape, F8, None, who, input.device, like=input if lead is None else None) < 1 - p
    if limit:
        a = 1 / math.sqrt((1 - p) * (1 + p * limit * limit))
        out = where(keep, input, limit) * a - a * p * limit
        return input.copy_(out) if inplace else out
    noise = keep.to(input.dtype) * (1 / (1 - p))
    return input.mul_(noise) if inplace else input * noise


def expect_dimensions(who: str, input: Tensor, shapes: str, meaning: str) -> None:
    """Warn about an input of another number of dimensions, which PyTorch announces to refuse one day."""
    what = f"expects an input of shape {shapes}, but got {tuple(input.shape)}: {meaning}, and the rest is one channel"
    warn("dropout-dimensions", who, what, "use feature_dropout for other shapes, dropout to drop elements")


def check_probability(who: str, p: float) -> None:
    """Raise ValueError unless 0 <= p <= 1."""
    if not 0 <= p <= 1:
        raise error(ValueError, who, f"dropout probability must be between 0 and 1, but got {p}", "write p=0.5")
