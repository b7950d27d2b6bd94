"""The softmax family: softmax, log_softmax, logsumexp.  Each subtracts the maximum first, so that nothing overflows.

The Jacobians of softmax and log_softmax follow from the result alone, the only saved tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import dtypes
from ...core.tensor import Tensor
from ...errors import error, warn
from ...kernels import row_kernels
from ..base.families import Operation, Reduce
from ..base.layouts import row_major
from ..base.registry import op
from ..dimensions import axes, axis, single
from ..elementary import exp
from ..reduce import Sum, add_up
from .entry import functional


class Softmax(Operation):
    """exp(x) / sum(exp(x)).  The Jacobian diag(out) - out out' is symmetric, so jvp and vjp are one formula."""

    call = lambda dims: (
        f"softmax(x, {single(dims or 0)})" if len(dims) < 2 else "exp(x - x.logsumexp(dims, keepdim=True))"
    )
    layout, gives = row_major, (row_kernels.ALL,)

    @staticmethod
    def impl(x: np.ndarray, dims: tuple) -> np.ndarray:
        if (found := row_kernels.forward(Softmax, x, dims)) is not None:
            return found[0]
        e = np.exp(x - peak(x, dims))
        return e / add_up(e, dims, True)

    @staticmethod
    def program(x: Tensor, dims: tuple) -> Tensor:
        e = (x - x.amax(dims, True)).exp()
        return e / e.sum(dims, True)

    dx = lambda g, out, dims: (g - Sum.apply(g * out, dims, True)) * out
    batch = lambda x, dims: (x, shifted_dims(dims))

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple:
        """Return the same gradient on arrays."""
        (g,), (_, dims, out) = gs, bound
        return row_kernels.backward(Softmax, gs, bound) or ((g - add_up(g * out, dims, True)) * out, None)

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        return cls.formulas[0](tangents[0], outs[0], primals[1])


class LogSoftmax(Operation):
    """x - log(sum(exp(x)))."""

    call = lambda dims: (
        f"log_softmax(x, {single(dims or 0)})" if len(dims) < 2 else "x - x.logsumexp(dims, keepdim=True)"
    )
    layout, gives = row_major, (row_kernels.ALL,)

    @staticmethod
    def impl(x: np.ndarray, dims: tuple) -> np.ndarray:
        if (found := row_kernels.forward(LogSoftmax, x, dims)) is not None:
            return found[0]
        shifted = x - peak(x, dims)
        return shifted - np.log(add_up(np.exp(shifted), dims, True))

    @staticmethod
    def program(x: Tensor, dims: tuple) -> Tensor:
        shifted = x - x.amax(dims, True)
        return shifted - shifted.exp().sum(dims, True).log()

    dx = lambda g, out, dims: g - exp(out) * Sum.apply(g, dims, True)
    batch = lambda x, dims: (x, shifted_dims(dims))

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple:
        """Return the same gradient on arrays."""
        (g,), (_, dims, out) = gs, bound
        return row_kernels.backward(LogSoftmax, gs, bound) or (g - np.exp(out) * add_up(g, dims, True), None)

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        t, dims = tangents[0], primals[1]
        return t - Sum.apply(exp(outs[0]) * t, dims, True)


class Logsumexp(Reduce):
    """log(sum(exp(x))) over dimensions; its gradient is the softmax."""

    gives = (row_kernels.LINE,)

    @staticmethod
    def impl(x: np.ndarray, dims: tuple, keepdim: bool) -> np.ndarray:
        if (found := row_kernels.forward(Logsumexp, x, dims, True)) is not None:
            return found[0] if keepdim else found[0].squeeze(dims)
        top = peak(x, dims)
        top = np.where(np.isfinite(top), top, x.dtype.type(0))
        out = np.log(add_up(np.exp(x - top), dims, True)) + top
        return out if keepdim else np.squeeze(out, dims)

    @staticmethod
    def program(x: Tensor, dims: tuple, keepdim: bool) -> Tensor:
        top = x.amax(dims, True)
        top = top.where(top.isfinite(), 0.0)
        out = (x - top).exp().sum(dims, True).log() + top
        return out if keepdim else out.squeeze(dims)

    dx = lambda x, out: exp(x - out)

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        """Multiply by the softmax: a result rounded to half precision has too few digits for exp(x - out)."""
        x, dims, keepdim = primals
        return Sum.apply(Softmax.apply(x, dims) * tangents[0], dims, keepdim)


def peak(x: np.ndarray, dims: tuple) -> np.ndarray:
    """Return the maxima over dims, with size 1 kept; -inf for empty ones."""
    return np.maximum.reduce(x, axis=dims, keepdims=True, initial=-np.inf)


def shifted_dims(dims: tuple) -> tuple:
    """Return the dimensions after a batch dimension is put in front."""
    return tuple([d + 1 for d in dims])


def implicit(n: int, who: str) -> int:
    """Return PyTorch's default dimension in nn.functional: 0 for 0, 1 or 3 dimensions, else 1."""
    dim = 0 if n in (0, 1, 3) else 1
    what = f"implicit dimension choice for {who} has been deprecated; for {n} dimensions it is dim={dim}"
    warn("implicit-dim", who, what, f"name the dimension: {who}(x, dim={dim}), or dim=-1 for the last one")
    return dim


def prepared(input: Tensor, dim: Any, dtype: Any, who: str) -> tuple:
    """Return the arguments of Softmax.apply and LogSoftmax.apply."""
    x = input if dtype is None else input.to(dtype)
    d = axis(implicit(x.ndim, who) if dim is None else dim, x.ndim, who)
    if x._np_dtype not in dtypes.FLOATS:
        raise error(NotImplementedError, who, f"not implemented for {x.dtype.name}", "pass dtype=minigrad.float32")
    return x, (d,) if x.ndim else ()


@op("T(3, 4), 1", "T(2, 3, 4), 0", "T(2, 3, 4), -2", "T(), 0", "torch.zeros((0, 3)), 0", "torch.zeros((3, 0)), 0",
    "T(3, 1), 1", "100 * T(5), 0", "I(3, 4, 9), 1, torch.float64", "T(4, 3).mT, 1", out=True)  # fmt: skip
def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Return exp(input) divided by its sum along a dimension: positive numbers that sum to 1.

    `dtype` converts the input first.  Without `dim`, a warning names the dimension used.  Raises NotImplementedError for
    integers without `dtype`.

    >>> import minigrad
    >>> minigrad.softmax(minigrad.tensor([0., 0., 1000.]), 0)
    tensor([0., 0., 1.])
    """
    return Softmax.apply(*prepared(input, dim, dtype, "softmax"))


@op("T(3, 4), 1", "T(2, 3, 4), 0", "T(2, 3, 4), -2", "T(), 0", "torch.zeros((0, 3)), 0", "torch.zeros((3, 0)), 0",
    "T(3, 1), 1", "100 * T(5), 0", "I(3, 4, 9), 1, torch.float64", "T(4, 3).mT, 1", out=True)  # fmt: skip
def log_softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Return the logarithm of softmax, computed without softmax itself: finite even where softmax underflows to 0.

    `dtype` converts the input first.  Without `dim`, a warning names the dimension used.  Raises NotImplementedError for
    integers without `dtype`.

    >>> import minigrad
    >>> minigrad.log_softmax(minigrad.tensor([0., 1000.]), 0)
    tensor([-1000.,     0.])
    """
    return LogSoftmax.apply(*prepared(input, dim, dtype, "log_softmax"))


@functional("T(3, 4), 1", "T(2, 3, 4), 0", "T(), 0", "torch.zeros((0, 3)), 0", "I(3, 4, 9), 1, dtype=torch.float64")
def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Return the softmax of -input: the smallest element gets the largest share."""
    x, dims = prepared(input, dim, dtype, "softmin")
    return Softmax.apply(-x, dims)


@op("T(3, 4), 1", "T(2, 3, 4), (0, -1), True", "T(2, 3, 4), [0, 1, 2]", "T(), 0", "torch.zeros((3, 0)), 0",
    "300 * T(5), 0", "I(3, 4, 9), 1", "T(4, 3).mT, 0", out=True)  # fmt: skip
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """Return log(sum(exp(input))) over the dimensions `dim`, without overflow; -inf for an empty sum.

    Integers are converted to the default dtype.

    >>> import minigrad
    >>> minigrad.logsumexp(minigrad.tensor([100., 100.]), 0)
    tensor(100.6931)
    """
    if dim is None:
        raise error(
            TypeError,
            "logsumexp",
            "dim must be an integer or a tuple of them, not None",
            "pass dim=tuple(range(x.ndim))",
        )
    x = input if input._np_dtype in dtypes.FLOATS else input.to(dtypes.default())
    return Logsumexp.apply(x, axes(x, dim, "logsumexp"), keepdim)
