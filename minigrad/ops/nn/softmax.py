"""The softmax family: softmax, log_softmax, logsumexp.  Each subtracts the maximum first, so that nothing overflows.

The Jacobians of softmax and log_softmax follow from the result alone, the only saved tensor.
"""

from __future__ import annotations

from typing import Any

from ...arrays import dtypes
from ...core.tensor import Tensor
from ...errors import error, warn
from ...kernels import row_kernels
from ..base.families import Reduce
from ..base.layouts import row_major
from ..base.program import Program
from ..base.registry import op
from ..compare import isfinite, where
from ..dimensions import axes, axis, single
from ..elementary import exp, log
from ..order import Amax
from ..reduce import Sum
from .entry import functional


class Softmax(Program):
    """exp(x) / sum(exp(x)).  The Jacobian diag(out) - out out' is symmetric, so jvp and vjp are one formula."""

    call = lambda dims: (
        f"softmax(x, {single(dims or 0)})" if len(dims) < 2 else "exp(x - x.logsumexp(dims, keepdim=True))"
    )
    layout, gives = row_major, (row_kernels.ALL,)

    @staticmethod
    def program(x: Tensor, dims: tuple) -> Tensor:
        e = exp(x - Amax.apply(x, dims, True))
        return e / Sum.apply(e, dims, True)

    dx = lambda g, out, dims: (g - Sum.apply(g * out, dims, True)) * out

    # 3.9 times as quick as the transpose of dx, for 64 lines of 128 numbers
    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        return cls.formulas[0](tangents[0], outs[0], primals[1])


class LogSoftmax(Program):
    """x - log(sum(exp(x)))."""

    call = lambda dims: (
        f"log_softmax(x, {single(dims or 0)})" if len(dims) < 2 else "x - x.logsumexp(dims, keepdim=True)"
    )
    layout, gives = row_major, (row_kernels.ALL,)

    @staticmethod
    def program(x: Tensor, dims: tuple) -> Tensor:
        shifted = x - Amax.apply(x, dims, True)
        return shifted - log(Sum.apply(exp(shifted), dims, True))

    dx = lambda g, out, dims: g - exp(out) * Sum.apply(g, dims, True)

    # 3.6 times as quick as the transpose of dx, for 64 lines of 128 numbers
    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        t, dims = tangents[0], primals[1]
        return t - Sum.apply(exp(outs[0]) * t, dims, True)


class Logsumexp(Reduce, Program):
    """log(sum(exp(x))) over dimensions; its gradient is the softmax."""

    takes_dims = True
    gives, arrays = (row_kernels.LINE,), False

    @staticmethod
    def program(x: Tensor, dims: tuple, keepdim: bool) -> Tensor:
        top = Amax.apply(x, dims, True)
        top = where(isfinite(top), top, 0.0)
        out = log(Sum.apply(exp(x - top), dims, True)) + top
        return out if keepdim else out.squeeze(dims)

    dx = lambda x, out: exp(x - out)

    @classmethod
    def on_lines(cls, x: Any, dims: tuple, keepdim: bool) -> list | None:
        """Return the result of the kernel, which keeps the dimensions."""
        found = row_kernels.forward(cls, x, dims, True)
        return found if keepdim or found is None else [found[0].squeeze(dims)]

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        """Multiply by the softmax: a result rounded to half precision has too few digits for exp(x - out)."""
        x, dims, keepdim = primals
        return Sum.apply(Softmax.apply(x, dims) * tangents[0], dims, keepdim)


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
        what = "dim must be an integer or a tuple of them, not None"
        raise error(TypeError, "logsumexp", what, "pass dim=tuple(range(x.ndim))")
    x = input if input._np_dtype in dtypes.FLOATS else input.to(dtypes.default())
    return Logsumexp.apply(x, axes(x, dim, "logsumexp"), keepdim)
