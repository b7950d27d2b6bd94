"""Dropout of elements and of whole channels, and rrelu: the input times random noise."""

from __future__ import annotations

import math

from ...core.tensor import Tensor
from ...errors import error
from ...events import events
from ..compare import where
from ..random import fine, uniform
from .activation import leaky_relu
from .entry import functional


@functional("T(3, 4), 0.5, False", shown="T(3, 4)")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to zero with probability `p` and divide the others by 1 - p, in training; otherwise do nothing.

    Raises ValueError if p is not a probability.  Source: Srivastava et al., "Dropout", 2014.
    """
    return drop("dropout", input, p, training, inplace, tuple(input.shape))


@functional("T(2, 3, 4), 0.5, False", shown="T(2, 3, 4)")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of (n, c, length) or (c, length)."""
    return drop("dropout1d", input, p, training, inplace, (*input.shape[:-1], 1))


@functional("T(2, 3, 4, 2), 0.5, False", shown="T(2, 3, 4, 2)")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of (n, c, height, width) or (c, height, width)."""
    return drop("dropout2d", input, p, training, inplace, (*input.shape[:-2], 1, 1))


@functional("T(2, 3, 2, 2, 2), 0.5, False", shown="T(2, 3, 2, 2, 2)")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of (n, c, depth, height, width) or (c, depth, height, width)."""
    return drop("dropout3d", input, p, training, inplace, (*input.shape[:-3], 1, 1, 1))


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
    noise = uniform(tuple(input.shape), fine(input._np_dtype), None, "rrelu", input.device).to(input.dtype)
    out = input * where(input > 0, 1.0, lower + (upper - lower) * noise).to(input.dtype)
    return input.copy_(out) if inplace else out


@functional("T(3, 4), 0.5, False", shown="T(3, 4), 0.5, True")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Drop elements to SELU's negative limit and rescale, which keeps mean 0 and variance 1.

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.
    """
    return drop_to_limit("alpha_dropout", input, p, training, inplace, tuple(input.shape))


@functional("T(2, 3, 4), 0.5, False", shown="T(2, 3, 4), 0.5, True")
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply alpha_dropout to whole channels of (n, c, ...)."""
    if training and input.ndim < 2:
        raise error(
            RuntimeError,
            "feature_alpha_dropout",
            f"feature dropout requires at least 2 dimensions in the input, but got shape {tuple(input.shape)}",
            "pass (n, c, ...), or use alpha_dropout",
        )
    shape = (*input.shape[:2], *(1,) * (input.ndim - 2))
    return drop_to_limit("feature_alpha_dropout", input, p, training, inplace, shape)


def drop_to_limit(who: str, input: Tensor, p: float, training: bool, inplace: bool, shape: tuple) -> Tensor:
    """Replace the input by SELU's limit with probability p, and rescale; the noise has this `shape`, which broadcasts."""
    check_probability(who, p)
    if not training or p == 0:
        return input
    if p == 1:
        return input.mul_(0.0) if inplace else input * 0.0
    limit = -1.7580993408473766  # -scale * alpha of selu
    a = 1 / math.sqrt((1 - p) * (1 + p * limit * limit))
    keep = uniform(shape, fine(input._np_dtype), None, who, input.device) >= p
    out = where(keep, input, limit) * a - a * p * limit
    return input.copy_(out) if inplace else out


def drop(who: str, input: Tensor, p: float, training: bool, inplace: bool, shape: tuple) -> Tensor:
    """Multiply the input by noise of a shape that broadcasts: 0 with probability p, else 1 / (1 - p)."""
    check_probability(who, p)
    if not training or p == 0:
        return input
    events.dropped(who)
    noise = (uniform(shape, fine(input._np_dtype), None, who, input.device) >= p).to(input.dtype)
    if p < 1:
        noise = noise * (1 / (1 - p))
    return input.mul_(noise) if inplace else input * noise


def check_probability(who: str, p: float) -> None:
    """Raise ValueError unless 0 <= p <= 1."""
    if not 0 <= p <= 1:
        raise error(ValueError, who, f"dropout probability must be between 0 and 1, but got {p}", "write p=0.5")
