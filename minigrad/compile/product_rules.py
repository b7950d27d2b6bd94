"""Lowering of products: matmul of any rank, affine maps, einsum.

`multiply` reduces all of them to a few cases: outer products are maps, scalar products are reductions, and everything else is
a `dot`, for which library_calls.py writes a BLAS call, or one call for each matrix of a batch. Once all steps are lowered,
products of the parts of one array are joined, and a factor read by many products is copied into a faster layout.
"""

import ast
import math
from typing import Any

from ..ops.einsum import grouped
from .captured_steps import CapturedStep
from .fuse import extent
from .ir import Lowering, Op, Value

# Larger products gain nothing from joining, and the joined one would have to be in memory as a whole.
SMALL = 1 << 16
# Up to this many multiplications, BLAS takes twice as long for x @ y.T as for x @ y. A copy costs as much as one product saves.
SMALL_PRODUCT, SEVERAL = 1 << 18, 3
BLAS = {("minigrad.kernels.cpu.gemm", "product"): None}


def product_rule(low: Lowering, step: CapturedStep, x: Value, y: Value) -> Any:
    if x.dtype != y.dtype or x.dtype.kind != "f":
        return False
    return multiply(low, x, y, low.out())


def affine_rule(low: Lowering, step: CapturedStep, x: Value, weight: Value, bias: Value) -> Any:
    if len(weight.shape) != 2 or not x.dtype == weight.dtype == bias.dtype or x.dtype.kind != "f":
        return False
    out = low.out()
    product = multiply(low, x, low.permuted(weight, (1, 0)), low.new(out.shape, out.dtype))
    return low.map("x + b", {"x": product, "b": bias}, out.shape, out.dtype, out)


def einsum_rule(low: Lowering, step: CapturedStep, x: Value, y: Value, of_x: tuple, of_y: tuple, of_out: tuple) -> Any:
    """Sort the dimensions by their role, then multiply batches of matrices."""
    if x.dtype != y.dtype or x.dtype.kind != "f":
        return False
    both, rows, over, columns = grouped(of_x, of_y, of_out)
    sizes = dict(zip(of_x + of_y, x.shape + y.shape))
    batch = [sizes[n] for n in both]
    n, k, m = (math.prod([sizes[label] for label in group]) for group in (rows, over, columns))
    left = low.reshape(sorted_as(low, x, of_x, [*both, *rows, *over]), (*batch, n, k))
    right = low.reshape(sorted_as(low, y, of_y, [*both, *over, *columns]), (*batch, k, m))
    found = [*both, *rows, *columns]
    product = multiply(low, left, right, low.new((*batch, n, m), x.dtype))
    made = low.reshape(product, tuple([sizes[label] for label in found]))
    return low.permuted(made, tuple([found.index(label) for label in of_out]), low.out())


def sorted_as(low: Lowering, x: Value, labels: tuple, order: list) -> Value:
    """Return x with its dimensions in another order."""
    return low.permuted(x, tuple([labels.index(n) for n in order]))


# ---------------------------------------------------------------------- matmul
def multiply(low: Lowering, x: Value, y: Value, out: Value) -> Value:
    """Lower out = x @ y by matmul's rules; next to a batch, a vector is a matrix with one row or column."""
    if len(x.shape) + len(y.shape) < 4:
        return dot(low, x, y, out)
    left = x if len(x.shape) > 1 else low.reshape(x, (1, *x.shape))
    right = y if len(y.shape) > 1 else low.reshape(y, (*y.shape, 1))
    if left is x and right is y:
        return matrices(low, x, y, out)
    lead = out.shape[: len(out.shape) - (left is x) - (right is y)]
    made = matrices(low, left, right, low.new((*lead, left.shape[-2], right.shape[-1]), out.dtype))
    return low.alias_reshape(made, out)


def matrices(low: Lowering, x: Value, y: Value, out: Value) -> Value:
    """Lower out = x @ y for matrices, or for broadcast batches of matrices."""
    (n, k), m, lead = x.shape[-2:], y.shape[-1], out.shape[:-2]
    if k == 1:
        return low.map("x * y", {"x": x, "y": y}, out.shape, out.dtype, out, name="outer")
    if n == m == 1 and lead:
        terms = low.map("x * y", {"x": x, "y": transposed(low, y)}, (*lead, 1, k), out.dtype)
        return low.reduction("sum", terms, (len(lead) + 1,), True, out)
    x, y = single(low, x), single(low, y)
    if len(x.shape) == len(y.shape) == 2 < len(out.shape):
        return low.alias_expand(dot(low, x, y, low.new((n, m), out.dtype)), out)
    if m == 1 and len(x.shape) == 2 < len(y.shape):  # (y.T @ x.T).T: one product for the whole batch
        return low.alias_reshape(
            dot(low, transposed(low, y), transposed(low, x), low.new((*lead, 1, n), out.dtype)), out
        )
    if len(y.shape) == 2 < len(x.shape) and x.shape[:-2] == lead and len(extent(x.shape[:-1])) == 1:
        rows = low.reshape(x, (math.prod(x.shape[:-1]), k))
        return low.alias_reshape(dot(low, rows, y, low.new((rows.shape[0], m), out.dtype)), out)
    return dot(low, x, y, out)


def dot(low: Lowering, x: Value, y: Value, out: Value) -> Value:
    """Lower out = x @ y to BLAS."""
    return low.add("dot", [x, y], [out], "dot", needs=BLAS)


def transposed(low: Lowering, x: Value) -> Value:
    """Return the transpose of matrices."""
    *lead, row, column = range(len(x.shape))
    return low.permuted(x, (*lead, column, row))


def single(low: Lowering, x: Value) -> Value:
    """Return the matrix that a batch repeats, if all of its matrices are the same; else x."""
    lead, (base, places) = len(x.shape) - 2, low.seen(x)
    batch = [d for d, _, _ in places if d is not None and d < lead and x.shape[d] != 1]
    if not lead or base.kind != "uniform" and batch:
        return x
    return low.alias(x, low.new(x.shape[lead:], x.dtype), [*[(None, 0, 1)] * lead, (0, 0, 1), (1, 0, 1)])


# ---------------------------------------------------------------------- products of parts
def join_products(low: Lowering, wanted: list) -> None:
    """Join the products of all parts of an array with one matrix: words[:, t] @ w for all t becomes words @ w."""
    kept = {low.base(v) for v in wanted}
    found: dict[tuple, dict[int, Op]] = {}
    for op in [op for op in low.ops if op.kind == "dot"]:
        (x, y), out = op.ins, op.outs[0]
        if (place := part_of(low, x)) and len(y.shape) == 2 and out not in kept and math.prod(out.shape) <= SMALL:
            whole, dim, k = place
            base, places = low.seen(y)
            found.setdefault((whole, dim, base, tuple(places), y.shape), {}).setdefault(k, op)
    for (whole, dim, *_), parts in found.items():
        if len(parts) == whole.shape[dim]:
            join(low, whole, dim, parts)


def part_of(low: Lowering, x: Value) -> tuple[Value, int, int] | None:
    """Return (array, d, k) if a factor is part k of dimension d of an array; else None."""
    whole, places = low.seen(x)
    at = [d for d, (of_x, _, _) in enumerate(places) if of_x is None]
    if whole.kind == "uniform" or whole.layout != "C" or len(at) != 1 or at[0] == len(whole.shape) - 1:
        return None
    (dim,) = at
    rest = [n for d, n in enumerate(whole.shape) if d != dim]
    straight = [(d - (d > dim), 0, 1) for d in range(len(whole.shape)) if d != dim]
    same = [p for p in places if p[0] is not None] == straight and [*x.shape] == rest and whole.shape[dim] > 1
    return (whole, dim, places[dim][1]) if same else None


def join(low: Lowering, whole: Value, dim: int, parts: dict[int, Op]) -> None:
    """Replace the products of the parts by one product; their results become views of its result."""
    first = next(iter(parts.values()))
    (_, y), (out,) = first.ins, first.outs
    made = low.new((*whole.shape[:-1], y.shape[1]), out.dtype)
    low.ops[low.ops.index(first)] = Op("dot", [whole, y], [made], "dot", first, **first.data)
    for k, op in parts.items():
        low.alias_index(made, op.outs[0], (slice(None),) * dim + (k,))
    gone = {op.outs[0] for op in parts.values()}
    low.ops = [op for op in low.ops if op.outs[0] not in gone]
    for view, (base, places) in [*low.aliases.items()]:
        if base in gone:
            low.alias(base, view, places)


def copy_into_rows(low: Lowering) -> None:
    """Copy a right factor stored by columns into rows, if several small products read it."""
    found: dict[tuple, list[Op]] = {}
    for op in [op for op in low.ops if op.kind == "dot"]:
        (x, y), (base, places) = op.ins, low.seen(op.ins[1])
        in_columns = len(x.shape) == len(y.shape) == 2 and base.layout == "C" and [d for d, _, _ in places[-1:]] == [0]
        if in_columns and math.prod((*x.shape, y.shape[1])) <= SMALL_PRODUCT:
            found.setdefault((base, tuple(places), y.shape), []).append(op)
    for readers in [ops for ops in found.values() if len(ops) >= SEVERAL]:
        first = readers[0]
        y = first.ins[1]
        rows = low.new(y.shape, y.dtype)
        formula = {"tree": ast.Name("x"), "params": ("x",), "kinds": [y.dtype], "needs": {}, "natural": y.dtype}
        copy = Op("map", [y], [rows], "copy", first, **formula)
        low.ops.insert(low.ops.index(first), copy)
        for op in readers:
            op.ins[1] = rows


PRODUCT_RULES = {"product": product_rule, "affine": affine_rule, "contraction": einsum_rule}
