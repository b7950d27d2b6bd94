"""Methods that change a tensor's shape in place: t_, transpose_, squeeze_, unsqueeze_; and its memory: resize_,
resize_as_, set_.

The tensor becomes the view of its former self.  Earlier views would need to follow, but nothing records them; so a
tensor that shares its memory is an error.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from typing import Any

from ..arrays.kinds import zeros
from ..arrays.memory import address
from ..arrays.memory import storage as owner
from ..arrays.meta import is_meta
from ..core.frames import current
from ..core.graph import Leaf, history, move_retained
from ..core.inplace import alias_with_history
from ..core.saved import memory
from ..core.tensor import Box, Tensor, wrap
from ..errors import error
from ..events import events
from .as_strided import memory_of
from .base import registry
from .create import sizes
from .public_functions import declared, rename_code
from .shape import squeeze, t, transpose, unsqueeze

ALONE = 2  # sys.getrefcount of an object that only one attribute holds; the call itself counts one


def reshaping(view: Callable) -> Callable:
    """Return the method `name_` for the view `name`."""
    name = view.__name__ + "_"

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_unshared(self, name, f"use the out-of-place form: x = x.{view.__name__}(...)")
        if type(history(self)) is Leaf:
            raise error(
                RuntimeError,
                name,
                f"a leaf Variable that requires grad, of shape {tuple(self.shape)}, is being used in an in-place operation",
                f"use the out-of-place form: x.{view.__name__}()",
            )
        events.replaces()
        events.changes(f"changes the shape of a tensor ({name}), which outlives the call", self)
        memory(self).bump(name)
        old = self._edge
        new = view(alias_with_history(self), *args, **kwargs)
        if type(self) is Box:
            self._value, self._extra = new._value, new._extra
        else:
            self._a = new._a
        self._edge, self._tan = new._edge, new._tan
        move_retained(old, self._edge)
        return self

    method.__doc__ = f"In-place form of {view.__name__}: change the tensor's shape."
    signature = registry.in_place_signature(inspect.signature(view))
    return declared(rename_code(method, name), view, signature)


def check_unshared(self: Tensor, name: str, fix: str) -> None:
    """Raise RuntimeError for a tensor that shares its memory."""
    bottom = self
    while bottom._layer is not None:
        bottom = bottom._value
    # tensors that share memory hold its version, so a tensor that alone holds it has outlived its views
    if self._view is not None or bottom._ver is not None and sys.getrefcount(bottom._ver) > ALONE:
        what = "the tensor's memory is shared with other tensors (views, detached ones), which could not follow"
        raise error(RuntimeError, name, what, fix)


def resize_(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another size: keep its elements in row-major order as far as they fit, and append zeros.

    Raises RuntimeError for a tensor that requires grad, or shares its memory.
    """
    shape = sizes(size, None, "resize_")
    if self.requires_grad:
        what = f"cannot resize variables that require grad: the shape is {tuple(self.shape)}"
        raise error(RuntimeError, "resize_", what, "use x.reshape(...), or x.detach().clone().resize_(...)")
    check_unshared(self, "resize_", "write x = x.clone().resize_(...)")
    whole = memory_of(owner(self._a)).view(self._np_dtype)
    row = whole if is_meta(whole) else whole[(address(self._a) - address(whole)) // whole.itemsize :]
    larger = zeros((math.prod(shape),), row)
    larger[: row.size] = row[: larger.size]
    self.data = wrap(larger.reshape(shape))
    return self


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor the size of another (see resize_)."""
    return resize_(self, tuple(the_template.shape))


def set_(self: Tensor, source: Tensor | None = None) -> Tensor:
    """Let the tensor use the memory, the shape and the strides of another, as x.data = source does; return it.

    Without a source, the tensor becomes empty, so that its memory can be freed.

    Raises TypeError for anything but a tensor, and RuntimeError for a tensor of another dtype, and if this one requires grad,
    outside no_grad().

    >>> import minigrad
    >>> x, y = minigrad.zeros(2), minigrad.ones(2, 2)
    >>> x.set_(y).mul_(3)
    tensor([[3., 3.],
            [3., 3.]])
    >>> y[0]
    tensor([3., 3.])
    """
    source = self.new_empty(0) if source is None else source
    if not isinstance(source, Tensor) or source.dtype != self.dtype:
        kind, got = TypeError, type(source).__name__
        if isinstance(source, Tensor):
            kind, got = RuntimeError, f"one of {source.dtype}"
        raise error(kind, "set_", f"expected a tensor of {self.dtype}, but got {got}", "write x.set_(y), or x.data = y")
    if current().grad and history(self) is not None:
        what = f"replaces the memory of a tensor that requires grad, of shape {tuple(self.shape)}: the graph does not know it"
        raise error(RuntimeError, "set_", what, "write it inside `with minigrad.no_grad():`")
    self.data = source
    return self


METHODS = {f.__name__: f for f in map(reshaping, (t, transpose, squeeze, unsqueeze))}
METHODS |= {"swapaxes_": METHODS["transpose_"], "swapdims_": METHODS["transpose_"]}
METHODS |= {"resize_": resize_, "resize_as_": resize_as_, "set_": set_}
