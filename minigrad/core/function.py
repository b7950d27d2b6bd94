"""Function, what users and built-in operations subclass, and `apply`, the single entry to every operation.

`apply` asks the current frame's layer: does it own an argument?  If so the layer processes the operation, by running it
one layer down; if not, its parent is asked; the last is eager mode, here.  `Primitive` (minigrad/ops/families.py) is the
built-in kind, which computes on arrays; this file has the kind that users write.
"""

from __future__ import annotations

import inspect
from typing import Any

from ..errors import MinigradError, defined_at, error, raised_at, user_place
from . import debug
from .context import EAGER, OFF, ON, Frame, apply_at, current, recordings, use
from .dual import push_tangents
from .edges import Port
from .guard import Guard
from .inplace import twin
from .node import Ctx, Full, describe, described
from .tensor import Foreign, Tensor, history, version
from .wiring import among, as_tuple, check_tangents, check_unwritten, is_float, none_used, tensors_in, wire


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
    node = ""  # what PyTorch calls a built-in's node, where not by the class's name
    # a first-order backward needs no tensors (sweep.py): True where the formulas run on arrays as they stand, or a function
    # (gradients of the outputs, what was saved) -> gradients of the arguments, or None to leave it to the formulas
    arrays: Any = False
    combined = True  # forward takes ctx
    _watched = False  # forward has run under the Guard
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
        cls._watched = False
        cls.combined = cls.setup_context is Function.setup_context
        base = Full if cls.primitive else Ctx
        name = f"{cls.node or cls.__name__}Backward0" if cls.primitive else f"{cls.__name__}Backward"
        cls.Node = type(
            name,
            (cls.Node if cls.Node is not Ctx else base,),
            {"_fn": cls, "__slots__": (), "__module__": cls.__module__},
        )

    def __init__(self, *_: Any):
        raise error(
            RuntimeError,
            type(self).__name__,
            "a Function is not instantiated: its methods are static and it holds no data",
            f"call {type(self).__name__}.apply(...)",
        )

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
        name = ctx._fn.__name__
        raise error(
            NotImplementedError,
            name,
            "you must implement either the backward or vjp method for your custom autograd.Function "
            "to use it with backward mode AD",
            "add a static method backward(ctx, *grad_outputs)",
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """From the tangents of forward's arguments (None for those without) to one tangent per output."""
        takes = [f"{n}_t" for n in inspect.signature(ctx._fn.forward).parameters][ctx._fn.combined :]
        raise error(
            NotImplementedError,
            ctx._fn.__name__,
            "you must implement the jvp function for custom autograd.Function to use it with forward mode AD",
            f"add a @staticmethod def jvp({', '.join(['ctx', *takes])}) that returns a tangent for each output; for second "
            "derivatives by backward alone use jacrev(jacrev(f)) in place of hessian(f)",
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
    def keeps_number(cls, node: Any) -> bool:
        """Whether a number among the operands counts as saved; users' Functions keep numbers as attributes, as they like."""
        return False

    @classmethod
    def _eager(cls, frame: Frame, args: tuple) -> Any:
        """Run the user's forward with gradients off and wire its outputs into the graph."""
        ctx = cls.Node(None, needs_of(cls, frame, args))
        plain = frame is ON or frame is OFF
        inside = OFF if plain else frame.but(grad=False, dual=None)
        if (
            not cls._watched or not plain and current() is not frame
        ):  # it costs time: in plain code at the first call only
            inside = Frame(Guard(cls, args), False, None, frame.inference, inside)
        cls._watched = True
        with use(inside):
            returned = call_user(cls, "forward", *((ctx, *args) if cls.combined else args))
            if not cls.combined:
                call_user(cls, "setup_context", ctx, args, returned)
        given = as_tuple(returned)
        before = tuple([twin(a) if among(a, ctx._dirty) else a for a in args]) if ctx._dirty else args
        needs = frame.grad and True in ctx._needs
        outs = wire(ctx, args, before, given, needs)
        if frame.dual is not None:
            push_tangents(frame, cls, args, outs, ctx)
        if frame.watched and debug.mode.on:
            debug.note_origin(cls.__name__, outs)
        if not needs:
            ctx._saved = ()
        ctx._dirty = ctx._nondiff = ()  # outputs, which hold the node: together they would be a cycle
        if not isinstance(returned, (tuple, list)):
            return outs[0]
        return type(returned)(outs) if type(returned) in (tuple, list) else outs

    @classmethod
    def _tangents(cls, primals: tuple, tangents: list, outs: tuple, ctx: Any = None) -> list:
        """The user's jvp, checked: one tangent or None per output."""
        if ctx._materialize:
            tangents = [
                p.new_zeros(p.shape) if t is None and is_float(p) else t for p, t in zip(primals, tangents, strict=True)
            ]
        versions = [0 if t is None else version(t) for t in tangents]
        ctx._jvp = True
        try:
            result = call_user(cls, "jvp", ctx, *tangents)
        except (TypeError, AttributeError) as e:
            if "NoneType" in str(e) and None in tangents and not isinstance(e, MinigradError):
                raise none_used(cls, ctx, primals, tangents, e) from e
            raise
        finally:
            ctx._jvp, ctx._forward = False, None
        check_unwritten(cls, ctx, primals, tangents, versions)
        found = check_tangents(cls, ctx, result, outs)
        return [t.clone() if t is not None and (t._view is not None or among(t, tangents)) else t for t in found]


STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def complete(f: Any, args: tuple) -> bool:
    """Whether a plain function takes just these arguments, so that nothing has to be filled in."""
    code = getattr(f, "__code__", None)
    return (
        code is not None and code.co_argcount == len(args) and not (code.co_kwonlyargcount or code.co_flags & STARRED)
    )


def bind(cls: type[Function], args: tuple, kwargs: dict) -> tuple:
    """Keyword arguments and defaults of forward put into their places."""
    lead = (None,) if cls.combined else ()
    try:
        bound = inspect.signature(cls.forward).bind(*lead, *args, **kwargs)
    except TypeError as e:
        raise error(
            TypeError,
            f"{cls.__name__}.apply",
            f"{e}; forward is defined as forward{inspect.signature(cls.forward)}",
            "pass the arguments that forward takes",
        ) from None
    bound.apply_defaults()
    if bound.kwargs:
        raise error(
            TypeError,
            f"{cls.__name__}.apply",
            f"keyword-only arguments {', '.join(bound.kwargs)} cannot be tracked",
            "let forward take them by position",
        )
    return bound.args[len(lead) :]


def call_user(cls: type[Function], name: str, *args: Any) -> Any:
    """Call one of the user's methods; if its parameters cannot take the arguments, say so with both numbers."""
    method = getattr(cls, name)
    run = recordings[-1].watching(cls, name, method) if recordings else method
    try:
        return run(*args)
    except Foreign as e:
        raise foreign(cls, name, e) from None
    except TypeError:
        try:
            signature = inspect.signature(method)
            signature.bind(*args)
        except TypeError as wrong:
            raise error(
                TypeError,
                f"{cls.__name__}.{name}",
                f"{wrong}: it is called with {len(args)} arguments, but is defined as {name}{signature}",
                CALLED_WITH[name],
                defined_at(method),
                [f"called at {user_place()}"],
            ) from None
        raise


def foreign(cls: type[Function], name: str, e: Foreign) -> Exception:
    """The error for a tensor of a transform in a user's method, which can do nothing with it."""
    shape, layer = tuple(e.box.shape), e.box._layer.name
    if e.runs:
        return error(
            RuntimeError,
            f"{cls.__name__}.{name}",
            f"runs under `{layer}`, where a tensor (of shape {shape}) has no memory for numpy() and the like",
            "make the method of minigrad operations and of Functions with a vmap staticmethod of their own, or write a "
            "vmap staticmethod in place of generate_vmap_rule=True",
            raised_at(e),
        )
    return error(
        RuntimeError,
        f"{cls.__name__}.{name}",
        f"uses a tensor of shape {shape} that belongs to a `{layer}` transform around it and is not one of its inputs: "
        "what depends on it would be lost",
        f"pass it as an argument of {cls.__name__}.apply, and keep it with ctx.save_for_backward",
        raised_at(e),
    )


CALLED_WITH = {
    "forward": "make it a @staticmethod that takes ctx and then the arguments of apply (without ctx beside a setup_context)",
    "setup_context": "make it a @staticmethod setup_context(ctx, inputs, output)",
    "backward": "make it a @staticmethod that takes ctx and then one gradient for each output of forward",
    "jvp": "make it a @staticmethod that takes ctx and then one tangent for each argument of forward",
    "vmap": "make it a @staticmethod that takes info, in_dims, and then the arguments of forward",
}


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
            if dtype.kind == "f":
                o._edge = node if len(out) == 1 else Port(node, i)
    else:
        meta, outs = described(out), (out,)
        node._meta = (meta,)
        if meta[1].kind == "f":
            out._edge = node
    node._saved = cls.keep(args, outs, edges)
    for recording in recordings:
        recording.claim(node)
