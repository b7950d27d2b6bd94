"""Function, what users and built-in operations subclass; `apply`, the single entry to every operation; and the ctx.

`apply` asks the current frame's layer: does it own an argument?  If so the layer processes the operation, by running it one
layer down; if not, its parent is asked; the last is eager mode, here.  `Primitive` (ops/base/primitive.py) is the built-in
kind, which computes on arrays; this file has the kind that users write, and `attach`, which makes its ctx the history of what
it returned: in eager mode, under transforms and in captures alike.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeGuard

from ..arrays.dtypes import FLOATS
from .events import slots
from .frames import EAGER, OFF, ON, Frame, Layer, apply_at, current, enter
from .graph import Edge, FullNode, Leaf, Node, OutputEdge, memory, next_number, save, unpack
from .inplace import rebase, twin
from .tensor import Box, Tensor, ViewOf, history, move_retained

STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class Ctx(FullNode):
    """The node of a user's Function, open to attributes; its methods are those of PyTorch's ctx.

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> class Square(minigrad.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return g * 2 * ctx.saved_tensors[0]
    >>> Square.apply(x).grad_fn.saved_tensors
    (tensor(2., requires_grad=True),)
    """

    # _given (shape, dtype) of each argument, None for those that are no tensors | _needs per argument: is a gradient wanted?
    # _places for each saved tensor the number of the argument that it is, None for a result and for forward's own
    __slots__ = ("__dict__", "_dirty", "_forward", "_given", "_jvp", "_materialize", "_needs", "_nondiff", "_places")

    def __init__(self, layer: Layer | None, needs: tuple):
        FullNode.__init__(self, layer, ())
        self._needs, self._given, self._dirty, self._nondiff, self._places = needs, (), (), (), ()
        self._forward, self._jvp, self._materialize = None, False, True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward, where `ctx.saved_tensors` gives them back.  At most once.

        Raises TypeError for anything but tensors and None, RuntimeError when called twice.
        """
        self._check(tensors, "save_for_backward", self._saved)
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for jvp, where `ctx.saved_tensors` gives them back.  At most once."""
        self._check(tensors, "save_for_forward", self._forward)
        self._forward = tensors

    def _check(self, tensors: tuple, method: str, before: tuple | None = None) -> None:
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise slots.problem("the ctx takes tensors", ctx=self, method=method, i=i, value=t)
        if before:
            raise slots.problem("tensors are saved in one call", ctx=self, method=method, before=before)

    @property
    def saved_tensors(self) -> tuple:
        """In backward what save_for_backward kept; in jvp what save_for_forward kept, if it was called."""
        if self._jvp and self._forward is not None:
            return self._forward
        return tuple([unpack(s, self) for s in self._alive()])

    @saved_tensors.setter
    def saved_tensors(self, value: object) -> None:
        raise slots.problem("saved_tensors cannot be set", ctx=self)

    def tensor_inputs(self) -> list:
        """Return the positions of the arguments that are tensors."""
        return [i for i, spec in enumerate(self._given) if spec is not None]

    def get_saved_variables(self) -> list:
        """Return what save_for_backward kept, as a list (the C++ name)."""
        return list(self.saved_tensors)

    @property
    def saved_data(self) -> dict:
        """A dictionary for whatever else backward needs (the C++ name; attributes on ctx do the same)."""
        return self.__dict__.setdefault("_saved_data", {})

    @property
    def needs_input_grad(self) -> tuple:
        """Per argument of forward whether its gradient is wanted."""
        return self._needs

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs forward has changed in place.  They have to be returned as well."""
        self._check(tensors, "mark_dirty")
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no derivative."""
        self._check(tensors, "mark_non_differentiable")
        self._nondiff = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether backward and jvp get zeros (True, the default) or None for what has no gradient."""
        self._materialize = bool(value)

    materialize_grads = property(lambda ctx: ctx._materialize, set_materialize_grads, doc="What was chosen.")

    def _keep(self, given: tuple, returned: tuple, outs: tuple, before: tuple) -> None:
        """Turn what the user saved into Saved entries: outputs as twins, inputs as they were before the call."""
        kept, places = [], []
        for s in self._saved:
            i = None if s is None else place_among(s, returned)
            j = None if s is None or i is not None else place_among(s, given)
            kept.append(save(outs[i], i) if i is not None else save(s if j is None else before[j]))
            places.append(j)
        self._saved, self._places = tuple(kept), tuple(places)


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
    arrays: Any = False  # how a built-in computes gradients on arrays
    combined = True  # forward takes ctx
    Node: Any = Ctx
    _both = False  # backward and vjp are defined, which is one too many
    _checked = False  # diagnose has looked at the class

    def __init_subclass__(cls, **options: object):
        super().__init_subclass__(**options)
        own = cls.__dict__
        cls._both, cls._checked = "vjp" in own and "backward" in own, False
        if "vjp" in own:
            cls.backward = own["vjp"]
        elif "backward" in own:
            cls.vjp = own["backward"]
        if not cls.primitive and ("forward" in own or "setup_context" in own):
            slots.defined(cls)
        cls.combined = cls.setup_context is Function.setup_context
        name = cls.node_class_name()
        cls.Node = type(name, (cls.Node,), {"_fn": cls, "__slots__": (), "__module__": cls.__module__})

    def __init__(self, *_: object):
        raise slots.problem("a Function has no instances", cls=type(self))

    def __call__(self, *_: object) -> Any:
        """Refuse the call of an instance, which a class with an `__init__` of its own can have."""
        Function.__init__(self)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: `forward(ctx, *args)`, or `forward(*args)` beside a setup_context."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Ctx, inputs: tuple, output: Any) -> Any:
        """Save on ctx what backward and jvp need; `inputs` is the tuple of forward's arguments."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Ctx, *grad_outputs: Any) -> Any:
        """Return one gradient, or None, per argument of forward, from the gradients of the outputs."""
        raise slots.problem("the Function has no backward", cls=ctx._fn)

    vjp = backward

    @staticmethod
    def jvp(ctx: Ctx, *grad_inputs: Any) -> Any:
        """Return one tangent per output, from the tangents of forward's arguments (None for those without)."""
        raise slots.problem("the Function has no jvp", cls=ctx._fn)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation, and remember it for backward when an argument requires grad."""
        if cls._both:
            raise slots.problem("backward and vjp are two names of one method", cls=cls)
        if kwargs or not cls.combined and not complete(cls.forward, args):
            args = bind(cls, args, kwargs)
        frame = current()
        return cls.eager(frame, args) if frame.layer is EAGER else apply_at(frame, cls, args)

    @classmethod
    def node_class_name(cls) -> str:
        """Return the name of the class of its nodes."""
        return f"{cls.__name__}Backward"

    @classmethod
    def node_name(cls, node: Node) -> str:
        """Return what PyTorch calls this node, for the operations that it divides more finely."""
        return type(node).__name__

    @classmethod
    def keeps_number(cls, node: Node) -> bool:
        """Return whether a number among the operands counts as saved; users' Functions keep theirs as attributes."""
        return False

    @classmethod
    def eager(cls, frame: Frame, args: tuple) -> Any:
        """Run the user's forward with gradients off, and attach its outputs to the graph."""
        ctx = cls.Node(None, needs_of(cls, frame, args))
        known = cls._checked and (frame is ON or frame is OFF)
        returned = (run_forward if known else slots.run_forward or run_forward)(frame, ctx, args)
        tracked = frame.grad and True in ctx._needs
        outs = attach(ctx, args, args, as_tuple(returned), tracked)
        if frame.dual is not None:
            frame.dual.op_done(frame, cls, args, outs, ctx)
        for o in frame.observers:
            o.op_done(frame, cls, args, outs, ctx)
        ctx._dirty = ctx._nondiff = ()  # outputs, which hold the node: together they would be a cycle
        ctx._forward = None
        if not tracked:
            ctx._saved = ()
        return outs[0] if isinstance(returned, Tensor) else as_returned(returned, outs)

    @classmethod
    def tangents(cls, primals: tuple, tangents: list, outs: tuple, ctx: Any = None) -> list:
        """Call the user's jvp: one tangent or None per output, checked."""
        for i, o in enumerate(outs):
            check_structure(cls, o, i)
        if ctx._materialize:
            tangents = [
                p.new_zeros(p.shape) if t is None and is_float(p) else t for p, t in zip(primals, tangents, strict=True)
            ]
        begun, ctx._jvp = next_number(), True
        try:
            result = slots.call_method(cls, "jvp", ctx, *tangents)
        finally:
            ctx._jvp = False
        for i, (p, t) in enumerate(zip(primals, tangents)):
            if t is not None and memory(t).at > begun and not among(p, ctx._dirty):
                raise slots.problem("jvp has modified a tangent that it was given", cls=cls, i=i, t=t)
        found = as_tuple(result)
        for i, o in enumerate(outs if len(found) == len(outs) else (None,)):
            t = found[i] if o is not None else None
            wrong = t is not None and (
                not isinstance(t, Tensor) or is_float(o) and (t._sizes, t._np_dtype) != (o._sizes, o._np_dtype)
            )
            if o is None or wrong:
                raise slots.problem("jvp returns one tangent per output", cls=cls, result=result, outs=outs, i=i)
        found = [t if is_float(o) and not among(o, ctx._nondiff) else None for o, t in zip(outs, found)]
        return [t.clone() if t is not None and (t._view is not None or among(t, tangents)) else t for t in found]


# ---------------------------------------------------------------------- calling forward, and attaching what it returned
def run_forward(frame: Frame, ctx: Ctx, args: tuple) -> Any:
    """Call the user's forward, and setup_context, with gradients and tangents off."""
    cls, here = ctx._fn, current()
    enter(OFF if frame is ON or frame is OFF else frame.but(grad=False, dual=None))
    try:
        if cls.combined:
            return slots.call_method(cls, "forward", ctx, *args)
        returned = slots.call_method(cls, "forward", *args)
        slots.call_method(cls, "setup_context", ctx, args, returned)
        return returned
    finally:
        enter(here)


def attach(
    ctx: Ctx,
    args: tuple,
    given: tuple,
    returned: tuple,
    needs: bool,
    outs: tuple | None = None,
    edges: tuple | None = None,
) -> tuple:
    """Make the ctx the history of what the user's forward returned; the outputs as the caller gets them.

    `given` are the arguments as forward had them, one layer down under a transform, and `returned` is what it made of them;
    `outs` has the results as the transform sees them, `edges` those of the arguments before forward has written to any.
    """
    if ctx._dirty:
        check_dirty(ctx, args, returned if outs is None else outs, needs)
    if needs:
        look_for_tensors(ctx, args, returned)
    if outs is None:
        outs = outputs(ctx, args, returned, needs)
    before = tuple([twin(a) if among(a, ctx._dirty) else a for a in args]) if ctx._dirty else args
    ctx._meta, ctx._given = describe(outs), describe(args)
    if needs:  # before the write is counted: a view of what was written would take its old history for the new one
        ctx._edges = edges or tuple([history(a) if need else None for a, need in zip(before, ctx._needs)])
    for d in ctx._dirty if ctx._layer is None else ():
        memory(d).bump(ctx._fn.__name__)
    if needs:
        ctx._keep(given, returned, outs, before)
        if ctx.__dict__ or ctx._nondiff:
            slots.notice("saved on ctx", ctx=ctx, given=given, returned=returned, outs=outs)
    for i, (r, o) in enumerate(zip(returned, outs)):
        if isinstance(o, Tensor):
            tracked = needs and ctx._meta[i][1] in FLOATS and not (ctx._nondiff and among(r, ctx._nondiff))
            edge = None if not tracked else ctx if len(outs) == 1 else OutputEdge(ctx, i)
            set_history(ctx, o, edge, bool(ctx._dirty) and among(o, ctx._dirty))
    if slots.node_made is not None or current().observers:
        node_made(ctx)
    if ctx._layer is not None:
        ctx._dirty = ctx._nondiff = ()  # as in Function.eager, which pushes tangents before
    return outs


def look_for_tensors(ctx: Ctx, args: tuple, returned: tuple) -> None:
    """Refuse outputs that hide tensors, and warn of those that are none."""
    for i, o in enumerate(returned):
        if not isinstance(o, Tensor):
            check_structure(ctx._fn, o, i)
            slots.notice("output no tensor", ctx=ctx, args=args, returned=returned, i=i)


def node_made(node: Node) -> None:
    """Tell those who look on that a node has become the history of tensors."""
    for o in current().observers:
        o.node_made(node)
    if slots.node_made is not None:
        slots.node_made(node)


def outputs(ctx: Ctx, args: tuple, returned: tuple, needs: bool) -> tuple:
    """Return the outputs of a forward in eager mode; an input that it returned as it is becomes another object."""
    if needs:  # an input that was changed in forward has to be marked: else its history is no longer true
        for a, need in zip(args, ctx._needs):
            if need and (v := a._ver) is not None and v.at > ctx._seq and not among(a, ctx._dirty):
                raise slots.problem("forward modifies an input without mark_dirty", ctx=ctx, args=args, a=a)
    outs: list = []
    for i, o in enumerate(returned):
        if ctx._dirty and among(o, ctx._dirty):
            if history(o) is not None and not (needs and is_float(o) and not among(o, ctx._nondiff)):
                o = o.detach()  # written, but not by anything with a derivative: the result is not tracked
        elif isinstance(o, Tensor) and (among(o, args) or i and among(o, returned[:i])):
            o = alias(o, ctx)  # an input, or the same tensor once more: another object on its memory
        outs.append(o)
    return tuple(outs)


def check_structure(cls: type[Function], o: object, i: int, kind: Callable | None = None) -> None:
    """Refuse a structure with tensors (of that kind: floats) as output number i: nobody looks into it for their history.

    Objects are looked into, too.  What makes its tensors one by one is refused unseen.
    """
    if not isinstance(o, (Tensor, Ctx, type)) and (
        isinstance(o, Iterator) or any(map(kind or is_float, tensors_in(getattr(o, "__dict__", o))))
    ):
        raise slots.problem("an output contains tensors", cls=cls, o=o, i=i)


def set_history(ctx: Ctx, o: Tensor, edge: Edge | None, dirty: bool) -> None:
    """Make the user's node the past of one of its outputs."""
    if dirty:
        if edge is not None:
            move_retained(history(o), edge)
            o._edge = edge
            rebase(ctx._layer, o)
        return
    if o._view is not None and ctx._layer is None:  # its own backward must not be bypassed by deriving the view again
        view = o._view
        o._view = ViewOf(view.parent, view.fn, view.args, None, 0, fixed=f"it was made inside {ctx._fn.__name__}")
    if edge is not None or type(o._edge) is not Leaf:
        o._edge = edge


def alias(t: Tensor, ctx: Ctx) -> Tensor:
    """Return another tensor on the same memory, for an input that forward returned as it is."""
    if type(t) is Box:
        return Box(t._layer, t._value, t._extra)
    out = t._alias()
    out._view = ViewOf(t, None, (), None, 0, fixed=f"it is an input that {ctx._fn.__name__} returned as it is")
    return out


def check_dirty(ctx: Ctx, args: tuple, outs: tuple, needs: bool) -> None:
    """Refuse mark_dirty for all but inputs that were changed in place, are returned, and are not leaves that require grad."""
    for d in ctx._dirty:
        root = d._base if d._base is not None else d
        if not among(d, args):
            raise slots.problem("mark_dirty takes inputs", ctx=ctx, d=d)
        if not among(d, outs):
            raise slots.problem("what is marked dirty has to be returned", ctx=ctx, d=d)
        if type(history(root)) is Leaf and needs:
            raise slots.problem("forward writes to a leaf that requires grad", ctx=ctx, args=args, d=d, root=root)


# ---------------------------------------------------------------------- arguments
def complete(f: Callable, args: tuple) -> bool:
    """Return whether a plain function takes just these arguments, so that nothing has to be filled in."""
    code = getattr(getattr(f, "plain", f), "__code__", None)
    return (
        code is not None and code.co_argcount == len(args) and not (code.co_kwonlyargcount or code.co_flags & STARRED)
    )


def bind(cls: type[Function], args: tuple, kwargs: dict) -> tuple:
    """Return forward's arguments with keyword arguments and defaults put into their places."""
    lead = (None,) if cls.combined else ()
    try:
        bound = inspect.signature(cls.forward).bind(*lead, *args, **kwargs)
    except TypeError as e:
        raise slots.problem(
            "forward does not take these arguments", cls=cls, args=args, kwargs=kwargs, cause=e
        ) from None
    bound.apply_defaults()
    if bound.kwargs:
        raise slots.problem("gradients are returned by position", cls=cls, names=list(bound.kwargs))
    return bound.args[len(lead) :]


def needs_of(cls: type[Function], frame: Frame, args: tuple) -> tuple:
    """Return per argument whether its gradient is wanted.

    Tensors inside lists and dicts would lose theirs without a word: TypeError for those that are tracked.
    """
    needs = []
    for i, a in enumerate(args):
        if isinstance(a, Tensor):
            needs.append((a._edge if a._view is None else history(a)) is not None)
            continue
        needs.append(False)
        for t in tensors_in(a) if isinstance(a, (list, tuple, dict)) else ():
            if t._layer is not None or frame.grad and history(t) is not None:
                raise slots.problem("apply does not look into structures", cls=cls, i=i, a=a, t=t)
    return tuple(needs)


# ---------------------------------------------------------------------- small questions
def as_tuple(x: object) -> tuple:
    """Return what a user's method returned as a tuple of outputs."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def as_returned(returned: object, outs: tuple) -> Any:
    """Return outputs in the form in which forward returned them: one alone, a tuple or a list."""
    if not isinstance(returned, (tuple, list)):
        return outs[0]
    return type(returned)(outs) if type(returned) in (tuple, list) else outs


def among(t: object, group: Iterable) -> bool:
    """Return whether t itself is one of the group."""
    for s in group:  # noqa: SIM110 (any() of a generator takes four times as long)
        if s is t:
            return True
    return False


def place_among(t: object, group: tuple) -> int | None:
    """Return where t itself stands among others."""
    for i, s in enumerate(group):
        if s is t:
            return i
    return None


def is_float(x: object) -> TypeGuard[Tensor]:
    """Return whether x is a tensor that can have a derivative."""
    return isinstance(x, Tensor) and x._np_dtype in FLOATS


def tensors_in(tree: object) -> Iterator:
    """Give all tensors in nested tuples, lists, sets and dicts."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, (list, tuple, set, frozenset, dict)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from tensors_in(part)


def describe(values: tuple) -> tuple:
    """Return what a node remembers of its inputs or outputs: shape and dtype of each tensor, None for others."""
    specs: list = []
    for v in values:
        if not isinstance(v, Tensor):
            specs.append(None)
        elif v._layer is None:
            specs.append((v._a.shape, v._a.dtype))
        else:
            specs.append((v._sizes, v._np_dtype))
    return tuple(specs)
