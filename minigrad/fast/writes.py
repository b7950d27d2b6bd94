"""In-place writes that change no history, such as an optimizer's: directly on the arrays."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..arrays.dtypes import F4, F8, FLOATS, HALVES, check_fits
from ..arrays.errstate import restore, silence
from ..arrays.kinds import KINDS
from ..core.frames import OFF, ON, Frame
from ..core.graph import history
from ..core.saved import INFERENCE, memory
from ..core.tensor import Tensor
from ..errors import OutsideError
from ..kernels import pointwise_calls, select
from ..ops.base.families import Pointwise
from ..ops.copy import Copy
from ..places import user_place
from .flat_nodes import constant, numbers

SINGLE = F4, F8


def untracked(x: Tensor) -> bool:
    """Return True if neither x nor a tensor that it is a view of has a history, which a write could change."""
    t: Tensor | None = x
    while t is not None and history(t) is None:
        t = None if t._view is None else t._view.parent
    return t is None


def write_plain(frame: Frame, fn: Any, x: Tensor, others: tuple) -> bool:
    """Write among plain tensors of one float dtype if no history changes; return False for anything else."""
    grad = frame is ON
    if not grad and frame is not OFF or frame.observers or fn.update is not None:
        return False
    if x._layer is not None or x._ver is INFERENCE or grad and not (x._edge is x._view is None or untracked(x)):
        return False
    a, previous = x._a, silence()
    try:
        values = arrays_of(fn, a, others, grad)
        if values is None or 0 in a.strides or not write_short(fn, a, values):
            return False
    except OutsideError:  # of an earlier call
        raise
    except Exception:  # the generic path explains it
        return False
    finally:
        restore(previous)
    (x._ver or memory(x)).bump(fn.name + "_", user_place(4))  # behind write_plain, inplace and the method
    return True


def arrays_of(fn: Any, a: Any, others: tuple, grad: bool) -> list | None:
    """Return the operands of a write into `a` as arrays of its dtype or numbers; None if one is neither, or has a history."""
    plain = type(a) is np.ndarray and not issubclass(fn, Copy)  # which looks at the number itself
    values, table = [], numbers.get(a.dtype) if plain else None
    for o in others:
        if type(o) is float or type(o) is int:
            if table is not None:
                o = (table[o] if o in table else constant(o, table, a.dtype))._a
        else:
            if isinstance(o, Tensor):
                if o._layer is not None or grad and history(o) is not None:
                    return None
                o = o._a
            if type(o) not in KINDS or o.dtype is not a.dtype:
                return None
        values.append(o)
    return values


def write_short(fn: Any, a: np.ndarray, others: list) -> bool:
    """Write fn(a, *others) into a by NumPy's function, by the formula, or by a kernel (kernels/select.py).

    Return False, with nothing written, if something needs a conversion.
    """
    if issubclass(fn, Copy):
        if type(others[0]) in KINDS and others[0].ndim > a.ndim:
            return False
        if type(others[0]) in (float, int):
            check_fits("copy", a.dtype, others[0])
        a[...] = others[0]
        return True
    if (function := function_for(fn, a.dtype)) is None:
        return False
    call = pointwise_calls.call_for(fn, (a, *others)) if type(a) is np.ndarray else None
    if call is None and isinstance(function, np.ufunc):
        function(a, *others, a)  # NumPy detects others that share the memory of a
        return True
    result = (call or function)(a, *others) if type(a) is np.ndarray else select.forward(fn, (a, *others))
    if result.shape != a.shape or result.dtype is not a.dtype:
        return False
    a[...] = result
    return True


@cache
def function_for(fn: Any, dtype: np.dtype) -> Callable | None:
    """Return NumPy's function for an operation among arrays of a dtype, or its formula; None if it is not that simple."""
    if not issubclass(fn, Pointwise) or fn.n_conditions or fn.kind == "bool" or "f" not in fn.accepts:
        return None
    if dtype in HALVES or dtype.kind not in fn.accepts:
        return None
    if isinstance(fn.ufunc, np.ufunc) and (fn.kind == "same" or dtype in FLOATS):
        return fn.ufunc
    return select.numpy_function(fn) if dtype in FLOATS else None
