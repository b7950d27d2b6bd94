"""Function, the base class of users' and built-in operations, and `apply`, the single entry to every operation.

`apply` asks the layer of the current frame whether it owns an argument.  If so, the layer processes the operation by running it
one layer down; if not, `apply` asks its parent, and so on down to eager mode, which is here.  `Primitive`
(ops/base/primitive.py) is the built-in kind, which computes on arrays; this file has the kind that users write.  Its ctx is the
node; `attach` makes it the history of forward's outputs (context.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, overload

from ..events import events, intercept, services, unheard
from ..signatures import P, R_co, WithCtx, WithoutCtx, overridable
from .context import Ctx, attach, contains_identical
from .frames import EAGER, OFF, ON, Frame, apply_at, current, enter
from .graph import Node, history
from .saved import memory, next_number
from .tensor import Tensor, is_float

STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class Function:
    """Base class of differentiable operations.  Subclass it with static methods and call `apply`.

    There are two forms, as in PyTorch: `forward(ctx, *args)`, or `forward(*args)` with `setup_context(ctx, inputs, output)`,
    which transforms require.  `backward(ctx, *grads)`, also called `vjp`, returns one gradient (or None) per argument of
    forward; `jvp(ctx, *tangents)` one tangent per output; `vmap(info, in_dims, *args)` the outputs and their batch dimensions.

    >>> import minigrad as torch
    >>> class Exp(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         result = x.exp()
    ...         ctx.save_for_backward(result)
    ...         return result
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         result, = ctx.saved_tensors
    ...         return grad_output * result
    >>> x = torch.tensor(0., requires_grad=True)
    >>> Exp.apply(x).backward()
    >>> x.grad
    tensor(1.)
    """

    generate_vmap_rule = False
    is_traceable = False
    vmap: Any = None
    primitive = False  # built-in: its impl works on arrays
    arrays: Any = False  # how a built-in computes gradients on arrays
    combined = True  # forward takes ctx
    Node: Any = Ctx
    _both = False  # a class defines both backward and vjp, which is an error
    _arity: int | None = None  # a call with this number of arguments needs no defaults filled in
    _checked = False  # diagnose has checked the class

    def __init_subclass__(cls, **options: object):
        super().__init_subclass__(**options)
        own = cls.__dict__
        cls._both, cls._checked = "vjp" in own and "backward" in own, False
        for given, other in (("vjp", "backward"), ("backward", "vjp")):
            if given in own and not cls._both:
                setattr(cls, other, own[given])
        cls.combined = cls.setup_context is Function.setup_context
        if not cls.primitive and ("forward" in own or "setup_context" in own):
            cls._arity = arity(inspect.unwrap(cls.forward))
            events.defined(cls)
        name = cls.node_class_name()
        cls.Node = type(name, (cls.Node,), {"_fn": cls, "__slots__": (), "__module__": cls.__module__})

    def __init__(self, *_: object, **__: object):
        services.notice("a Function gets an instance", cls=type(self))

    def __call__(self, *_: object, **__: object) -> Any:
        """Raise an error: instances, which serve no purpose but to call `apply`, are not callable."""
        raise services.problem("an instance of a Function is called", cls=type(self))

    @staticmethod
    @overridable
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: `forward(ctx, *args)`, or `forward(*args)` if there is a setup_context."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    @overridable
    def setup_context(ctx: Ctx, inputs: tuple, output: Any) -> Any:
        """Save on ctx what backward and jvp need; `inputs` is the tuple of forward's arguments."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    @overridable
    def backward(ctx: Ctx, *grad_outputs: Any) -> Any:
        """Return one gradient, or None, per argument of forward, given the gradients of the outputs."""
        raise services.problem("the Function has no backward", cls=ctx._fn)

    vjp = backward

    @staticmethod
    @overridable
    def jvp(ctx: Ctx, *grad_inputs: Any) -> Any:
        """Return one tangent per output, given the tangents of forward's arguments (None for those without one)."""
        raise services.problem("the Function has no jvp", cls=ctx._fn)

    @overload
    @classmethod
    def apply(cls: type[WithCtx[P, R_co]], *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    @classmethod
    def apply(cls: type[WithoutCtx[P, R_co]], *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation, and record it for backward if an argument requires grad."""
        if cls._both:
            raise services.problem("backward and vjp are two names of one method", cls=cls)
        if kwargs or not cls.combined and len(args) != cls._arity:
            args = bind(cls, args, kwargs)
        frame = current()
        return cls.eager(frame, args) if frame.layer is EAGER else apply_at(frame, cls, args)

    @classmethod
    def node_class_name(cls) -> str:
        """Return the name of the class of this Function's nodes."""
        return f"{cls.__name__}Backward"

    @classmethod
    def node_name(cls, node: Node) -> str:
        """Return PyTorch's name for this node; operations override it where PyTorch has several nodes for one."""
        return type(node).__name__

    @classmethod
    def keeps_number(cls, node: Node) -> bool:
        """Return True if a number among the operands counts as saved; users' Functions keep theirs as attributes."""
        return False

    @classmethod
    def eager(cls, frame: Frame, args: tuple) -> Any:
        """Run the user's forward with gradients off, and attach its outputs to the graph."""
        if intercept.dual_level_of is not unheard and (level := intercept.dual_level_of(args)) is not None:
            return level.here(cls.eager, frame, args)
        edges, needs, given = inspect_arguments(cls, frame, args)
        tracked = frame.grad and True in needs
        ctx = cls.Node(None, needs, edges if tracked else (), given)
        known = cls._checked and (frame is ON or frame is OFF)
        returned = (run_forward if known else intercept.forward(run_forward) or run_forward)(frame, ctx, args)
        alone = isinstance(returned, Tensor)
        outs = attach(ctx, args, args, (returned,) if alone else as_tuple(returned))
        if frame.dual is not None:
            frame.dual.op_done(frame, cls, args, outs, ctx)
        for o in frame.observers:
            o.op_done(frame, cls, args, outs, ctx)
        ctx._forget()
        if not tracked:
            ctx._saved = ()
        return outs[0] if alone else as_returned(returned, outs)

    @classmethod
    def tangents(cls, primals: tuple, tangents: list, outs: tuple, ctx: Any = None) -> list:
        """Call the user's jvp and check its result: one tangent or None per output."""
        for i, o in enumerate(outs):
            if not isinstance(o, Tensor):
                services.notice("output is a structure", cls=cls, o=o, i=i)
        if ctx._materialize:
            tangents = [p.new_zeros(p.shape) if t is None and is_float(p) else t for p, t in zip(primals, tangents)]
        begun = next_number()
        result = services.call_method(cls, "jvp", ctx, *tangents)
        for i, (p, t) in enumerate(zip(primals, tangents)):
            if t is not None and memory(t).at > begun and not contains_identical(p, ctx._dirty):
                raise services.problem("jvp modifies a tangent in place", cls=cls, i=i, t=t)
        pairs = zip(outs, check_tangents(cls, result, outs))
        found = [t if is_float(o) and not contains_identical(o, ctx._nondiff) else None for o, t in pairs]
        return [
            t.clone() if t is not None and (t._view is not None or contains_identical(t, tangents)) else t
            for t in found
        ]


# ---------------------------------------------------------------------- forward and jvp: arguments and results
def run_forward(frame: Frame, ctx: Ctx, args: tuple) -> Any:
    """Call the user's forward, and setup_context, with gradients and tangents off."""
    cls, here = ctx._fn, current()
    try:
        enter(OFF if frame is ON else frame.but(grad=False, dual=None) if frame.grad or frame.dual else frame)
        if cls.combined:
            return services.call_method(cls, "forward", ctx, *args)
        returned = services.call_method(cls, "forward", *args)
        services.call_method(cls, "setup_context", ctx, args, returned)
        return returned
    finally:
        enter(here)


def arity(forward: Callable) -> int | None:
    """Return the number of arguments with which a call needs no defaults, or None if it is not a single number."""
    code = getattr(forward, "__code__", None)
    if code is None or code.co_kwonlyargcount or code.co_flags & STARRED:
        return None
    return code.co_argcount


def bind(cls: type[Function], args: tuple, kwargs: dict) -> tuple:
    """Return forward's arguments as one tuple, with keyword arguments and defaults at their positions."""
    lead = (None,) if cls.combined else ()
    try:
        bound = inspect.signature(cls.forward).bind(*lead, *args, **kwargs)
    except TypeError as e:
        raise services.problem("apply takes forward's arguments", cls=cls, args=args, kwargs=kwargs, cause=e) from None
    bound.apply_defaults()
    if bound.kwargs:
        raise services.problem("gradients are returned by position", cls=cls, names=list(bound.kwargs))
    return bound.args[len(lead) :]


def inspect_arguments(cls: type[Function], frame: Frame, args: tuple) -> tuple[tuple, tuple, tuple]:
    """Return three tuples, per argument: its edge, True if it needs a gradient, and its shape and dtype."""
    edges, needs, given = [], [], []
    for a in args:
        edge = spec = None
        if isinstance(a, Tensor):
            edge = a._edge if a._view is None else history(a)
            spec = (a._a.shape, a._a.dtype) if a._layer is None else a._spec
        elif isinstance(a, (list, tuple, dict)):
            services.notice("argument is a structure", cls=cls, frame=frame, i=len(edges), a=a)
        edges.append(edge)
        needs.append(edge is not None)
        given.append(spec)
    return tuple(edges), tuple(needs), tuple(given)


def check_tangents(cls: type[Function], result: object, outs: tuple) -> tuple:
    """Return a jvp's result as a tuple; raise if it is not one tangent per output, with the output's shape and dtype."""
    found = as_tuple(result)
    wrong = [i for i, (t, o) in enumerate(zip(found, outs)) if not is_tangent(t, o)]
    if wrong or len(found) != len(outs):
        i = wrong[0] if wrong else 0
        raise services.problem("jvp returns one tangent per output", cls=cls, result=result, outs=outs, i=i)
    return found


def is_tangent(t: object, o: object) -> bool:
    """Return True if t can be the tangent of the output o; None always can."""
    if t is None or not is_float(o):
        return t is None or isinstance(t, Tensor)
    return isinstance(t, Tensor) and t._spec == o._spec


def as_tuple(x: object) -> tuple:
    """Return the result of a user's method as a tuple of outputs."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def as_returned(returned: object, outs: tuple) -> Any:
    """Return outputs in the form in which forward returned them: a single one, a tuple or a list."""
    if not isinstance(returned, (tuple, list)):
        return outs[0]
    return type(returned)(outs) if type(returned) in (tuple, list) else outs
