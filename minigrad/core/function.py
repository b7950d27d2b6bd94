"""Function, what users and built-in operations subclass, and `apply`, the single entry to every operation.

`apply` asks the current frame's layer: does it own an argument?  If so the layer processes the operation, by running it
one layer down; if not, its parent is asked; the last is eager mode, here.  `Primitive` (minigrad/ops/base/families.py) is the
built-in kind, which computes on arrays; this file has the kind that users write.
"""

from __future__ import annotations

import inspect
from typing import Any

from ..arrays.dtypes import FLOATS
from ..diagnose import debug, detached
from ..diagnose.captured_tensors import Guard
from ..diagnose.gradient_checks import unused_tangents
from ..diagnose.user_methods import call_user, check_names, guarded, miscalled, missing, own_forward
from ..errors import error, warn
from ..layers.dual import push_tangents
from ..places import return_of
from .edges import Port
from .frames import EAGER, OFF, ON, Frame, apply_at, current, recordings, use
from .inplace import twin
from .node import Ctx, OfPrimitive, describe, described
from .tensor import Tensor, history, version
from .wiring import (
    among,
    as_tuple,
    check_prints,
    check_structure,
    check_tangents,
    check_unwritten,
    is_float,
    prints,
    tensors_in,
    wire,
)


class Function:
    """Base class of differentiable operations.  Subclass it with static methods, and call `apply`.

    Two forms, as in PyTorch: `forward(ctx, *args)`; or `forward(*args)` with `setup_context(ctx, inputs, output)`, which
    the transforms need.  `backward(ctx, *grads)`, also under the name `vjp`, returns one gradient (or None) per argument
    of forward; `jvp(ctx, *tangents)` one tangent per output; `vmap(info, in_dims, *args)` outputs and their dimensions.

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
    node = ""  # what PyTorch calls a built-in's node, where not by the class's name; with Backward and a number in full
    # a first-order backward needs no tensors (sweep.py): True where the formulas run on arrays as they stand, or a function
    # (gradients of the outputs, what was saved) -> gradients of the arguments, or None to leave it to the formulas
    arrays: Any = False
    combined = True  # forward takes ctx
    _watched = False  # forward has run under the Guard
    _unread: Any = (
        None  # backward's parameters for gradients if it never reads them, else False; None: not looked at yet
    )
    _unread_tangents: Any = None  # the same of jvp's
    _both = False  # backward and vjp are defined, which is one too many
    Node: Any = Ctx

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        own = cls.__dict__
        cls._both = "vjp" in own and "backward" in own
        if "vjp" in own:
            cls.backward = own["vjp"]
        elif "backward" in own:
            cls.vjp = own["backward"]
        if not cls.primitive and ("forward" in own or "setup_context" in own):
            guard_forward(cls)
        cls._watched, cls._unread, cls._unread_tangents = False, None, None
        cls.combined = cls.setup_context is Function.setup_context
        base = OfPrimitive if cls.primitive else Ctx
        name = f"{cls.node or cls.__name__}Backward0" if cls.primitive else f"{cls.__name__}Backward"
        name = cls.node if cls.primitive and "Backward" in cls.node else name
        cls.Node = type(
            name,
            (cls.Node if cls.Node is not Ctx else base,),
            {"_fn": cls, "__slots__": (), "__module__": cls.__module__},
        )

    def __init__(self, *_: Any):
        raise error(
            RuntimeError,
            type(self).__name__,
            "a Function has no instances: its methods are static and it holds no data",
            f"call {type(self).__name__}.apply(...), with settings among the arguments of forward",
        )

    def __call__(self, *_: Any) -> Any:
        """Not what a Function is for; only the NestedIOFunction of old code is called so."""
        Function.__init__(self)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: `forward(ctx, *args)`, or `forward(*args)` beside a setup_context."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> Any:
        """Save on ctx what backward and jvp need; `inputs` is the tuple of forward's arguments."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """From the gradients of the outputs to one gradient, or None, per argument of forward."""
        raise missing(
            ctx._fn,
            "backward",
            "you must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD",
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """From the tangents of forward's arguments (None for those without) to one tangent per output."""
        raise missing(
            ctx._fn,
            "jvp",
            "you must implement the jvp function for custom autograd.Function to use it with forward mode AD",
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation, and remember it for backward when an argument requires grad."""
        if cls._both:
            raise error(
                RuntimeError,
                cls.__name__,
                "implementing both 'backward' and 'vjp' for a custom Function is not allowed",
                "keep one of them: they are two names of the same method",
            )
        if kwargs or not cls.combined and not complete(cls.forward, args):
            args = bind(cls, args, kwargs)
        frame = current()
        return cls._eager(frame, args) if frame.layer is EAGER else apply_at(frame, cls, args)

    @classmethod
    def node_name(cls, node: Any) -> str:
        """What PyTorch calls this node, for the operations that it divides more finely."""
        return type(node).__name__

    @classmethod
    def keeps_number(cls, node: Any) -> bool:
        """Whether a number among the operands counts as saved; users' Functions keep numbers as attributes, as they like."""
        return False

    @classmethod
    def _eager(cls, frame: Frame, args: tuple) -> Any:
        """Run the user's forward with gradients off and wire its outputs into the graph."""
        ctx = cls.Node(None, needs_of(cls, frame, args))
        plain = frame is ON or frame is OFF
        inside = OFF if plain else frame.but(grad=False, dual=None)
        guard, first = None, not cls._watched
        if first or not plain and (current() is not frame or debug.mode.on):  # it costs time
            guard = Guard(cls, args, ctx._needs, frame.dual)
            inside = Frame(guard, False, None, frame.inference, inside)
        if first:
            check_names(cls)
            cls._watched = True
        marks = prints(args, ctx._needs) if frame.watched and frame.grad and debug.mode.on else ()
        with use(inside):
            returned = call_user(cls, "forward", *((ctx, *args) if cls.combined else args))
            if not cls.combined and (value := call_user(cls, "setup_context", ctx, args, returned)) is not None:
                note_returned(cls, ctx, value)
        given = as_tuple(returned)
        if guard is not None:
            guard.look_back(ctx, given, first)
        before = tuple([twin(a) if among(a, ctx._dirty) else a for a in args]) if ctx._dirty else args
        needs = frame.grad and True in ctx._needs
        outs = wire(ctx, args, before, given, needs)
        if frame.dual is not None:
            push_tangents(frame, cls, args, outs, ctx)
        if frame.watched and debug.mode.on:
            check_prints(ctx, args, marks)
            debug.note_origin(cls.__name__, outs)
            detached.note(cls.__name__, args, outs, frame.grad)
        if not needs:
            ctx._saved = ()
        ctx._dirty = ctx._nondiff = ()  # outputs, which hold the node: together they would be a cycle
        ctx._forward = None
        if not isinstance(returned, (tuple, list)):
            return outs[0]
        return type(returned)(outs) if type(returned) in (tuple, list) else outs

    @classmethod
    def _tangents(cls, primals: tuple, tangents: list, outs: tuple, ctx: Any = None) -> list:
        """The user's jvp, checked: one tangent or None per output."""
        for i, o in enumerate(outs):
            check_structure(cls, o, i)
        if ctx._materialize:
            tangents = [
                p.new_zeros(p.shape) if t is None and is_float(p) else t for p, t in zip(primals, tangents, strict=True)
            ]
        versions = [0 if t is None else version(t) for t in tangents]
        ctx._jvp = True
        try:
            result = call_user(cls, "jvp", ctx, *tangents)
        finally:
            ctx._jvp = False
        check_unwritten(cls, ctx, primals, tangents, versions)
        found = check_tangents(cls, ctx, result, outs)
        if cls._unread_tangents is not False:
            unused_tangents(cls, tangents, found)
        return [t.clone() if t is not None and (t._view is not None or among(t, tangents)) else t for t in found]


def guard_forward(cls: Any) -> None:
    """Let forward notice that it is called directly; one that is no plain or static method stays as it is."""
    own = next(vars(base)["forward"] for base in cls.__mro__ if "forward" in vars(base))
    f = own.__func__ if isinstance(own, staticmethod) else own
    if inspect.isfunction(f) and f is not Function.__dict__["forward"].__func__:
        direct = guarded(cls, own_forward(f))
        cls.forward = staticmethod(direct) if isinstance(own, staticmethod) else direct


def note_returned(cls: type[Function], ctx: Any, value: Any) -> None:
    """Warn that tensors, or the ctx, which setup_context returns are not looked at."""
    if value is not ctx and next(tensors_in(value), None) is None:
        return
    warn(
        "setup-context-returns",
        f"{cls.__name__}.setup_context",
        f"returns a {type(value).__name__}, which is not looked at: it is there to put what backward needs on the ctx",
        "leave the return out, and keep tensors with ctx.save_for_backward(...), all else as attributes, ctx.n = n",
        notes=return_of(cls.setup_context),
    )


STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def complete(f: Any, args: tuple) -> bool:
    """Whether a plain function takes just these arguments, so that nothing has to be filled in."""
    code = getattr(own_forward(f), "__code__", None)
    return (
        code is not None and code.co_argcount == len(args) and not (code.co_kwonlyargcount or code.co_flags & STARRED)
    )


def bind(cls: type[Function], args: tuple, kwargs: dict) -> tuple:
    """Keyword arguments and defaults of forward put into their places."""
    lead = (None,) if cls.combined else ()
    signature = inspect.signature(cls.forward)
    try:
        bound = signature.bind(*lead, *args, **kwargs)
    except TypeError as e:
        if not kwargs:
            raise miscalled(cls, "forward", args) from None
        names = list(signature.parameters)[len(lead) :]
        raise error(
            TypeError,
            f"{cls.__name__}.apply",
            f"{e}; forward is defined as forward{signature}",
            f"the arguments of apply are called {', '.join(names)}",
        ) from None
    bound.apply_defaults()
    if bound.kwargs:
        raise error(
            TypeError,
            f"{cls.__name__}.apply",
            f"keyword-only arguments {', '.join(bound.kwargs)} cannot be tracked: backward returns gradients by position",
            f"let forward take them by position too: def forward({', '.join(signature.parameters)})",
        )
    return bound.args[len(lead) :]


def needs_of(cls: type[Function], frame: Frame, args: tuple) -> tuple:
    """Per argument whether its gradient is wanted.

    Tensors inside lists and dicts would lose theirs without a word: TypeError for those that are tracked.
    """
    needs = []
    for i, a in enumerate(args):
        if isinstance(a, Tensor):
            needs.append((a._edge if a._view is None else history(a)) is not None)
            continue
        needs.append(False)
        if isinstance(a, (list, tuple, dict)):
            refuse_tracked(cls, frame, i, a)
    return tuple(needs)


def refuse_tracked(cls: type[Function], frame: Frame, i: int, a: Any) -> None:
    """Raise TypeError for the first tracked tensor in a structure."""
    for t in tensors_in(a):
        if t._layer is not None or frame.grad and history(t) is not None:
            why = "requires grad" if t._layer is None else f"belongs to a running `{t._layer.name}` transform"
            raise error(
                TypeError,
                cls.__name__,
                f"argument {i} is a {type(a).__name__} that contains a tensor of shape {tuple(t.shape)} which {why}; "
                "apply does not look into data structures, so its gradient would be lost",
                f"pass the tensors one by one, {cls.__name__}.apply(*tensors), or use NestedIOFunction",
            )


def record(layer: Any, cls: Any, args: tuple, out: Any, edges: tuple | None = None) -> None:
    """Give `out` (one tensor, or a tuple) the node of the built-in operation `cls(*args)` as its history."""
    if edges is None:
        edges = tuple([history(a) if isinstance(a, Tensor) and a._layer is layer else None for a in args])
    node = cls.Node(layer, edges)
    if type(out) is tuple:
        node._meta, outs = describe(out), out
        for i, (o, (_, dtype)) in enumerate(zip(out, node._meta)):
            if dtype in FLOATS:
                o._edge = node if len(out) == 1 else Port(node, i)
    else:
        meta, outs = described(out), (out,)
        node._meta = (meta,)
        if meta[1] in FLOATS:
            out._edge = node
    node._saved = cls.keep(args, outs, edges)
    for recording in recordings:
        recording.claim(node)
