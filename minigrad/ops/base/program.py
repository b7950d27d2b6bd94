"""Program: the family of operations that are short programs of other operations.

One statement, the program, gives everything: the values, both modes of differentiation at any order, vmap, compiled loops,
and the formulas that drawings show. What stands beside it is there for a reason: a formula `d<name>`, if the textbook's
derivative is shorter or better conditioned; `batch`, if one call computes a whole batch; `impl`, if NumPy computes small arrays
more than 1.2 times as fast, with that figure.

A program along the lines of an array (softmax, norms, losses of classes) says the kinds of its results, `gives`. Kernels that
are generated from it, and from the formulas for backward, then treat each line in one go (kernels/row_kernels.py). Where none
can run, the same code runs on arrays as it is (formula.on_arrays), without tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...arrays.kinds import KINDS, Array, as_array
from ...arrays.memory import storage
from ...core.frames import OFF, current, push, use
from ...core.function import as_tuple
from ...core.tensor import Tensor, wrap
from ...errors import MinigradError, error
from ...kernels import formula, row_kernels
from ...layers.batch import batched
from ...layers.grad import pull_back
from ...layers.jvp import Jvp
from .nodes import ShapeOf
from .primitive import Primitive


class Program(Primitive):
    """An operation whose `program`, which takes and returns tensors, consists of other operations.

    Without a formula for an argument, its derivative is that of the program, which then runs once more in backward. A program
    along lines has a formula for each argument with a derivative.
    """

    gives: tuple = ()  # the kinds of the results along lines: row_kernels.ALL, LINE, EACH or NUMBER
    along: str | None = "dims"  # the parameter with the dimensions of a line; None: each element is a line
    roles: dict = {}  # kinds of parameters that differ: x is first, integers are one number per line, the rest weights
    scalars: tuple = ()  # parameters whose numbers a kernel takes; it is generated for each value of the other settings

    def __init_subclass__(cls, **options: object):
        super().__init_subclass__(**options)
        if cls.gives and cls.along is not None and cls.along not in cls.names:
            what = f"has no parameter {cls.along!r}, which would hold the dimensions of a line"
            raise error(TypeError, cls.__name__, what, 'set along = "..." to that parameter, or along = None')
        if cls.gives and cls.batch is None:
            cls.batch = classmethod(Program.batch_of_lines.__func__)

    @classmethod
    def signature(cls) -> Callable | None:
        return cls.program or cls.impl

    @classmethod
    def _read_formulas(cls, signature: Callable) -> None:
        super()._read_formulas(signature)
        if not cls.gives:  # the program reads everything
            cls.reads = {i: cls.reads.get(i, cls.names) for i in range(len(cls.names))}
            cls.keeps = frozenset(i for i, n in enumerate(cls.names) if any(n in r for r in cls.reads.values()))

    @classmethod
    def by_program(cls, i: int) -> bool:
        """Return True if the derivative by argument i is that of the program, because no formula states it."""
        return not cls.gives and cls.parameter(i) not in cls.formulas

    @classmethod
    def impl(cls, *args: object) -> Any:
        """Run the program on arrays, without a history: along lines by a kernel, or else as NumPy's functions."""
        if cls.gives:
            found = cls.on_lines(*args)
            if found is None:
                return formula.on_arrays(cls.program)(*args)
            return found[0] if len(found) == 1 else tuple(found)
        with use(OFF):
            found = cls.run(*[wrap(as_array(a)) if isinstance(a, (*KINDS, np.generic)) else a for a in args])
        outs: list = []
        for o in as_tuple(found):
            outs.append(own_array(as_array(o._a), (*args, *outs)))
        return tuple(outs) if isinstance(found, tuple) else outs[0]

    @classmethod
    def on_lines(cls, *args: object) -> list | None:
        """Return the results of the kernel; None if there is none for these arrays."""
        return row_kernels.forward(cls, *args)

    # 1.4 (softmax) to 2.5 (layer_norm) times as quick, forward included, as formulas on tensors, for 64 lines of 128 numbers
    @classmethod
    def arrays(cls, gs: tuple, bound: tuple) -> Any:
        """Return the gradients along lines for formulas that find their values, if only the first result has one."""
        if not cls.gives or gs[0] is None or any([g is not None for g in gs[1:]]):
            return None
        found = row_kernels.backward(cls, gs, bound)
        return pull_on_arrays(cls)(*bound, *gs) if found is None else found

    @classmethod
    def run(cls, *args: object) -> Any:
        """Run the program; an error in one of its operations names this one, with the shapes it was given."""
        try:
            return cls.program(*args)
        except MinigradError as e:
            e.problem = f"in its {e.operation}, {e.problem}"
            e.operation, e.below = cls.function_name(), True
            known = zip((*cls.names, *cls.names[-1:] * len(args)), args)
            shapes = ", ".join([f"{name} {tuple(a.shape)}" for name, a in known if isinstance(a, Tensor)])
            e.notes += (f"with {shapes}",)
            raise

    @classmethod
    def gradients(cls, wanted: list[int], bound: tuple, n_args: int, grads: tuple) -> dict[int, Tensor | None]:
        """Return the gradients of the wanted arguments: by their formulas, the rest from one run of the program."""
        rest = [i for i in wanted if cls.by_program(i)]
        found = super().gradients([i for i in wanted if i not in rest], bound, n_args, grads)

        def of_rest(*values: Tensor) -> tuple:
            given = dict(zip(rest, values))
            return as_tuple(cls.run(*[given.get(i, a) for i, a in enumerate(bound[:n_args])]))

        # unless the gradients are differentiated again: a recording must not take this run for the program's
        plain = not current().grad and all([t._layer is None for t in (*bound, *grads) if isinstance(t, Tensor)])
        with use(OFF) if plain else nullcontext():
            return found | (dict(zip(rest, pull_back(of_rest, tuple([bound[i] for i in rest]), grads))) if rest else {})

    @classmethod
    def evaluate(cls, i: int, bound: tuple, n_args: int, grads: tuple) -> Any:
        if cls.by_program(i):
            return cls.gradients([i], bound, n_args, grads)[i]
        return super().evaluate(i, bound, n_args, grads)

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        """Push the tangents through the program, unless a formula stands beside it for every argument that has one."""
        moving = [i for i, t in enumerate(tangents) if t is not None]
        if not any(map(cls.by_program, moving)):
            return super().pushforward(primals, tangents, outs)
        with push(Jvp()) as layer:
            given = [layer.dual(a, t) if isinstance(a, Tensor) else a for a, t in zip(primals, tangents)]
            results = as_tuple(cls.run(*given))
        return tuple([layer.tangent(r) for r in results])

    @staticmethod
    def vmap(info: SimpleNamespace, in_dims: tuple, *args: object) -> tuple:
        """Run the program on batched tensors, unless `batch` says how one call computes them all."""
        cls = info.function
        if cls.batch is not None:
            return Primitive.vmap(info, in_dims, *args)
        out = batched(cls.run, args, in_dims, info.batch_size, info.randomness)
        return out, (0,) * len(out) if isinstance(out, tuple) else 0

    @classmethod
    def batch_of_lines(cls, *args: Any) -> tuple:
        """Return the arguments with a batch dimension in front: weights broadcast to x behind it, and dimensions move."""
        held = zip(cls.names, row_kernels.roles(cls), args)
        change = lambda k, kind, a: (
            moved(a) if k == cls.along else meeting(a, args[0]) if kind is row_kernels.WEIGHT else a
        )
        return tuple([change(*some) for some in held])


def own_array(out: np.ndarray, others: tuple) -> np.ndarray:
    """Return a result in its own memory: a program may end in a view of an argument, or of another result."""
    return out.copy() if any([type(a) in KINDS and storage(a) is storage(out) for a in others]) else out


def moved(dims: int | tuple) -> int | tuple:
    """Return a dimension, or several, after a batch dimension is put in front."""
    return tuple([d + 1 for d in dims]) if isinstance(dims, tuple) else dims + 1


def meeting(t: Tensor, x: Tensor) -> Tensor:
    """Return a batched weight, reshaped to broadcast against x, which has the same batch dimension."""
    return t.reshape(t.shape[:1] + (1,) * (x.ndim - t.ndim) + t.shape[1:])


@cache
def pull_on_arrays(cls: type[Program]) -> Callable:
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


def all_read(cls: type[Program], value: str) -> bool:
    """Return True if every formula reads this value."""
    return all([value in cls.reads[i] for i in cls.formulas])


def shape_of(a: Array | ShapeOf) -> tuple:
    """Return the shape of an argument, of which only that may have been saved."""
    return tuple(a) if isinstance(a, ShapeOf) else a.shape
