"""The spelling of reductions."""

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from . import expression as e
from .expression import Tree
from .spelling import spelling
from .terms import Term, Terms


def over(x: Tensor, dims: tuple, keepdim: bool) -> tuple[list, dict]:
    """Return the arguments for the reduced dimensions: none if all are."""
    if len(dims) == x.ndim and not keepdim:
        return [], {}
    return [dims[0] if len(dims) == 1 else dims], {"keepdim": True} if keepdim else {}


def counted(layer: Terms, x: Tensor) -> Tree:
    """Return the expression of a reduced tensor; bools stay bools, which count as 0 and 1."""
    term = layer.term(x)
    return term.plain.tree if term.plain is not None and x._np_dtype == np.int64 else term.tree


@spelling("reduction")
def reduced(layer: Terms, cls: Any, out: Tensor, x: Tensor, dims: tuple, keepdim: bool) -> Tree | Term:
    """Write a reduction as a method, with the dimensions unless all are reduced."""
    if not dims and cls.keeps_elements:
        return layer.term(x)
    places, keywords = over(x, dims, keepdim)
    if cls.takes_dims and not places:
        places = [dims]
    word = cls.name if places else cls.name_of_all or cls.name
    made, plain = e.method(counted(layer, x), word, *places, **keywords), None
    if keepdim and dims == tuple(range(len(dims))):  # broadcasting adds the kept dimensions in front
        shape = tuple(out.shape[len(dims) :])
        given = over(x, dims, False)[0]
        plain = Term(e.method(counted(layer, x), word, *given), shape, out._np_dtype)
    return Term.of(made, out, plain)
