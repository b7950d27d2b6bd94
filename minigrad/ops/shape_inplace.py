"""Methods that change a tensor's shape in place: t_, transpose_, squeeze_, unsqueeze_, as_strided_; and its memory: resize_,
resize_as_, set_.

The tensor gets another array on the same memory, and its history one more view.  Other tensors on that memory keep their
arrays; if they are views, their histories were derived from shapes that are gone, and are derived by strides from then on.
"""

from __future__ import annotations

import gc
import inspect
import math
from collections.abc import Callable
from typing import Any

from ..arrays.kinds import zeros
from ..arrays.memory import address
from ..arrays.memory import storage as owner
from ..arrays.meta import is_meta
from ..core.frames import current, use
from ..core.graph import Leaf, history, move_retained
from ..core.inplace import alias_with_history, check_writable, layout_of_example
from ..core.saved import INFERENCE, memory, view_now
from ..core.tensor import Box, Tensor, wrap
from ..errors import error
from ..events import events
from ..tensors.methods import put_memory, renew_leaf
from .as_strided import AsStrided, as_strided, memory_of
from .base import registry
from .create import sizes
from .public_functions import declared, rename_code
from .shape import squeeze, t, transpose, unsqueeze
from .storage import Storage


def reshaping(view: Callable) -> Callable:
    """Return the method `name_` for the view `name`."""
    name = view.__name__ + "_"

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        frame = current()
        check_writable(frame, name, self, frame.grad and history(self) is not None)  # type: ignore[arg-type]
        events.replaces()
        events.changes(f"changes the shape of a tensor ({name}), which outlives the call", self)
        old = self._edge
        with use(
            frame.all_grad(frame.grad or type(old) is not Leaf)
        ):  # without history, gradients would have the old shape
            new = view(alias_with_history(self), *args, **kwargs)
        if type(self) is Box:
            self._value, self._extra = new._value, new._extra
        else:
            self._a = new._a
        reshaped(self, name)
        if type(self._edge) is not Leaf:
            self._edge = new._edge
            move_retained(old, self._edge)
        self._tan = new._tan
        return self

    method.__doc__ = f"In-place form of {view.__name__}: change the shape of this tensor, not of others on its memory."
    signature = registry.in_place_signature(inspect.signature(view))
    return declared(rename_code(method, name), view, signature)


def reshaped(self: Tensor, name: str) -> None:
    """Count the write, let views derive their history anew by strides (graph.view_now), and give a leaf its new shape."""
    known = memory(self)
    known.bump(name)
    if known is not INFERENCE:
        known.reshaped = known.n, by_strides
    view_now(self)
    renew_leaf(self)


def by_strides(t: Tensor) -> None:
    """Describe a view by its place in the memory of its base: the shapes between them may be gone.

    Its parent becomes the base, or what ends the search for it: a leaf, an output of a user's Function, a view made otherwise.
    """
    view: Any = t._view
    base = view.parent
    while (
        (up := base._view) is not None and up.fn is not None and up.fixed == view.fixed and type(base._edge) is not Leaf
    ):
        base = up.parent
    a, b = layout_of_example(t), layout_of_example(base)
    if a.dtype == b.dtype and not is_meta(a):
        stride, steps = [tuple([s // a.itemsize for s in x.strides]) for x in (a, b)]
        offset = (address(a) - address(b)) // a.itemsize
        view.parent, view.fn, view.args = base, AsStrided, (a.shape, stride, offset, steps, 0)


def check_unshared(self: Tensor, name: str, fix: str) -> None:
    """Raise RuntimeError for a tensor that shares its memory."""
    bottom = self
    while bottom._layer is not None:
        bottom = bottom._value
    # tensors that share memory hold its version, so a tensor that alone holds it has outlived its views
    holders = () if bottom._ver is None else gc.get_referrers(bottom._ver)
    if self._view is not None or any([one is not bottom for one in holders]):
        what = "the tensor's memory is too small, and shared with other tensors (views, detached ones), which could not follow"
        raise error(RuntimeError, name, what, fix)


def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another size: the elements of its memory, from its first one on, in row-major order.

    Other tensors on the memory keep their sizes.  A larger memory than it has is filled up with zeros.
    Raises RuntimeError for a tensor that requires grad, and if the memory is too small and shared with other tensors.

    >>> import minigrad
    >>> x = minigrad.arange(6).reshape(2, 3)
    >>> x[1].resize_(3, 1)
    tensor([[3],
            [4],
            [5]])
    """
    shape = sizes(size, None, "resize_")
    if self.requires_grad:
        what = f"cannot resize variables that require grad: the shape is {tuple(self.shape)}"
        raise error(RuntimeError, "resize_", what, "use x.reshape(...), or x.detach().clone().resize_(...)")
    if shape == tuple(self.shape):
        return self
    whole = memory_of(owner(self._a)).view(self._np_dtype)
    start, n = 0 if is_meta(whole) else (address(self._a) - address(whole)) // whole.itemsize, math.prod(shape)
    if n > whole.size - start:
        if whole.size:
            check_unshared(self, "resize_", "write x = x.clone().resize_(...)")
        larger = zeros((n,), whole)
        larger[: whole.size - start] = whole[start:]
        put_memory(self, larger)
        self._view, whole, start = None, larger, 0
    self._a = whole[start : start + n].reshape(shape)
    reshaped(self, "resize_")
    return self


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor the size of another (see resize_)."""
    return resize_(self, tuple(the_template.shape))


def set_(
    self: Tensor,
    source: Tensor | Storage | None = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Let the tensor use the memory, the shape and the strides of another, as x.data = source does; return it.

    A storage, or a tensor's, comes with the offset of the first element, the sizes and the strides; of a storage all elements
    are taken by default.
    Without a source, the tensor becomes empty, so that its memory can be freed.

    Raises TypeError for anything but a tensor and a storage, and RuntimeError for one of another dtype, for sizes that leave
    the memory, and if this tensor requires grad, outside no_grad().

    >>> import minigrad
    >>> x, y = minigrad.zeros(2), minigrad.ones(2, 2)
    >>> x.set_(y).mul_(3)
    tensor([[3., 3.],
            [3., 3.]])
    >>> x.set_(y.untyped_storage(), 1, (3,), (1,)), y[0]
    (tensor([3., 3., 3.]), tensor([3., 3.]))
    """
    source = self.new_empty(0) if source is None else source
    if isinstance(source, Storage):
        source = wrap(source.row(self._np_dtype, "set_"))
        size = source.shape if size is None else size
    if isinstance(source, Tensor) and size is not None:
        stride = self.new_empty(size, device="meta").stride() if stride is None else stride
        source = as_strided(source.detach(), size, stride, storage_offset).detach()
    if not isinstance(source, Tensor) or source.dtype != self.dtype:
        kind, got = TypeError, type(source).__name__
        if isinstance(source, Tensor):
            kind, got = RuntimeError, f"one of {source.dtype}"
        raise error(kind, "set_", f"expected a tensor of {self.dtype}, but got {got}", "write x.set_(y), or x.data = y")
    if current().grad and history(self) is not None:
        what = f"replaces the memory of a tensor that requires grad, of shape {tuple(self.shape)}: the graph does not know it"
        raise error(RuntimeError, "set_", what, "write it inside `with minigrad.no_grad():`")
    memory(self).bump("set_")
    put_memory(self, source._a)
    renew_leaf(self)
    return self


METHODS = {f.__name__: f for f in map(reshaping, (t, transpose, squeeze, unsqueeze, as_strided))}
METHODS |= {"swapaxes_": METHODS["transpose_"], "swapdims_": METHODS["transpose_"]}
METHODS |= {"resize_": resize_, "resize_as_": resize_as_, "set_": set_}
