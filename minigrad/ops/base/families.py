"""Families: base classes that derive the rest of an operation from its mathematics.

An operation is a class: `impl` computes on arrays, and for each differentiable argument a formula `d<name>` gives the
derivative.  The formula's parameter names state its inputs, and so decide which tensors are saved:

- an argument of impl by its name, `out` for the result (`out0`, `out1` if there are several),
- `g` for the incoming gradient (`g0`, `g1`; None if an output was not used), `shape` for the shape of the argument that
  the formula belongs to, and for variadic arguments `index`, the position among them.

| family | the formula d<x> is | jvp |
|---|---|---|
| Pointwise | the partial derivative of one element, or with `g` among its parameters g times it | the same formula |
| Reduce | the partial derivative of the result with respect to one element | its sum over the same dimensions |
| Linear, View | the transpose, `dx = lambda g, ...` | the operation itself |
| Bilinear | one transpose per argument | the product rule |
| Operation | the pull-back, `dx = lambda g, ...` | the transpose of the pull-back |
| Program (program.py) | the pull-back, if it is better than the program's own | the program's |
| NonDifferentiable | none | none |

An operation with `depends_on_operand = True` has gradients that count as depending on their operand although they are
constant in it; its formulas read that operand, or the result (primitive.Tied).

Formulas consist of operations on Tensors; a Pointwise one also runs on arrays and in Numba kernels, from the same source.
Under vmap an operation receives tensors with the batch dimension in front, and `batch(*args)` states what changes.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...arrays import dtypes
from ...arrays.kinds import KINDS, Array, on_device, zeros
from ...core.frames import OFF, ON, current
from ...core.graph import Node
from ...core.saved import unpack
from ...core.tensor import Tensor, wrap
from ...kernels import formula, pointwise_gradients, select
from ...layers.batching import lift
from ...layers.transform import laid_out_in
from .layouts import row_major
from .nodes import ShapeOf
from .primitive import Primitive, widened_tensors


class Pointwise(Primitive):
    """out[i] = kernel(x[i], y[i], ...), with broadcasting and PyTorch's type promotion.

    `kernel` is one scalar formula.  `ufunc` is NumPy's function for it, if NumPy has one; otherwise the formula itself
    computes small arrays, and Numba compiles it for large ones.  `kind` is the kind of the result: "same" as the inputs,
    "float" (integers are converted to the default dtype) or "bool".
    """

    elementwise = takes_half = True
    kernel: Any = None
    ufunc: Any = None
    numpy_is = ""  # how `ufunc` compares with its kernel (KERNEL_FROM in kernels/pointwise_calls.py)
    integer_kernel: Any = None  # the formula for integers on a GPU, if `kernel` would treat them as floats
    kind, dimensions = "same", "broadcast"
    accepts = "biuf"  # the kinds of dtypes it computes with, in NumPy's letters: bool, signed, unsigned, float
    advice = ""  # the fix to suggest for other dtypes
    remedy = ""  # the fix where another operation was meant
    n_conditions = 0  # number of leading operands that are conditions: bools, which take no part in type promotion
    defaults: tuple = ()  # of the settings
    domain: tuple = (-2.0, 2.0)  # the interval to test the function on
    samples: tuple = ()  # calls to test it with, if the usual shapes do not suit it
    operands: tuple = ()  # PyTorch's names of the operands, if not input, other
    aliases: tuple = ()  # further names of the function
    torch = ""  # its name in PyTorch, if not torch.<name>
    method: Any = True  # also a method of Tensor
    inplace = True  # also a method `name_`
    number_operand: int | None = None  # the operand that formulas receive as a number, if it is a nonzero one
    takes_inplace = False  # its function takes `inplace=`, as PyTorch's activations do
    differs = ""  # its difference from PyTorch (registry.Entry)

    @staticmethod
    def simple(*operands: object) -> bool:
        """Return True if these operands' gradients are so simple that NumPy's loops beat a fused kernel."""
        return False

    @classmethod
    def signature(cls) -> Callable | None:
        return cls.kernel

    @classmethod
    def default_call(cls) -> str:
        """Return the operator, if the kernel is one, or the call of the public function; without one, the kernel itself."""
        kernel = formula.display_text(cls.kernel)
        if formula.is_operator(kernel, cls.names) or formula.OPERATIONS.get(cls.function_name()) is not cls:
            return kernel
        name = cls.torch if cls.torch.startswith("special.") else cls.function_name()
        return f"{name}({', '.join(cls.names)})"

    @classmethod
    def known_as(cls) -> tuple:
        """Return PyTorch's names of the operands, then the settings."""
        n = len(cls.names) - cls.n_settings
        operands = cls.operands or (("input",), ("input", "other"), cls.names[:n])[min(n, 3) - 1]
        return (*operands, *cls.names[n:])

    @classmethod
    def impl(cls, *args: object) -> Any:
        return select.forward(cls, args)

    @classmethod
    def keeps_number(cls, node: Node) -> bool:
        """Return True if a formula reads a number, which then is saved like a tensor: `x * 2` cannot run backward twice."""
        if not any([isinstance(s, (int, float)) for s in node._saved]):
            return False
        read = {n for i, e in enumerate(node._edges) if e is not None for n in cls.reads.get(i, ())}
        operands = cls.names[: len(cls.names) - cls.n_settings]
        return any(n in read and isinstance(s, (int, float)) for n, s in zip(operands, node._saved))

    @classmethod
    def operand(cls, j: int, bound: tuple, n_args: int, g: Tensor | Array) -> Any:
        """Return the value of an operand in the dtype of g, to which the forward converted it: its logarithm has more digits.

        Numbers become 0-d tensors: x / 0.0 is an infinity, not an exception.
        """
        a = bound[j] if j < n_args else None
        if isinstance(a, Tensor) and cls.n_conditions <= j < n_args - cls.n_settings:
            return a if a.dtype == g.dtype else a.to(dtype=g.dtype)  # type: ignore[arg-type]
        if isinstance(a, (int, float)) and j < n_args - cls.n_settings and not (j == cls.number_operand and a):
            return wrap(np.array(a, g._np_dtype))  # type: ignore[union-attr]
        return a

    @classmethod
    def evaluate(cls, i: int, bound: tuple, n_args: int, grads: tuple) -> Any:
        d = super().evaluate(i, bound, n_args, grads)
        return d if d is None or "g" in cls.reads[cls.parameter(i)] else times(grads[0], d)

    @staticmethod
    def backward(ctx: Node, *grads: Tensor | None) -> tuple:
        """Compute all requested gradients in one pass over memory if that pays, else by the formulas on tensors."""
        cls, edges, frame = ctx._fn, ctx._edges, current()
        bound = tuple([unpack(s, ctx) for s in ctx._alive()])
        g = grads[0]
        if frame is OFF and type(g) is Tensor and g._tan is None and select.fusable(g._a):
            arrays = tuple([b._a if isinstance(b, Tensor) else b for b in bound])
            fused = select.backward(cls, [None if e is None else e._dtype for e in edges], g._a, arrays)
            if fused is not None:
                return tuple([None if d is None else wrap(d) for d in fused])
        n, bound, grads = len(edges), widened_tensors(bound), widened_tensors(grads)
        return frame.layer.elementwise(
            frame,
            lambda bound, grads: tuple(
                [None if e is None else cls.gradient(i, bound, n, grads) for i, e in enumerate(edges)]
            ),
            bound,
            grads,
        )

    @classmethod
    def arrays(cls, gs: Sequence, bound: tuple) -> list | None:
        """Return the requested gradients of small arrays; None for large ones and those on a GPU, which `backward` computes."""
        g, partials = gs[0], array_formulas(cls)
        if partials is None or g.size >= pointwise_gradients.GRADIENTS_FROM or on_device(g):
            return None
        return [None if p is None else array_gradient(cls, p, bound, g) for p in partials]

    @staticmethod
    def plain(v: Any, dtype: np.dtype) -> Any:
        """Return arrays and numbers in the dtype of the gradient (see operand), and None for an unsaved value."""
        if type(v) in KINDS or isinstance(v, np.generic):
            return v if v.dtype == dtype else v.astype(dtype)
        return dtype.type(v) if isinstance(v, (int, float)) else None if type(v) is ShapeOf else v

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        """Apply the same formulas to tangents: each output element depends on one element of each input."""
        frame = current()
        total = frame.layer.elementwise(frame, cls.slopes, primals, tuple(tangents), outs)
        if total is None:
            return None
        total = total if total._np_dtype == outs[0]._np_dtype else total.to(outs[0].dtype)
        return total if total._sizes == outs[0]._sizes else total.expand(outs[0].shape)

    @classmethod
    def slopes(cls, primals: tuple, tangents: tuple, outs: tuple) -> Any:
        """Return the sum of the tangents, each times its partial derivative."""
        total = None
        for i, t in enumerate(tangents):
            if t is not None and cls.parameter(i) in cls.formulas:
                t = t if t._np_dtype == outs[0]._np_dtype else t.to(outs[0].dtype)
                term = cls.evaluate(i, primals + outs, len(primals), (t,))
                total = term if total is None else added(total, term, tangents)
        return total

    @staticmethod
    def vmap(info: SimpleNamespace, in_dims: tuple, *args: object) -> tuple:
        """Put the batch dimension in front and make the ranks behind it equal; dtypes are promoted as for single examples."""
        cls, pairs = info.function, list(zip(args, in_dims))
        rank = max([a.ndim - (d is not None) for a, d in pairs if isinstance(a, Tensor)])
        values, operands = [lift(a, d, rank) for a, d in pairs], slice(cls.n_conditions, len(args) - cls.n_settings)
        if len({a._np_dtype for a in values[operands] if isinstance(a, Tensor)}) > 1:
            target = dtypes.of_numpy(dtypes.common([stand_in(a, d) for a, d in pairs[operands]]))
            values[operands] = [a.to(target) if isinstance(a, Tensor) else a for a in values[operands]]
        return cls.apply(*values), 0


def stand_in(a: object, dim: int | None) -> Any:
    """Return an array with the rank of one example of a batched tensor: rank decides in type promotion."""
    return np.empty((1,) * (a.ndim - (dim is not None)), a._np_dtype) if isinstance(a, Tensor) else a


def added(total: Tensor, term: Tensor, tangents: tuple) -> Any:
    """Return total + term, computed in total's memory if no other tensor shares it."""
    a, b = (t._a if type(t) is Tensor and t._edge is t._view is t._tan is None else None for t in (total, term))
    if a is None or b is None or a.shape != b.shape or a.dtype is not b.dtype or a.base is not None:
        return total + term
    if current() not in (ON, OFF) or any([t is total for t in tangents]):
        return total + term
    with np.errstate(all="ignore"):
        np.add(a, b, out=a)
    return total


@cache
def array_formulas(cls: type[Pointwise]) -> tuple | None:
    """Return for each operand its array formula, the positions of its inputs (see array_gradient), and whether it takes g.

    An operand without a formula has None; the result is None if some formula cannot run on arrays.
    """
    if not all(map(formula.runs_on_arrays, cls.formulas.values())):
        return None
    places = {name: i for i, name in enumerate((*cls.names, "out"))} | {"g": -1}
    forms = {
        i: (formula.on_arrays(f), [places[k] for k in cls.reads[i]], "g" in cls.reads[i])
        for i, f in cls.formulas.items()
    }
    return tuple([forms.get(i) for i in range(len(cls.names))])


def array_gradient(cls: type[Pointwise], partial: tuple, bound: tuple, g: Array) -> Any:
    """Return one gradient from arguments, result and g, or None if an input of the formula was not saved."""
    f, places, takes_g = partial
    given = []
    for k in places:
        v = g if k < 0 else bound[k]
        if v is not None and k >= cls.n_conditions:
            v = cls.plain(v, g.dtype)
        if v is None:
            return None
        given.append(v)
    return f(*given) if takes_g else times(g, f(*given))


def times(g: Tensor | Array, d: Tensor | Array | float) -> Any:
    """Return g * d for tensors or arrays without multiplying by one; for d = 0 it is 0 even if g is infinite."""
    if type(d) is not int or d not in (-1, 0, 1):
        return g * d
    if d:
        return g if d == 1 else -g
    return g.new_zeros(g.shape) if isinstance(g, Tensor) else zeros(g.shape, g)[()]


class OverDims(Primitive):
    """An operation `impl(x, dims, keepdim)` over a tuple of dimensions."""

    spelling = "reduction"
    keeps_elements = False  # over no dimensions it changes nothing
    takes_dims = False  # its public function needs dimensions
    name_of_all = ""  # the name of its public function over all dimensions, if it is another: amax is max
    batch = lambda x, dims, keepdim, *rest: (x, tuple([d + 1 for d in dims]), keepdim, *rest)


class Reduce(OverDims):
    """A differentiable reduction over a tuple of dimensions.

    dx is the partial with respect to one element, or with `g` among its parameters g times it.  In dx the reduced dimensions
    of `out` and `g` have size 1, so that both broadcast against x.
    """

    layout = row_major

    @classmethod
    def term(cls, bound: tuple, n_args: int, g: Tensor | Array) -> Any:
        """Return g times the partial with respect to each element."""
        d = Primitive.evaluate.__func__(cls, 0, bound, n_args, (g,))
        return d if "g" in cls.reads[0] else times(g, d)

    @classmethod
    def evaluate(cls, i: int, bound: tuple, n_args: int, grads: tuple) -> Any:
        x, dims, keepdim = bound[:3]
        shape, g = tuple(x) if type(x) is ShapeOf else tuple(x.shape), grads[0]
        if not keepdim and g.ndim:  # a single number broadcasts as it is
            kept = tuple([1 if d in dims else n for d, n in enumerate(shape)])
            g = g.reshape(kept)
            if bound[n_args] is not None:
                bound = (*bound[:n_args], bound[n_args].reshape(kept), *bound[n_args + 1 :])
        result = cls.term(bound, n_args, g)
        if tuple(result.shape) == shape:
            return result
        return result.expand(shape) if isinstance(result, Tensor) else spread(result, shape)

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        x, dims, keepdim = primals[:3]
        if "out" in cls.reads[0]:
            kept = [1 if d in dims else n for d, n in enumerate(x._sizes)]
            outs = tuple([o.reshape(kept) for o in outs])
        t = cls.term(primals + outs, len(primals), tangents[0])
        return t.sum(dims, keepdim) if dims else t


def spread(d: Array, shape: tuple) -> Array:
    """Return a gradient broadcast over the reduced dimensions; a small one is copied, because NumPy is much faster on that."""
    if d.shape == shape:
        return d
    if len(KINDS) > 1 and on_device(d) or math.prod(shape) > pointwise_gradients.GRADIENTS_FROM:
        return np.broadcast_to(d, shape)
    out = np.empty(shape, d.dtype)
    out[...] = d
    return out


class Linear(Primitive):
    """Linear in the first argument; the rest are plain values.  The jvp is the operation itself, the pull-back is dx."""

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        return cls.apply(tangents[0], *primals[1:])


class ViewScatter(Primitive):
    """History only: a tensor after a write through one of its views, whose region is replaced."""

    @classmethod
    def node_class_name(cls) -> str:
        """Return PyTorch's name of the node class."""
        return "CopySlices"

    names, reads, formulas = ("base", "view", "region", "order"), {0: (), 1: ()}, {}

    @classmethod
    def keep(cls, args: tuple, outs: tuple, edges: tuple) -> tuple:
        return (ShapeOf(args[0].shape), ShapeOf(args[1].shape), *args[2:])

    @staticmethod
    def backward(ctx: Node, *grads: Any) -> tuple:
        """Pass the region of g to the view, and the rest to the earlier value of the base."""
        _, _, region, order = ctx._alive()
        g, for_base, for_view = laid_out_in(order, *grads), None, None
        if ctx._edges[0] is not None:
            for_base = g.clone()
            ViewScatter.within(for_base, region).zero_()
        if ctx._edges[1] is not None:
            for_view = ViewScatter.within(g, region)
        return for_base, for_view, None, None

    @staticmethod
    def within(t: Tensor, region: tuple) -> Tensor:
        """Return the region of t that a chain of views selects."""
        for fn, args in region:
            t = fn.apply(t, *args)
        return t


class View(Linear):
    """Linear; the result shares the memory of its first argument."""

    view = takes_half = True
    dimensions = "view"
    scatter: Any = ViewScatter  # the history of its base after a write to the view


class Bilinear(Primitive):
    """Linear in each of its first two arguments."""

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        x, y, *rest = primals
        terms = [cls.apply(tangents[0], y, *rest)] if tangents[0] is not None else []
        terms += [cls.apply(x, tangents[1], *rest)] if tangents[1] is not None else []
        return terms[0] if len(terms) == 1 else terms[0] + terms[1]


class Operation(Primitive):
    """Any other differentiable operation: dx = lambda g, ... is the pull-back, and jvp follows by transposing it."""


class NonDifferentiable(Primitive):
    """An operation without a derivative: its result is never tracked."""

    differentiable = False
