"""The spelling of matrix products."""

from typing import Any

from ..core.tensor import Tensor
from . import expression as e
from .expression import Tree
from .spelling import spelling
from .terms import Terms


@spelling("cross_product")
def cross(layer: Terms, cls: Any, out: Tensor, x: Tensor, y: Tensor, dim: int) -> Tree:
    return e.call("linalg.cross", *layer.meeting((x, y), out), dim=dim - out.ndim)
