"""Tensor: an array, its place in the graph, and, for views, how it came from its base.

`_edge` is the one link to the past: the Node that made the tensor (a Port of it where it made several), a Leaf where the
tensor wants `.grad`, or None.  A Box is a tensor as one running transform sees it: its `_value` lives one layer further
down, so it has no array of its own and none can be computed with by mistake.  Methods come from minigrad/ops/base/methods.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import dtypes
from ..arrays.devices import CPU, CUDA, Size, device, strided
from ..arrays.kinds import KINDS, near, on_device
from ..arrays.memory import address, storage
from ..diagnose import debug, detached
from ..diagnose.debug import made
from ..errors import MinigradRuntimeError, error, warn
from ..places import callee, user_frame, user_place
from ..tensor.conversion import Conversions
from .edges import INFERENCE, Leaf, Lent, Port, Version, name_of, place_of, producer
from .frames import current, replacing

new = object.__new__


class Tensor(Conversions):
    """An n-dimensional array that can remember how it was computed.

    `Tensor(data)` makes a tensor of the default dtype as PyTorch's legacy constructor does; `minigrad.tensor` is the
    usual way.

    >>> import minigrad
    >>> x = minigrad.tensor([1., 2.], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    # _a array | _edge (see above) | _ver version counter or None (never written) | _view ViewOf or None
    # _tan (dual level, tangent) or None | _grad
    # __dict__ users may hang notes on a tensor
    __slots__ = ("__dict__", "__weakref__", "_a", "_edge", "_grad", "_tan", "_ver", "_view")
    __array_priority__ = 1000
    _layer = None
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # the methods that ops/base/methods.py attaches

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def _binary(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _binary
        __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = _binary

    def __init__(self, *data: Any, device: Any = None):
        from ..ops.legacy import array_of, to

        a = array_of(data, dtypes.default(), "Tensor")
        self._a = a if device is None else to(wrap(a), device=device)._a
        self._edge: Any = None
        self._ver: Any = memory(data[0]) if data and isinstance(data[0], Tensor) else None
        self._view: Any = None
        self._tan: Any = None
        self._grad: Any = None

    # ------------------------------------------------------------------ what it is
    shape = property(lambda t: Size(t._a.shape), doc="The sizes of all dimensions.")
    dtype = property(lambda t: dtypes.of_numpy(t._np_dtype), doc="The type of the elements.")
    ndim = property(lambda t: t._a.ndim, doc="The number of dimensions.")
    _sizes = property(lambda t: t._a.shape)  # the shape as a plain tuple, which costs less
    _np_dtype = property(lambda t: t._a.dtype)
    itemsize = property(lambda t: t._np_dtype.itemsize, doc="Bytes of one element.")
    nbytes = property(lambda t: t.numel() * t.itemsize, doc="Bytes of all elements.")
    layout = property(lambda t: strided, doc="Tensors are strided; there is no other layout.")
    is_cuda = property(lambda t: t.device.type == "cuda", doc="Whether the memory is a GPU's.")
    is_cpu = property(lambda t: t.device.type == "cpu", doc="Whether the memory is the computer's own.")
    is_sparse = is_quantized = is_meta = property(lambda t: False, doc="There are no such tensors.")
    real = property(lambda t: t, doc="The tensor itself: there are no complex ones.")

    @property
    def device(self) -> device:
        """Where the memory is."""
        return CUDA if on_device(bottom(self)._a) else CPU

    def size(self, dim: int | None = None):
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self._sizes)

    nelement = numel

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.itemsize

    def stride(self, dim: int | None = None):
        """Steps in memory, in elements, from one index of a dimension to the next."""
        a = example(self)
        if a.size:
            steps = [s // a.itemsize for s in a.strides]
            for d in reversed(
                range(a.ndim)
            ):  # NumPy steps 0 along a dimension that None has made, PyTorch over the next
                if steps[d] == 0 and a.shape[d] == 1:
                    steps[d] = steps[d + 1] * a.shape[d + 1] if d + 1 < a.ndim else 1
        else:  # NumPy has zeros there
            steps = [math.prod([max(n, 1) for n in self.shape[d + 1 :]]) for d in range(self.ndim)]
        return tuple(steps) if dim is None else steps[dim]

    def storage_offset(self) -> int:
        """Where the tensor begins in its storage, in elements."""
        return (address(self._a) - address(storage(self._a))) // self._a.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return address(self._a)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in row-major order without gaps."""
        return example(self).flags.c_contiguous

    def is_floating_point(self) -> bool:
        """Whether the dtype is float16, bfloat16, float32 or float64."""
        return self._np_dtype in dtypes.FLOATS

    def is_complex(self) -> bool:
        """Always False: there are no complex tensors."""
        return False

    def is_signed(self) -> bool:
        """Whether the dtype can hold negative numbers."""
        return dtypes.kind(self._np_dtype) in "fi"

    def is_inference(self) -> bool:
        """Whether the tensor was made under inference_mode."""
        return self._ver is INFERENCE

    def __len__(self) -> int:
        if not self.shape:
            notes = made({"tensor": self})
            raise error(TypeError, "len", "a 0-d tensor has no length", "use .item() for its value", notes=notes)
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            notes = made({"tensor": self})
            raise error(TypeError, "iter", "iteration over a 0-d tensor", "use .item() for its value", notes=notes)
        return iter(self.unbind(0))

    # ------------------------------------------------------------------ its place in the graph
    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded for backward."""
        return history(self) is not None

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        if not isinstance(flag, bool):
            raise error(RuntimeError, "requires_grad", f"must be a bool, not {type(flag).__name__}")
        self.requires_grad_(flag)
        if not self.is_leaf:
            raise error(
                RuntimeError,
                "requires_grad",
                f"you can only change requires_grad flags of leaf variables, and this is the result of {self.grad_fn}",
                "call .retain_grad() for its .grad, or set it on y.detach(), where a new graph is to begin",
            )

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for `.grad` (leaves only), in place.  Raises RuntimeError for integer tensors and for results of operations."""
        flag = bool(requires_grad)
        if not self.is_leaf:
            if not flag:
                raise error(
                    RuntimeError,
                    "requires_grad_",
                    f"you can only change requires_grad flags of leaf variables; this is the result of {name_of(self.grad_fn)}",
                    "use .detach() for a tensor that is not tracked",
                )
            return self
        if flag and self._ver is INFERENCE and not current().inference:
            raise error(
                RuntimeError,
                "requires_grad_",
                "setting requires_grad=True on an inference tensor outside inference_mode is not allowed",
                "clone() it first",
            )
        if flag and self._np_dtype not in dtypes.FLOATS:
            raise error(
                RuntimeError,
                "requires_grad_",
                f"only floating-point tensors can require gradients, not {self.dtype}",
                "convert first: x.float().requires_grad_()",
            )
        if self._layer is not None:
            raise error(
                RuntimeError,
                "requires_grad_",
                f"called inside a `{self._layer.name}` transform, which decides itself what is tracked",
                "pass the tensor as an argument of the transformed function",
            )
        if flag != (self._edge is not None):
            self._edge = Leaf(self) if flag else None
        return self

    retains_grad = property(
        lambda t: not t.is_leaf and retains(t), doc="Whether retain_grad() was called on this result."
    )
    is_leaf = property(
        lambda t: (e := history(t)) is None or type(e) is Leaf, doc="Whether no recorded operation made it."
    )
    output_nr = property(lambda t: t._edge.index if type(t._edge) is Port else 0, doc="Which output of grad_fn it is.")

    @property
    def grad_fn(self):
        """The node of the operation that made this tensor; None for leaves."""
        edge = history(self)
        return None if edge is None or type(edge) is Leaf else producer(edge)

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward has accumulated here; None before the first."""
        if self._grad is None and not self.is_leaf and not retains(self):
            from .hooks import warn_non_leaf_grad

            warn_non_leaf_grad(self)
        return self._grad

    @grad.setter
    def grad(self, g: Tensor | None) -> None:
        if g is not None:
            if not isinstance(g, Tensor):
                raise error(
                    TypeError, "grad", f"expected a tensor or None, got {type(g).__name__}", "x.grad = None clears it"
                )
            if g.shape != self.shape or g._np_dtype != self._np_dtype:
                raise error(
                    RuntimeError,
                    "grad",
                    f"assigned a gradient of shape {tuple(g.shape)} and {g.dtype} to a tensor of "
                    f"shape {tuple(self.shape)} and {self.dtype}",
                    "assign one of the same shape and dtype",
                )
            if len(KINDS) > 1 and g.device != self.device:
                raise error(
                    RuntimeError,
                    "grad",
                    f"assigned a gradient of shape {tuple(g.shape)} on {g.device} to a tensor on {self.device}",
                    f"assign g.to('{self.device}')",
                )
            if g is self:
                raise error(RuntimeError, "grad", "a tensor cannot be its own gradient")
        self._grad = g

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def _version(self) -> int:
        if self._ver is INFERENCE:
            raise error(RuntimeError, "_version", "inference tensors do not track version counters")
        return version(self)

    @property
    def _base(self) -> Tensor | None:
        t = self
        while t._view is not None:
            t = t._view.parent
        return None if t is self else t

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def data(self) -> Tensor:
        """The same memory as a tensor of its own: not tracked, and writes to it are not noticed by autograd."""
        t = wrap(self._a)
        if type(self._ver) is Lent:
            self._ver.exposed = True
        if debug.mode.on:
            debug.lend(storage(self._a), ".data")
            if self._edge is not None:
                detached.note_cut("data", self, t)
        return t

    @data.setter
    def data(self, other: Tensor) -> None:
        if not isinstance(other, Tensor):
            raise error(TypeError, "data", f"expected a tensor, got {type(other).__name__}")
        if other._np_dtype not in dtypes.FLOATS and self.requires_grad:
            raise error(
                RuntimeError,
                "data",
                f"only floating-point tensors can require gradients, not {other.dtype}",
                "assign x.float(), or call requires_grad_(False) first",
            )
        replacing()
        before, self._ver = (
            version(self),
            Version(),
        )  # what has saved this tensor notices; the old memory was not written
        self._ver.n = before
        self._ver.bump(".data =", user_place())
        self._a = other._a
        if type(self._edge) is Leaf:
            self._edge._shape, self._edge._dtype = tuple(self.shape), self._np_dtype

    def detach(self) -> Tensor:
        """The same memory, not tracked.  In-place writes to either are seen by both, and noticed by autograd."""
        t = wrap(self._a)
        t._ver = memory(self)
        if self._edge is not None and current().watched and debug.mode.on:
            detached.note_cut("detach", self, t)
        return t

    def detach_(self) -> Tensor:
        """Forget how this tensor was computed, in place.  Raises RuntimeError for views."""
        if self._view is not None:
            raise error(
                RuntimeError,
                "detach_",
                f"cannot detach a view, of shape {tuple(self.shape)}, in place",
                "use x.detach(), which makes a new tensor",
            )
        self._edge = None
        return self


READABLE = "use minigrad's operations instead, or compute it outside of the transform"
ESCAPED = (
    "return it from the transformed function (with has_aux=True beside the result) instead of storing it elsewhere"
)


class Foreign(MinigradRuntimeError):
    """The array of a box was asked for, which has none; `box` is the one, `runs` whether its transform goes on here."""

    box: Any
    runs: bool


class Box(Tensor):
    """A tensor as one transform sees it: `_value` lives one layer down, `_extra` is its tangent or batch dimension."""

    __slots__ = ("_extra", "_layer", "_value")

    def __init__(self, layer: Any, value: Any, extra: Any = None):
        self._layer, self._value, self._extra = layer, value, extra
        self._edge = self._ver = self._view = self._tan = self._grad = None

    @property
    def _a(self):
        runs = current().has(self._layer)
        name, what = self._layer.name, f"this tensor of shape {tuple(self.shape)} belongs to"
        if runs:
            e: Any = error(
                Foreign, name, f"{what} a running transform and has no memory for numpy() and the like", READABLE
            )
        else:
            e = error(Foreign, name, f"{what} a transform that does not run here, from which it has escaped", ESCAPED)
        e.box, e.runs = self, runs
        raise e

    shape = property(lambda t: Size(t._layer.shape(t)))
    ndim = property(lambda t: len(t._layer.shape(t)))
    _sizes = property(lambda t: t._layer.shape(t))
    _np_dtype = property(lambda t: t._value._np_dtype)

    def detach(self) -> Tensor:
        return self._layer.detach(self)

    def item(self):
        return self._layer.readable(self).item()

    def tolist(self):
        return self._layer.readable(self).tolist()

    def _number(self, who: str) -> Any:
        """Return the value, and warn where a function of Python's math that has a derivative asks for it."""
        frame = user_frame()
        called = None if frame is None else callee(frame)
        layer = next((t._layer for t in levels(self) if type(t) is Box and t._layer.follows(t)), None)
        module, name = getattr(called, "__module__", ""), getattr(called, "__name__", "")
        if layer is not None and module in ("math", "cmath") and not name.startswith(("is", "floor", "ceil", "trunc")):
            warn(
                "math-of-tensor",
                f"{module}.{name}",
                f"takes a tensor of shape {tuple(self.shape)}, by which `{layer.name}` differentiates, for a plain number: "
                "derivatives end here",
                f"use minigrad's operation, as minigrad.{name}; where the number alone is wanted, say so: x.detach()",
            )
        return super()._number(who)

    def __repr__(self) -> str:
        return f"{self._layer.name.capitalize()}Tensor({self._value!r})"


def wrap(array: np.ndarray) -> Tensor:
    """A plain tensor on this array, with no past."""
    t = new(Tensor)
    t._a = array
    t._edge = t._ver = t._view = t._tan = t._grad = None
    return t


def wrap_near(array: np.ndarray, other: Tensor) -> Tensor:
    """A plain tensor on this array, in the memory where another tensor is."""
    return wrap(near(array, bottom(other)._a))


def bottom(t: Tensor) -> Tensor:
    """The plain tensor, with an array, under all transforms."""
    while type(t) is Box:
        t = t._value
    return t


def example(t: Tensor) -> np.ndarray:
    """An array with t's layout in memory; under vmap that of one example."""
    if type(t) is not Box:
        return t._a
    a = example(t._value)
    if t.ndim == t._value.ndim:
        return a
    at = (slice(None),) * t._extra
    return a[(*at, 0)] if a.shape[t._extra] else np.empty(t.shape, a.dtype)


def levels(t: Tensor) -> Iterator:
    """t, and what it is one layer down, and so on to the plain tensor at the bottom."""
    yield t
    while type(t) is Box:
        t = t._value
        yield t


def layers_of(t: Tensor) -> set:
    """The transforms that see t in a way of their own."""
    return {b._layer for b in levels(t) if type(b) is Box}


def memory(t: Tensor) -> Version:
    """The version counter of t's memory, made when first needed (by views, detach and in-place writes)."""
    t = bottom(t)
    if t._ver is None:
        t._ver = Version()
    return t._ver


def version(t: Tensor) -> int:
    """How often t's memory has been written in place."""
    t = bottom(t)
    return 0 if t._ver is None else t._ver.n


def retains(t: Tensor) -> bool:
    """Whether retain_grad() was called on t."""
    hooks = producer(t._edge)._hooks if t._edge is not None else None
    return hooks is not None and place_of(t._edge) in hooks.retained


def history(t: Tensor) -> Any:
    """t's edge.  A view derives its history again from its parent when the memory has been written since."""
    view = t._view
    if view is not None and view.version != version(t) and view.fixed is None:
        derive(t)
    return t._edge


def derive(t: Tensor) -> None:
    """Bring the histories of a view, and of all it is a view of, up to date, from the base downwards."""
    from .function import record
    from .hooks import move_retained

    now, chain = version(t), []
    while (view := t._view) is not None and view.version != now and view.fixed is None:
        chain.append(t)
        t = view.parent
    for t in reversed(chain):
        view = t._view
        view.version, edge = now, view.parent._edge
        if edge is not view.seen:
            before, view.seen, t._edge = t._edge, edge, None
            if edge is not None:
                record(t._layer, view.fn, (view.parent, *view.args), t)
                move_retained(before, t._edge)
