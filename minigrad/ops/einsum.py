"""Contractions: einsum, tensordot, inner, kron.

Dimensions carry labels.  First each operand drops the labels that it alone has (diagonals, sums); then pairs of operands
are contracted in `Einsum`, a batched matrix product, whose transposes are Einsums with exchanged labels.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS, int64
from ..core.tensor import Tensor
from ..errors import MinigradError, error
from ..tensors.printing import error_notes
from .base.families import Bilinear
from .base.registry import op
from .dimensions import distinct_axes
from .equations import labelled, parsed, spelled, sublists, written
from .products import one_dtype, refused

REMEMBERED = 1000  # equations with shapes


class Einsum(Bilinear):
    """The sum of products of two tensors over the labels that `out` omits.

    Each label occurs once in a tensor, and in at least two of x, y and out.
    """

    autocast = "half"
    lowering = "contraction"
    dimensions = "contraction"
    call = lambda of_x, of_y, of_out: f"einsum({written(of_x, of_y, of_out)!r}, x, y)"
    impl = lambda x, y, of_x, of_y, of_out: contract(x, y, of_x, of_y, of_out)
    dx = lambda g, y, of_x, of_y, of_out: Einsum.apply(g, y, of_out, of_y, of_x)
    dy = lambda g, x, of_x, of_y, of_out: Einsum.apply(g, x, of_out, of_x, of_y)

    def vmap(info: Any, in_dims: tuple, x: Tensor, y: Tensor, of_x: tuple, of_y: tuple, of_out: tuple) -> tuple:
        """Give the batch dimension one more label."""
        new = (max((-1, *of_x, *of_y)) + 1,)
        if in_dims[0] is not None:
            x, of_x = x.movedim(in_dims[0], 0), new + of_x
        if in_dims[1] is not None:
            y, of_y = y.movedim(in_dims[1], 0), new + of_y
        return Einsum.apply(x, y, of_x, of_y, new + of_out), 0


@op(
    "'ij,jk->ik', T(2, 3), T(3, 4)",
    "'bij,bjk', T(2, 3, 4), T(2, 4, 5)",
    "'ii', T(3, 3)",
    "'ii->i', T(3, 3)",
    "'ij->ji', T(2, 3)",
    "'ij->', T(2, 3)",
    "'i,j->ij', T(2), T(3)",
    "'...ij,...jk->...ik', T(2, 3, 4), T(4, 5)",
    "'b...,b...->...', T(2, 3), T(2, 3)",
    "'ij,jk,kl->il', T(2, 3), T(3, 4), T(4, 2)",
    "'iij,jk->k', T(3, 3, 2), T(2, 4)",
    "'i,i,i->i', T(3), T(3), T(3)",
    "'ij,kj->ik', T(2, 1), T(4, 3)",
    "',i->i', T(), T(3)",
    "'ij,j->i', T(2, 0), T(0)",
    "T(2, 3), [0, 1], T(3, 4), [1, 2], [0, 2]",
    "'bn,anm,bm->ba', T(2, 3), T(5, 3, 4), T(2, 4)",
    method=False,
)
def einsum(*args: Any) -> Tensor:
    """Sum products of the operands' elements along labelled dimensions: `einsum("ij,jk->ik", x, y)` is `x @ y`.

    A letter names a dimension; the same letter twice in one operand takes its diagonal; `...` stands for any number of
    broadcast dimensions.  Letters missing on the right side are summed over; without `->` the result has the dimensions of
    the ellipsis, then the letters that occur once, alphabetically.  Also `einsum(x, [0, 1], y, [1, 2], [0, 2])`.
    Raises RuntimeError if the equation does not fit the operands.

    >>> import minigrad
    >>> x = minigrad.tensor([[1., 2.], [3., 4.]])
    >>> minigrad.einsum("ii", x), minigrad.einsum("ij->j", x)
    (tensor(5.), tensor([4., 6.]))
    """
    if len(args) < 2:
        raise error(ValueError, "einsum", "needs an equation and an operand", "write einsum('ij->ji', x)")
    if len(args) == 3 and isinstance(args[0], str) and isinstance(args[1], Tensor) and isinstance(args[2], Tensor):
        _, x, y = args
        labels = as_product(args[0], x._sizes, y._sizes) if x._np_dtype == y._np_dtype in FLOATS else None
        if labels is not None:
            return Einsum.apply(x, y, *labels)
    terms, target, operands = parsed(args[0], args[1:]) if isinstance(args[0], str) else sublists(args)
    for i, x in enumerate(operands):
        if not isinstance(x, Tensor):
            what = f"operand {i} must be Tensor, not {type(x).__name__}"
            raise error(TypeError, "einsum", what, "make a tensor of it first: minigrad.tensor(...)")
    operands = one_dtype("einsum", *operands, names=[f"operands[{i}]" for i in range(len(operands))])
    return contraction("einsum", operands, *labelled(terms, target, operands))


@op(
    "T(2, 3, 4), T(3, 4, 5)",
    "T(2, 3), T(3, 4), 1",
    "T(2, 3), T(4, 2), ([0], [1])",
    "T(2), T(3), 0",
    "T(2, 3), T(4, 3), ([-1], [-1])",
    method=False,
    out=True,
)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum the products of a's and b's elements over pairs of dimensions.

    `dims` is the number of a's last and b's first dimensions to pair, or the two lists of dimensions.
    Raises RuntimeError if paired dimensions differ in size.
    """
    if isinstance(dims, Tensor):
        dims = dims.item() if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise refused(
                "tensordot",
                f"dims={dims} does not fit tensors of shapes {tuple(a.shape)} and {tuple(b.shape)}",
                "pass dims as a number of dimensions, or a pair of lists: dims=([1], [0])",
            )
        pairs = list(zip(range(a.ndim - dims, a.ndim), range(dims)))
    else:
        given = [d.tolist() if isinstance(d, Tensor) else d for d in dims] if isinstance(dims, (tuple, list)) else []
        if len(given) != 2 or any(isinstance(d, int) for d in given):
            what = f"dims must be a number of dimensions or two lists of them, got {dims!r}"
            raise error(
                ValueError if len(given) != 2 else TypeError, "tensordot", what, "write dims=1 or dims=([1], [0])"
            )
        left, right = map(list, given)
        if len(left) != len(right):
            raise refused(
                "tensordot",
                f"both lists of dims should have the same length, got {left} and {right}",
                "name equally many dimensions of each: dims=([1], [0])",
            )
        pairs = list(
            zip(distinct_axes(tuple(left), a.ndim, "tensordot"), distinct_axes(tuple(right), b.ndim, "tensordot"))
        )
    for i, j in pairs:
        if a.shape[i] != b.shape[j] and 1 in (a.shape[i], b.shape[j]):  # size 1 broadcasts: sum the other operand
            a, b = (a, b.sum(j, True)) if a.shape[i] == 1 else (a.sum(i, True), b)
        elif a.shape[i] != b.shape[j]:
            raise refused(
                "tensordot",
                f"contracted dimensions need to match, but the first has size {a.shape[i]} in dim {i} and "
                f"the second has size {b.shape[j]} in dim {j}",
                "name dimensions of equal size: dims=([1], [0])",
            )
    a, b = one_dtype("tensordot", a, b, names=("a", "b"))
    of_a, of_b = list(range(a.ndim)), list(range(a.ndim, a.ndim + b.ndim))
    for i, j in pairs:
        of_b[j] = of_a[i]
    return contraction(
        "tensordot", (a, b), [tuple(of_a), tuple(of_b)], tuple(n for n in of_a + of_b if (n in of_a) != (n in of_b))
    )


@op("T(2, 3), T(4, 3)", "T(3), T(3)", "T(), T(2)", "T(2, 3, 4), T(4)", out=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Return the scalar products of all vectors along the last dimensions: (..., k) and (---, k) give (..., ---)."""
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise refused(
            "inner",
            f"the last dimension must match on both input tensors but got shapes {tuple(input.shape)} and "
            f"{tuple(other.shape)}",
            "write input @ other for a matrix product, or give both the same last size",
            notes=error_notes({"input": input, "other": other}, marked=[-1]),
        )
    return tensordot(input, other, ([input.ndim - 1], [other.ndim - 1]))


@op("T(2, 3), T(2, 2)", "T(2), T(3, 1)", "T(), T(2)", "T(2, 0), T(2, 2)", "I(2, 5), T(2)", out=True,
    node="UnsafeView")  # fmt: skip
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: each element of `input` becomes a block, its product with the whole of `other`."""
    n = max(input.ndim, other.ndim)
    x, y = ((1,) * (n - t.ndim) + tuple(t.shape) for t in (input, other))
    blocks = input.reshape([s for m in x for s in (m, 1)]) * other.reshape([s for m in y for s in (1, m)])
    return blocks.reshape([m * k for m, k in zip(x, y)])


# ---------------------------------------------------------------------- the contraction
def contraction(who: str, operands: Any, terms: list, target: tuple) -> Tensor:
    """Multiply operands whose dimensions have these labels, and sum over all labels missing in target."""
    if len(operands) == 2 and is_product(*terms, target, *[x._sizes for x in operands]):
        x, y = operands
        if x._np_dtype is y._np_dtype and x._np_dtype in FLOATS:
            return Einsum.apply(x, y, *terms, target)
    sizes: dict = {}
    for k, (x, term) in enumerate(zip(operands, terms)):
        for n, label in zip(x.shape, term):
            if sizes.setdefault(label, n) != n and n != 1:
                if sizes[label] != 1:
                    raise refused(
                        who,
                        f"subscript {spelled(label)} has size {n} for operand {k} which does not broadcast with "
                        f"previously seen size {sizes[label]}",
                        "use another letter for it, or transpose that operand's letters: 'ij,kj->ik'",
                    )
                sizes[label] = n
    parts = [distinct(x, term, sizes) for x, term in zip(operands, terms)]
    parts = [summed(x, term, result_labels(parts, target, but=i)) for i, (x, term) in enumerate(parts)]
    if len({x._np_dtype for x, _ in parts}) > 1:  # sums of integers, and narrower integers
        parts = [(x.to(int64), term) for x, term in parts]
    while len(parts) > 1:
        i, j = cheapest(parts, target, sizes)
        (x, of_x), (y, of_y) = parts[i], parts[j]
        parts = [p for k, p in enumerate(parts) if k not in (i, j)]
        keep = result_labels(parts, target)
        of_out = tuple(n for n in dict.fromkeys(of_x + of_y) if n in keep) if parts else target
        if x._np_dtype.kind == "b" and not {*of_x} & {*of_y} <= {*of_out}:
            raise error(NotImplementedError, who, "cannot multiply bool tensors", "convert them first: x.long()")
        parts.append((Einsum.apply(x, y, of_x, of_y, of_out), of_out))
    x, term = parts[0]
    return x if term == target else x.permute([term.index(n) for n in target])


@lru_cache(REMEMBERED)
def as_product(equation: str, x: tuple, y: tuple) -> tuple | None:
    """Return the labels of two operands of these shapes and of the result if one product computes it directly; else None."""
    try:
        terms, target, operands = parsed(equation, [np.broadcast_to(0.0, shape) for shape in (x, y)])
        (of_x, of_y), of_out = labelled(terms, target, operands)
    except MinigradError:  # `einsum` raises the error
        return None
    return (of_x, of_y, of_out) if is_product(of_x, of_y, of_out, x, y) else None


@lru_cache(REMEMBERED)
def is_product(of_x: tuple, of_y: tuple, of_out: tuple, x: tuple, y: tuple) -> bool:
    """Return True if one product of operands with these labels and shapes computes their contraction.

    Each label must occur once in an operand, with one size, and in two of the three.
    """
    sizes, labels = {*zip(of_x, x), *zip(of_y, y)}, [*of_x, *of_y, *of_out]
    once = len({*of_x}) == len(of_x) and len({*of_y}) == len(of_y)
    return once and len(sizes) == len({*labels}) == sum(labels.count(n) > 1 for n in {*labels})


def result_labels(parts: list, target: tuple, but: int | None = None) -> set:
    """Return the labels of the result and of all parts but one."""
    return set(target).union(*[term for k, (_, term) in enumerate(parts) if k != but])


def distinct(x: Tensor, term: tuple, sizes: dict) -> tuple:
    """Return an operand and its labels, each once: diagonals of repeated labels, without dimensions that only broadcast."""
    for label in dict.fromkeys(term):
        while term.count(label) > 1:
            i = term.index(label)
            j = term.index(label, i + 1)
            x = x.diagonal(0, i, j)
            term = tuple(n for k, n in enumerate(term) if k not in (i, j)) + (label,)
    for label in term:
        if x.shape[term.index(label)] == 1 and sizes[label] != 1:
            x = x.squeeze(term.index(label))
            term = tuple(n for n in term if n != label)
    return x, term


def summed(x: Tensor, term: tuple, keep: set) -> tuple:
    """Sum an operand over the labels that occur nowhere else, integers as int64."""
    lone = tuple(i for i, n in enumerate(term) if n not in keep)
    return (x.sum(lone), tuple(n for n in term if n in keep)) if lone else (x, term)


def cheapest(parts: list, target: tuple, sizes: dict) -> tuple:
    """Return the two parts to contract next: smallest product relative to its operands, then fewest multiplications.

    Source of this greedy rule: Smith and Gray, "opt_einsum", JOSS 2018.
    """

    def volume(labels: Any) -> int:
        return math.prod([sizes[n] for n in labels])

    def price(pair: tuple) -> tuple:
        (_, x), (_, y) = parts[pair[0]], parts[pair[1]]
        both = set(x) | set(y)
        kept = both & result_labels([p for k, p in enumerate(parts) if k not in pair], target)
        return volume(kept) - volume(x) - volume(y), volume(both)

    return (0, 1) if len(parts) == 2 else min(itertools.combinations(range(len(parts)), 2), key=price)


def contract(x: np.ndarray, y: np.ndarray, of_x: tuple, of_y: tuple, of_out: tuple) -> np.ndarray:
    """Compute Einsum on arrays: sort dimensions by role, then take one batched matrix product."""
    plan = as_matrices(of_x, of_y, of_out, x.shape, y.shape)
    if plan is None:  # nothing to sum: a broadcast product
        return spread(x, of_x, of_out) * spread(y, of_y, of_out)
    (order_x, shape_x), (order_y, shape_y), (order, shape) = plan
    out = np.matmul(x.transpose(order_x).reshape(shape_x), y.transpose(order_y).reshape(shape_y))
    return out.reshape(shape).transpose(order)


@lru_cache(REMEMBERED)
def as_matrices(of_x: tuple, of_y: tuple, of_out: tuple, x: tuple, y: tuple) -> tuple | None:
    """Plan how operands of these shapes become stacks of matrices, and how their product becomes the result.

    Each is an order of dimensions and a shape; None if there is nothing to sum.
    """
    both, rows, over, columns = grouped(of_x, of_y, of_out)
    if not over:
        return None
    sizes = dict(zip(of_x + of_y, x + y))

    def laid_out(labels: tuple, *groups: list) -> tuple:
        order = [labels.index(n) for n in itertools.chain(both, *groups)]
        return order, [sizes[n] for n in both] + [math.prod([sizes[n] for n in group]) for group in groups]

    found = both + rows + columns
    back = [found.index(n) for n in of_out], [sizes[n] for n in found]
    return laid_out(of_x, rows, over), laid_out(of_y, over, columns), back


def grouped(of_x: tuple, of_y: tuple, of_out: tuple) -> tuple[list, list, list, list]:
    """Return the labels of a product: batch, rows, summed and columns."""
    both = [n for n in of_out if n in of_x and n in of_y]
    over = [n for n in of_x if n in of_y and n not in of_out]
    return both, [n for n in of_x if n not in of_y], over, [n for n in of_y if n not in of_x]


def spread(x: np.ndarray, labels: tuple, target: tuple) -> np.ndarray:
    """Return x with its dimensions in target's order, and size 1 for missing ones."""
    order = [labels.index(n) for n in target if n in labels]
    return x.transpose(order)[tuple(slice(None) if n in labels else None for n in target) + (...,)]
