"""Conversions of modules: to another dtype or device, all by one method that a subclass may override."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays import dtypes
from ..arrays.devices import device
from ..autograd.grad_mode import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..ops.create import empty_like
from .parameter import is_lazy

DEVICE = type(device("cpu"))


class Converted:
    """The conversions of a Module."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    children: Any

    def share_memory(self) -> Any:
        """Return the module itself: other processes receive copies of the parameters."""
        return self._apply(lambda t: t.share_memory_())

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Replace the numbers of all parameters, gradients and buffers, here and below, by fn of them.

        All conversions use it.  Classes that hold other tensors override it, and convert them too.
        """
        for child in self.children() if recurse else ():
            child._apply(fn)
        with no_grad():
            for p in self._parameters.values():
                if p is not None:
                    p.data = fn(p.data)
                    p._grad = p._grad if p._grad is None else fn(p._grad)
            for name, b in self._buffers.items():
                if is_lazy(b):
                    b.data = fn(b.data)
                elif b is not None:
                    self._buffers[name] = fn(b)
        return self

    def to(
        self,
        *args: Any,
        dtype: Any = None,
        device: Any = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Any:
        """Convert floating-point parameters and buffers in place: to(dtype), to(device), to(device, dtype), to(like).

        `memory_format` is accepted as in PyTorch and ignored: the layout of a result follows its inputs.
        """
        place = device
        for a in args:
            if isinstance(a, Tensor):
                dtype, place = a.dtype, a.device
            elif isinstance(a, bool):
                non_blocking = a
            elif isinstance(a, (str, int, DEVICE)):
                place = a
            elif a is not None:
                dtype = a
        if dtype is not None and dtypes.numpy_dtype(dtype) not in dtypes.FLOATS:
            what = f"Module.to only accepts floating point dtypes, but got desired dtype={dtype}"
            raise error(TypeError, "to", what, "write module.to(minigrad.float64), or convert the inputs instead")
        return self._apply(
            lambda t: t.to(device=place, dtype=dtype if t.is_floating_point() else None, non_blocking=non_blocking)
        )

    def type(self, dst_type: Any) -> Any:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def half(self) -> Any:
        """Convert to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Any:
        """Convert to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def float(self) -> Any:
        """Convert to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Any:
        """Convert to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def cpu(self) -> Any:
        """Move to the CPU's memory."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Any:
        """Move to a GPU's memory."""
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Move to a device without copying: give all parameters and buffers fresh, uninitialized memory there.

        This gives memory to a module made on the device `meta`; set its numbers afterwards.
        """
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)
