"""Tensor: an array with its place in the graph and, for a view, the operation that made it from its base (graph.py).

`_edge` links a tensor to its history: the Node that made it (an OutputEdge if the node has several outputs), a Leaf if the
tensor requires grad itself, or None.  A Box is a tensor as one running transform sees it; its `_value` lives one layer further
down.  A Box has no array, so no code can compute with one by mistake.  Methods that are not about the graph come from
minigrad/tensors (conversion, printing, queries) and minigrad/ops (the operations).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from ..arrays import dtypes
from ..arrays.devices import SIZES, Size, device
from ..arrays.kinds import Array, place
from ..events import events, services
from ..signatures import getter
from .frames import current
from .graph import Edge, Leaf, ViewOf, history, is_leaf, output_index, producer, retains
from .saved import INFERENCE, Version, plain_tensor, version

if TYPE_CHECKING:
    from ..tensors.methods import Methods
else:
    Methods = object
new = object.__new__


class Tensor(Methods):
    """An n-dimensional array that can remember how it was computed.

    `Tensor(data)` makes one of the default dtype, like PyTorch's legacy constructor; `minigrad.tensor` is the usual way.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 2.], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_a", "_edge", "_grad", "_tan", "_ver", "_view")  # __dict__: for users
    _a: Array
    _edge: Edge | None
    _ver: Version | None  # None: never modified in place
    _view: ViewOf | None
    _tan: tuple | None  # dual level, tangent, and the same for another level or None
    _grad: Tensor | None
    __array_priority__ = 1000
    _layer: Any = None
    _value: Any  # of a Box
    __hash__ = object.__hash__

    shape = getter(Size, lambda t: SIZES[t._a.shape], "The sizes of all dimensions.")
    dtype = getter(dtypes.dtype, lambda t: dtypes.of_numpy(t._np_dtype), "The type of the elements.")
    ndim = getter(int, attrgetter("_a.ndim"), "The number of dimensions.")
    _sizes = property(attrgetter("_a.shape"))  # the shape as a plain tuple, which is cheaper
    _np_dtype = property(attrgetter("_a.dtype"))
    _spec = property(attrgetter("_a.shape", "_a.dtype"))  # what a node records about its inputs and outputs

    @property
    def device(self) -> device:
        """Device that holds the memory."""
        return place(plain_tensor(self)._a)

    # ------------------------------------------------------------------ its place in the graph
    @property
    def requires_grad(self) -> bool:
        """True if operations on this tensor are recorded for backward."""
        return history(self) is not None

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if not isinstance(flag, bool):
            raise services.problem("requires_grad is True or False", t=self, flag=flag)
        self.requires_grad_(flag)
        if not is_leaf(self):
            raise services.problem("only leaves can change requires_grad", t=self, flag=flag)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Turn `.grad` on or off in place (leaves only).  Raises RuntimeError for integers and for results of operations."""
        flag = bool(requires_grad)
        if not is_leaf(self):
            if not flag:
                raise services.problem("the result of an operation cannot stop requiring grad", t=self)
            return self
        if flag and self._ver is INFERENCE and not current().inference:
            raise services.problem("inference tensors have no gradients", t=self)
        if flag and self._np_dtype not in dtypes.FLOATS:
            raise services.problem("only floating-point tensors have gradients", t=self)
        if self._layer is not None and not self._layer.accumulates:
            raise services.problem("a transform decides which tensors require grad", t=self)
        if flag != (self._edge is not None):
            before = self._edge
            self._edge = leaf_of(self) if flag else retire_leaf(self)
            events.tracked(self, before)
        return self

    is_leaf = getter(bool, lambda t: t.grad_fn is None, "True if no recorded operation made this tensor.")
    output_nr = getter(int, lambda t: output_index(t._edge), "The number of this tensor among the outputs of grad_fn.")
    retains_grad = getter(bool, lambda t: not is_leaf(t) and retains(t), "True if retain_grad() was called on it.")

    @property
    def grad_fn(self):
        """Node of the operation that made this tensor; None for leaves."""
        events.read(self, "grad_fn")
        edge = history(self)
        return None if edge is None or type(edge) is Leaf else producer(edge)._shown()

    @property
    def grad(self) -> Tensor | None:
        """Gradient that backward has accumulated here; None before the first backward."""
        events.read(self, "grad")
        if self._grad is None and not is_leaf(self) and not retains(self):
            services.notice("grad of a non-leaf", t=self)
        return self._grad

    @grad.setter
    def grad(self, g: Tensor | None) -> None:
        if g is not None and (g is self or not isinstance(g, Tensor) or not alike(g, self)):
            raise services.problem("a gradient has its tensor's shape, dtype and device", t=self, g=g)
        self._grad = g

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def _version(self) -> int:
        events.read(self, "_version")
        if self._ver is INFERENCE:
            raise services.problem("inference tensors do not track versions", t=self)
        return version(self)

    @property
    def _base(self) -> Tensor | None:
        t = self
        while t._view is not None:
            t = t._view.parent
        return None if t is self else t

    def detach(self) -> Tensor:
        """Return an untracked tensor on the same memory.  Both see in-place writes to either, and autograd notices them."""
        t = self._alias()
        events.detached("detach", self, t)
        return t

    def _alias(self) -> Tensor:
        """Return another tensor on the same memory, without history."""
        t = wrap(self._a)
        t._ver = self._ver = self._ver or Version()
        return t

    def detach_(self) -> Tensor:
        """Forget how this tensor was computed, in place.  Raises RuntimeError for views."""
        if self._view is not None:
            raise services.problem("a view cannot be detached in place", t=self)
        events.detached("detach_", self, self)
        self._edge = self._tan = None
        return self


class Box(Tensor):
    """A tensor as one transform sees it: `_value` lives one layer down; `_extra` is its tangent or batch dimension."""

    __slots__ = ("_extra", "_layer", "_value")

    def __init__(self, layer: Any, value: Tensor, extra: Any = None):
        self._layer, self._value, self._extra = layer, value, extra
        self._edge = self._ver = self._view = self._tan = self._grad = None

    @property
    def _a(self):  # type: ignore[override]
        raise services.problem("a tensor inside a transform has no memory", box=self)

    shape = property(lambda t: Size(t._layer.shape(t)))  # type: ignore[assignment]
    ndim = property(lambda t: len(t._layer.shape(t)))  # type: ignore[assignment]
    _sizes = property(lambda t: t._layer.shape(t))
    _np_dtype = property(lambda t: t._value._np_dtype)
    _spec = property(lambda t: (t._layer.shape(t), t._value._np_dtype))

    def detach(self) -> Tensor:
        return self._layer.detach(self)


Gradient: TypeAlias = Tensor | Array  # arrays flow through backward unless gradients must be differentiable
_retired: dict[int, Any] = {}  # leaves of tensors whose requires_grad was turned off, by id(tensor)


def retire_leaf(t: Tensor) -> None:
    """Keep the Leaf of a tensor that no longer requires grad: it holds the hooks, and earlier graphs lead to it."""
    if id(t) not in _retired:
        weakref.finalize(t, _retired.pop, id(t)).atexit = False
    _retired[id(t)] = t._edge


def leaf_of(t: Tensor) -> Leaf:
    """Return the Leaf that a tensor had before, or a new one."""
    leaf = _retired.get(id(t)) or Leaf(t)
    leaf._shape, leaf._dtype = tuple(t.shape), t._np_dtype
    return leaf


def wrap(array: np.ndarray) -> Tensor:
    """Return a plain tensor on this array, without history."""
    t = new(Tensor)
    t._a = array
    t._edge = t._ver = t._view = t._tan = t._grad = None
    return t


def levels(t: Tensor) -> Iterator:
    """Yield t, then its value one layer down, and so on to the plain tensor at the bottom."""
    yield t
    while type(t) is Box:
        t = t._value
        yield t


def alike(t: Tensor, g: Tensor) -> bool:
    """Return True if two tensors agree in shape, dtype and device, as a tensor and its gradient must."""
    return t._spec == g._spec and t.device == g.device


def edges_of(args: tuple, layer: Any = None) -> tuple:
    """Return the edge of each argument that has a history in `layer` (None: eager mode), and None for the others."""
    return tuple(
        [
            (a._edge if a._view is None else history(a)) if isinstance(a, Tensor) and a._layer is layer else None
            for a in args
        ]
    )


def is_float(x: object) -> TypeGuard[Tensor]:
    """Return True if x is a tensor that can have a derivative."""
    return isinstance(x, Tensor) and x._np_dtype in dtypes.FLOATS


def describe(values: tuple) -> tuple:
    """Return what a node records about its inputs or outputs: shape and dtype of each tensor, None for other values."""
    return tuple([v._spec if isinstance(v, Tensor) else None for v in values])
