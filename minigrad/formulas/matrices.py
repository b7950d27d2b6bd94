"""The spelling of matrix products and decompositions."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops import determinants, linalg, matmul
from . import expression as e
from .expression import Tree
from .spelling import defined, written
from .terms import Terms


@defined(matmul.Outer)
def outer(x: Tensor, y: Tensor) -> Tensor:
    return matmul.column(x) * matmul.row(y)


@written(matmul.Cross)
def cross(layer: Terms, cls: Any, out: Tensor, x: Tensor, y: Tensor, dim: int) -> Tree:
    return e.call("linalg.cross", *layer.meeting((x, y), out), dim=dim - out.ndim)


@defined(determinants.Cofactors)
def cofactors(x: Tensor) -> Tensor:
    return determinants.det(x).unsqueeze(-1).unsqueeze(-1) * linalg.inverse(x).mT
