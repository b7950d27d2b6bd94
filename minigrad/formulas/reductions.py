"""The spelling of reductions, scans and selections along dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..ops import order, reduce, scan, sort
from ..ops.base.families import Reduce
from ..ops.create import ones_like
from ..ops.join import cat, stack
from ..ops.nn import softmax
from ..ops.pad import pad
from ..ops.prod import Prod
from . import expression as e
from .expression import Tree
from .spelling import defined, written
from .terms import Term, Terms, numbers


def over(x: Tensor, dims: tuple, keepdim: bool) -> tuple[list, dict]:
    """Return the arguments for the reduced dimensions: none if all are."""
    if len(dims) == x.ndim and not keepdim:
        return [], {}
    return [dims[0] if len(dims) == 1 else dims], {"keepdim": True} if keepdim else {}


def counted(layer: Terms, x: Tensor) -> Tree:
    """Return the expression of a reduced tensor; bools stay bools, which count as 0 and 1."""
    term = layer.term(x)
    return term.plain.tree if term.plain is not None and x._np_dtype == np.int64 else term.tree


@written(Reduce, reduce.AnyOf, reduce.AllOf)
def reduced(layer: Terms, cls: Any, out: Tensor, x: Tensor, dims: tuple, keepdim: bool) -> Tree | Term:
    """Write a reduction as a method, with the dimensions unless all are reduced."""
    if not dims and cls in (reduce.Sum, reduce.Mean, order.Amax, order.Amin, Prod):
        return layer.term(x)
    places, keywords = over(x, dims, keepdim)
    if cls is softmax.Logsumexp and not places:
        places = [dims]
    word = cls.name[1:] if cls in (order.Amax, order.Amin) and not places else cls.name
    made, plain = e.method(counted(layer, x), word, *places, **keywords), None
    if keepdim and dims == tuple(range(len(dims))):  # broadcasting adds the kept dimensions in front
        shape = tuple(out.shape[len(dims) :])
        given = over(x, dims, False)[0]
        plain = Term(e.method(counted(layer, x), word, *given), shape, out._np_dtype)
    return Term.of(made, out, plain)


# ---------------------------------------------------------------------- sorting
defined(sort.Sorted)(lambda x, dim, index: x.gather(dim, index))


# ---------------------------------------------------------------------- scans
@defined(scan.Shift)
def shift(x: Tensor, dim: int, by: int, fill: float) -> Tensor:
    if not x.shape[dim]:
        return x
    n = max(x.shape[dim] - abs(by), 0)
    widths = [0] * (2 * (x.ndim - dim - 1)) + ([by, 0] if by > 0 else [0, -by])
    return pad(x.narrow(dim, 0 if by > 0 else x.shape[dim] - n, n), widths, value=fill)


@defined(scan.Recurrence)
def recurrence(a: Tensor, b: Tensor, dim: int, reverse: bool = False) -> Tensor:
    """Compute y[i] = a[i] * y[i-1] + b[i] by running products if they can be divisors, else step by step."""
    if reverse:
        return recurrence(a.flip(dim), b.flip(dim), dim).flip(dim)
    n = a.shape[dim]
    if not n:
        return b
    rest = a.narrow(dim, 1, n - 1)
    if np.isfinite(numbers(rest)).all() and (numbers(rest) != 0).all():
        factors = cat([ones_like(a.narrow(dim, 0, 1)), rest], dim).cumprod(dim)
        return factors * (b / factors).cumsum(dim)
    found = [b.select(dim, 0)]
    for i in range(1, n):
        found.append(a.select(dim, i) * found[-1] + b.select(dim, i))
    return stack(found, dim)
