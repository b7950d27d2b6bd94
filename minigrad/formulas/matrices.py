"""The spelling of matrix products."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..ops import matmul
from . import expression as e
from .expression import Tree
from .spelling import written
from .terms import Terms


@written(matmul.Cross)
def cross(layer: Terms, cls: Any, out: Tensor, x: Tensor, y: Tensor, dim: int) -> Tree:
    return e.call("linalg.cross", *layer.meeting((x, y), out), dim=dim - out.ndim)
