"""The origins of the dimensions of an operation's result.

An operation names its rule (`dimensions`) if there is more to say than which dimension of which argument it is. For all others
the operation runs again with one dimension changed at a time. What no rule finds counts as set by the operation.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..ops.nn.pool_operations import EvenParts


@dataclass
class Origin:
    """The origin of a dimension: dimensions of the arguments and, unless it is unchanged, the reason for its size."""

    sources: list[tuple[int, int]] = field(default_factory=list)  # (argument, its dimension)
    why: str = ""


@dataclass
class Applied:
    """An operation with the shapes of its tensors and its other arguments."""

    cls: Any
    name: str  # its name in the program
    shapes: list[tuple | None]  # of the arguments; None for those that are not tensors
    given: list[Any]
    out: tuple
    gone: list[tuple[int, int, str]] = field(default_factory=list)  # (argument, dimension, why it is gone)

    def value(self, name: str) -> Any:
        """Return the argument with this name."""
        return self.given[self.cls.names.index(name)]

    @property
    def tensors(self) -> list[int]:
        """The positions of the tensors."""
        return [k for k, s in enumerate(self.shapes) if s is not None]


def origins(op: Applied) -> list[Origin]:
    """Return one origin for each dimension of the result, and append the removed dimensions to `op.gone`."""
    if op.cls.primitive:
        found = RULES[op.cls.dimensions](op)
        return by_trial(op) if found is None or len(found) != len(op.out) else found
    return [Origin() for _ in op.out]


LARGE = 1 << 20  # elements; with more in a result or an argument the operation is not run again


def by_trial(op: Applied) -> list[Origin]:
    """Find the dimensions that follow those of the arguments, by changing one at a time and running the operation."""
    found = [Origin() for _ in op.out]
    if max(math.prod(s) for s in (op.out, *filter(None, op.shapes))) > LARGE:
        return found
    which = [i for i, shape in enumerate(tried(op, set()) or ()) if shape == op.out]
    for k in op.tensors if which else ():
        for d, n in enumerate(op.shapes[k] or ()):
            out = resized(op, k, d, which[0])
            changed = [i for i, m in enumerate(op.out) if out is not None and len(out) == len(op.out) and out[i] != m]
            for i in changed:
                found[i].sources.append((k, d))
                found[i].why = grown(n, op.out[i], out[i] - op.out[i])  # type: ignore[index]
            if out is not None and not changed:
                op.gone.append((k, d, f"used up by {op.name}"))
    return found


def resized(op: Applied, k: int, d: int, which: int) -> tuple | None:
    """Return the result's shape if this dimension has one element more, alone or with those of its size; None if it fails."""
    n = op.shapes[k][d]  # type: ignore[index]
    alike = {(j, e) for j in op.tensors for e, m in enumerate(op.shapes[j] or ()) if m == n and j != k}
    shapes = tried(op, {(k, d)}) or tried(op, {(k, d), *alike})
    return None if shapes is None else shapes[which]


def tried(op: Applied, larger: set[tuple[int, int]]) -> list[tuple] | None:
    """Return the shapes of all results if these dimensions have one element more; None if they do not fit."""
    given = list(op.given)
    for k in op.tensors:
        sizes = [n + ((k, d) in larger) for d, n in enumerate(op.shapes[k] or ())]
        given[k] = np.zeros(sizes, np.int64 if op.cls.names[op.cls.parameter(k)] in op.cls.integers else np.float64)
    try:
        made = op.cls.compute(*given)
    except Exception:  # the shapes do not fit
        return None
    return [tuple(a.shape) for a in (made if isinstance(made, tuple) else (made,))]


def grown(n: int, out: int, step: int) -> str:
    """Return the arithmetic from a size to that of the result, which grows by `step` with it; "" if it is the same."""
    more = out - step * n
    product = f"{step} · {n}" if step != 1 else str(n)
    return (
        ""
        if step == 1 and not more
        else f"{product}{f' {chr(43 if more > 0 else 45)} {abs(more)}' if more else ''} = {out}"
    )


def broadcast(op: Applied, positions: list[int], out: tuple) -> list[Origin]:
    """Align dimensions at the end, and repeat those of size 1."""
    found = []
    for d, n in enumerate(out):
        back = d - len(out)
        there = [(k, len(op.shapes[k]) + back) for k in positions if len(op.shapes[k]) >= -back]  # type: ignore[arg-type]
        full = [(k, e) for k, e in there if op.shapes[k][e] == n]  # type: ignore[index]
        short = len(positions) - len(full)
        over = "an operand" if short == 1 else f"{short} operands"
        found.append(Origin(full, f"{over} broadcast {n} times" if short and n > 1 else ""))
    return found


def same(k: int, dims: Iterable[int]) -> list[Origin]:
    """Return dimensions of one argument, unchanged."""
    return [Origin([(k, d)]) for d in dims]


def reduced(op: Applied) -> list[Origin] | None:
    """Return the dimensions that are left after a reduction."""
    x, names = op.shapes[0], op.cls.names
    if "keepdim" not in names or x is None:
        return None
    dims = op.value("dims") if "dims" in names else op.value("dim")
    dims = range(len(x)) if dims is None else [dims] if isinstance(dims, int) else dims
    dims = [d % len(x) for d in dims] if x else []
    keep = op.value("keepdim")
    for d in dims:
        op.gone.append((0, d, f"{op.name} {'reduces it to size 1' if keep else 'removes it'}"))
    if keep:
        return [Origin([] if d in dims else [(0, d)], "keepdim=True" if d in dims else "") for d in range(len(x))]
    return same(0, [d for d in range(len(x)) if d not in dims])


def product(op: Applied) -> list[Origin]:
    """Return the dimensions of x @ y: broadcast batches, rows of x, columns of y."""
    x, y = op.shapes[0] or (), op.shapes[1] or ()
    rows, columns = len(x) > 1, len(y) > 1
    lead = op.out[: len(op.out) - rows - columns]
    found = []
    for d in range(len(lead)):
        back = d - len(lead)
        there = [(k, len(s) - 2 + back) for k, s in ((0, x), (1, y)) if len(s) - 2 >= -back]
        found.append(Origin([(k, e) for k, e in there if (x, y)[k][e] == lead[d]]))
    what = "the rows" if columns else "the elements"
    op.gone.append((0, len(x) - 1, f"summed over with {what} of the other operand by {op.name}"))
    return found + same(0, [len(x) - 2] * rows) + same(1, [len(y) - 1] * columns)


def affine(op: Applied) -> list[Origin]:
    """Return the dimensions of x @ weight.T + bias."""
    x = op.shapes[0] or ()
    op.gone.append((0, len(x) - 1, f"summed over with dimension 1 of the weight by {op.name}"))
    return [*same(0, range(len(x) - 1)), Origin([(1, 0)], "the weight's rows")]


def contraction(op: Applied) -> list[Origin]:
    """Find each label of the result among the operands' labels."""
    operands, kept = [op.value("of_x"), op.value("of_y")], op.value("of_out")
    for k, labels in enumerate(operands):
        op.gone += [(k, d, f"summed over by {op.name}") for d, label in enumerate(labels) if label not in kept]
    places = [[(k, labels.index(one)) for k, labels in enumerate(operands) if one in labels] for one in kept]
    return [Origin(place) for place in places]


def joined(op: Applied) -> list[Origin]:
    """Add up sizes along one dimension, or along both of a block diagonal; for a stack, add a new dimension."""
    new, found = op.cls.dimensions == "stack", []
    along = range(len(op.out))[-2:] if op.cls.dimensions == "blocks" else (op.value("dim"),)
    for d in range(len(op.out)):
        if d not in along:
            found.append(Origin([(k, d - (new and d > along[0])) for k in op.tensors]))
        elif new:
            found.append(Origin(why=f"new: {op.name} of {len(op.tensors)} tensors"))
        else:
            sizes = " + ".join(str(op.shapes[k][d]) for k in op.tensors)  # type: ignore[index]
            found.append(Origin([(k, d) for k in op.tensors], f"{sizes} = {op.out[d]}"))
    return found


def convolved(op: Applied) -> list[Origin]:
    """Return the batch of x, one channel for each kernel, and as many windows as fit."""
    x, w = op.shapes[0] or (), op.shapes[1] or ()
    g = op.value("geometry")
    op.gone.append((0, 1, f"summed over with dimension 1 of the weight by {op.name}"))
    found = windows(2, x, w[2:], g.stride, g.padding, g.dilation, op.out)
    return [Origin([(0, 0)]), Origin([(1, 0)], "one channel for each kernel"), *found]


def pooled(op: Applied) -> list[Origin]:
    """Return the leading dimensions, and as many windows as fit over the last ones, or the requested number of parts."""
    x, shape = op.shapes[0] or (), op.value("windows")
    lead = len(x) - len(shape.size)
    if isinstance(shape, EvenParts):
        parts = zip(shape.number, shape.size)
        return same(0, range(lead)) + [Origin([(0, d)], f"{w} parts of {m}") for d, (w, m) in enumerate(parts, lead)]
    settings = shape.kernel, shape.stride, shape.padding, shape.dilation
    return same(0, range(lead)) + windows(lead, x, *settings, op.out)


def windows(lead: int, x: tuple, kernel: Any, stride: Any, padding: Any, dilation: Any, out: tuple) -> list[Origin]:
    """Return the dimensions of x from `lead` on, with as many windows as fit."""
    sizes = zip(x[lead:], kernel, stride, padding, dilation, out[lead:])
    return [Origin([(0, d)], fitting(*each)) for d, each in enumerate(sizes, lead)]


def fitting(size: int, kernel: int, stride: int, padding: int, dilation: int, out: int) -> str:
    """Return the number of windows as arithmetic, or in words if the last one may extend past the end."""
    wide = f"{dilation}·({kernel} - 1) - 1" if dilation > 1 else str(kernel)
    inside = f"({size} + 2·{padding} - {wide})" if padding else f"({size} - {wide})"
    steps = f"{inside} // {stride}" if stride > 1 else inside
    count = (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    return f"{steps} + 1 = {out}" if count == out else f"windows of {kernel} over {size}"


def padded(op: Applied) -> list[Origin]:
    """Return each size plus its padding before and after."""
    x, found = op.shapes[0] or (), []
    for d, (n, (before, after)) in enumerate(zip(x, op.value("widths"))):
        found.append(Origin([(0, d)], f"{n} + {before} + {after} = {op.out[d]}" if before or after else ""))
    return found


def looked_up(op: Applied) -> list[Origin]:
    """Return the dimensions of the indices, and the columns of the weight."""
    indices = op.shapes[1] or ()
    return [*same(1, range(len(indices))), Origin([(0, 1)], "the weight's columns")]


def viewed(op: Applied) -> list[Origin] | None:
    """Derive the dimensions of a view from its strides, by applying it to a dummy array."""
    x = op.shapes[0]
    if x is None or math.prod(x) == 0:
        return None
    base = np.empty(x, np.int8)
    try:
        out = op.cls.impl(base, *op.given[1:])
    except Exception:  # it needs the original memory
        return None
    found = [strided(op, x, base.strides, n, t) for n, t in zip(op.out, out.strides)]
    ones(op, x, found)
    used = {d for origin in found for _, d in origin.sources}
    for d in [d for d in range(len(x)) if d not in used]:
        op.gone.append((0, d, f"{op.name} selects one of its {x[d]} positions" if x[d] > 1 else f"{op.name} drops it"))
    return found


def strided(op: Applied, x: tuple, own: tuple, n: int, stride: int) -> Origin:
    """Return the origin of one dimension of a view, from its size and stride."""
    if n == 1:
        return Origin()
    if stride == 0:
        return Origin(why=f"repeated {n} times by {op.name}")
    size, flat = abs(stride), op.cls.dimensions == "regrouped"
    for k in range(len(x) - 1, -1, -1):
        if x[k] == 1 or size % own[k] or size >= own[k] * x[k]:
            continue
        step = size // own[k]
        if step == 1 and n == x[k]:
            return Origin([(0, k)], "reversed" if stride < 0 else "")
        if n * step <= x[k] and flat:
            return Origin([(0, k)], f"a part of {x[k]}, split by {op.name}")
        if n * step > x[k] and step == 1:
            return merged(op, x, k, n)
        return Origin([(0, k)], f"{n} of {x[k]}" + (f" in steps of {step}" if step > 1 else ""))
    return Origin()


def merged(op: Applied, x: tuple, last: int, n: int) -> Origin:
    """Return adjacent dimensions merged into one."""
    first = last
    while math.prod(x[first : last + 1]) < n and first > 0:
        first -= 1
    if math.prod(x[first : last + 1]) != n:
        return Origin([(0, k) for k in range(first, last + 1)], f"regrouped by {op.name}")
    sizes = " · ".join(str(m) for m in x[first : last + 1])
    return Origin([(0, k) for k in range(first, last + 1) if x[k] > 1], f"{sizes} = {n}, merged by {op.name}")


def ones(op: Applied, x: tuple, found: list[Origin]) -> None:
    """Match dimensions of size 1, whose strides say nothing: in order, they are those of x, and the rest are new."""
    free = [d for d, n in enumerate(x) if n == 1]
    for d, n in enumerate(op.out):
        if found[d].sources or found[d].why and n > 1 and not free:
            continue
        if n == 1 and free and (len(op.out) <= len(x) or len(free) >= sum(m == 1 for m in op.out[d:])):
            found[d].sources.append((0, free.pop(0)))
        elif n == 1:
            found[d].why = f"new, added by {op.name}"
        elif free and op.cls.dimensions == "repeated" and len(op.out) - d <= len(x) and x[d - len(op.out)] == 1:
            found[d].sources.append((0, len(x) + d - len(op.out)))
            free.remove(len(x) + d - len(op.out))


def all_products(op: Applied) -> list[Origin]:
    return [Origin([(k, len(op.shapes[k] or ()) - 1)]) for k in (0, 1)]


RULES: dict[str, Callable[[Applied], list[Origin] | None]] = {
    "": reduced, "broadcast": lambda op: broadcast(op, op.tensors, op.out),
    **dict.fromkeys(("view", "regrouped", "repeated"), viewed),
    "affine": affine, "product": product, "outer": all_products, "contraction": contraction,
    **dict.fromkeys(("concatenation", "stack", "blocks"), joined),
    "convolution": convolved, "windows": pooled, "padding": padded, "lookup": looked_up,
}  # fmt: skip
