"""Products of many matrices: chains in the cheapest order, powers by repeated squaring, and the exponential."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ..arrays.kinds import to_device_of
from ..arrays.meta import has_numbers
from ..core.tensor import Tensor
from ..errors import error
from .base.primitive import constant_of
from .base.registry import op
from .copy import Contiguous
from .join import cat
from .linalg import OfMatrices, identity, inverse, square
from .matmul import mm
from .products import fit, linalg, refused


@linalg("[T(2, 5), T(5, 1), T(1, 4)]", "[T(3), T(3, 4), T(4)]", "[T(2, 3), T(3, 4)]", node="View")
def multi_dot(tensors: Any) -> Tensor:
    """Multiply a sequence of matrices in the order that takes the fewest multiplications.

    The first and the last may be vectors.  Raises RuntimeError for fewer than two and for other ranks.
    Source of the order: Cormen et al., Introduction to Algorithms, section 15.2.
    """
    chain = list(tensors)
    if len(chain) < 2:
        raise refused(
            "linalg.multi_dot",
            f"expected at least 2 tensors but got {len(chain)}",
            "write matmul(a, b), or pass a list of the matrices",
        )
    row, column = chain[0].ndim == 1, chain[-1].ndim == 1
    chain[0], chain[-1] = chain[0].unsqueeze(0) if row else chain[0], chain[-1].unsqueeze(1) if column else chain[-1]
    for i, t in enumerate(chain):
        if t.ndim != 2:
            raise refused(
                "linalg.multi_dot",
                f"tensor {i} must be 2-D (the first and last may be 1-D) but has shape {tuple(t.shape)}",
                f"write tensors[{i}].reshape(rows, columns)",
            )
    for i, (x, y) in enumerate(itertools.pairwise(chain)):
        fit("linalg.multi_dot", x, y, (f"tensors[{i}]", f"tensors[{i + 1}]"))
    out = in_order(chain, best_splits([t.shape[0] for t in chain] + [chain[-1].shape[1]]), 0, len(chain) - 1)
    out = out.squeeze(-1) if column else out
    return out.squeeze(0) if row else out


@op("T(2, 3), T(3, 4), T(4, 2)", "T(2, 3)", method=False, node=lambda *matrices: "View" if matrices[1:] else "")
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Multiply the matrices in the order that takes the fewest multiplications (see linalg.multi_dot)."""
    if not all([isinstance(m, Tensor) for m in matrices]):
        fix = "write chain_matmul(a, b, c), or linalg.multi_dot([a, b, c])"
        raise error(TypeError, "chain_matmul", "takes each matrix as a separate tensor argument", fix)
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(matrices)


def best_splits(sizes: list) -> dict:
    """Return (first, last) -> the matrix to split that part of the chain after; matrix i is (sizes[i], sizes[i + 1])."""
    n = len(sizes) - 1
    cost: dict = {(i, i): (0, i) for i in range(n)}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j] = min(
                (cost[i, k][0] + cost[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return {part: k for part, (_, k) in cost.items()}


def in_order(chain: list, splits: dict, i: int, j: int) -> Tensor:
    """Return the product of matrices i to j of a chain."""
    if i == j:
        return chain[i]
    k = splits[i, j]
    return mm(in_order(chain, splits, i, k), in_order(chain, splits, k + 1, j))


@op("T(3, 3), 3", "T(2, 3, 3), 2", "T(3, 3), 0", "T(3, 3), 1", "S(3, 3), -2", "T(2, 2), 5", aliases=(), out=True)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Raise each square matrix to an integer power by repeated squaring; a negative power inverts first."""
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise refused(
            "matrix_power",
            f"A must be batches of square matrices, but it has shape {tuple(input.shape)}",
            "use a square matrix; A @ A.mT and A.mT @ A are square",
        )
    if n == 0:
        return constant_of(identity(input).expand(input.shape).clone(), input)
    base, n, out = (inverse(input), -n, None) if n < 0 else (input, n, None)
    while n:
        if n & 1:
            out = base if out is None else out @ base
        n >>= 1
        base = base @ base if n else base
    return Contiguous.apply(out) if out is input else out


class MatrixExp(OfMatrices):
    """The exponential of square matrices; its derivative is a block of the exponential of a matrix of twice the size."""

    autocast = ""
    node = "LinalgMatrixExp"
    impl = lambda x: exponential(x)
    dx = lambda g, x: exponential_gradient(g, x)


@op("T(3, 3)", "T(2, 3, 3)", "T(1, 1)", "T(0, 0)", "T(0, 2, 2)", "9 * T(2, 2)", aliases=("linalg.matrix_exp",))
def matrix_exp(input: Tensor) -> Tensor:
    """Return the exponential of each square matrix, I + A + A @ A / 2 + A @ A @ A / 6 + ...

    >>> import minigrad
    >>> minigrad.matrix_exp(minigrad.tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    square("linalg.matrix_exp", input)
    return MatrixExp.apply(input)


TERMS = 14  # terms of the series: exact in float64 for matrices whose column sums are at most 1/2


def exponential(a: np.ndarray) -> np.ndarray:
    """Return the Taylor series of A / 2**s, squared s times.

    Source: Moler, Van Loan, "Nineteen dubious ways to compute the exponential of a matrix", 2003, method 3.
    """
    one, times = to_device_of(np.eye(a.shape[-1], dtype=a.dtype), a), 0
    if a.size and has_numbers(a):
        largest = np.abs(a).sum(-2).max(-1)[..., None, None]
        halvings = np.maximum(np.ceil(np.log2(np.where((largest > 0) & (largest < math.inf), 2 * largest, 1))), 0)
        times = int(halvings.max())
        a = a / np.exp2(halvings)
    q = one + a * 0
    for n in range(TERMS, 0, -1):
        q = one + a @ q / n
    for i in range(times):
        q = np.where(halvings > i, q @ q, q)
    return q


def exponential_gradient(g: Tensor, x: Tensor) -> Tensor:
    """Return the corner of exp([[A^T, g], [0, A^T]]).  Source: Higham, "Functions of Matrices", 2008, (3.16)."""
    n = x.shape[-1]
    upper, lower = cat([x.mT, g], -1), cat([x.mT * 0, x.mT], -1)
    return MatrixExp.apply(cat([upper, lower], -2))[..., :n, n:]
