"""Ctx, the node of a user's Function: forward stores on it what backward and jvp use.

`attach` makes it the history of forward's outputs: in eager mode, under transforms and in captures.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..arrays.dtypes import FLOATS
from ..events import events, services, unheard
from ..signatures import OpenAttributes
from .frames import current, node_made, recorder_of
from .graph import NO_GRAD, FullNode, Leaf, OutputEdge, ViewOf, history, move_retained
from .inplace import alias_with_history, check_writable, rebase
from .saved import memory, next_number, save, unpack
from .tensor import Tensor, describe, is_float

if TYPE_CHECKING:
    from .frames import Layer


class Ctx(FullNode, OpenAttributes):
    """Node of a user's Function, open to attributes.  Its methods are those of PyTorch's ctx.

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

    # _given (shape, dtype) of each argument, None for non-tensors | _needs per argument, True if it needs a gradient
    # _places per saved tensor: the number of the argument it is, None for a result or a tensor made in forward
    __slots__ = ("__dict__", "_dirty", "_forward", "_given", "_materialize", "_needs", "_nondiff", "_places")

    def __init__(self, layer: Layer | None, needs: tuple, edges: tuple = (), given: tuple = ()):
        self._layer, self._edges, self._seq = layer, edges, next_number()
        self._hooks = self._trace = self._forward = None
        self._saved = self._meta = self._places = self._dirty = self._nondiff = ()
        self._needs, self._given, self._materialize = needs, given, True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for backward, which reads them from `ctx.saved_tensors`.  Call it at most once.

        Raises TypeError for anything but tensors and None, and RuntimeError if called twice.
        """
        self._check(tensors, "save_for_backward", self._saved)
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for jvp, which reads them from `ctx.saved_tensors`.  Call it at most once."""
        self._check(tensors, "save_for_forward", self._forward)
        self._forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare which inputs forward modifies in place.  Forward must return them as well."""
        self._check(tensors, "mark_dirty")
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare which outputs have no derivative."""
        self._check(tensors, "mark_non_differentiable")
        self._nondiff = tensors

    def _check(self, tensors: tuple, method: str, before: tuple | None = None) -> None:
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise services.problem("the methods of ctx take tensors", ctx=self, method=method, i=i, value=t)
        if before:
            raise services.problem("tensors are saved in one call", ctx=self, method=method, before=before)

    def set_materialize_grads(self, value: bool) -> None:
        """Choose between zeros (True, the default) and None for missing gradients in backward and missing tangents in jvp."""
        self._materialize = bool(value)

    materialize_grads = property(lambda ctx: ctx._materialize, set_materialize_grads, doc="True for zeros.")

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """For each argument of forward, True if it needs a gradient."""
        return self._needs

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """The tensors from save_for_backward; in jvp those from save_for_forward, if it was called."""
        # while forward is still running, this is jvp
        saved = self._forward if self._forward is not None else tuple([unpack(s, self) for s in self._alive()])
        if (recorder := recorder_of(current())) is not None:
            recorder.hand_over(saved)
        return saved  # type: ignore[return-value]

    @saved_tensors.setter
    def saved_tensors(self, value: object) -> None:
        raise services.problem("saved_tensors cannot be set", ctx=self)

    def get_saved_variables(self) -> list:
        """Return the saved tensors as a list (the name in C++)."""
        return list(self.saved_tensors)

    @property
    def saved_data(self) -> dict:
        """Dictionary for other values that backward needs (the name in C++; attributes on ctx do the same)."""
        return self.__dict__.setdefault("_saved_data", {})

    def tensor_inputs(self) -> list:
        """Return the positions of the arguments that are tensors."""
        return [i for i, spec in enumerate(self._given) if spec is not None]

    def _forget(self) -> None:
        """Drop the values that only the call needs: outputs hold their node, so keeping them would be a reference cycle."""
        self._dirty = self._nondiff = ()
        self._forward = None

    def _keep(self, given: tuple, returned: tuple, outs: tuple, before: tuple) -> None:
        """Turn the user's saved tensors into Saved entries: outputs as twins, inputs as they were before the call."""
        kept, places = [], []
        for s in self._saved:
            i = j = None
            if s is not None and (i := index_of_identical(s, returned)) is None:
                j = index_of_identical(s, given)
            kept.append(save(outs[i], i) if i is not None else save(s if j is None else before[j]))
            places.append(j)
        self._saved, self._places = tuple(kept), tuple(places)


# ---------------------------------------------------------------------- forward's outputs
def attach(ctx: Ctx, args: tuple, given: tuple, returned: tuple, outs: tuple | None = None) -> tuple:
    """Make the ctx the history of forward's outputs, if it has edges; return the outputs as the caller gets them.

    `given` are the arguments as forward received them, one layer down under a transform, and `returned` the results of
    forward; `outs` has these results as the transform sees them.
    """
    tracked = bool(ctx._edges)
    before = args if not ctx._dirty else with_old_history(ctx, args, returned if outs is None else outs)
    if outs is None:
        outs = outputs(ctx, args, returned)
        for d in ctx._dirty:  # only now: other tensors on this memory were checked before
            memory(d).bump(ctx._fn.__name__)
    ctx._meta = describe(outs)
    if tracked:
        if None in ctx._meta:
            services.notice("output is not a tensor", ctx=ctx, args=args, returned=returned)
        ctx._keep(given, returned, outs, before)
        if ctx.__dict__ or ctx._nondiff:
            services.notice("saved on ctx", ctx=ctx, given=given, returned=returned, outs=outs)
    for i, o in enumerate(outs):
        if isinstance(o, Tensor):
            marked = ctx._nondiff and contains_identical(returned[i], ctx._nondiff)
            smooth = tracked and ctx._meta[i][1] in FLOATS and not marked
            edge = None if not smooth else ctx if len(outs) == 1 else OutputEdge(ctx, i)
            if not ctx._dirty or not contains_identical(o, ctx._dirty):
                o._edge = edge if edge is not None or type(o._edge) is not Leaf else o._edge
            elif edge is not None:
                move_retained(history(o), edge)
                o._edge = edge
                rebase(ctx._layer, o)
    events.attached(ctx._fn.__name__, args, outs)
    if events.node_made is not unheard or current().observers:
        node_made(ctx)
    if ctx._layer is not None:
        ctx._forget()  # Function.eager does the same, after it has pushed tangents
    return outs


def with_old_history(ctx: Ctx, args: tuple, outs: tuple) -> tuple:
    """Return the arguments with the history that they had before forward modified some of them.

    Raises if mark_dirty received anything but inputs that are returned and are not leaves that require grad.
    """
    for d in ctx._dirty:
        root = d._base if d._base is not None else d
        if not contains_identical(d, args):
            raise services.problem("mark_dirty takes inputs", ctx=ctx, d=d)
        if not contains_identical(d, outs):
            raise services.problem("forward returns the inputs that it marks dirty", ctx=ctx, d=d)
        if ctx._edges and type(history(root)) is Leaf:
            raise services.problem("forward modifies a leaf that requires grad", ctx=ctx, args=args, d=d, root=root)
        check_writable(current(), ctx._fn.__name__, d, bool(ctx._edges))
    return tuple([alias_with_history(a) if contains_identical(a, ctx._dirty) else a for a in args])


def outputs(ctx: Ctx, args: tuple, returned: tuple) -> tuple:
    """Return the outputs of a forward in eager mode; an input that it returns unchanged becomes another object."""
    if ctx._edges:  # an input that forward modified must be marked, or its history is wrong
        for a, need in zip(args, ctx._needs):
            if need and (v := a._ver) is not None and v.at > ctx._seq and not contains_identical(a, ctx._dirty):
                raise services.problem("forward modifies an input without mark_dirty", ctx=ctx, args=args, a=a)
    outs: list = []
    for o in returned:
        if ctx._dirty and contains_identical(o, ctx._dirty):
            if history(o) is not None and not (ctx._edges and is_float(o) and not contains_identical(o, ctx._nondiff)):
                o = o.detach()  # modified, but not by a differentiable operation: the result is untracked
        elif isinstance(o, Tensor):
            known = contains_identical(o, args) or outs and contains_identical(o, returned[: len(outs)])
            if known or ctx._edges and o._edge is not None:
                o = alias(o)  # a tensor from elsewhere keeps its history
        outs.append(o)
    return tuple(outs)


def alias(t: Tensor) -> Tensor:
    """Return another tensor object on the same memory, with its own array: recordings know a value by its array."""
    out = t._alias()
    out._a = t._a[...]
    out._view = ViewOf(t, None, (), None, 0, NO_GRAD)
    return out


# ---------------------------------------------------------------------- lookups
def contains_identical(t: object, group: Iterable) -> bool:
    """Return True if t itself is one of the group."""
    for s in group:  # noqa: SIM110 (any() of a generator is four times slower)
        if s is t:
            return True
    return False


def index_of_identical(t: object, group: tuple) -> int | None:
    """Return the position of t itself in a group, or None."""
    i = 0
    for s in group:
        if s is t:
            return i
        i += 1  # noqa: SIM113 (enumerate() is 1.5 times slower)
    return None
