"""Products of vectors and matrices: matmul and its relatives of fixed rank, sums with products (addmm), outer, cross.

One class computes them all.  Its two formulas hold for every pair of ranks, 1-d, 2-d and batched with broadcasting, and
consist of products again, so derivatives of any order follow.  Contractions along other dimensions: einsum.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays.dtypes import F4, F8, FLOATS
from ..arrays.kinds import KINDS
from ..arrays.memory import sum_down
from ..core.backward import sum_to
from ..core.tensor import Tensor
from ..layers.batching import lift
from ..tensors.printing import error_notes
from .base.families import Bilinear
from .base.layouts import row_major
from .base.registry import check_fits, op
from .dimensions import axis
from .pointwise import Mul
from .products import broadcast, fit, linalg, multiple, one_dtype, ranked, refused

BATCHES = ("batch1", "batch2")


class MatMul(Bilinear):
    """The matrix product, of vectors and of batches of matrices too."""

    autocast = "half"
    lowering = "product"
    dimensions = "product"
    call = "x @ y"
    name = "matmul"
    arrays = quiet = True
    impl = lambda x, y: product(x, y)
    dx = lambda g, y, shape: left_gradient(g, y, shape)
    dy = lambda g, x, shape: right_gradient(g, x, shape)

    @classmethod
    def node_name(cls, node: Any) -> str:
        """Return PyTorch's names of the products of vectors and matrices; for stacks it reshapes."""
        if cls is not MatMul:  # the user called it by its name
            return super().node_name(node)
        ranks, rank = [None if e is None else len(e._shape) for e in node._edges], len(node._shape)
        if rank == 1 and (ranks[0] == 1 or ranks[1] == 2):  # of a vector and a matrix
            return "SqueezeBackward4"
        stacks = any([n is not None and n > 2 for n in ranks]) or rank > 2
        return "UnsafeViewBackward0" if stacks else f"{['Dot', 'Mv', 'Mm'][rank]}Backward0"

    @classmethod
    def saving_order(cls, args: tuple) -> tuple:
        """Follow PyTorch's names: self and mat2, or self and vec (or tensor) if the second is a vector."""
        return (0, 1) if len(args[1]._sizes) == 1 else (1, 0)

    @classmethod
    def partial_text(cls, i: int) -> str:
        """Return the formulas in the form they have for matrices."""
        return ("g @ y.mT", "x.mT @ g")[i]

    def vmap(info: Any, in_dims: tuple, x: Tensor, y: Tensor) -> tuple:
        """Make vectors matrices of one row or column, so that the batch dimension can precede matrices."""
        i, j = in_dims
        row, column = x.ndim - (i is not None) == 1, y.ndim - (j is not None) == 1
        x, y = x.movedim(i, 0) if i else x, y.movedim(j, 0) if j else y
        x, y = x.unsqueeze(-2) if row else x, y.unsqueeze(-1) if column else y
        out = broadcasting(MatMul, in_dims, x, y)
        out = out.squeeze(-1) if column else out
        return out.squeeze(-1 if column else -2) if row else out, 0


class Mm(MatMul):
    """The product of two matrices."""

    call = "x @ y"


class Bmm(MatMul):
    """The products of two batches of matrices, of equal length."""

    call = "x @ y"


class Mv(MatMul):
    """The product of a matrix and a vector."""

    autocast = ""
    call = "x @ y"


class Dot(MatMul):
    """The scalar product of two vectors."""

    autocast = ""
    call = "x @ y"


class Outer(Bilinear):
    """All products of an element of one vector and one of another; the gradients are products with the vectors."""

    dimensions = "outer"
    arrays = True
    node = "Mul"
    impl = lambda x, y: all_products(x, y)
    definition = lambda x, y: column(x) * row(y)
    dx = lambda g, y: multiply(g, column(y)).squeeze(-1)
    dy = lambda g, x: multiply(g.mT, column(x)).squeeze(-1)
    batch = lambda x, y: (x, y)

    @classmethod
    def partial_text(cls, i: int) -> str:
        """Return the formulas in the form they have for vectors."""
        return ("g @ y", "x @ g")[i]


class Cross(Bilinear):
    """The vector product along a dimension of size 3; since (x × y) · g = x · (y × g), it is its own transpose up to order."""

    spelling = "cross_product"
    layout = row_major
    node = "LinalgCross"
    impl = lambda x, y, dim: np.cross(x, y, axis=dim)
    dx = lambda g, y, dim: Cross.apply(y, g, dim)
    dy = lambda g, x, dim: Cross.apply(g, x, dim)
    batch = lambda x, y, dim: (x, y, dim + 1)


# ---------------------------------------------------------------------- products
@op(
    "T(2, 3), T(3, 4)",
    "T(3), T(3)",
    "T(2, 3), T(3)",
    "T(3), T(3, 4)",
    "T(5, 2, 3), T(3, 4)",
    "T(2, 3), T(5, 3, 4)",
    "T(3), T(5, 3, 4)",
    "T(5, 2, 3), T(3)",
    "T(2, 1, 2, 3), T(4, 3, 2)",
    "T(4, 3).mT, T(2, 4).mT",
    "T(2, 0), T(0, 3)",
    "T(0, 2), T(2, 3)",
    "I(2, 3, 9), I(3, 2, 9)",
    "T(6, 4)[::2, 1:], T(3)",
    out=True,
)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Return the matrix product, `x @ y`.

    Two vectors give their scalar product; a matrix and a vector, or a vector and a matrix, a vector; otherwise the last
    two dimensions are matrices, and the others are broadcast.  Raises RuntimeError for different inner sizes, for 0-d
    tensors and for two dtypes.

    >>> import minigrad
    >>> minigrad.tensor([[1., 2.], [3., 4.]]) @ minigrad.tensor([1., 10.])
    tensor([21., 43.])
    """
    try:
        return MatMul.apply(input, other)
    except Exception:
        fit("matmul", input, other)
        raise


@op("T(2, 3), T(3, 4)", "T(3, 2).mT, T(3, 1)", "T(2, 0), T(0, 3)", "I(2, 3, 9), I(3, 2, 9)", out=True)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices, (n, k) times (k, m).  Raises RuntimeError for anything else."""
    return of_rank(Mm, "mm", (2, 2), input, mat2, ("input", "mat2"))


@op("T(2, 3, 4), T(2, 4, 5)", "T(2, 4, 3).mT, T(2, 4, 1)", "T(0, 3, 4), T(0, 4, 5)", "T(2, 3, 0), T(2, 0, 5)", out=True)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of two batches of matrices, (b, n, k) times (b, k, m).  Raises RuntimeError for anything else."""
    return of_rank(Bmm, "bmm", (3, 3), input, mat2, ("input", "mat2"))


@op("T(2, 3), T(3)", "T(3, 2).mT, T(6)[::2]", "T(2, 0), T(0)", out=True)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a matrix (n, k) and a vector (k).  Raises RuntimeError for anything else."""
    return of_rank(Mv, "mv", (2, 1), input, vec, ("input", "vec"))


@op("T(3), T(3)", "T(6)[::2], T(3)", "T(0), T(0)", "I(3, 9), I(3, 9)", out=True)
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Return the scalar product of two vectors of equal size, as a 0-d tensor.  Raises RuntimeError for other ranks."""
    return of_rank(Dot, "dot", (1, 1), input, tensor, ("input", "tensor"))


@op("T(3), T(3)", out=True, node="Vdot")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Return the scalar product of two vectors; it equals `dot`, as minigrad has no complex tensors."""
    return dot(input, other)


@linalg("T(2, 3), T(2, 3)", "T(2, 3), T(3)", "T(2, 3), T(2, 3), dim=0")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Return the scalar products of vectors along one dimension of broadcast tensors."""
    return (x * y).sum(dim)


@op("T(3), T(4)", "T(0), T(2)", "I(3, 9), T(2)", "T(6)[::2], T(2)", out=True, aliases=("ger",))
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return the matrix of all products of two vectors' elements, (n, m).  Raises RuntimeError for other ranks."""
    ranked("outer", input, vec2, (1, 1), ("input", "vec2"), "write input.flatten(), vec2.flatten()")
    return Outer.apply(input, vec2) if input._np_dtype == vec2._np_dtype else column(input) * vec2


@op("T(4, 3), T(4, 3)", "T(3, 4), T(3, 4), 0", "T(2, 3), T(1, 3), 1", "T(3), T(3)", out=True)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Return the vector product along `dim`, by default the first dimension of size 3; raise RuntimeError if none exists."""
    if dim is None:
        found = [d for d, n in enumerate(input.shape) if n == 3]
        if not found:
            raise refused(
                "cross",
                f"no dimension of size 3 in input of shape {tuple(input.shape)}",
                "use vectors of 3 elements: nn.functional.pad(x, (0, 1)) adds one",
            )
        dim = found[0]
    return cross_along("cross", input, other, dim)


@linalg("T(4, 3), T(4, 3)", "T(3, 4), T(3, 1), dim=0")
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Return the vector product along a dimension of size 3; the others are broadcast."""
    return cross_along("linalg.cross", input, other, dim)


def cross_along(who: str, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """Return the vector product of tensors of equal rank."""
    if x.ndim != y.ndim:
        raise refused(
            who,
            f"inputs must have the same number of dimensions, got shapes {tuple(x.shape)} and {tuple(y.shape)}",
            "write x.unsqueeze(d) for the missing dimension",
            notes=error_notes({"input": x, "other": y}, marked=()),
        )
    d = axis(dim, x.ndim, who)
    if x.ndim == 0 or x.shape[d] != 3 or y.shape[d] != 3:
        raise refused(
            who,
            f"inputs dimension {dim} must have length 3, got shapes {tuple(x.shape)} and {tuple(y.shape)}",
            "name the dimension of size 3: dim=",
            notes=error_notes({"input": x, "other": y}, marked=()),
        )
    one_dtype(who, x, y)
    shape = broadcast(who, x.shape, y.shape)
    return Cross.apply(x.expand(shape), y.expand(shape), d)


# ---------------------------------------------------------------------- sums with products
@op(
    "T(2, 4), T(2, 3), T(3, 4)",
    "T(4), T(2, 3), T(3, 4), beta=2, alpha=3",
    "T(), T(2, 0), T(0, 4)",
    inplace=True,
    out=True,
    node="Addmm",
)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * input + alpha * (mat1 @ mat2); `input` is broadcast, and ignored if beta is 0 (NaNs do not spread)."""
    return combine("addmm", input, of_rank(Mm, "addmm", (2, 2), mat1, mat2, ("mat1", "mat2")), beta, alpha)


@op("T(2), T(2, 3), T(3)", "T(), T(2, 3), T(3), beta=2, alpha=3", inplace=True, out=True, node="Addmv")
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * input + alpha * (mat @ vec)."""
    return combine("addmv", input, of_rank(Mv, "addmv", (2, 1), mat, vec, ("mat", "vec")), beta, alpha)


@op("T(2, 3), T(2), T(3)", "T(3), T(2), T(3), beta=2, alpha=3", inplace=True, out=True, node="Addr")
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * input + alpha * outer(vec1, vec2)."""
    return combine("addr", input, outer(vec1, vec2), beta, alpha)


@op(
    "T(5, 2, 4), T(5, 2, 3), T(5, 3, 4)",
    "T(2, 1), T(5, 2, 3), T(5, 3, 4), beta=2, alpha=3",
    inplace=True,
    out=True,
    node="Baddbmm",
)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * input + alpha * bmm(batch1, batch2)."""
    return combine("baddbmm", input, of_rank(Bmm, "baddbmm", (3, 3), batch1, batch2, BATCHES), beta, alpha)


@op(
    "T(2, 4), T(5, 2, 3), T(5, 3, 4)",
    "T(4), T(5, 2, 3), T(5, 3, 4), beta=2, alpha=3",
    "T(2, 4), T(0, 2, 3), T(0, 3, 4)",
    inplace=True,
    out=True,
    node="Addbmm",
)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return beta * input + alpha * the sum of bmm(batch1, batch2) over the batch."""
    products = of_rank(Bmm, "addbmm", (3, 3), batch1, batch2, BATCHES)
    return combine("addbmm", input, products.sum(0, dtype=products.dtype), beta, alpha)


def of_rank(cls: Any, who: str, ranks: tuple, x: Tensor, y: Tensor, names: tuple) -> Tensor:
    """Return the product of two tensors of these ranks; raise RuntimeError for others."""
    ranked(who, x, y, ranks, names)
    if len(x._sizes) == 3 and x._sizes[0] != y._sizes[0]:
        a, b = names
        raise refused(
            who,
            f"batches of {x.shape[0]} and {y.shape[0]} matrices (shapes {tuple(x.shape)} and {tuple(y.shape)})",
            "give both the same first size; `@` broadcasts a batch of 1",
            notes=error_notes({a: x, b: y}, marked=[-3]),
        )
    try:
        return cls.apply(x, y)
    except Exception:
        fit(who, x, y, names)
        raise


def combine(who: str, input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """Return beta * input + alpha * product, in the product's shape."""
    if who != "addr":
        input, product = one_dtype(who, input, product, names=("input", "product"))
    if product._np_dtype not in FLOATS:
        if beta % 1 or alpha % 1:  # PyTorch drops the fraction, except in addr
            raise refused(
                who,
                f"beta={beta} and alpha={alpha} must be integers for tensors of {product.dtype}",
                "convert the tensors: x.float()",
            )
        beta, alpha = int(beta), int(alpha)
    size = product._sizes
    ends_alike = size[len(size) - len(input._sizes) :] == input._sizes  # the usual case, a bias
    if not ends_alike and broadcast(who, input._sizes, size, ("input", "product")) != size:
        raise refused(
            who,
            f"input of shape {tuple(input.shape)} cannot be expanded to the product's shape {tuple(product.shape)}",
            f"pass an input of shape {tuple(product.shape)}, or one that broadcasts to it",
            notes=error_notes(
                {"input": input, "product": product}, {"input": tuple(input.shape), "product": tuple(product.shape)}
            ),
        )
    check_fits(who, product, beta, alpha)
    product = multiple(product, alpha)
    return product if beta == 0 else multiple(input, beta) + product


# ---------------------------------------------------------------------- the product on arrays, and its formulas
def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return np.matmul; many small matrices times one matrix become one tall matrix, for a single BLAS call."""
    if x.dtype is not y.dtype and x.dtype != y.dtype or x.dtype.kind == "b":
        raise TypeError(f"no product of {x.dtype} and {y.dtype}")  # `fit` explains it
    if x.ndim == 2 == y.ndim:  # dot has half the overhead, but if an operand is one number, 0 * NaN is 0 there
        return x.dot(y) if x.size > 1 < y.size else np.matmul(x, y)
    if x.ndim > 2 and y.ndim > 1 and x.shape[-1] == 1 == y.shape[-2]:  # outer products: NumPy would call BLAS for each
        return np.multiply(x, y, order="C")
    if x.ndim > 2 and y.ndim == 2 and x.shape[-1] == y.shape[0]:
        return x.reshape(math.prod(x.shape[:-1]), x.shape[-1]).dot(y).reshape(*x.shape[:-1], y.shape[1])
    return np.matmul(x, y)


def all_products(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the products of outer."""
    if type(x) is type(y) is np.ndarray and x.dtype is y.dtype in (F4, F8):
        return x[..., None] * y[..., None, :]
    return Mul.impl(column(x), row(y))


def left_gradient(g: Any, y: Any, shape: tuple) -> Any:
    """Return the gradient of x (of that shape) in x @ y, for tensors or arrays, like all functions below."""
    if y.ndim == 1:
        return column(g) * y
    if len(shape) == 1:
        return multiply(y, g) if y.ndim == 2 else summed(multiply(y, column(g)).squeeze(-1), shape)
    return summed(multiply(g, y.mT), shape)


def right_gradient(g: Any, x: Any, shape: tuple) -> Any:
    """Return the gradient of y (of that shape) in x @ y."""
    if x.ndim == 1:
        return column(x) * row(g) if len(shape) > 1 else column(g) * x
    if len(shape) == 1:
        return multiply(g.reshape((math.prod(g.shape),)), rows(x))
    if len(shape) == 2:  # one matrix for all of x's: sum the products inside one product
        return multiply(rows(x).mT, rows(g))
    return summed(multiply(x.mT, g), shape)


def multiply(x: Any, y: Any) -> Any:
    """Return x @ y."""
    return product(x, y) if type(x) in KINDS else MatMul.apply(x, y)


def summed(g: Any, shape: tuple) -> Any:
    """Return the gradient of an operand of that shape, which was broadcast."""
    return sum_down(g, shape) if type(g) in KINDS else sum_to(g, shape)


def column(x: Any) -> Any:
    """Return a vector as a matrix of one column."""
    return x.reshape((*x.shape, 1))


def row(x: Any) -> Any:
    """Return a vector as a matrix of one row."""
    return x.reshape((*x.shape[:-1], 1, x.shape[-1]))


def rows(x: Any) -> Any:
    """Return all rows of a batch of matrices as one matrix."""
    return x if x.ndim == 2 else x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))


def broadcasting(cls: Any, in_dims: tuple, x: Tensor, y: Tensor, *statics: Any) -> Tensor:
    """Run an operation that broadcasts batches of matrices; batched arguments have their batch dimension in front."""
    i, j = [None if d is None else 0 for d in in_dims[:2]]
    rank = max(x.ndim - (i is not None), y.ndim - (j is not None))
    x, y = lift(x, i, rank), lift(y, j, rank)
    return cls.apply(x, y, *statics)
