"""Norms of vectors and matrices, and distances between points.

The formulas are PyTorch's, case by case in p.  Where a norm has no derivative, at the zero vector and at coincident points,
it has the subgradient 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays.kinds import on_device, zeros
from ..arrays.meta import has_numbers
from ..core.tensor import Tensor
from ..errors import error
from ..kernels import cuda_kernels
from ..kernels.cpu import reductions_cpu
from ..tensors.printing import error_notes
from .base.families import Operation, Reduce
from .base.layouts import row_major
from .base.registry import op
from .decompositions import svdvals
from .dimensions import axes, axis, shown_dims
from .index_places import places_where
from .linalg import Inv, floating, matrices, square
from .order import evenly
from .pointwise import where
from .products import broadcast, linalg, one_dtype, refused
from .reduce import CountNonzero, add_up, as_floating, count, reduced

CHUNK = 1 << 20  # elements of differences between points that are in memory at a time


class Norm(Reduce):
    """(sum |x|**p)**(1/p) over dimensions; p = inf is the largest, -inf the smallest |x|, 0 counts nonzero elements."""

    call = lambda x, dims, keepdim: f"linalg.vector_norm(x, p, dim={shown_dims(x, dims, keepdim)}, keepdim=keepdim)"
    node = "LinalgVectorNorm"

    @staticmethod
    def impl(x: np.ndarray, dims: tuple, keepdim: bool, p: float) -> np.ndarray:
        if p and count(x.shape, dims) == 1:  # its square might overflow or underflow
            return np.abs(x).reshape([n for d, n in enumerate(x.shape) if keepdim or d not in dims])
        if p == 2:
            large = x.size >= reductions_cpu.REDUCE_FROM or on_device(x)
            squares = reductions_cpu.reduce("squares", x, dims, keepdim) if large else None
            return np.sqrt(add_up(x * x, dims, keepdim) if squares is None else squares, out=...)
        size = np.abs(x)
        if math.isinf(p):
            return reduced(*(("maximum", np.maximum) if p > 0 else ("minimum", np.minimum)), size, dims, keepdim)
        if p == 0:
            return CountNonzero.impl(x, dims, keepdim).astype(x.dtype)
        if p == 1:
            return add_up(size, dims, keepdim)
        return add_up(size**p, dims, keepdim) ** (1 / p)

    dx = lambda g, x, out, dims, p: norm_gradient(g, x, out, dims, p)

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """Return the same on arrays for p = 2."""
        (g,), (x, dims, keepdim, p, out) = gs, bound
        if p != 2 or count(x.shape, dims) == 1 or on_device(x):
            return None
        if not out.ndim:
            return (x * (g / out if out else out),)
        slope = np.divide(g, out, out=np.zeros_like(out), where=out != 0)
        return (x * (slope if keepdim else np.expand_dims(slope, dims)),)


def norm_gradient(g: Tensor, x: Tensor, out: Tensor, dims: tuple, p: float) -> Tensor:
    """Apply PyTorch's formulas (FunctionsManual.cpp, norm_backward)."""
    if p == 0:
        return x.new_zeros(x.shape)
    if p == 1:
        return x.sign() * g
    if math.isinf(p):
        return x.sign() * evenly(g, (x.abs() == out) | (x != x), dims)
    if count(x.shape, dims) == 1:  # g / out may be infinite; x * 0 is NaN where the slope is, at NaN and infinities
        return (x.sign() + x * 0) * g
    if p == 2:
        return x * ratio(g, out)
    if p < 1:
        return where(x == 0, 0.0, x.sign() * x.abs() ** (p - 1)) * g * out ** (1 - p)
    return (x.sign() * x.abs() ** (p - 1) if p < 2 else x * x.abs() ** (p - 2)) * ratio(g, out ** (p - 1))


def ratio(g: Tensor, out: Tensor) -> Tensor:
    """Return g / out; where out is 0 it is 0 with derivatives of 0: a norm of no elements is constant."""
    zero = out == 0
    return where(zero, 0.0, g / where(zero, 1.0, out))


@op("T(3, 4)", "T(3, 4), 'fro', 1", "T(2, 3, 4), 1, (0, -1), True", "T(3, 4), 3, 0", "T(3, 4), 1.5, 0",
    "T(3, 4), 0.5, 0", "T(3, 4), -1", "T(3, 4), float('inf'), 1", "T(3, 4), -float('inf'), 1", "T()", "T(0)",
    "T(0, 3), 1, 0", "T(4, 3).mT, 2, 0", "T(3), dtype=torch.float64", "T(3, 2), 'nuc'", out=True)  # fmt: skip
def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the vector norm `(sum |x|**p)**(1/p)` of all elements, or over the dimensions `dim`.

    `p` is a number, or "fro" for 2; inf and -inf give the largest and smallest |x|, 0 the number of non-zero elements,
    "nuc" the nuclear norm of matrices.
    Raises RuntimeError for integers, and for norms that are undefined for an empty tensor.

    >>> import minigrad
    >>> minigrad.norm(minigrad.tensor([3., 4.]))
    tensor(5.)
    """
    if p == "nuc":
        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    order = exponent(p)
    x, dims = as_floating(input, dtype, "norm"), axes(input, dim, "norm")
    if (order < 0 or order == math.inf) and count(x.shape, dims) == 0:
        shape = tuple(x.shape)
        raise error(
            RuntimeError,
            "norm",
            f"cannot compute the {p} norm over dimensions {dims} of shape {shape}: there are no elements and the operation "
            "does not have an identity",
            "check input.numel() > 0 first",
        )
    return Norm.apply(x, dims, keepdim, order)


def exponent(p: Any) -> float:
    """Return the number that `p=` of norm means."""
    if isinstance(p, str) and p != "fro":
        raise error(RuntimeError, "norm", f"{p!r} is not a vector norm", "pass a number or 'fro', or use linalg.norm")
    return 2.0 if p is None or p == "fro" else float(p)


@op(
    "T(3, 4), T(3, 4)",
    "T(3, 1), T(4)",
    "T(3), T(3), 1",
    "T(3), T(3), float('inf')",
    "T(), T()",
    "T(0), T(0)",
    node="Dist",
)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Return the p-norm of `input - other`, which are broadcast."""
    return norm(input - other, p)


class Cdist(Operation):
    """Distances between all points of one set and all of another; `fast` allows matrix products for p = 2."""

    autocast = "float32"
    call = "cdist(x, y, p)"
    layout = row_major
    impl = lambda x, y, p, fast: distances(x, y, p, fast)
    dx = lambda g, x, y, out, p: cdist_gradient(g, x, y, out, p)
    dy = lambda g, x, y, out, p: cdist_gradient(g.mT, y, x, out.mT, p)
    batch = lambda x, y, p, fast: (x, y, p, fast)

    @staticmethod
    def arrays(gs: tuple, bound: tuple) -> tuple | None:
        """Return both gradients for p = 1 on a GPU."""
        g, (x, y, p) = gs[0], bound[:3]
        if p != 1 or not on_device(x):
            return None
        pulls = cuda_kernels("distances_cuda").pulls
        return pulls(g, x, y), pulls(np.swapaxes(g, -1, -2), y, x), None, None


@linalg(
    "T(3, 4)",
    "T(3, 4), 1",
    "T(2, 3, 4), 3, (0, -1), True",
    "T(3, 4), float('inf'), 0",
    "T(3, 4), float('-inf'), 1",
    "T(3, 4), 0, 1",
    "T(3, 4), 1.5, 1",
    "T(3, 4), 0.5",
    "P(3, 4), -1, 1",
    "T()",
    "T(0, 3), 2, 0",
    "T(2, 3), dtype=torch.float64",
)
def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return the norm (sum |x|^ord)^(1/ord) of all elements as one vector, or over the dimensions `dim`.

    ord=inf is the largest |x|, -inf the smallest, 0 the number of elements that are not zero.
    Raises RuntimeError for integers, and for ord=inf and -inf of an empty tensor.
    """
    return norm(x, order("linalg.vector_norm", ord), dim, keepdim, dtype=dtype)


def order(who: str, ord: Any) -> float:
    """Return the order of a vector norm as a number; raise an error for a string."""
    if isinstance(ord, str):
        what = f"{ord!r} is a matrix norm, and this computes vector norms"
        kind = TypeError if who == "linalg.vector_norm" else RuntimeError  # PyTorch's vector_norm takes numbers
        raise error(kind, who, what, "write ord=2, another number or float('inf')")
    return float(ord)


@linalg(
    "T(3, 4)",
    "T(2, 3, 4), 'nuc'",
    "T(2, 3, 4), 1",
    "T(2, 3, 4), -1, (0, 2)",
    "T(3, 4), float('inf')",
    "T(3, 4), 2, keepdim=True",
    "T(3, 3), -2",
    "T(2, 3, 4), 'fro', (0, 1), True",
)
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Return a norm of each matrix in two dimensions.

    "fro": the root of the sum of squares; "nuc": the sum of the singular values; 2, -2: the largest, the smallest singular
    value; 1, -1: the largest, the smallest column sum of |A|; inf, -inf: the largest, the smallest row sum.
    """
    who = "linalg.matrix_norm"
    matrices(who, A)
    A = A if dtype is None else A.to(dtype)
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise refused(who, f"dim must be a 2-tuple, got {dim!r}", "write dim=(-2, -1)")
    dims = tuple([axis(d, A.ndim, who) for d in dim])  # in this order: rows, columns
    if dims[0] == dims[1]:
        raise refused(who, f"dims {tuple(dim)} are the same dimension", "write dim=(-2, -1)")
    if ord == "fro":
        return vector_norm(A, 2, dims, keepdim)
    if ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise refused(who, f"order {ord!r} is not supported", "use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    x = A.movedim(dims, (-2, -1))
    each = svdvals(x) if ord in ("nuc", 2, -2) else x.abs().sum(-2 if abs(ord) == 1 else -1)
    if ord == "nuc" or ord > 0 and not each.shape[-1]:
        out = each.sum(-1)
    else:
        out = each.amax(-1) if ord > 0 else each.amin(-1)
    return out.reshape([1 if d in dims else n for d, n in enumerate(A.shape)]) if keepdim else out


@linalg(
    "T(2, 3, 4)",
    "T(3, 4), 2",
    "T(4), 1",
    "T(2, 3, 4), 3, 1",
    "T(2, 3, 4), None, (0, 2)",
    "T(2, 3, 4), 'nuc', (0, 2), True",
)
def linalg_norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Return a vector or matrix norm, by the number of dimensions in `dim` (see vector_norm and matrix_norm).

    Without `ord` it is the root of the sum of squares; without `dim` the tensor must have one or two dimensions.
    """
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None and A.ndim not in (1, 2):
        raise refused(
            "linalg.norm",
            f"if dim is not specified but ord is, the input must be 1D or 2D, got {A.ndim}D",
            "write dim=(-2, -1) for norms of matrices, dim=-1 for norms of vectors",
        )
    if dim is None and A.ndim == 2 or isinstance(dim, (tuple, list)) and len(dim) == 2:
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, order("linalg.norm", ord), dim, keepdim, dtype=dtype)


@linalg("T(3, 3)", "T(2, 3, 4), 2", "T(3, 3), -2")
def cond(A: Tensor, p: Any = None) -> Tensor:
    """Return the condition number of each matrix: its largest singular value over the smallest, or norm(A) * norm(inv(A)).

    It is inf for singular matrices, 0 for empty ones.
    """
    matrices("linalg.cond", A)
    if p in (None, 2, -2):
        s = svdvals(A)
        if not s.shape[-1]:
            return s.sum(-1)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    square("linalg.cond", A)
    inverse, norm_of_A = Inv.apply(A, ""), matrix_norm(A, p)
    unknown = inverse.isnan().any((-2, -1))
    norm_of_inverse = matrix_norm(where(unknown[..., None, None], 0.0, inverse), p)
    return where(unknown & ~norm_of_A.isnan(), math.inf, norm_of_A * norm_of_inverse)


# ---------------------------------------------------------------------- distances
@op(
    "T(3, 2), T(4, 2)",
    "T(3, 2), T(4, 2), 1",
    "T(3, 2), T(4, 2), float('inf')",
    "T(2, 3, 2), T(4, 2), 3.0",
    "T(3, 2), T(4, 2), 1.5",
    "T(30, 2), T(4, 2)",
    "T(2, 0, 3), T(4, 3)",
    "T(2, 0), T(3, 0)",
    method=False,
)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """Return the distances between all rows of x1 (..., n, d) and all of x2 (..., m, d), in the p-norm: (..., n, m).

    The gradient between coincident points is 0.  `compute_mode` selects when Euclidean distances may come from a matrix
    product: "use_mm_for_euclid_dist_if_necessary" (more than 25 points), "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist"; if cancellation would make the product inaccurate, differences are used.
    """
    for x in (x1, x2):
        floating("cdist", x)
        if x.ndim < 2:
            raise refused(
                "cdist",
                f"cdist only supports at least 2D tensors, got one of shape {tuple(x.shape)}",
                "write x.unsqueeze(0) for a single point",
            )
    one_dtype("cdist", x1, x2, names=("x1", "x2"))
    if x1.shape[-1] != x2.shape[-1]:
        raise refused(
            "cdist",
            f"x1 and x2 must have the same number of columns, got {x1.shape[-1]} and {x2.shape[-1]}",
            "give the points equal size: x1 (n, d) and x2 (m, d)",
            notes=error_notes({"x1": x1, "x2": x2}, marked=[-1]),
        )
    if p < 0:
        raise refused("cdist", f"only supports non-negative p values, got {p}", "write p=2.0")
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        what = f"{compute_mode} is not a valid value for compute_mode"
        raise error(ValueError, "cdist", what, f"use one of {', '.join(modes)}")
    lead = broadcast("cdist", x1.shape[:-2], x2.shape[:-2])
    fast = p == 2 and (compute_mode == modes[1] or compute_mode == modes[0] and max(x1.shape[-2], x2.shape[-2]) > 25)
    return Cdist.apply(x1.expand((*lead, *x1.shape[-2:])), x2.expand((*lead, *x2.shape[-2:])), p, fast)


@op(
    "T(3, 4), T(3, 4)",
    "T(3, 4), T(4), 1.0, keepdim=True",
    "T(3, 4), T(4), 2.0, 1e-6, True",
    "T(4), T(4), float('inf')",
    torch="nn.functional.pairwise_distance",
    method=False,
    node="NormBackward1",
)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """Return the p-norm of x1 - x2 + eps along the last dimension, after broadcasting: (..., d) to (...)."""
    return norm(x1 - x2 + eps, p, -1, keepdim)


def distances(x: np.ndarray, y: np.ndarray, p: float, fast: bool) -> np.ndarray:
    """Compute cdist on arrays: norms of differences, a block of rows at a time, or for p = 2 one matrix product."""
    if not x.shape[-1]:
        return zeros((*x.shape[:-1], y.shape[-2]), x)
    n, each = x.shape[-2], math.prod(x.shape[:-2]) * y.shape[-2] * y.shape[-1]
    if fast and (found := by_products(x, y)) is not None:
        return found
    if p == 1 and on_device(x):
        return cuda_kernels("distances_cuda").distances(x, y)
    rows = max(1, CHUNK // max(1, each))
    parts = [lengths(x[..., i : i + rows, None, :] - y[..., None, :, :], p) for i in range(0, n, rows)]
    return np.concatenate(parts, -2) if parts else zeros((*x.shape[:-1], y.shape[-2]), x)


def lengths(x: np.ndarray, p: float) -> np.ndarray:
    """Return the p-norms along the last dimension."""
    if p == 0:  # NaN does not count here, unlike in a norm
        return np.add.reduce(np.minimum(np.ceil(np.abs(x)), 1), -1)
    return Norm.impl(x, (x.ndim - 1,), False, p)


def by_products(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return Euclidean distances by |x|^2 + |y|^2 - 2 x.y, imprecise ones by differences; None if these are many."""
    scale = np.vecdot(x, x)[..., None] + np.vecdot(y, y)[..., None, :]
    squares = scale - 2 * np.matmul(x, np.swapaxes(y, -1, -2))
    if not has_numbers(squares):
        return squares
    close = tuple(places_where(squares < scale * 0.03).T)
    if close[0].size * x.shape[-1] > CHUNK:
        return None
    *lead, i, j = close
    squares[close] = np.square(x[(*lead, i)] - y[(*lead, j)]).sum(-1)
    return np.sqrt(squares)


def cdist_gradient(g: Tensor, x: Tensor, y: Tensor, out: Tensor, p: float) -> Tensor:
    """Return the gradient of x: each pair of points pulls along its difference (p = 2), or along the partials of its norm."""
    if p == 0:
        return x.new_zeros(x.shape)
    if p != 2:
        difference = x.unsqueeze(-2) - y.unsqueeze(-3)
        return norm_gradient(g.unsqueeze(-1), difference, out.unsqueeze(-1), (difference.ndim - 1,), p).sum(-2)
    zero = out == 0
    w = where(zero, 0.0, g / where(zero, 1.0, out))
    if out.numel() * x.shape[-1] > CHUNK:  # the same, without all differences in memory
        return x * w.sum(-1, True) - w @ y
    return (w.unsqueeze(-1) * (x.unsqueeze(-2) - y.unsqueeze(-3))).sum(-2)
