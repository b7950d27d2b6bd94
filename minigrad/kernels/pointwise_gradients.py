"""Kernels of pointwise gradients: all requested gradients of an operation from one pass over the arrays.

Their calls are prepared for given shapes and dtypes, as those of the results are (pointwise_calls.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache as kept
from typing import Any, NamedTuple

import numpy as np

from ..arrays import dtypes
from . import fallback, formula, generate
from .choose import choose, kind
from .operands import plain, scalar
from .pointwise_calls import flat, loaded
from .threads import launch

GRADIENTS_FROM = 4096  # elements; below, the formulas of gradients take as long as the call of a kernel


class BackwardCall(NamedTuple):
    """A kernel for gradients, with the positions and conversions of the values that it reads."""

    kernel: Callable
    same: bool  # True if the incoming gradient is the same number everywhere
    places: tuple
    takes: list
    wanted: tuple  # the operands whose gradients it computes


def backward(op: Any, kinds: list, g: np.ndarray, bound: tuple) -> tuple | None:
    """Return all requested gradients of op from one compiled pass; None if that is not possible.

    `kinds` gives for each operand the dtype of its gradient, or None if no gradient is requested.
    """
    n = len(kinds)
    if op.simple(*bound[:n]) or fallback.numpy_only():
        return None
    try:
        call = choose((op, *kinds, kind(g), *map(kind, bound)), prepare_backward, op, kinds, g, bound)
        if call is None:
            return None
        kernel, same, places, takes, wanted = call
        upstream = g[(0,) * g.ndim] if same else g.reshape(-1)
        outs = [np.empty(g.shape, g.dtype) for _ in wanted]
        given = [take(bound[i]) for i, take in zip(places, takes)]
        launch(kernel, [upstream, *given, *[o.reshape(-1) for o in outs]])
    except Exception as e:
        return fallback.again(e, lambda: None)  # the formulas compute the same
    found = dict(zip(wanted, outs))
    return tuple([found.get(i) for i in range(n)])


def prepare_backward(op: Any, kinds: list, g: np.ndarray, bound: tuple) -> BackwardCall | None:
    """Prepare the call of a gradient kernel for arrays of these kinds."""
    shape, dtype = g.shape, g.dtype
    wanted, names, places = read_by(op, kinds, dtype)
    values = [bound[i] for i in places]
    if not can_fuse(op, wanted, values, dtype):
        return None
    same = not any(g.strides)  # a sum's gradient is one number everywhere and need not be expanded
    long = [type(v) is np.ndarray and v.ndim > 0 for v in values]
    kernel = compiled_backward(op, wanted, (not same, *long), names, dtype)
    whole, item = lambda v: flat(v, shape), lambda v: v[()] if type(v) is np.ndarray else scalar(v, dtype)
    takes = [whole if array else item for array in long]
    return None if kernel is None else BackwardCall(kernel, same, places, takes, wanted)


def can_fuse(op: Any, wanted: tuple | None, values: list, dtype: np.dtype) -> bool:
    """Return True if one pass over these values is possible and pays off."""
    known = all([v.dtype in (dtype, dtypes.BOOL) for v in values if isinstance(v, np.ndarray)])
    return bool(values) and wanted is not None and not is_light(op) and plain(values) and known


def read_by(op: Any, kinds: list, dtype: np.dtype) -> tuple:
    """Return the operands whose gradients are requested, and the names and positions of the values that their formulas read.

    The first is None if one pass cannot give all of them. g is not among the values.
    """
    wanted = tuple([i for i, kind in enumerate(kinds) if kind is not None and i in op.formulas])
    read = [(name, i) for i, name in enumerate((*op.names, "out")) if any(name in op.reads[k] for k in wanted)]
    names, places = tuple(zip(*read)) or ((), ())
    able = len(op.names) == len(kinds) and all([kinds[i] == dtype for i in wanted])
    return wanted if able else None, names, places


@kept
def compiled_backward(op: Any, wanted: tuple, is_array: tuple, read: tuple, dtype: np.dtype) -> Any:
    """Return the kernel for the gradients of the requested operands, from g and the values read."""
    partials = [("d" + op.names[i], op.formulas[i]) for i in wanted]
    return loaded(f"{op.name}_backward", generate.backward(op.name, ["g", *read], is_array, partials, dtype))


@kept
def is_light(op: Any) -> bool:
    """Return True if each gradient is at most one multiplication: NumPy's loop is then as good as a fused one."""
    return all([(formula.text(f) or "?").isidentifier() or not formula.parameters(f) for f in op.formulas.values()])
