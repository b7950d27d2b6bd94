"""Linear algebra: the checks of shapes and dtypes in products, and the entry of torch.linalg's functions into the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..arrays.shapes import apart, broadcast_shape, broadcastable, meeting
from ..core.frames import current
from ..core.tensor import Tensor
from ..errors import error
from ..places import operands
from ..tensors.printing import error_notes
from .base.registry import op

refused = partial(error, RuntimeError)  # PyTorch's error for shapes and dtypes that do not fit
NAMES = ("input", "other")


def linalg(*samples: str, out: bool = True, **options: Any) -> Callable:
    """Enter a function of torch.linalg, which is not a method: solve as linalg.solve, and linalg_qr as linalg.qr."""

    def enter(f: Callable) -> Callable:
        name = "linalg." + f.__name__.removeprefix("linalg_")
        return op(*samples, name=name, method=False, out=out, **options)(f)

    return enter


def fit(who: str, x: Any, y: Any, names: tuple = NAMES) -> None:
    """Raise an error if x and y cannot be multiplied."""
    if not x.ndim or not y.ndim:
        raise refused(
            who,
            f"both arguments need to be at least 1D, but {names[0]} is {x.ndim}D and {names[1]} {y.ndim}D",
            f"multiply by a 0-d tensor with *: {' * '.join(operands(who) or names)}",
            notes=error_notes(dict(zip(names, (x, y))), marked=()),
        )
    inner = (x.shape[-1], y.shape[-2] if y.ndim > 1 else y.shape[0])
    if inner[0] != inner[1]:
        raise refused(
            who,
            f"shapes {tuple(x.shape)} and {tuple(y.shape)} cannot be multiplied: the inner sizes {inner[0]} (last of "
            f"{names[0]}) and {inner[1]} ({'second to last' if y.ndim > 1 else 'last'} of {names[1]}) differ",
            other_order(x, y, operands(who) or names)
            or f"make them equal: {names[0]} of shape (..., n, k), {names[1]} of shape (..., k, m)",
            notes=error_notes(dict(zip(names, (x, y))), dict(zip(names, chained(x.shape, y.shape))), [-2]),
        )
    if x._np_dtype != y._np_dtype:
        raise two_dtypes(who, x, y, *names)
    if x._np_dtype.kind == "b":
        fix = f"convert them first: {names[0]}.float() @ {names[1]}.float()"
        raise error(NotImplementedError, who, "cannot multiply bool tensors", fix)
    if not broadcastable(tuple(x.shape[:-2]), tuple(y.shape[:-2])):
        batches = {n: tuple(t.shape[:-2]) for n, t in zip(names, (x, y))}
        fix = "give them one size, or size 1 in one of them: unsqueeze(0) adds a dimension in front"
        raise refused(who, apart(batches.values()), fix, notes=error_notes(dict(zip(names, (x, y))), batches))


def chained(x: tuple, y: tuple) -> tuple:
    """Return two shapes with gaps, so that the sizes that must be equal in a product are below each other."""
    batches = [tuple(s[:-2]) for s in (x, y)]
    rank = max(map(len, batches))
    rows = [("",) * (rank - len(b)) + b for b in batches]
    left, right = (x[-2:] if len(x) > 1 else ("", x[0])), (y[-2:] if len(y) > 1 else (y[0], ""))
    return (*rows[0], *left, ""), (*rows[1], "", *right)


def other_order(x: Any, y: Any, names: Sequence[str]) -> str:
    """Return the fix: the product of a and b that works instead; "" if there is none."""
    a, b = names
    if y.ndim > 1 and x.shape[-1] == y.shape[-1]:
        return f"transpose {b}: {a} @ {b}.mT"
    if x.ndim > 1 and x.shape[-2] == y.shape[-2 if y.ndim > 1 else -1]:
        return f"transpose {a}: {a}.mT @ {b}"
    if x.ndim > 1 and y.shape[-1] == x.shape[-2]:
        return f"write {b} @ {a}: the inner sizes of a product are the last of its left and the first of its right side"
    return ""


def ranked(who: str, x: Tensor, y: Tensor, ranks: tuple, names: tuple = NAMES, fix: str = "") -> None:
    """Raise RuntimeError unless each of two tensors has its number of dimensions."""
    if (x.ndim, y.ndim) != ranks:
        raise refused(
            who,
            f"expected tensors of {ranks[0]}-D and {ranks[1]}-D, got shapes {tuple(x.shape)} and {tuple(y.shape)}",
            fix or f"write {names[0]} @ {names[1]}, which takes all ranks",
            notes=error_notes(dict(zip(names, (x, y))), marked=()),
        )


def one_dtype(who: str, *operands: Tensor, names: Sequence[str] = NAMES) -> tuple[Tensor, ...]:
    """Return operands of one dtype; raise RuntimeError for several: products do not promote, except under autocast."""
    odd = next((i for i, x in enumerate(operands) if x._np_dtype != operands[0]._np_dtype), None)
    if odd is None:
        return operands
    for layer in current().layers():
        if layer.convert is not None:
            return tuple(map(layer.convert, operands))
    raise two_dtypes(who, operands[0], operands[odd], names[0], names[odd])


def two_dtypes(who: str, x: Tensor, y: Tensor, a: str, b: str) -> Any:
    """Return the error for operands, called a and b, of two dtypes."""
    return refused(
        who,
        f"expected {a} and {b} to have the same dtype, but got: {x.dtype} != {y.dtype}",
        f"convert one of them: {a}.to({b}.dtype), or {a}.float() and {b}.float()",
        notes=error_notes({a: x, b: y}, marked=()),
    )


def multiple(x: Tensor, number: Any) -> Tensor:
    """Return number * x in x's dtype: for bools every number but 0 is True."""
    return x if number == 1 else x * (bool(number) if x._np_dtype.kind == "b" else number)


def broadcast(who: str, x: tuple, y: tuple, names: tuple = NAMES) -> tuple:
    """Return the common shape of two shapes, or raise RuntimeError."""
    try:
        return broadcast_shape(x, y)
    except ValueError:
        shapes = tuple(x), tuple(y)
        raise refused(who, apart(shapes), meeting(dict(zip(names, shapes)))) from None
