"""Program: the family of operations that are short programs of other operations.

One statement, the program, gives everything: the values, both modes of differentiation at any order, vmap, compiled loops,
and the formulas that drawings show. What stands beside it is there for a reason: a formula `d<name>`, if the textbook's
derivative is shorter or better conditioned; `batch`, if one call computes a whole batch; `impl`, if NumPy computes small arrays
more than 1.2 times as fast, with that figure.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...arrays.kinds import KINDS, as_array
from ...arrays.memory import storage
from ...core.frames import OFF, current, push, use
from ...core.function import as_tuple
from ...core.graph import Node
from ...core.saved import unpack
from ...core.tensor import Tensor, wrap
from ...errors import MinigradError
from ...layers.batch import batched
from ...layers.grad import pull_back
from ...layers.jvp import Jvp
from .families import Operation
from .primitive import Primitive, widened_tensors


class Program(Operation):
    """An operation whose `program`, which takes and returns tensors, consists of other operations.

    Without a formula for an argument, its derivative is that of the program, which then runs once more in backward.
    """

    @classmethod
    def signature(cls) -> Callable | None:
        return cls.program

    @classmethod
    def _read_formulas(cls, signature: Callable) -> None:
        super()._read_formulas(signature)
        for i in range(len(cls.names)):  # the program reads everything
            cls.reads.setdefault(i, cls.names)
        cls.keeps = frozenset(i for i, n in enumerate(cls.names) if any(n in r for r in cls.reads.values()))

    @classmethod
    def impl(cls, *args: Any) -> Any:
        """Run the program on arrays, without a history."""
        with use(OFF):
            arrays = [np.asarray(a) if isinstance(a, np.generic) else a for a in args]
            given = [wrap(a) if type(a) in KINDS else a for a in arrays]
            found = cls.run(*given)
        outs: list = []
        for o in as_tuple(found):
            outs.append(own_array(as_array(o._a), (*args, *outs)))
        return tuple(outs) if isinstance(found, tuple) else outs[0]

    @classmethod
    def run(cls, *args: Any) -> Any:
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
        rest = [i for i in wanted if cls.parameter(i) not in cls.formulas]
        found = {i: Primitive.evaluate.__func__(cls, i, bound, n_args, grads) for i in wanted if i not in rest}

        def of_rest(*values: Tensor) -> tuple:
            given = dict(zip(rest, values))
            return as_tuple(cls.run(*[given.get(i, a) for i, a in enumerate(bound[:n_args])]))

        # unless the gradients are differentiated again: a recording must not take this run for the program's
        plain = not current().grad and all([t._layer is None for t in (*bound, *grads) if isinstance(t, Tensor)])
        with use(OFF) if plain else nullcontext():
            return found | (dict(zip(rest, pull_back(of_rest, tuple([bound[i] for i in rest]), grads))) if rest else {})

    @classmethod
    def evaluate(cls, i: int, bound: tuple, n_args: int, grads: tuple) -> Any:
        return cls.gradients([i], bound, n_args, grads)[i]

    @staticmethod
    def backward(ctx: Node, *grads: Tensor | None) -> tuple:
        """Return one gradient per tracked argument."""
        cls, n = ctx._fn, len(ctx._edges)
        bound, grads = widened_tensors([unpack(s, ctx) for s in ctx._alive()]), widened_tensors(grads)
        found = cls.gradients([i for i, e in enumerate(ctx._edges) if e is not None], bound, n, grads)
        return tuple([found.get(i) for i in range(n)])

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        """Push the tangents through the program, unless a formula stands beside it for every argument that has one."""
        moving = [i for i, t in enumerate(tangents) if t is not None]
        if all(cls.parameter(i) in cls.formulas for i in moving):
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


def own_array(out: np.ndarray, others: tuple) -> np.ndarray:
    """Return a result in its own memory: a program may end in a view of an argument, or of another result."""
    return out.copy() if any([type(a) in KINDS and storage(a) is storage(out) for a in others]) else out
