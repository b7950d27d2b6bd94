"""Node: one executed operation.  It is the tensor's `grad_fn` and the `ctx` of a Function's methods.

Inputs are always older than outputs and every node has a creation number, so descending numbers are a topological order:
the engine needs no recursion and no counting.  Edges are written once.  What belongs to minigrad stands in slots with a
leading underscore, because users write any attribute on their ctx, which is this object.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from ..arrays.kinds import zeros
from ..diagnose import debug
from ..diagnose.ctx import look_at_ctx, not_a_tensor, place_among
from ..diagnose.saved_tensors import freed
from ..errors import error
from ..places import user_place
from .edges import name_of, next_number, place_of, producer
from .hooks import Handle, hooks_of
from .saved import Freed, Saved, save, unpack
from .tensor import Tensor, bottom


class Anomaly(threading.local):
    """Whether nodes of this thread note the user's line, for detect_anomaly or debug mode, and whether NaN is an error."""

    on, nan = debug.ALWAYS, not debug.ALWAYS


anomaly = Anomaly()
_metadata: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class Node:
    """One executed operation; every Function has a subclass of its own, named like PyTorch's (MulBackward0).

    >>> import minigrad
    >>> x = minigrad.tensor(2., requires_grad=True)
    >>> node = (x * x).grad_fn
    >>> isinstance(node, minigrad.autograd.graph.Node), node.name()
    (True, 'MulBackward0')
    """

    # _edges per input: Node, Port, Leaf or None | _seq creation number | _meta (shape, dtype) per output
    # _saved what backward needs: Saved tensors and plain values; Freed after a backward that does not keep them
    # _layer the Grad layer it belongs to (None: eager) | _trace the user's line, when anomalies are being looked for
    __slots__ = ("__weakref__", "_hooks", "_seq")
    _fn: Any = None  # the Function; set by each subclass
    _layer: Any = None
    _trace: Any = None
    _edges: Any
    _saved: Any
    _meta: Any
    pull: Any = None  # the written-out backward of an operation's flat nodes (fast/)
    places: Any = None  # of a flat node: the positions among the arguments of those that pull has gradients for

    def name(self) -> str:
        """The name of the operation with `Backward` behind it, as PyTorch prints it."""
        return self._fn.node_name(self)

    def __repr__(self) -> str:
        return f"<{name_of(self)} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple:
        """Per input tensor the node that made it (AccumulateGrad for a leaf) and which of its outputs it was."""
        edges = [self._edges[i] for i in self.tensor_inputs()]
        return tuple([(None, 0) if e is None else (producer(e), place_of(e)) for e in edges])

    def tensor_inputs(self) -> list:
        """The positions of the arguments that are tensors, or stand where one may have a gradient."""
        fn = self._fn
        return [i for i, e in enumerate(self._edges) if e is not None or fn.parameter(i) in fn.formulas]

    @property
    def saved_tensors(self) -> tuple:
        """The tensors that were saved, checked for in-place changes.

        Raises RuntimeError if one was changed, or if an earlier backward has freed them.
        """
        return tuple([unpack(s, self) for s in self._alive() if type(s) is Saved])

    @property
    def needs_input_grad(self) -> tuple:
        """Per input of forward whether its gradient is wanted."""
        return tuple([e is not None for e in self._edges])

    def register_hook(self, fn: Any) -> Handle:
        """Call `fn(grad_inputs, grad_outputs)` after this node's backward; a returned tuple replaces grad_inputs."""
        return Handle(hooks_of(self).post, fn)

    def register_prehook(self, fn: Any) -> Handle:
        """Call `fn(grad_outputs)` before this node's backward; a returned tuple replaces them."""
        return Handle(hooks_of(self).pre, fn)

    def _sequence_nr(self) -> int:
        return self._seq

    # what a built-in operation has saved, by PyTorch's names.  A __getattr__ for them would make each look at a slot slower
    _saved_self = property(lambda node: node._saved_as("_saved_self"), doc="The first operand, if backward needs it.")
    _saved_other = property(
        lambda node: node._saved_as("_saved_other"), doc="The second operand, if backward needs it."
    )
    _saved_result = property(lambda node: node._saved_as("_saved_result"), doc="The result, if backward needs it.")

    def _saved_as(self, name: str) -> Tensor:
        """The saved tensor of this name; AttributeError if there is none."""
        formulas = sorted(getattr(self._fn, "formulas", ()))
        places = {**dict(zip(("_saved_self", "_saved_other"), formulas)), "_saved_result": len(self._edges)}
        value = self._alive()[places[name]] if formulas and name in places else None
        if type(value) is not Saved:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return unpack(value, self)

    def _alive(self) -> tuple:
        """What was saved; RuntimeError if an earlier backward has freed it."""
        if type(self._saved) is Freed:
            raise freed(self)
        return self._saved

    def _free(self, freed: Freed) -> None:
        """Drop saved tensors; a later backward through here finds a note of this one."""
        if type(self._saved) is tuple and (any([type(s) is Saved for s in self._saved]) or self._fn.keeps_number(self)):
            self._saved = freed

    @property
    def metadata(self) -> dict:
        """A dictionary for the user's own notes on this node."""
        return _metadata.setdefault(self, {})


class Full(Node):
    """A node with everything in slots of its own; those that fast/ writes out are flatter."""

    __slots__ = ("_edges", "_layer", "_meta", "_saved", "_trace")

    def __init__(self, layer: Any, edges: tuple):
        self._layer, self._edges, self._seq = layer, edges, next_number()
        self._saved, self._meta, self._hooks = (), (), None
        self._trace = user_place() if anomaly.on else None

    _shape = property(lambda node: node._meta[0][0])
    _dtype = property(lambda node: node._meta[0][1])

    @property
    def _constants(self) -> dict:
        """By position the arguments that are no tensors, as far as they are there still: a backward frees them, too."""
        from ..ops.base.primitive import ShapeOf

        kept = self._saved if type(self._saved) is tuple else ()
        found = [(i, s) for i, (e, s) in enumerate(zip(self._edges, kept)) if e is None]
        return {i: s for i, s in found if type(s) is not Saved and type(s) is not ShapeOf}


class Callable(Node):
    """A node that can be called, as those of built-in operations can."""

    __slots__ = ()

    def __call__(self, *grads: Tensor | None) -> Any:
        """Return the gradients of the inputs, one alone or a tuple, for those of the outputs.  No hook is called.

        As in PyTorch nothing is freed, and the gradient of an operand that was broadcast has the shape of the result.
        """
        from .engine import called  # the engine comes after the nodes

        return called(self, grads)


class OfPrimitive(Callable, Full):
    """A built-in operation's node that has not been written out."""

    __slots__ = ()


class Ctx(Full):
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

    # _given (shape, dtype) of each argument, None for those that are no tensors
    # _checks what is to be looked at before backward: functions without arguments
    # _places for each saved tensor the number of the argument that it is, None for a result and for forward's own
    __slots__ = (
        "__dict__",
        "_checks",
        "_dirty",
        "_forward",
        "_given",
        "_jvp",
        "_materialize",
        "_needs",
        "_nondiff",
        "_places",
    )

    def __init__(self, layer: Any, needs: tuple):
        Full.__init__(self, layer, ())
        self._needs, self._given, self._dirty, self._nondiff = needs, (), (), ()
        self._checks, self._places = (), ()
        self._forward, self._jvp, self._materialize = None, False, True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward, where `ctx.saved_tensors` gives them back.  At most once.

        Raises TypeError for anything but tensors and None, RuntimeError when called twice.
        """
        self._check(tensors, "save_for_backward")
        if self._saved:
            raise self._twice("save_for_backward", self._saved)
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for jvp, where `ctx.saved_tensors` gives them back.  At most once."""
        self._check(tensors, "save_for_forward")
        if self._forward is not None:
            raise self._twice("save_for_forward", self._forward)
        self._forward = tensors

    def _check(self, tensors: tuple, method: str, kind: type[Exception] = TypeError) -> None:
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise not_a_tensor(self, method, i, t, kind)

    def _twice(self, method: str, before: tuple) -> Exception:
        """The error for saving a second time, which would replace what was saved before."""
        tensors = "1 tensor" if len(before) == 1 else f"{len(before)} tensors"
        return error(
            RuntimeError,
            self._where(),
            f"{method} is called a second time; the first call has saved {tensors}",
            f"save all tensors in one call: ctx.{method}(a, b)",
        )

    def _where(self) -> str:
        """The method that works on this ctx after or in forward."""
        return f"{self._fn.__name__}.{'forward' if self._fn.combined else 'setup_context'}"

    @property
    def saved_tensors(self) -> tuple:
        """In backward what save_for_backward kept; in jvp what save_for_forward kept, if it was called."""
        if self._jvp and self._forward is not None:
            return self._forward
        return tuple([unpack(s, self) for s in self._alive()])

    @saved_tensors.setter
    def saved_tensors(self, value: Any) -> None:
        raise error(
            AttributeError,
            type(self).__name__,
            "ctx.saved_tensors cannot be set: backward reads there what save_for_backward was given",
            "ctx.save_for_backward(a, b)",
        )

    def tensor_inputs(self) -> list:
        """The positions of the arguments that are tensors."""
        return [i for i, spec in enumerate(self._given) if spec is not None]

    def get_saved_variables(self) -> list:
        """What save_for_backward kept, as a list (the C++ name)."""
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
        self._check(tensors, "mark_dirty", RuntimeError)
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no derivative."""
        self._check(tensors, "mark_non_differentiable", RuntimeError)
        self._nondiff = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward and jvp get zeros (True, the default) or None for what has no gradient."""
        self._materialize = bool(value)

    @property
    def materialize_grads(self) -> bool:
        """What set_materialize_grads has set."""
        return self._materialize

    @materialize_grads.setter
    def materialize_grads(self, value: bool) -> None:
        self._materialize = bool(value)

    def _keep(self, given: tuple, returned: tuple, outs: tuple, before: tuple) -> None:
        """Turn what the user saved into Saved entries: outputs as twins, inputs as they were before the call."""
        kept, places = [], []
        for s in self._saved:
            i = place_among(s, returned)
            if i is not None and s is not None:
                kept.append(save(outs[i], i))
                places.append(None)
            else:
                j = place_among(s, given)
                kept.append(save(s if j is None else before[j]))
                places.append(j)
        self._saved, self._places = tuple(kept), tuple(places)
        if self.__dict__ or self._nondiff:
            look_at_ctx(self, given, returned, outs)


def place_of_gradients(gs: list) -> Any:
    """An array that tells where the gradients are that have come to a node."""
    return next((bottom(g)._a for g in gs if g is not None), None)


def passed_over(node: Any, grads: Any, gs: list) -> list:
    """A user's backward that gives None leaves the users' Functions behind it without a gradient: pairs of edge and zeros.

    PyTorch calls the backward of those all the same, and what it makes of zeros is a gradient; built-in operations on the
    way there pass the None on.
    """
    if not isinstance(node, Ctx):
        return []
    edges = [e for g, e in zip(grads, node._edges) if g is None and e is not None]
    found, seen = [], set()
    while edges:
        edge = edges.pop()
        behind = producer(edge)
        if not isinstance(behind, Ctx):
            edges += [] if behind in seen else [e for e in behind._edges if e is not None]
        elif behind._materialize and behind not in seen:
            shape, dtype = behind._meta[place_of(edge)]
            found.append((edge, zeros(shape, place_of_gradients(gs), dtype)))
        seen.add(behind)
    return found


def describe(outs: tuple) -> tuple:
    """What a node remembers of its outputs: shape and dtype each."""
    return tuple([described(o) if isinstance(o, Tensor) else None for o in outs])


def described(t: Tensor) -> tuple:
    """A tensor's shape and NumPy dtype."""
    if t._layer is None:
        return t._a.shape, t._a.dtype
    return t._sizes, t._np_dtype
