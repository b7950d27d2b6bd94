"""Node: one executed operation.  It is the tensor's `grad_fn` and the `ctx` of a Function's methods.

Inputs are always older than outputs and every node has a creation number, so descending numbers are a topological order:
the engine needs no recursion and no counting.  Edges are written once.  What belongs to minigrad stands in slots with a
leading underscore, because users write any attribute on their ctx, which is this object.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

from ..errors import Place, error, user_place
from . import debug
from .edges import next_number, place_of, producer
from .hooks import Handle, hooks_of
from .saved import Freed, Saved, freed, save, unpack
from .tensor import Tensor


class Anomaly(threading.local):
    """Whether nodes of this thread note the user's line, for detect_anomaly or debug mode, and whether NaN is an error."""

    on, nan = debug.ALWAYS, not debug.ALWAYS


anomaly = Anomaly()
_metadata: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class Node:
    """One executed operation; every Function has a subclass of its own, named like PyTorch's (MulBackward0)."""

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
    pull: Any = None  # the written-out backward of an operation's flat nodes (ops/dispatch/)
    places: Any = None  # of a flat node: the positions among the arguments of those that pull has gradients for

    def name(self) -> str:
        """The name of the operation with `Backward` behind it, as PyTorch prints it."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

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

    def __getattr__(self, name: str) -> Any:
        """A tensor that a built-in operation has saved: _saved_self (its first operand), _saved_other, _saved_result."""
        if not name.startswith("_saved_") or isinstance(self, Ctx):
            return object.__getattribute__(self, name)  # says that there is none
        operands = zip(("_saved_self", "_saved_other"), sorted(self._fn.formulas))
        i = {**dict(operands), "_saved_result": len(self._edges)}.get(name)
        value = None if i is None else self._alive()[i]
        return unpack(value, self) if type(value) is Saved else object.__getattribute__(self, name)

    def _alive(self) -> tuple:
        """What was saved; RuntimeError if an earlier backward has freed it."""
        if type(self._saved) is Freed:
            raise freed(self)
        return self._saved

    def _free(self, place: Place | None) -> None:
        """Drop saved tensors; a later backward through here says where this one was called."""
        if type(self._saved) is tuple and (any([type(s) is Saved for s in self._saved]) or self._fn.keeps_number(self)):
            self._saved = Freed(place)

    @property
    def metadata(self) -> dict:
        """A dictionary for the user's own notes on this node."""
        return _metadata.setdefault(self, {})


class Full(Node):
    """A node with everything in slots of its own; those that ops/dispatch/ writes out are flatter."""

    __slots__ = ("_edges", "_layer", "_meta", "_saved", "_trace")

    def __init__(self, layer: Any, edges: tuple):
        self._layer, self._edges, self._seq = layer, edges, next_number()
        self._saved, self._meta, self._hooks = (), (), None
        self._trace = user_place() if anomaly.on else None

    _shape = property(lambda node: node._meta[0][0])
    _dtype = property(lambda node: node._meta[0][1])


class Ctx(Full):
    """The node of a user's Function, open to attributes; its methods are those of PyTorch's ctx."""

    # _given (shape, dtype) of each argument, None for those that are no tensors
    __slots__ = ("__dict__", "_dirty", "_forward", "_given", "_jvp", "_materialize", "_needs", "_nondiff")

    def __init__(self, layer: Any, needs: tuple):
        Full.__init__(self, layer, ())
        self._needs, self._given, self._dirty, self._nondiff = needs, (), (), ()
        self._forward, self._jvp, self._materialize = None, False, True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward, where `ctx.saved_tensors` gives them back.  At most once.

        Raises TypeError for anything but tensors and None, RuntimeError when called twice.
        """
        self._check(tensors, "save_for_backward")
        if self._saved:
            raise error(
                RuntimeError,
                self.name(),
                f"save_for_backward was called twice; the first call saved {len(self._saved)} tensors",
                "save all tensors in one call",
            )
        self._saved = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for jvp, where `ctx.saved_tensors` gives them back.  At most once."""
        self._check(tensors, "save_for_forward")
        if self._forward is not None:
            raise error(RuntimeError, self.name(), "save_for_forward was called twice", "save all tensors in one call")
        self._forward = tensors

    def _check(self, tensors: tuple, method: str, kind: type[Exception] = TypeError) -> None:
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise error(
                    kind,
                    self.name(),
                    f"{method} only takes tensors, but argument {i} is of type {type(t).__name__}",
                    "unpack lists with *, and keep numbers as attributes: ctx.n = n",
                )

    @property
    def saved_tensors(self) -> tuple:
        """In backward what save_for_backward kept; in jvp what save_for_forward kept, if it was called."""
        if self._forward is not None:
            if self._jvp:
                return self._forward
            if not self._saved:
                raise self._saved_for_forward()
        return tuple([unpack(s, self) for s in self._alive()])

    def _saved_for_forward(self) -> Exception:
        n = len(self._forward)
        return error(
            RuntimeError,
            self.name(),
            f"nothing was saved for backward: save_for_forward has kept {n} tensor{'s' * (n != 1)}, for jvp only",
            "call ctx.save_for_backward(...) as well",
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
        kept = []
        for s in self._saved:
            i = place_among(s, returned)
            if i is not None and s is not None:
                kept.append(save(outs[i], i))
            else:
                j = place_among(s, given)
                kept.append(save(s if j is None else before[j]))
        self._saved = tuple(kept)


def place_among(t: Any, group: tuple) -> int | None:
    """Where t itself stands among others."""
    for i, s in enumerate(group):
        if s is t:
            return i
    return None


def describe(outs: tuple) -> tuple:
    """What a node remembers of its outputs: shape and dtype each."""
    return tuple([described(o) if isinstance(o, Tensor) else None for o in outs])


def described(t: Tensor) -> tuple:
    """A tensor's shape and NumPy dtype."""
    if t._layer is None:
        return t._a.shape, t._a.dtype
    return t._sizes, t._np_dtype
