"""The spelling of reductions, scans and selections along dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..ops import order, quantiles, reduce, scan, sort, statistics
from ..ops.base.families import Reduce
from ..ops.create import ones_like
from ..ops.join import cat, stack
from ..ops.nn import softmax
from ..ops.norms import Norm
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
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, dims: tuple, keepdim: bool) -> Tree | Term:
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


@written(reduce.CountNonzero)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, dims: tuple, keepdim: bool) -> Tree | Term:
    holds = layer.tree(x) if x._np_dtype.kind == "b" else e.operator("!=", layer.tree(x), 0)
    return e.method(holds, "sum", *over(x, dims, keepdim)[0], keepdim=keepdim or None)


@written(statistics.Var, statistics.Std)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, dims: tuple, keepdim: bool, correction: float) -> Tree:
    places, keywords = over(x, dims, keepdim)
    return e.method(layer.tree(x), cls.name, *places, correction=None if correction == 1 else correction, **keywords)


@written(Norm)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, dims: tuple, keepdim: bool, p: float) -> Tree:
    places, keywords = over(x, dims, keepdim)
    return e.call("linalg.vector_norm", layer.tree(x), *[p] * (p != 2), **dict(zip(["dim"], places)), **keywords)


@written(order.Selection, quantiles.Median, quantiles.Nanmedian, quantiles.Mode)
def _(layer: Terms, cls: Any, outs: tuple, x: Tensor, dim: int, keepdim: bool) -> Tree:
    return e.method(layer.tree(x), cls.name, dim, keepdim=keepdim or None)


@written(order.Argmax, order.Argmin)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, dim: int, keepdim: bool) -> Tree:
    return e.method(layer.tree(x), cls.name, dim, keepdim=keepdim or None)


@written(softmax.Softmax, softmax.LogSoftmax)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, dims: tuple) -> Tree:
    if len(dims) > 1:  # the function takes only one dimension
        log = e.operator("-", layer.tree(x), e.method(layer.tree(x), "logsumexp", dims, keepdim=True))
        return log if cls is softmax.LogSoftmax else e.call("exp", log)
    return e.call(cls.name, layer.tree(x), *dims or (0,))


# ---------------------------------------------------------------------- sorting
defined(sort.Sorted)(lambda x, dim, index: x.gather(dim, index))


@written(sort.ArgSort)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, dim: int, descending: bool) -> Tree:
    return e.method(layer.tree(x), "argsort", dim, descending=descending or None, stable=True)


@written(sort.First)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, k: int, dim: int, descending: bool) -> Tree:
    return e.attribute(e.method(layer.tree(x), "topk", k, dim, largest=None if descending else False), "indices")


@written(sort.Ranked)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, k: int, dim: int) -> Tree:
    return e.attribute(e.method(layer.tree(x), "kthvalue", k + 1, dim, keepdim=True), "indices")


# ---------------------------------------------------------------------- scans
@written(scan.Cumsum, scan.Cumprod)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, dim: int, reverse: bool) -> Tree:
    made = layer.tree(x)
    if reverse:
        return e.method(e.method(e.method(made, "flip", dim), cls.name, dim), "flip", dim)
    return e.method(made, cls.name, dim)


@written(scan.Logcumsumexp, scan.Cummax, scan.Cummin)
def _(layer: Terms, cls: Any, out: Tensor, x: Tensor, dim: int) -> Tree:
    return e.method(layer.tree(x), cls.name, dim)


@defined(scan.Shift)
def _(x: Tensor, dim: int, by: int, fill: float) -> Tensor:
    if not x.shape[dim]:
        return x
    n = max(x.shape[dim] - abs(by), 0)
    widths = [0] * (2 * (x.ndim - dim - 1)) + ([by, 0] if by > 0 else [0, -by])
    return pad(x.narrow(dim, 0 if by > 0 else x.shape[dim] - n, n), widths, value=fill)


@defined(scan.Recurrence)
def _(a: Tensor, b: Tensor, dim: int, reverse: bool) -> Tensor:
    """Compute by running products if they can be divisors, else step by step."""
    if reverse:
        return recurrence(a.flip(dim), b.flip(dim), dim).flip(dim)
    return recurrence(a, b, dim)


def recurrence(a: Tensor, b: Tensor, dim: int) -> Tensor:
    """Return y with y[i] = a[i] * y[i-1] + b[i]."""
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
