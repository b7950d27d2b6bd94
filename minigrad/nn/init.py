"""Initial values of parameters.  Each function fills a tensor in place, outside the graph, and returns it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..core.tensor import Tensor, wrap
from ..diagnose.missing_names import absent
from ..errors import error
from ..ops.compare import where
from ..ops.create import empty_like
from ..ops.random import Generator

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that makes up for the shrinking effect of a nonlinearity; multiply initial weights by it.

    >>> import minigrad
    >>> minigrad.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    gains = {
        "tanh": 5 / 3,
        "relu": math.sqrt(2),
        "selu": 3 / 4,
        "leaky_relu": math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2)),
    }
    ones = "linear sigmoid conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split()
    if nonlinearity not in gains and nonlinearity not in ones:
        what = f"unsupported nonlinearity {nonlinearity}"
        raise error(ValueError, "calculate_gain", what, f"use one of {', '.join((*gains, *ones))}")
    return gains.get(nonlinearity, 1.0)


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers drawn uniformly from [a, b).

    >>> import minigrad
    >>> bool((minigrad.nn.init.uniform_(minigrad.empty(100)) >= 0).all())
    True
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from a normal distribution.

    >>> import minigrad
    >>> minigrad.nn.init.normal_(minigrad.empty(2, 3)).shape
    minigrad.Size([2, 3])
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with numbers from a normal distribution cut off outside [a, b]: those outside are drawn anew.

    Where few would be inside, uniform numbers are kept with a probability that is proportional to the density.

    >>> import minigrad
    >>> bool(minigrad.nn.init.trunc_normal_(minigrad.empty(1000), a=-1, b=1).abs().max() <= 1)
    True
    """
    low, high = [math.erf((end - mean) / std / math.sqrt(2)) / 2 for end in (a, b)]
    fill = ("normal_", mean, std) if high - low > 0.3 else ("uniform_", a, b)
    drawn = lambda name, *numbers: getattr(empty_like(tensor), name)(*numbers, generator=generator)
    peak = (max(a, min(mean, b)) - mean) / std

    def rejected(x: Tensor) -> Tensor:
        """Return where to draw again."""
        if high - low > 0.3:
            return (x < a) | (x > b)
        return drawn("uniform_").log() > (peak**2 - ((x - mean) / std) ** 2) / 2

    found = drawn(*fill)
    pending = rejected(found)
    while pending.any():
        again = drawn(*fill)
        found, pending = where(pending, again, found), pending & rejected(again)
    return tensor.copy_(found)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value.

    >>> import minigrad
    >>> minigrad.nn.init.constant_(minigrad.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    >>> import minigrad
    >>> minigrad.nn.init.ones_(minigrad.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    >>> import minigrad
    >>> minigrad.nn.init.zeros_(minigrad.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix.

    >>> import minigrad
    >>> minigrad.nn.init.eye_(minigrad.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndim != 2:
        what = f"only tensors with 2 dimensions are supported, got {tensor.ndim}"
        raise error(ValueError, "eye_", what, "pass a matrix, such as the weight of an nn.Linear")
    return tensor.copy_(wrap(np.eye(tensor.shape[0], tensor.shape[1])))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it returns its input, as far as there are channels, in each group.

    Raises ValueError unless the weight has 3 to 5 dimensions, and `groups` divides the first.

    >>> import minigrad
    >>> minigrad.nn.init.dirac_(minigrad.empty(2, 2, 3))
    tensor([[[0., 1., 0.],
             [0., 0., 0.]],
    <BLANKLINE>
            [[0., 0., 0.],
             [0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        what = f"only tensors with 3, 4, or 5 dimensions are supported, got {tensor.ndim}"
        raise error(ValueError, "dirac_", what, "pass the weight of a convolution")
    if tensor.shape[0] % groups:
        what = f"dim 0, of size {tensor.shape[0]}, must be divisible by groups={groups}"
        raise error(ValueError, "dirac_", what, "pass the groups of the convolution")
    n, middle = tensor.shape[0] // groups, [size // 2 for size in tensor.shape[2:]]
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(n, tensor.shape[1])):
            tensor[group * n + channel, channel, *middle] = 1
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw uniformly with variance `gain**2 * 2 / (fan_in + fan_out)`.

    Source: Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.

    >>> import minigrad
    >>> bool(minigrad.nn.init.xavier_uniform_(minigrad.empty(3, 3)).abs().max() <= 1)
    True
    """
    bound = gain * math.sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Draw from a normal distribution with variance `gain**2 * 2 / (fan_in + fan_out)`.

    >>> import minigrad
    >>> float(minigrad.nn.init.xavier_normal_(minigrad.empty(100, 100)).std().round(decimals=2))
    0.10000000149011612
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(fans(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Draw uniformly with variance `gain**2 / fan`; `a` is the negative slope of leaky_relu.

    Source: He et al., "Delving deep into rectifiers", 2015.

    >>> import minigrad
    >>> weight = minigrad.nn.init.kaiming_uniform_(minigrad.empty(400, 6))
    >>> bool(weight.abs().max() <= 1)
    True
    """
    bound = math.sqrt(3) * kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Draw from a normal distribution with variance `gain**2 / fan`; `a` is the negative slope of leaky_relu.

    >>> import minigrad
    >>> float(minigrad.nn.init.kaiming_normal_(minigrad.empty(400, 100)).std().round(decimals=2))
    0.14000000059604645
    """
    return normal_(tensor, 0.0, kaiming_std(tensor, a, mode, nonlinearity), generator)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a random (semi-)orthogonal matrix: the first dimension gives its rows, the others its columns.

    Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", 2013.

    >>> import minigrad
    >>> q = minigrad.nn.init.orthogonal_(minigrad.empty(2, 2))
    >>> minigrad.allclose(q @ q.T, minigrad.eye(2), atol=1e-6)
    True
    """
    if tensor.ndim < 2:
        what = f"only tensors with 2 or more dimensions are supported, got {tensor.ndim}"
        fix = "pass a weight of at least 2 dimensions; use nn.init.zeros_(bias) for a bias"
        raise error(ValueError, "orthogonal_", what, fix)
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    a = tensor.new_empty((rows, tensor.numel() // rows)).normal_(generator=generator).numpy()
    q, r = np.linalg.qr(a.T if rows < a.shape[1] else a)
    q = q * np.where(np.diag(r) < 0, -1, 1)
    return tensor.copy_(wrap((q.T if rows < a.shape[1] else q).reshape(tuple(tensor.shape)) * gain))


def reset_(weight: Tensor, bias: Tensor | None) -> None:
    """Draw PyTorch's default for linear and convolution layers: uniform up to 1 / sqrt(fan_in)."""
    kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        reset_all_([bias], fans(weight)[0])


def reset_all_(parameters: Iterable[Tensor], fan_in: int) -> None:
    """Draw uniformly up to 1 / sqrt(fan_in), PyTorch's default for recurrent and bilinear layers."""
    bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
    for p in parameters:
        uniform_(p, -bound, bound)


def fans(tensor: Tensor) -> tuple[int, int]:
    """Return (fan_in, fan_out), the number of inputs and of outputs that each element of a weight connects."""
    if tensor.ndim < 2:
        what = f"fan in and fan out cannot be computed for a tensor of shape {tuple(tensor.shape)}"
        raise error(ValueError, "init", what, "use a weight of at least 2 dimensions")
    kernel = math.prod(tensor.shape[2:])
    return tensor.shape[1] * kernel, tensor.shape[0] * kernel


def kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """Return gain / sqrt(fan)."""
    if mode not in ("fan_in", "fan_out"):
        raise error(ValueError, "init", f"mode {mode} is not supported", "use 'fan_in' or 'fan_out'")
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


OLDER = (
    "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal uniform xavier_normal xavier_uniform".split()
)


def __getattr__(name: str) -> Any:
    """Return the function of a name without the underscore, which PyTorch still has; raise an error for other names."""
    if name in OLDER:
        return globals()[f"{name}_"]
    raise absent(AttributeError, f"{__name__}.{name}")
