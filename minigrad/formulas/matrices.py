"""The spelling of matrix products and decompositions."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops import chains, decompositions, determinants, linalg, lu, matmul, norms, rank
from ..ops.einsum import Einsum
from ..ops.equations import LETTERS
from ..ops.nn.linear import Affine
from . import expression as e
from .expression import Tree
from .spelling import defined, written
from .terms import Terms


@written(matmul.MatMul, matmul.Mm, matmul.Bmm, matmul.Mv, matmul.Dot)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, y: Tensor) -> Tree:
    return e.operator("@", layer.tree(x), layer.tree(y))


@defined(matmul.Outer)
def _(x: Tensor, y: Tensor) -> Tensor:
    return matmul.column(x) * matmul.row(y)


@written(matmul.Cross)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, y: Tensor, dim: int) -> Tree:
    return e.call("linalg.cross", *layer.meeting((x, y), out), dim=dim - out.ndim)


@written(Einsum)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, y: Tensor, of_x: tuple, of_y: tuple, of_out: tuple) -> Tree:
    """Write an einsum with letters from i on, in order of appearance."""
    letters = dict(zip(dict.fromkeys((*of_x, *of_y, *of_out)), "ijklmnopqrstuvwxyzabcdefgh" + LETTERS))
    x_, y_, out_ = ("".join(letters[d] for d in labels) for labels in (of_x, of_y, of_out))
    return e.call("einsum", f"{x_},{y_}->{out_}", layer.tree(x), layer.tree(y))


@written(Affine)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, weight: Tensor, bias: Tensor) -> Tree:
    return e.call("linear", *map(layer.tree, (x, weight, bias)))


@written(linalg.Inv)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, strict: bool) -> Tree:
    return e.call("linalg.inv", layer.tree(x))


@written(linalg.Solve)
def _(layer: Terms, cls: Any, out: Tensor, a: Tensor, b: Tensor) -> Tree:
    return e.call("linalg.solve", layer.tree(a), layer.tree(b))


@written(linalg.SolveTriangular)
def _(layer: Terms, cls: Any, out: Tensor, a: Tensor, b: Tensor, upper: bool, unit: bool) -> Tree:
    return e.call("linalg.solve_triangular", layer.tree(a), layer.tree(b), upper=upper, unitriangular=unit or None)


@written(decompositions.Cholesky)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Tree:
    return e.call("linalg.cholesky", layer.tree(x))


@written(decompositions.Qr)
def _(layer: Terms, cls: Any, outs: tuple, x: Tensor, mode: str) -> Tree:
    return e.call("linalg.qr", layer.tree(x), *[mode] * (mode != "reduced"))


@written(decompositions.Eigh, decompositions.Eigvalsh)
def _(layer: Terms, cls: Any, outs: Any, x: Tensor, UPLO: str) -> Tree:
    return e.call(f"linalg.{cls.name}", layer.tree(x), *[UPLO] * (UPLO != "L"))


@written(decompositions.Svd)
def _(layer: Terms, cls: Any, outs: tuple, x: Tensor, full: bool) -> Tree:
    return e.call("linalg.svd", layer.tree(x), full_matrices=None if full else False)


@written(decompositions.Svdvals)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Tree:
    return e.call("linalg.svdvals", layer.tree(x))


@written(lu.LuFactor, lu.CholeskyInfo)
def _(layer: Terms, cls: Any, outs: tuple, x: Tensor, who: str) -> Tree:
    return e.call(f"linalg.{cls.name}", layer.tree(x))


@written(lu.Permutation)
def _(layer: Terms, cls: Any, out: Tensor, packed: Tensor, pivots: Tensor) -> Tree:
    return e.subscript(e.call("lu_unpack", layer.tree(packed), layer.tree(pivots)), 0)


@written(chains.MatrixExp)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor) -> Tree:
    return e.call("matrix_exp", layer.tree(x))


@written(determinants.Det, determinants.Slogdet)
def _(layer: Terms, cls: Any, out: Any, x: Tensor) -> Tree:
    return e.call(cls.name, layer.tree(x))


@defined(determinants.Cofactors)
def _(x: Tensor) -> Tensor:
    return determinants.det(x).unsqueeze(-1).unsqueeze(-1) * linalg.inverse(x).mT


@written(rank.Pinv)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, atol: Any, rtol: Any) -> Tree:
    return e.call("linalg.pinv", layer.tree(x), atol=atol or None, rtol=rtol)


@written(rank.MatrixRank)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, atol: Any, rtol: Any) -> Tree:
    return e.call("linalg.matrix_rank", layer.tree(x), atol=atol or None, rtol=rtol)


@written(norms.Cdist)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, y: Tensor, p: float, fast: bool) -> Tree:
    return e.call("cdist", layer.tree(x), layer.tree(y), *[p] * (p != 2))
