"""Primitive: a built-in operation, which computes on arrays.  Tensors come in and go out around its `impl`.

The names of a formula's parameters say what it reads: `keep` saves just that, and `evaluate` finds it again, in backward as
in jvp.  The families of families.py build on this class and say what a formula means.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...arrays import halves
from ...arrays.dtypes import F4, FLOATS, HALVES, float32, is_half, of_numpy
from ...arrays.errstate import listener, restore
from ...arrays.kinds import KINDS, Array, as_array, on_device, on_two_devices
from ...core.events import slots
from ...core.frames import EAGER, Frame, Layer, apply_at, current, node_made
from ...core.function import Function, as_tuple
from ...core.graph import FullNode, Node, OutputEdge
from ...core.inplace import link_view
from ...core.saved import INFERENCE, Saved, bottom, save, unpack
from ...core.tensor import Box, Tensor, describe, edges_of, levels, wrap
from ...errors import MinigradError, error, raise_instead
from ...kernels import fallback, formula
from ...layers.batching import front
from ...layers.grad import transpose
from ..node_names import alphabetical, numbers_among
from .layouts import arranged

# functions in a class body without self
STATIC = ("impl", "program", "layout", "update", "kernel", "integer_kernel", "ufunc", "batch", "vmap")


class ShapeOf(tuple):
    """Stands in a node for a tensor argument whose value no formula needs: only its shape is kept."""


class PrimitiveNode(Node):
    """The node of a built-in operation, which knows what it has saved by PyTorch's names, and can be called."""

    __slots__ = ()

    def __call__(self, *grads: Tensor | None) -> Any:
        """Return the gradients of the inputs, one alone or a tuple, for those of the outputs.  No hook is called.

        As in PyTorch nothing is freed, and the gradient of an operand that was broadcast has the shape of the result.
        """
        return slots.called(self, grads)

    _saved_self = property(lambda node: node._saved_as("_saved_self"), doc="The first operand, if backward needs it.")
    _saved_other = property(
        lambda node: node._saved_as("_saved_other"), doc="The second operand, if backward needs it."
    )
    _saved_result = property(lambda node: node._saved_as("_saved_result"), doc="The result, if backward needs it.")

    def tensor_inputs(self) -> list:
        """Return the positions of the operands, but for numbers for which PyTorch has another node."""
        numbers = numbers_among(self)
        return [i for i in super().tensor_inputs() if i not in numbers]

    def _saved_as(self, name: str) -> Tensor:
        """Return the saved tensor of this name; AttributeError if there is none."""
        formulas = sorted(self._fn.formulas)
        places = {**dict(zip(("_saved_self", "_saved_other"), formulas)), "_saved_result": len(self._edges)}
        value = self._alive()[places[name]] if formulas and name in places else None
        if type(value) is not Saved:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return unpack(value, self)


class FullPrimitiveNode(PrimitiveNode, FullNode):
    """The same with a slot for everything; those that fast/ writes out are flatter."""

    __slots__ = ()

    @property
    def _constants(self) -> dict:
        """By position the arguments that are no tensors, as far as they are there still: a backward frees them, too."""
        kept = self._saved if type(self._saved) is tuple else ()
        found = [(i, s) for i, (e, s) in enumerate(zip(self._edges, kept)) if e is None]
        return {i: s for i, s in found if type(s) is not Saved and type(s) is not ShapeOf}


class Primitive(Function):
    """A built-in operation: `impl` takes and returns arrays, tensors come in and go out around it."""

    primitive = True
    Node = FullPrimitiveNode

    # What a declaration may say, beside impl and its formulas (`dx` is that of the parameter x).  Families add to it.
    impl: Any = None  # arrays and plain values in, an array or a tuple of arrays out
    program: Any = None  # impl as a program of other operations, on Tensors, from which fused kernels are generated
    view = False  # the result shares the memory of the first operand
    differentiable = True
    name = ""  # what programs call it, where not the class's name in lower case (LeakyRelu: leaky_relu)
    node = ""  # what PyTorch calls its node, where not by the class's name; with Backward and a number in full
    number_nodes: dict = {}  # position of an operand -> PyTorch's node where that is a number, which then is no input
    n_settings = 0  # how many of the last parameters are plain settings, not operands
    n_internal = 0  # how many of the last results are for formulas alone, unless the function was asked for them
    integers: tuple = ()  # the parameters that take tensors of integers: classes, indices
    any_device: tuple = ()  # the parameters whose tensors may lie on another device than the others
    elementwise = False  # x[i] = f(x[i], y[i], ...) with broadcasting: what a batch dimension does not change
    batch: Any = None  # (arguments with the batch in front) -> the arguments of the call for the whole batch
    layout: Any = None  # how the results lie in memory (layouts.py)
    update: Any = None  # impl that writes into its first argument and returns nothing: for writes to few elements
    takes_half = False  # impl takes float16 and bfloat16 as they stand: it moves elements only, say (arrays/halves.py)
    kernel_takes_half = False  # so do its kernels on the device, and they compute in more digits
    quiet = False  # impl, or a helper in ops/, calls NumPy's functions itself: it can be alarmed (arrays/errstate.py)
    # how a first-order backward needs no tensors: True where the formulas run on arrays as they stand, or a function
    # (gradients of the outputs, what was saved) -> gradients of the arguments, or None to leave it to the formulas
    arrays: Any = False
    # whether the gradient by an operand counts as depending on it though it does not change with it, so that a second
    # derivative is zeros and not None: so it is in PyTorch where the backward is a kernel that takes the operand
    depends_on_operand = False

    # What follows from that.
    names: tuple = ()  # impl's parameters
    variadic: int | None = None  # the position from which all arguments share the last name
    formulas: dict = {}  # parameter's position -> formula
    reads: dict = {}  # parameter's position -> names of what its formula reads
    keeps: frozenset = frozenset()  # positions of the arguments that some formula reads
    listen: Any = None  # silences NumPy, which tells us of infinities and NaN under this operation's name
    operator = ""  # the method of Tensor that Python's operator calls
    namespaces: list = []  # of functions that call apply: they get the written-out one (fast/)

    def __init_subclass__(cls, **options: object):
        super().__init_subclass__(**options)
        cls.namespaces, cls.apply = [], classmethod(first_apply)  # type: ignore[assignment]
        cls.listen = classmethod(first_listen)
        cls.name = cls.__dict__.get("name") or re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        for name, f in list(cls.__dict__.items()):
            if inspect.isfunction(f) and (name in STATIC or f.__name__ == "<lambda>"):
                setattr(cls, name, staticmethod(f))
        signature = cls.signature()
        if signature is not None:
            cls._read_formulas(signature)

    @classmethod
    def signature(cls) -> Callable | None:
        """The function whose parameters name the operation's arguments."""
        return cls.impl

    @classmethod
    def _read_formulas(cls, signature: Callable) -> None:
        code = signature.__code__
        starred = bool(code.co_flags & inspect.CO_VARARGS)
        cls.names = code.co_varnames[: code.co_argcount + starred]
        cls.variadic = len(cls.names) - 1 if starred else None
        cls.formulas = {i: f for i, n in enumerate(cls.names) if (f := getattr(cls, "d" + n, None)) is not None}
        cls.reads = {i: formula.parameters(f) for i, f in cls.formulas.items()}
        cls.keeps = frozenset(i for i, n in enumerate(cls.names) if any(n in r for r in cls.reads.values()))

    @classmethod
    def function_name(cls) -> str:
        """What the operation is called in programs."""
        return cls.name

    @classmethod
    def node_class_name(cls) -> str:
        """Return PyTorch's name for the class of its nodes."""
        return cls.node if "Backward" in cls.node else f"{cls.node or cls.__name__}Backward0"

    @classmethod
    def node_name(cls, node: Node) -> str:
        """Return what PyTorch calls this node: it has others where an operand is a number."""
        numbers = numbers_among(node)
        return cls.number_nodes[numbers[0]] if numbers else type(node).__name__

    @classmethod
    def known_as(cls) -> tuple:
        """The arguments' names as the operation's users know them."""
        return cls.names

    @classmethod
    def apply(cls, *args: Any) -> Any:  # type: ignore[override]
        """Run the operation on tensors, arrays and plain values."""
        frame = current()
        return cls.eager(frame, args) if frame.layer is EAGER else apply_at(frame, cls, args)

    @classmethod
    def eager(cls, frame: Frame, args: tuple) -> Any:
        try:
            raw = cls.compute(*[a._a if isinstance(a, Tensor) else a for a in args])
        except MinigradError as e:  # compute knows the arrays only
            e.notes += tuple(slots.origins({n: a for n, a in zip(cls.known_as(), args) if isinstance(a, Tensor)}))
            raise
        if type(raw) is not np.ndarray and len(KINDS) > 1:
            cls.check_devices(args)
        return cls.finish(frame, args, raw)

    @classmethod
    def check_devices(cls, args: tuple) -> None:
        """Raise RuntimeError where tensors lie on two devices, also if a kernel would find what it needs."""
        names = [cls.known_as()[cls.parameter(i)] for i in range(len(args))]
        named = {
            n if names.count(n) == 1 else f"{n}[{i}]": a._a
            for i, (n, a) in enumerate(zip(names, args))
            if isinstance(a, Tensor) and n not in cls.any_device
        }
        if mixed := on_two_devices(cls.function_name(), named):
            mixed.below = True
            raise mixed

    @classmethod
    def finish(cls, frame: Frame, args: tuple, raw: Any) -> Any:
        """Tensors around the arrays that impl gave, with their history, and what else the frame asks for."""
        one = type(raw) is np.ndarray
        out: Any = wrap(raw) if one else tuple(map(as_tensor, raw)) if type(raw) is tuple else as_tensor(raw)
        if cls.view:
            link_view(frame, cls, args, out)
        if frame.grad and cls.differentiable:
            edges = edges_of(args)
            if edges.count(None) < len(edges):
                cls.record(None, args, out, edges)
        if frame.inference or frame.dual is not None or frame.observers:
            outs = out if type(out) is tuple else (out,)
            for o in frame.observers:
                o.op_done(frame, cls, args, outs, None)
            if frame.inference:
                for o in outs if not cls.view else ():
                    o._ver = INFERENCE
            elif frame.dual is not None:
                frame.dual.op_done(frame, cls, args, outs)
        return out

    @classmethod
    def record(cls, layer: Layer | None, args: tuple, out: Tensor | tuple, edges: tuple | None = None) -> None:
        """Give `out` (one tensor, or a tuple) the node of `cls(*args)` as its history, as `layer` sees it."""
        if edges is None:
            edges = edges_of(args, layer)
        outs: tuple = out if type(out) is tuple else (out,)
        node = cls.Node(layer, edges)
        node._meta = describe(outs)
        for i, o in enumerate(outs):
            if node._meta[i][1] in FLOATS:
                o._edge = node if o is out else OutputEdge(node, i)
        node._saved = cls.keep(args, outs, edges)
        if slots.node_made is not None or current().observers:
            node_made(node)

    @classmethod
    def compute(cls, *arrays: Array, into: Callable | None = None) -> Any:
        """impl (or `into`, the update in place): without NumPy's warnings, and errors named after this operation."""
        if "keepdim" in cls.names and not isinstance(keepdim := arrays[cls.names.index("keepdim")], (bool, np.bool_)):
            raise slots.problem("keepdim is True or False", cls=cls, given=keepdim)
        try:
            if cls.view:
                return cls.impl(*arrays)
            said = cls.listen()
            try:
                as_they_are = cls.takes_half or cls.kernel_takes_half and on_device(arrays[0])
                if as_they_are or not any(map(is_half, arrays)):
                    raw = (into or cls.impl)(*arrays)
                elif into is None:
                    raw = halves.computed(cls.impl, arrays)
                else:
                    arrays[0][...] = halves.computed(cls.impl, arrays)
                    return None
                return raw if cls.layout is None else arranged(cls, raw, arrays)
            finally:
                restore(said)
        except Exception as e:
            if fallback.from_compiler(e) and not fallback.numpy_alone():
                return fallback.again(e, cls.compute, *arrays, into=into)
            problem = "the operation cannot compute with these arrays"
            raise_instead(slots.problem(problem, cls=cls, arrays=arrays, cause=e), e)

    # ------------------------------------------------------------------ what is saved, and what formulas read
    @classmethod
    def parameter(cls, i: int) -> int:
        """The position among the parameters of argument number i."""
        return i if cls.variadic is None else min(i, cls.variadic)

    @classmethod
    def keep(cls, args: tuple, outs: tuple, edges: tuple) -> tuple:
        """Per argument, then per output: a Saved tensor where a tracked argument's formula reads it, else a shape or value."""
        reads, results = read_by(cls, tuple(map(bool, edges)), len(outs))
        kept = [ShapeOf(a._sizes) if not reads[i] and isinstance(a, Tensor) else a for i, a in enumerate(args)]
        for i in cls.saving_order(args):
            if reads[i]:
                kept[i] = save(args[i])
        if True not in results:
            return (*kept, *[None] * len(outs))
        return (*kept, *[save(outs[k], k) if read else None for k, read in enumerate(results)])

    @classmethod
    def saving_order(cls, args: tuple) -> tuple:
        """The order in which arguments are saved, as hooks see it: PyTorch's, that of its names of them in the alphabet."""
        return alphabetical(cls, len(args))

    @classmethod
    def evaluate(cls, i: int, bound: tuple, n_args: int, grads: tuple) -> Any:
        """The formula of argument i, on the values that its parameters name; None if it has none."""
        p = cls.parameter(i)
        f = cls.formulas.get(p)
        if f is None:
            return None

        values = []
        for name in cls.reads[p]:
            if name == "g":
                values.append(grads[0])
            elif name == "out":
                values.append(bound[n_args])
            elif name == "shape":
                values.append(tuple(bound[i] if type(bound[i]) is ShapeOf else bound[i].shape))
            elif name in cls.names:
                j = cls.names.index(name)
                values.append(bound[j:n_args] if j == cls.variadic else cls.operand(j, bound, n_args, grads[0]))
            elif name == "index":
                values.append(i - p)
            else:  # one of several outputs, out1, or its gradient, g1
                values.append((grads if name[0] == "g" else bound[n_args:])[int(name.lstrip("gout"))])
        return f(*values)

    @classmethod
    def operand(cls, j: int, bound: tuple, n_args: int, g: Tensor | Array) -> Any:
        """The value of argument j as a formula gets it."""
        return bound[j] if j < n_args else None

    # ------------------------------------------------------------------ the rules that the engine and the layers call
    @staticmethod
    def backward(ctx: Node, *grads: Tensor | None) -> tuple:
        """One gradient per tracked argument."""
        cls, n = ctx._fn, len(ctx._edges)
        bound, grads = widened_tensors([unpack(s, ctx) for s in ctx._alive()]), widened_tensors(grads)
        return tuple([None if e is None else cls.gradient(i, bound, n, grads) for i, e in enumerate(ctx._edges)])

    @classmethod
    def gradient(cls, i: int, bound: tuple, n_args: int, grads: tuple) -> Any:
        """The formula of argument i in a backward on tensors; see `depends_on_operand`."""
        d = cls.evaluate(i, bound, n_args, grads)
        if not cls.depends_on_operand:
            return d
        return tied(d, bound[i] if isinstance(bound[i], Tensor) else bound[n_args])  # its formula reads one of them

    @classmethod
    def tangents(cls, primals: tuple, tangents: list, outs: tuple, ctx: Any = None) -> list:
        """One tangent, or None, per output."""
        if not cls.differentiable:
            return [None] * len(outs)
        dtype = None if cls.view else half_among(outs)
        if dtype is not None:
            primals, outs, tangents = widened_tensors(primals), widened_tensors(outs), list(widened_tensors(tangents))
        result = cls.pushforward(primals, list(tangents), outs)
        found = as_tuple(result) if dtype is None else narrowed_tensors(as_tuple(result), dtype)
        return [own(t, cls, tangents) for t in found]

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        """The tangents of the outputs.  In general the transpose of the pull-back, which is linear in the gradients."""
        tracked = [i for i, t in enumerate(tangents) if t is not None and cls.parameter(i) in cls.formulas]
        n = len(primals)

        def pull_back(*grads: Tensor) -> tuple:
            return tuple([cls.evaluate(i, primals + outs, n, grads) for i in tracked])

        return transpose(pull_back, outs, tuple([tangents[i] for i in tracked]))

    @staticmethod
    def vmap(info: SimpleNamespace, in_dims: tuple, *args: object) -> tuple:
        """Every tensor with the batch dimension in front, and `batch` to say what that changes."""
        cls = info.function
        if cls.batch is None:
            raise error(
                NotImplementedError, cls.function_name(), "has no rule for vmap", "call it in a loop, outside of vmap"
            )
        args = tuple([front(a, d, info.batch_size) for a, d in zip(args, in_dims, strict=True)])
        out = cls.apply(*cls.batch(*args))
        return out, (0,) * len(out) if isinstance(out, tuple) else 0

    # ------------------------------------------------------------------ in words, for drawings and documentation
    @classmethod
    def partial_text(cls, i: int) -> str:
        """The formula of argument i as it stands in the source; "" for one that decides or repeats, which no label can hold."""
        f = cls.formulas.get(cls.parameter(i))
        words = "" if f is None else formula.shown(f)
        return "" if re.search(r" (if|for) ", words) else words


def first_apply(cls: Any, *args: object) -> Any:
    """Have the operation written out at its first call, where it can be."""
    if slots.accelerate is None or not slots.accelerate(cls):
        cls.apply = classmethod(Primitive.apply.__func__)
        for namespace in cls.namespaces:
            namespace["apply"] = cls.apply
    return cls.apply(*args)  # type: ignore[operator]


def first_listen(cls: Any) -> object:
    """Make the operation's listener when it is first needed."""
    cls.listen = staticmethod(listener(cls.function_name()))
    return cls.listen()


def half_among(tensors: Sequence) -> np.dtype | None:
    """Return the dtype of the first tensor of float16 or bfloat16; None where there is none."""
    return next((t._np_dtype for t in tensors if isinstance(t, Tensor) and t._np_dtype in HALVES), None)


def widened_tensors(values: Sequence) -> tuple:
    """Return values with the tensors of a half in float32, by an operation like any other."""
    return tuple([v.to(float32) if isinstance(v, Tensor) and v._np_dtype in HALVES else v for v in values])


def narrowed_tensors(values: Sequence, dtype: np.dtype) -> tuple:
    """Return values with the tensors of float32 in a half."""
    return tuple([v.to(of_numpy(dtype)) if isinstance(v, Tensor) and v._np_dtype == F4 else v for v in values])


@cache
def read_by(cls: type[Primitive], tracked: tuple, n_outputs: int) -> tuple:
    """Which arguments, and which results, the formulas of the tracked arguments read."""
    names = {n for i, wanted in enumerate(tracked) if wanted for n in cls.reads.get(cls.parameter(i), ())}
    arguments = tuple([cls.names[cls.parameter(i)] in names for i in range(len(tracked))])
    return arguments, tuple([f"out{k}" in names or k == 0 and "out" in names for k in range(n_outputs)])


def as_tensor(raw: object) -> Tensor:
    """A result of impl as a tensor."""
    return wrap(as_array(raw))


def own(t: Tensor | None, cls: type[Primitive], tangents: list) -> Tensor | None:
    """A tangent in memory of its own, unless the operation is a view: a later write must not reach another tangent."""
    if t is None or cls.view:
        return t
    low: Any = t
    while type(low) is Box and low._view is None:
        low = low._value
    shared = low._view is not None or any([s is not None and bottom(s) is low for s in tangents])
    return t.clone() if shared else t


class Tied(Primitive):
    """d, as a function of x that is constant: the derivative by x is zeros."""

    impl = lambda d, x: d[...]
    dd = lambda g: g
    dx = lambda g, shape: g.new_zeros(shape)
    batch = lambda d, x: (d, x)

    @classmethod
    def pushforward(cls, primals: tuple, tangents: list, outs: tuple) -> Any:
        return outs[0].new_zeros(outs[0].shape) if tangents[0] is None else tangents[0]

    @classmethod
    def partial_text(cls, i: int) -> str:
        """In words as short as the thing."""
        return "10"[i]


def tied(d: Tensor, x: Tensor) -> Tensor:
    """A gradient that a second backward shall find to depend on x, where that can have one."""
    tracked = current().grad and any([t.requires_grad for t in levels(x)])
    return Tied.apply(d, x) if tracked else d
