"""Support for custom Functions besides Function itself (PyTorch's module of this name).

`once_differentiable` marks a backward that computes outside of minigrad: its results have a node that raises when
differentiated.  `NestedIOFunction` takes and returns tensors in nested tuples, lists and dicts: it flattens them around
a Function (`Flat`), so that the engine and the transforms see only tensors.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ..arrays.devices import device
from ..arrays.dtypes import FLOATS, dtype
from ..core.context import Ctx
from ..core.frames import current
from ..core.function import Function, as_tuple
from ..core.graph import history
from ..core.saved import Saved
from ..core.tensor import Box, Tensor, describe
from ..diagnose.report import counted
from ..errors import error
from ..layers.generated import Example
from ..layers.outputs import OutputIn
from ..ops.base.primitive import Primitive
from ..places import Place, defined_at, noted
from ..tensors.nested import tensors_in
from .grad_mode import no_grad

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
    "traceable",
]

Ctx.saved_variables = property(lambda ctx: ctx.saved_tensors, doc="The old name of saved_tensors.")  # type: ignore
FunctionCtx = Ctx
BackwardCFunction = Ctx
InplaceFunction = Function  # its name in PyTorch's first versions


def once_differentiable(fn: Callable) -> Callable:
    """Mark a `backward` that does not consist of minigrad's operations: a second derivative through it raises.

    Without this decorator such a backward would silently give wrong second derivatives.  The error comes when the result is
    differentiated, even if the incoming gradients are constants, provided that values saved on the ctx may depend on
    forward's inputs (PyTorch then treats the result as a constant).

    >>> import minigrad
    >>> from minigrad.autograd.function import once_differentiable
    >>> class Square(minigrad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 2 * x
    >>> x = minigrad.tensor(3., requires_grad=True)
    >>> minigrad.autograd.grad(Square.apply(x), x)
    (tensor(6.),)
    """

    @functools.wraps(fn)
    def backward(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            outs = fn(ctx, *grads)
        return refuse_second(ctx, grads, outs) if current().grad else outs

    return backward


def traceable(fn_cls: type[Function]) -> type[Function]:
    """Set `is_traceable` on a class: the Function may be compiled, like any that does not set it to False.

    >>> import minigrad
    >>> from minigrad.autograd.function import Function, traceable
    >>> @traceable
    ... class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * x
    >>> Square.is_traceable
    True
    """
    fn_cls.is_traceable = True
    return fn_cls


class DelayedError(Primitive):
    """History of a tensor whose derivative would be wrong: its backward raises an error."""

    names = ("inputs",)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Raise the error."""
        (problem,) = ctx._saved
        raise problem()


def delay(t: Tensor, edges: list, problem: Callable) -> Any:
    """Return a history for t, a function of the tensors with these edges, whose backward raises `problem()`."""
    node = DelayedError.Node(t._layer, tuple(edges))
    node._meta, node._saved = describe((t,)), (problem,)
    return node


OutputIn.delayed = staticmethod(delay)


def marked_at(backward: Callable) -> Place | None:
    """Return the line of the decorator above a user's backward; the line of its `def` if the decorator is not found."""
    place = defined_at(backward)
    above = (
        [] if place is None else [Place(place.file, line) for line in range(place.line - 1, max(place.line - 4, 0), -1)]
    )
    return next((p for p in above if "once_differentiable" in p.code), place)


def second_derivative(name: str, place: Any) -> Exception:
    """Return the error for a derivative of the gradients of a Function that is marked with @once_differentiable."""
    return error(
        RuntimeError,
        name,
        "trying to differentiate twice a function that was marked with @once_differentiable",
        "write its backward with minigrad operations and remove the decorator, or drop create_graph=True",
        notes=noted("marked", place),
    )


def refuse_second(ctx: Any, grads: tuple, outs: Any) -> Any:
    """Return the results, with a DelayedError as history if they may depend on a tensor that requires grad."""
    ctx = ctx._context() if isinstance(ctx, NestedIOFunction) else ctx
    while isinstance(ctx, Example):
        ctx = ctx._ctx
    known = [v for t in tensors_in([*grads, *ctx.saved_tensors, *vars(ctx).values()]) for v in parts(t)]
    return mapped(outs, lambda o: delayed(o, known, ctx) if isinstance(o, Tensor) else o)


def delayed(o: Tensor, known: list, ctx: Ctx) -> Tensor:
    """Return o, a result of ctx's backward, with a DelayedError as history at each layer that tracks what o may depend on.

    A tangent of o may depend on the same tensors; no_grad cuts its history but not the tangent itself.
    """
    edges = [e for t in known if t._layer is o._layer and (e := history(t)) is not None]
    if o._layer is ctx._layer and may_hold_intermediates(ctx):
        edges += [e for e in ctx._edges if e is not None]
    below = [delayed(t, known, ctx) for t in parts_below(o)]
    if not edges and all([new is old for new, old in zip(below, parts_below(o))]):
        return o
    if type(o) is Box:
        o = Box(o._layer, below[0], below[1] if below[1:] else o._extra)
    else:
        o, tan = o.detach(), o._tan
        o._tan = (tan[0], below[0], tan[2]) if tan and below else None
    if edges:
        o._edge = delay(o, edges, partial(second_derivative, ctx.name(), marked_at(ctx._fn.backward)))
    return o


def parts(t: Tensor) -> Iterator:
    """Yield t, and the values and tangents below it."""
    yield t
    for low in parts_below(t):
        yield from parts(low)


def parts_below(t: Tensor) -> list:
    """Return the value and the tangent, if there is one, of a box, and the tangent of a dual tensor."""
    low = [t._value, t._extra] if type(t) is Box else [t._tan[1]] if t._tan is not None else []
    return [p for p in low if isinstance(p, Tensor)]


def may_hold_intermediates(ctx: Ctx) -> bool:
    """Return True if the ctx holds a value that forward may have computed from its inputs.

    Such a value has no history.  Integers and booleans do not count: they have no derivative.
    """
    kept = [s.tensor for s, i in zip(ctx._saved, ctx._places) if isinstance(s, Saved) and s.index is None and i is None]
    return any([not has_no_derivative(v) for v in (*kept, *vars(ctx).values())])


def has_no_derivative(value: Any) -> bool:
    """Return True if a value consists of integers, booleans, strings and the like, which have no derivative."""
    if isinstance(value, (tuple, list, dict)):
        return all(map(has_no_derivative, value.values() if isinstance(value, dict) else value))
    if isinstance(value, Tensor):
        return value._np_dtype not in FLOATS
    return value is None or isinstance(value, (int, str, np.integer, np.bool_, dtype, device, slice))


# ---------------------------------------------------------------------- nested inputs and outputs
class Slot:
    """Stands for a tensor in a layout."""

    def __repr__(self) -> str:
        return "tensor"


SLOT = Slot()


def layout_of(tree: Any) -> Any:
    """Return nested tuples, lists and dicts with SLOT instead of each tensor; other values stay."""
    return mapped(tree, lambda leaf: SLOT if isinstance(leaf, Tensor) else leaf)


def unflatten(values: Any, layout: Any) -> Any:
    """Return the layout with the values, in order, in its slots."""
    rest = iter(values)
    return mapped(layout, lambda leaf: next(rest) if leaf is SLOT else leaf)


def mapped(tree: Any, f: Callable) -> Any:
    """Return the tree with f applied to every leaf of nested tuples (also named ones), lists and dicts."""
    if isinstance(tree, dict):
        return {k: mapped(v, f) for k, v in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [mapped(v, f) for v in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return f(tree)


def leaves(tree: Any) -> Iterator:
    """Yield all leaves of nested tuples, lists and dicts."""
    if isinstance(tree, (list, tuple, dict)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(part)
    else:
        yield tree


def along(layout: Any, tree: Any) -> list | None:
    """Return the parts of `tree` at the slots of `layout`, None for each slot below a None; None if they do not match."""
    if layout is SLOT:
        return None if isinstance(tree, (list, tuple, dict)) else [tree]
    if not isinstance(layout, (list, tuple, dict)):
        return []
    if tree is None:
        return [None] * sum(leaf is SLOT for leaf in leaves(layout))
    if isinstance(layout, dict):
        pairs = [(v, tree.get(k)) for k, v in layout.items()] if isinstance(tree, dict) else None
    else:
        pairs = list(zip(layout, tree)) if isinstance(tree, (list, tuple)) and len(tree) == len(layout) else None
    found: list = []
    for pair in pairs or ():
        part = along(*pair)
        if part is None:
            return None
        found += part
    return None if pairs is None else found


def flatten(layout: tuple, result: Any, who: str, what: str) -> tuple:
    """Return a user's result as one `what` per slot of `layout`; the result may be nested alike or flat, in order."""
    n = sum(leaf is SLOT for leaf in leaves(layout))
    found = along(layout, as_tuple(result))
    if found is None:
        found = list(leaves(result))
    if len(found) != n:
        problem = f"returned {counted(len(found), what)}, expected {n}, nested like {layout}"
        raise error(RuntimeError, who, problem, "return one, or None, for each tensor, in the same nesting")
    return tuple(found)


class Flat(Function):
    """The Function behind a NestedIOFunction: it takes the tensors one by one and, last, the call that knows their nesting."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> tuple:
        """Run the user's forward."""
        return args[-1].enter(ctx).forward(*args[:-1])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        """Run the user's backward; the call itself has no gradient."""
        return (*ctx.call.enter(ctx).backward(*grads), None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple:
        """Run the user's jvp on tangents nested like the inputs."""
        call = ctx.call.enter(ctx)
        result = call.jvp(call, *unflatten(tangents, mapped(call._inputs, lambda leaf: leaf if leaf is SLOT else None)))
        return flatten((call._outputs,), (result,), f"{type(call).__name__}.jvp", "tangent")


class FlatApart(Flat):
    """The same for a class with a setup_context."""

    @staticmethod
    def forward(*args: Any) -> tuple:  # type: ignore[override]
        """Run the user's forward, which has no ctx yet."""
        return args[-1].forward(*args[:-1])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        """Run the user's setup_context, with inputs and outputs nested."""
        call = inputs[-1].enter(ctx)
        call.setup_context(call, unflatten(inputs[:-1], call._inputs), unflatten(as_tuple(output), call._outputs))


def batched_rule(info: Any, in_dims: tuple, *args: Any) -> tuple:
    """Run the user's vmap with dimensions, inputs and outputs nested."""
    call = args[-1]
    dims = unflatten(in_dims[:-1], mapped(call._inputs, lambda leaf: leaf if leaf is SLOT else None))
    out, out_dims = call.vmap(info, dims, *unflatten(args[:-1], call._inputs))
    call._outputs = layout_of(out)
    return tuple(tensors_in(out)), tuple(leaves(out_dims))


class NestedIOFunction(Function):
    """A Function of tensors in nested tuples, lists and dicts, with outputs nested likewise; new code can use Function.

    `forward_extended(self, *inputs)` and `backward_extended(self, *grad_outputs)` receive and return values nested alike;
    `self` is the ctx.  Call it through `apply`, or call an instance.

    >>> import minigrad
    >>> class Scaled(NestedIOFunction):
    ...     def forward_extended(self, pair):
    ...         self.save_for_backward(pair)
    ...         return [pair[0] * pair[1]]
    ...     def backward_extended(self, grads):
    ...         ((x, y),) = self.saved_tensors
    ...         return ((grads * y, grads * x),)
    >>> x, y = minigrad.tensor(2., requires_grad=True), minigrad.tensor(3.)
    >>> [z] = Scaled.apply((x, y))
    >>> z.backward()
    >>> x.grad
    tensor(3.)
    """

    _ctx: Any = None
    _inputs: Any = ()
    _outputs: Any = ()
    _kept: Any = ()  # the nesting of the tensors saved for backward, and below of those saved for forward
    _kept_forward: Any = ()

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        own = cls.__dict__
        cls._fn = cls
        if "vjp" in own and "backward_extended" not in own:
            cls.backward_extended = own["vjp"].__func__
            cls.backward = NestedIOFunction.backward
        rule = staticmethod(batched_rule) if cls.vmap is not NestedIOFunction.vmap else None
        base = Flat if cls.combined else FlatApart
        rules = {"vmap": rule, "generate_vmap_rule": cls.generate_vmap_rule}
        if cls.jvp is Function.jvp:  # the class has no jvp
            rules["jvp"] = staticmethod(cls.jvp)
        cls._flat = type(cls.__name__, (base,), {"__module__": cls.__module__, "_nested": cls, **rules})

    def __init__(self, *args: Any, **kwargs: Any):
        """Accept any arguments; a subclass may give them a meaning."""

    def __call__(self, *inputs: Any) -> Any:  # type: ignore[override]
        """Run the operation; an instance that has run before works on a copy of itself."""
        call = self if self._ctx is None else copy.copy(self)
        call._inputs = layout_of(inputs)
        outs = call._flat.apply(*tensors_in(inputs), call)
        return unflatten(as_tuple(outs), call._outputs)

    @classmethod
    def apply(cls, *inputs: Any) -> Any:  # type: ignore[override]
        """Run the operation on nested tensors, and record it for backward if one of them requires grad."""
        return cls()(*inputs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(str(part) for part in self._inputs)})"

    def enter(self, ctx: Any) -> NestedIOFunction:
        """Return this call, prepared for the methods that follow: its context is `ctx`."""
        self._ctx, ctx.call = weakref.ref(ctx), self  # weakly, because the node holds the call
        return self

    def forward(self, *args: Any) -> tuple:
        """Shared forward utility: nest the tensors, run forward_extended, and flatten its result."""
        out = self.forward_extended(*unflatten(args, self._inputs))
        self._outputs = layout_of(out)
        return tuple(tensors_in(out))

    def backward(self, *gradients: Any) -> tuple:  # type: ignore[override]  # the call is its own ctx
        """Shared backward utility: nest the gradients, run backward_extended, and flatten its result."""
        nested = unflatten(gradients, self._outputs)
        result = self.backward_extended(*(nested if isinstance(self._outputs, (tuple, list)) else (nested,)))
        return flatten(self._inputs, result, f"{type(self).__name__}.backward_extended", "gradient")

    def forward_extended(self, *input: Any) -> Any:
        """User defined forward."""
        what = "forward_extended is not defined"
        raise error(NotImplementedError, type(self).__name__, what, "define forward_extended(self, *inputs)")

    def backward_extended(self, *grad_output: Any) -> Any:
        """User defined backward."""
        what = "backward_extended is not defined: this Function has no backward"
        raise error(NotImplementedError, type(self).__name__, what, "define backward_extended(self, *grad_outputs)")

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *args: Any) -> tuple:
        """Run the operation on a batch; override it to take in_dims and args nested, and return (output, out_dims)."""
        raise error(NotImplementedError, info.function.__name__, "has no vmap rule", "override the vmap staticmethod")

    def _context(self) -> Any:
        ctx = None if self._ctx is None else self._ctx()
        if ctx is None:
            what = "this instance does not belong to a running operation"
            fix = "use it inside forward_extended, backward_extended or jvp"
            raise error(RuntimeError, type(self).__name__, what, fix)
        return ctx

    def save_for_backward(self, *args: Any) -> None:
        """Save tensors, also nested ones, for backward; `saved_tensors` nests them alike.  Call it at most once."""
        self._kept = layout_of(args)
        self._context().save_for_backward(*tensors_in(args))

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors, also nested ones, for jvp; `saved_tensors` nests them alike.  Call it at most once."""
        self._kept_forward = layout_of(tensors)
        self._context().save_for_forward(*tensors_in(tensors))

    @property
    def saved_tensors(self) -> tuple:
        """The tensors from save_for_backward; in jvp those from save_for_forward, if it was called."""
        ctx = self._context()
        return unflatten(ctx.saved_tensors, self._kept if ctx._forward is None else self._kept_forward)

    @property
    def needs_input_grad(self) -> tuple:
        """For each tensor of the inputs, in order, True if it needs a gradient."""
        return self._context().needs_input_grad[:-1]

    def mark_dirty(self, *args: Any, **kwargs: Any) -> None:
        """Declare which inputs forward_extended modifies in place.  It must return them as well."""
        self._context().mark_dirty(*tensors_in((args, kwargs)))

    def mark_non_differentiable(self, *args: Any, **kwargs: Any) -> None:
        """Declare which outputs have no derivative."""
        self._context().mark_non_differentiable(*tensors_in((args, kwargs)))

    def set_materialize_grads(self, value: bool) -> None:
        """Choose between zeros (True, the default) and None for missing gradients in backward and missing tangents in jvp."""
        self._context().set_materialize_grads(value)


# separate from the method above, because a subclass may define its backward under this name
NestedIOFunction.vjp = Function.__dict__["vjp"]
