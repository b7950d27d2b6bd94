"""In-place writes that change no history, such as an optimizer's: directly on the arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..arrays.dtypes import F4, F8, FLOATS, HALVES, LARGEST, check_fits
from ..arrays.errstate import restore, silence
from ..arrays.kinds import KINDS
from ..core.frames import OFF, ON, Frame, current
from ..core.graph import history
from ..core.saved import INFERENCE, memory
from ..core.tensor import Tensor
from ..errors import OutsideError
from ..events import events, intercept, unheard
from ..kernels import pointwise_calls, select
from ..kernels.fallback import is_ready
from ..ops.base import registry
from ..ops.base.families import Pointwise
from ..ops.copy import Copy
from ..ops.index_parts import is_plain
from ..places import user_place
from .flat_nodes import PLAIN, constant, numbers

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


def quick(definition: Callable, write: Callable, takes_alpha: bool = False, n_others: int = 1) -> Callable:
    """Return an in-place method that begins with the most usual case: two arrays of one float dtype and shape, or a number.

    `write` takes both arrays. A factor `alpha` is multiplied in first, as the operation's formula says.
    """

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if len(args) == n_others and type(self) in PLAIN and type(a := self._a) is np.ndarray and a.dtype in SINGLE:
            o, frame, dtype = args[0] if args else 0, current(), a.dtype
            if number := type(o) is float or type(o) is int:
                fits, table = abs(o) <= LARGEST[dtype], numbers[dtype]
                b = (table[o] if o in table else constant(o, table, dtype))._a if fits else None
            else:
                b = o._a if type(o) in PLAIN else None
                fits = type(b) is np.ndarray and b.dtype is dtype and b.shape == a.shape
            if (
                fits and not frame.observers and intercept.dual_level_of is unheard is events.writes
                and self._ver is not INFERENCE and (frame is OFF or frame is ON and self._edge is self._view is None
                     and (number or o._edge is o._view is None))
                and a.flags.c_contiguous and a.size < pointwise_calls.QUICK_FROM
                and (not kwargs or takes_alpha and len(kwargs) == 1 and type(alpha := kwargs.get("alpha")) is float
                     and abs(alpha) <= LARGEST[dtype])
            ):  # fmt: skip
                previous = silence()
                try:
                    write(a, b * dtype.type(alpha) if kwargs else b)
                    (self._ver or memory(self)).bump(name, user_place(2))
                    return self
                except Exception:  # the definition explains it
                    pass
                finally:
                    restore(previous)
        return definition(self, *args, **kwargs)

    name = definition.__name__  # but a recording finds the call in the definition, with its parameters
    return functools.wraps(definition)(method)


def fill(a: np.ndarray, number: np.ndarray) -> None:
    """Write a number into every element."""
    if number.ndim:
        raise ValueError("an array is no number")  # the definition explains it
    a.fill(number)


def install() -> None:
    """Give Tensor such methods for arithmetic and copies."""
    T: Any = Tensor
    for name, operator in {"add": "add", "sub": "sub", "mul": "mul", "div": "truediv"}.items():
        ufunc = registry.TABLE[name].cls.ufunc
        write = lambda a, b, ufunc=ufunc: ufunc(a, b, a)
        setattr(T, f"{name}_", quick(getattr(T, f"{name}_"), write, name in ("add", "sub")))
        setattr(T, f"__i{operator}__", quick(getattr(T, f"__i{operator}__"), write))
    T.copy_, T.fill_, T.zero_ = quick(T.copy_, np.copyto), quick(T.fill_, fill), quick(T.zero_, fill, n_others=0)


def set_part(self: Tensor, index: Any, value: Any) -> bool:
    """Write `self[index] = value` for a plain index and a plain value if no history changes; return False for anything else."""
    frame = current()
    grad = frame is ON
    if not grad and frame is not OFF or frame.observers or not intercept.dual_level_of is unheard is events.writes:
        return False
    if type(self) not in PLAIN or type(a := self._a) is not np.ndarray:
        return False
    if type(index) is not int and not is_plain(index):
        return False
    if self._ver is INFERENCE or grad and not untracked(self) or 0 in a.strides:
        return False
    if type(value) in PLAIN and value._a.dtype is a.dtype and not (grad and history(value) is not None):
        value = value._a
    elif type(value) is not int and (type(value) is not float or a.dtype not in FLOATS):
        return False
    try:
        check_fits("copy", a.dtype, value)
        a[index] = value
    except Exception:  # the definition explains it
        return False
    (self._ver or memory(self)).bump("copy_", user_place(3))  # behind set_part and __setitem__
    return True


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
    result = None
    if a.size >= pointwise_calls.kernel_threshold(fn) and is_ready(a.size):
        result = pointwise_calls.forward(fn, (a, *others))
    if result is None and isinstance(function, np.ufunc):
        function(a, *others, a)  # NumPy detects others that share the memory of a
        return True
    if result is None:
        result = function(a, *others) if type(a) is np.ndarray else select.forward(fn, (a, *others))
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
