"""Rows: operations along the lines of an array (softmax, norms, losses of classes), each stated once, by its program.

A kernel that is generated from the program, or from the formulas for backward, treats each line in one go
(kernels/row_kernels.py).  Where none can run, the same code runs on arrays as it is (formula.on_arrays), without tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from ..kernels import formula, row_kernels
from .base.families import Operation
from .base.nodes import ShapeOf
from .base.primitive import Primitive


class OnLines(Primitive):
    """Results by a kernel or the program on arrays, gradients by a kernel or the formulas on arrays."""

    gives: tuple = ()  # the kinds of the results: row_kernels.ALL, LINE, EACH or NUMBER
    along: str | None = "dims"  # the parameter with the dimensions of a line; None: each element is a line
    roles: dict = {}  # kinds of parameters that differ: x is first, integers are one number per line, the rest weights
    scalars: tuple = ()  # parameters whose numbers a kernel takes; it is generated for each value of the other settings

    def __init_subclass__(cls, **options: object):
        super().__init_subclass__(**options)
        if cls.gives and cls.along is not None and cls.along not in cls.names:
            what = f"has no parameter {cls.along!r}, which would hold the dimensions of a line"
            raise error(TypeError, cls.__name__, what, 'set along = "..." to that parameter, or along = None')

    @classmethod
    def batch(cls, *args: Any) -> tuple:  # type: ignore[override]
        """Return the arguments with a batch dimension in front: weights broadcast to x behind it, and dimensions move."""
        held = zip(cls.names, row_kernels.roles(cls), args)
        change = lambda k, kind, a: (
            moved(a) if k == cls.along else meeting(a, args[0]) if kind is row_kernels.WEIGHT else a
        )
        return tuple([change(*some) for some in held])

    @classmethod
    def signature(cls) -> Callable | None:
        return cls.program or cls.impl

    @classmethod
    def impl(cls, *args: Any) -> Any:
        found = cls.on_lines(*args)
        if found is None:
            return formula.on_arrays(cls.program)(*args)
        return found[0] if len(found) == 1 else tuple(found)

    @classmethod
    def on_lines(cls, *args: Any) -> list | None:
        """Return the results of the kernel; None if there is none for these arrays."""
        return row_kernels.forward(cls, *args)

    # 1.4 (softmax) to 2.5 (layer_norm) times as quick, forward included, as formulas on tensors, for 64 lines of 128 numbers
    @classmethod
    def arrays(cls, gs: tuple, bound: tuple) -> Any:
        """Return the gradients of all arguments whose formulas find their values, if only the first result has one."""
        if gs[0] is None or any([g is not None for g in gs[1:]]):
            return None
        found = row_kernels.backward(cls, gs, bound)
        return pull_on_arrays(cls)(*bound, *gs) if found is None else found


class Rows(OnLines, Operation):
    """An Operation along the lines of an array; its formulas are pull-backs."""


def moved(dims: int | tuple) -> int | tuple:
    """Return a dimension, or several, after a batch dimension is put in front."""
    return tuple([d + 1 for d in dims]) if isinstance(dims, tuple) else dims + 1


def meeting(t: Tensor, x: Tensor) -> Tensor:
    """Return a batched weight, reshaped to broadcast against x, which has the same batch dimension."""
    return t.reshape(t.shape[:1] + (1,) * (x.ndim - t.ndim) + t.shape[1:])


@cache
def pull_on_arrays(cls: type[OnLines]) -> Callable:
    """Return the function (*arguments, *results, *gs) -> gradients of all arguments, made of the formulas.

    A gradient is None without a formula, or if a value that only this formula reads was not saved.
    """
    several, made = len(cls.gives) > 1, []
    outs, gs = ([f"{what}{k}" for k in range(len(cls.gives))] if several else [what] for what in ("out", "g"))
    scope = {"ShapeOf": ShapeOf, "shape_of": shape_of}
    for i, name in enumerate(cls.names):
        if i not in cls.formulas:
            made.append("None")
            continue
        scope["d" + name] = formula.on_arrays(cls.formulas[i])
        doubtful = [k for k in cls.reads[i] if k in (*cls.names, *outs) and not all_read(cls, k)]
        guard = "".join([f"None if {k} is None or type({k}) is ShapeOf else " for k in doubtful])
        given = ", ".join([f"shape_of({name})" if k == "shape" else k for k in cls.reads[i]])
        made.append(f"{guard}d{name}({given})")
    return eval(f"lambda {', '.join([*cls.names, *outs, *gs])}: [{', '.join(made)}]", scope)


def all_read(cls: type[OnLines], value: str) -> bool:
    """Return True if every formula reads this value."""
    return all([value in cls.reads[i] for i in cls.formulas])


def shape_of(a: Any) -> tuple:
    """Return the shape of an argument, of which only that may have been saved."""
    return tuple(a) if type(a) is ShapeOf else a.shape
