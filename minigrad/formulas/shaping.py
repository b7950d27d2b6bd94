"""The spelling of operations on shapes, on parts of tensors and by index."""

import math
from typing import Any

import numpy as np

from ..core.tensor import Tensor, wrap
from ..ops import copy, diagonal, index, shape
from ..ops.index_places import WHOLE
from ..ops.replaced_parts import Replace
from . import expression as e
from .expression import Tree
from .spelling import spelling
from .terms import Term, Terms, least, numbers


@spelling("repetition")
def copied(layer: Terms, cls: Any, out: Tensor, x: Tensor, y: Any) -> Term:
    return layer.repeated(y, out)


@spelling("conversion")
def to(layer: Terms, cls: Any, out: Tensor, x: Tensor, dtype: Any) -> Term:
    term = layer.term(x)
    if x._np_dtype == out._np_dtype:
        return term
    return Term.of(e.method(term.tree, "to", out.dtype), out, term)


@spelling("new_shape")
def reshape(layer: Terms, cls: Any, out: Tensor, x: Tensor, size: tuple) -> Tree | Term:
    term, old, new = layer.term(x), tuple(x.shape), tuple(out.shape)
    if old == new:
        return term
    if (inner := least(term)).shape == ():  # a repeated scalar
        return layer.expanded(inner, out) if new else Term.of(inner.tree, out, inner)
    for d, n in enumerate(new):
        if n == 1 and new[:d] + new[d + 1 :] == old:
            plain = term if not d or set(new[:d]) == {1} else None  # broadcasting adds the dimension in front anyway
            return Term.of(e.method(term.tree, "unsqueeze", d), out, plain)
    for d, n in enumerate(old):
        if n == 1 and old[:d] + old[d + 1 :] == new:
            return e.method(term.tree, "squeeze", d)
    if len(new) == 1:
        return e.method(term.tree, "flatten")
    if len(new) == 2 < len(old) and new == (math.prod(old[:-1]), old[-1]):
        return e.method(term.tree, "flatten", 0, -2)
    plain = term if old and new[-len(old) :] == old and set(new[: -len(old)]) == {1} else None
    return Term.of(e.method(term.tree, "reshape", *new or ((),)), out, plain)


@spelling("expansion")
def expand(layer: Terms, cls: Any, out: Tensor, x: Tensor, size: tuple) -> Tree | Term:
    term = layer.term(x)
    if x.shape == out.shape:
        return term
    return layer.expanded(least(term), out)


@spelling("permutation")
def permute(layer: Terms, cls: Any, out: Tensor, x: Tensor, order: tuple) -> Tree | Term:
    n, term = x.ndim, layer.term(x)
    if (inner := least(term)).shape == ():
        return layer.expanded(inner, out)
    swapped = [d for d in range(n) if order[d] != d]
    if not swapped:
        return term
    if swapped == [n - 2, n - 1]:
        word = "T" if n == 2 else "mT"
        twice = isinstance(term.tree, e.Attribute) and term.tree.attr == word
        return term.tree.value if twice else e.attribute(term.tree, word)
    if len(swapped) == 2:
        return e.method(layer.tree(x), "transpose", *swapped)
    return e.method(layer.tree(x), "permute", *order)


# ---------------------------------------------------------------------- parts
def written_index(parts: tuple) -> Any:
    """Return an index without full slices at its end, and without the tuple if a single part is left."""
    kept = list(parts)
    while kept and isinstance(kept[-1], slice) and kept[-1] == WHOLE:
        kept.pop()
    return kept[0] if len(kept) == 1 else tuple(kept)


@spelling("subscript")
def indexed(layer: Terms, cls: Any, out: Tensor, x: Tensor, parts: tuple) -> Tree | Term:
    short = written_index(parts)
    whole = x.shape == out.shape and all(isinstance(p, slice) and p.step in (None, 1) for p in parts)
    return layer.term(x) if short == () or whole else e.subscript(layer.tree(x), short)


@spelling("subscript_of_tensors")
def take(layer: Terms, cls: Any, out: Tensor, x: Tensor, dims: tuple, *indices: Tensor) -> Tree:
    return e.subscript(layer.tree(x), places(layer, x.ndim, dims, indices))


def places(layer: Terms, ndim: int, dims: tuple, indices: tuple) -> Any:
    """Return the index of the selected elements: tensors at some dimensions, or a mask."""
    if (mask := mask_of([layer.tree(i) for i in indices])) is not None and len(indices) == ndim:
        return mask
    at = dict(zip(dims, [short(layer.tree(i)) for i in indices]))
    return written_index(tuple([at.get(d, WHOLE) for d in range(ndim)]))


def mask_of(trees: list) -> Tree | None:
    """Return the mask if the indices are the columns of `mask.nonzero()`; else None."""
    columns = [e.subscript(e.parsed("_"), (WHOLE, k)) for k in range(len(trees))]
    found = [t.value for t in trees if isinstance(t, e.Subscript)]
    if len(found) != len(trees) or not all(e.same(t.slice, c.slice) for t, c in zip(trees, columns)):
        return None
    first = found[0]
    there = isinstance(first, e.Call) and isinstance(first.func, e.Attribute) and first.func.attr == "nonzero"
    return first.func.value if there and all(e.same(first, t) for t in found) else None


def short(tree: Tree) -> Tree:
    """Return a constant index tensor as a plain list."""
    made = isinstance(tree, e.Call) and e.text(tree.func) == "tensor" and len(tree.args) == 1
    return tree.args[0] if made and isinstance(tree.args[0], e.List) else tree


@spelling("added_to_zeros")
def untake(layer: Terms, cls: Any, out: Tensor, x: Tensor, size: tuple, dims: tuple, *indices: Tensor) -> Tree:
    """Write zeros with the elements added at the positions they were taken from."""
    return written_at(layer, out, layer.filled("zeros", tuple(size), x), x, dims, indices, True)


@spelling("put")
def put(
    layer: Terms, cls: Any, out: Tensor, x: Tensor, value: Any, dims: tuple, accumulate: bool, *indices: Tensor
) -> Tree:
    return written_at(layer, out, layer.tree(x), value, dims, indices, accumulate)


def written_at(layer: Terms, out: Tensor, x: Tree, value: Any, dims: tuple, indices: tuple, add: bool) -> Tree:
    """Return x with values written or added at positions: by a mask, in slices of a dimension, or at indices."""
    given, single = [layer.tree(i) for i in indices], not isinstance(value, Tensor)
    mask = mask_of(given)
    if mask is not None and len(given) == out.ndim and (single or value.ndim == 1):
        return e.method(x, "masked_fill" if single else "masked_scatter", mask, layer.tree(value))
    if len(dims) == 1 and indices[0].ndim == 1 and (numbers(indices[0]) >= 0).all():
        word = "index_fill" if single else "index_add" if add else "index_copy"
        return e.method(x, word, dims[0], given[0], layer.tree(value))
    there = dict(zip(dims, given if mask is None else [mask]))
    at = tuple([there.get(d) for d in range(max(there) + 1)])
    value = wrap(np.array(value, out._np_dtype)) if single else value
    return e.method(x, "index_put", at, layer.tree(value), accumulate=add or None)


# ---------------------------------------------------------------------- joining and moving
@spelling("embedded_diagonal")
def undiagonal(layer: Terms, cls: Any, out: Tensor, x: Tensor, size: tuple, offset: int, i: int, j: int) -> Tree:
    """Write a square matrix with the diagonal, cropped or padded to size."""
    n, last = x.shape[-1] + abs(offset), (out.ndim - 2, out.ndim - 1)
    made = e.method(layer.tree(x), "diag_embed", *[offset] * bool(offset or (i, j) != last), *[i, j] * ((i, j) != last))
    if min(size[i], size[j]) < n:
        made = e.subscript(
            made, written_index(tuple([slice(m) if d in (i, j) and m < n else WHOLE for d, m in enumerate(size)]))
        )
    if max(size[i], size[j]) > n:
        widths = [
            w for d in reversed(range(min(i, j), out.ndim)) for w in (0, max(size[d] - n, 0) if d in (i, j) else 0)
        ]
        made = e.call("pad", made, tuple(widths))
    return made


# ---------------------------------------------------------------------- replaced parts
def replaced(base: Tensor, view: Tensor, region: tuple, order: tuple | None = None) -> Tensor:
    """Replace a view of a tensor, possibly a view of a view."""
    (fn, args), *rest = region
    if rest:
        view = replaced(fn.apply(base, *args), view, tuple(rest))
    if issubclass(fn, shape.Reshape):
        return view.reshape(base.shape)
    if issubclass(fn, shape.Permute):
        return view.permute(*[args[0].index(d) for d in range(base.ndim)])
    return view if fn is copy.Alias else Replace.apply(base, view, fn, *args)


@spelling("replaced_part")
def replace(layer: Terms, cls: Any, out: Tensor, x: Tensor, value: Any, fn: Any, *args: Any) -> Tree:
    part = layer.tree(value) if isinstance(value, Tensor) else layer.filled("zeros", tuple(fn.apply(x, *args).shape), x)
    if fn is diagonal.Diagonal:
        return e.method(layer.tree(x), "diagonal_scatter", part, *args if args != (0, 0, 1) else ())
    if fn is not index.Index:
        raise NotImplementedError(f"a write through {fn.__name__}")
    return replaced_part(layer.tree(x), part, args[0], 0)


def replaced_part(x: Tree, part: Tree, at: tuple, dim: int) -> Tree:
    """Return a tensor with the part at an index replaced; `at` is the rest of the index, from dimension `dim` on."""
    while at and isinstance(at[0], slice) and at[0] == WHOLE:
        at, dim = at[1:], dim + 1
    if not at:
        return part
    (first, *rest), whole = at, all(isinstance(i, slice) and i == WHOLE for i in at[1:])
    if first is None:
        return replaced_part(x, e.method(part, "squeeze", dim), tuple(rest), dim)
    if not whole:
        inner = e.subscript(x, written_index((*(WHOLE,) * dim, first)))
        part = replaced_part(inner, part, tuple(rest), dim + isinstance(first, slice))
    if isinstance(first, int):
        return e.method(x, "select_scatter", part, dim, first)
    words = {"start": first.start, "end": first.stop, "step": first.step}
    return e.method(x, "slice_scatter", part, *[dim] * bool(dim), **{k: v for k, v in words.items() if v is not None})
