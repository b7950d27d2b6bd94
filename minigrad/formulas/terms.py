"""Terms: a layer whose tensors know the expression that computes them.

The rule of a derivative runs under this layer, on the program's actual values, and its result carries the formula. So a formula
describes the rule for these values: the rule's decisions are already made, and only arithmetic is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.kinds import distinct, host
from ..arrays.shapes import broadcast_shape, broadcastable
from ..core.frames import OFF, Frame, apply_at, use
from ..core.function import as_tuple
from ..core.inplace import inplace_at
from ..core.saved import plain_tensor
from ..core.tensor import Box, Tensor
from ..layers.transform import Transform
from . import expression as e
from .expression import Tree
from .spelling import SPELLINGS, declared_call


class Term:
    """The expression of a tensor with this shape and dtype.

    If the expression only repeats or converts another term, `plain` is that term, and arithmetic can use it instead. A `fixed`
    term does not depend on the operands.
    """

    __slots__ = ("dtype", "fixed", "plain", "shape", "tree")

    def __init__(self, tree: Tree, shape: tuple, dtype: Any, plain: Term | None = None):
        self.tree, self.shape, self.dtype, self.plain, self.fixed = tree, shape, dtype, plain, False

    @classmethod
    def of(cls, tree: Tree, t: Tensor, plain: Term | None = None) -> Term:
        """Return the term of a tensor."""
        return cls(tree, tuple(t.shape), t._np_dtype, plain)


class Terms(Transform):
    """Runs operations one layer down and records their expressions."""

    name = "terms"

    def __init__(self):
        self.named: list[Box] = []  # the named tensors
        self.tame = False  # True if all numbers are so harmless that formulas need no guards
        self.decided = False  # True if the text depends on the content of tensors, beyond shapes and dtypes

    def variable(self, label: str | Tree, value: Tensor) -> Box:
        """Return a tensor with a name."""
        made = Box(self, value, Term.of(e.name(label) if isinstance(label, str) else label, value))
        self.named.append(made)
        return made

    def adopt(self, value: Tensor) -> Box:
        """Return a tensor created inside, written by its content; a repeated number is a scalar in arithmetic."""
        array = numbers(value)
        repeated = Term(e.literal(array.flat[0].item()), (), None) if array.size and all_equal(array) else None
        term = Term.of(self.made(value), value, repeated)
        term.fixed = True
        return Box(self, value, term)

    box = adopt

    def term(self, a: Tensor) -> Term:
        """Return the term of a tensor."""
        return a._extra if self.owns(a) else self.adopt(a)._extra

    def tree(self, a: Any) -> Tree:
        """Return the expression of an argument."""
        return self.term(a).tree if isinstance(a, Tensor) else e.literal(a)

    def like(self, shape: tuple, dtype: Any) -> Tree | None:
        """Return the name of a tensor with this shape and dtype, or None."""
        return next((b._extra.tree for b in self.named if tuple(b.shape) == shape and b._np_dtype == dtype), None)

    def made(self, value: Tensor) -> Tree:
        """Return the expression of a tensor that is not an operand: zeros and ones by name, others as literals."""
        dtype, array = None if value.dtype.name in ("float32", "int64", "bool") else value.dtype, numbers(value)
        listed = e.literal(array.tolist()) if array.ndim else e.negated(array.item())
        return self.regular(value) or e.call("tensor", listed, dtype=dtype)

    def regular(self, value: Tensor) -> Tree | None:
        """Return the call that creates a tensor; None if only a list of its elements can."""
        array, shape = numbers(value), tuple(value.shape)
        once = distinct(array)
        dtype = None if value.dtype.name in ("float32", "int64", "bool") else value.dtype
        if not shape:
            return None
        for number, word in ((0, "zeros"), (1, "ones")):
            if (once == number).all():
                return self.filled(word, shape, value)
        if array.size > 1 and all_equal(array):
            return e.call("full", shape, e.negated(array.flat[0].item()), dtype=dtype)
        if array.ndim == 1 and array.dtype == np.int64 and len(array) > 2 and len(set(np.diff(array).tolist())) == 1:
            first, step = int(array[0]), int(array[1] - array[0])
            return e.call(
                "arange", *([first] if first or step != 1 else []), int(array[-1]) + step, *[step] * (step != 1)
            )
        if array.ndim == 2 and len(array) > 1 and once is array and np.array_equal(array, np.eye(*shape)):
            return e.call(
                "eye",
                *shape[: 1 + (shape[0] != shape[1])],
                dtype=None if value.dtype.name == "float32" else value.dtype,
            )
        return None

    def filled(self, word: str, shape: tuple, value: Tensor) -> Tree:
        """Return zeros or ones, like a named tensor if possible, else by shape."""
        if (like := self.like(shape, value._np_dtype)) is not None:
            return e.call(f"{word}_like", like)
        return e.call(word, *shape or ((),), dtype=None if value.dtype.name == "float32" else value.dtype)

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        """Run an operation one layer down, or its definition here."""
        if cls.definition is not None:
            with use(frame):
                return cls.definition(*args)
        low = apply_at(frame.parent, cls, tuple([self.inner(a) for a in args]))
        outs = as_tuple(low)
        if all(o.numel() == 1 for o in outs) and all(self.term(a).fixed for a in args if isinstance(a, Tensor)):
            boxes = tuple([self.adopt(o) for o in outs])  # arithmetic on settings
        else:
            boxes = tuple([Box(self, o, t) for o, t in zip(outs, self.written(cls, args, outs))])
        return boxes if isinstance(low, tuple) else boxes[0]

    def written(self, cls: Any, args: tuple, outs: tuple) -> list[Term]:
        """Return the term of each output of an operation."""
        declared = next((c for c in map(vars, cls.__mro__) if c.get("spelling") or c.get("call")), {})
        if rule := declared.get("spelling"):
            found: Any = SPELLINGS[rule](self, cls, outs if len(outs) > 1 else outs[0], *args)
        elif cls.call in cls.names:
            found = self.term(args[cls.names.index(cls.call)])
        elif cls.elementwise:
            return [self.elementwise_call(cls, args, outs[0])]
        else:
            found = declared_call(cls, args, [self.tree(a) for a in args])
        if len(outs) > 1 and not isinstance(found, list):
            found = [e.subscript(found, i) for i in range(len(outs))]
        terms = found if isinstance(found, list) else [found]
        return [t if isinstance(t, Term) else Term.of(t, o) for t, o in zip(terms, outs)]

    def elementwise_call(self, cls: Any, args: tuple, out: Tensor) -> Term:
        """Return the declared call of an elementwise operation, with the operands as they meet in broadcasting."""
        n = len(cls.names) - cls.n_settings
        settings = [e.literal(a) for a in args[n:]]
        write = lambda *operands: declared_call(cls, args, [*map(e.literal, operands), *settings])
        return self.each_element(write, args[:n], out)

    def inplace(self, frame: Frame, fn: Any, x: Any, others: tuple) -> Tensor:
        """Write one layer down; x gets the term of the result."""
        result = self.process(frame, fn, (x, *others))
        inplace_at(frame.parent, fn, x._value, tuple([self.inner(a) for a in others]))
        x._extra = result._extra
        return x

    def readable(self, t: Box) -> Tensor:
        """Return the value, and note that a decision depends on it."""
        self.decided = True
        return t._value

    def detach(self, t: Box) -> Box:
        """Return the same tensor without a history."""
        return Box(self, t._value.detach(), t._extra)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Compute under this layer, without gradients."""
        with use(Frame(self, False, None, False, OFF)):
            yield

    def each_element(self, write: Callable, args: Sequence, out: Tensor) -> Term:
        """Return the term of an elementwise operation; `write` combines the expressions of its operands.

        If all of its operands are repeated, so is the result.
        """
        terms = [self.term(a) if isinstance(a, Tensor) else None for a in args]
        inner = [least(t) for t in terms]
        shapes = [t.shape for t in inner if t is not None]
        if broadcastable(*shapes) and (shape := broadcast_shape(*shapes)) != tuple(out.shape):
            trees = [e.literal(a) if t is None else t.tree for a, t in zip(args, inner)]
            return self.expanded(Term(write(*trees), shape, out._np_dtype), out)
        return Term.of(write(*self.meeting(args, out)), out)

    def repeated(self, a: Any, out: Tensor) -> Term:
        """Return the term of a tensor or number that is broadcast to `out`."""
        if not isinstance(a, Tensor):
            return self.expanded(Term(e.literal(a), (), None), out)
        return self.term(a) if a.shape == out.shape else self.expanded(least(self.term(a)), out)

    def expanded(self, term: Term, out: Tensor) -> Term:
        """Return the term of a value repeated to the shape of `out`."""
        tree = e.tidy(deepcopy(term.tree))
        value = tree.value if isinstance(tree, e.Constant) else None
        if value is None:
            tree = e.method(term.tree, "expand", *out.shape)
        elif value == 0:
            tree = self.filled("zeros", tuple(out.shape), out)
        else:
            tree = e.call("full", tuple(out.shape), value, dtype=out.dtype)
        return Term.of(tree, out, term)

    def meeting(self, args: Sequence, out: Tensor) -> list[Tree]:
        """Return the expressions of operands that are broadcast to `out`, without redundant repetitions and
        conversions."""
        operands = [self.term(a) if isinstance(a, Tensor) else a for a in args]
        for i, term in enumerate(operands):
            while isinstance(term, Term) and (plain := term.plain) is not None:
                rest = [t for j, t in enumerate(operands) if j != i and isinstance(t, Term)]
                if not broadcasts_to([plain.shape, *[t.shape for t in rest]], tuple(out.shape)):
                    break
                dtypes = [t.dtype for t in rest if t.dtype is not None]  # NumPy treats None as float64
                if plain.dtype is None:
                    if not may_be_number(term.dtype, dtypes, out._np_dtype):
                        break
                elif plain.dtype != term.dtype and not converts(plain.dtype, dtypes, out._np_dtype):
                    break
                term = operands[i] = plain
        return [t.tree if isinstance(t, Term) else e.literal(t) for t in operands]


def least(term: Term | None) -> Term | None:
    """Return the term that a term repeats, or the term itself if it repeats nothing."""
    while (
        term is not None and term.plain is not None and term.plain.dtype is not None and term.plain.dtype == term.dtype
    ):
        term = term.plain
    return term


def broadcasts_to(shapes: list[tuple], result: tuple) -> bool:
    """Return True if tensors of these shapes broadcast to the result's shape."""
    return broadcastable(*shapes) and broadcast_shape(*shapes) == result


def converts(dtype: Any, others: list, result: Any) -> bool:
    """Return True if arithmetic converts a bool or integer to the result's dtype anyway."""
    return dtype not in FLOATS and result in others and result in FLOATS


def numbers(t: Tensor) -> np.ndarray:
    """Return the content of a tensor, and note that a decision depends on it."""
    if type(t) is Box and isinstance(t._layer, Terms):
        t._layer.decided = True
    return host(plain_tensor(t)._a)


def may_be_number(dtype: Any, others: list, result: Any) -> bool:
    """Return True if replacing a tensor by a Python number keeps the result's dtype."""
    return result == np.bool_ or dtype in others or result in others or dtype in FLOATS and result == np.float32


def all_equal(a: np.ndarray) -> bool:
    """Return True if all elements are equal, and there is at least one."""
    a = distinct(a)
    return bool(a.size and (a == a.flat[0]).all())


def is_tame(a: np.ndarray) -> bool:
    """Return True if no number is NaN, infinite, or so large that its square might be."""
    return a.dtype not in FLOATS or not a.size or float(np.abs(distinct(a)).max()) < 1e18
