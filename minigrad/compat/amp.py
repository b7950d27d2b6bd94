"""torch.amp: `autocast`, which runs products and convolutions in half precision, and `GradScaler`, for float16.

`autocast` is a layer in the chain of frames, like a transform: it receives an operation, converts its arguments, and runs it
one layer down. So the conversions are ordinary operations, with derivatives, and appear in pictures. The class of an
operation says in which dtype it runs (`autocast`).
Source: PyTorch's "Automatic Mixed Precision package", "CPU Ops that can autocast".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import cuda
from ..arrays import dtypes
from ..arrays.devices import device
from ..autograd.grad_mode import without_layer
from ..core.frames import EAGER, Frame, Layer, apply_at, current, use
from ..core.inplace import inplace_at
from ..core.tensor import Tensor
from ..diagnose.boundary import guard as _guard
from ..errors import error, warn
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

DTYPES = {"cpu": dtypes.bfloat16, "cuda": dtypes.float16}  # the default for each device


class Autocast(Layer):
    """The layer of an `autocast` block."""

    name = "autocast"

    def __init__(self, low: dtypes.dtype):
        self.low = low

    def convert(self, t: Tensor) -> Tensor:
        """Return an operand of a product in half precision."""
        return converted(t, self.low)

    def handles(self, fn: Any, args: tuple) -> bool:
        """Return True for operations that name a dtype, and for the user's Functions unless of an outer transform."""
        if not fn.primitive:
            return not any(isinstance(a, Tensor) and a._layer is not None for a in args)
        return fn.autocast != ""

    def process(self, frame: Frame, cls: Any, args: tuple) -> Any:
        if not cls.primitive:
            return cls.eager(frame, args)
        below = frame.below()
        with use(below):
            wanted = self.low if cls.autocast == "half" else dtypes.float32
            args = tuple([converted(a, wanted) for a in args])
        return apply_at(below, cls, args)

    def inplace(self, frame: Frame, fn: type, x: Tensor, others: tuple) -> Any:
        return inplace_at(frame.below(), fn, x, others)


def converted(a: Any, wanted: dtypes.dtype) -> Any:
    """Return a tensor of float32 or half precision converted to `wanted`; anything else unchanged."""
    is_one = isinstance(a, Tensor) and a.dtype in (dtypes.float32, dtypes.float16, dtypes.bfloat16)
    return a.to(wanted) if is_one and a.dtype is not wanted else a


class autocast:
    """Run products, convolutions and attention in half precision inside the block or the decorated function.

    `device_type` is "cpu", where half precision is bfloat16, or "cuda", where it is float16; `dtype` overrides it.
    Losses, products over elements and decompositions run in float32, everything else in the dtype of its arguments.
    If the device is missing, autocast is off, with a warning.

    >>> import minigrad
    >>> x = minigrad.ones(2, 2)
    >>> with minigrad.autocast("cpu"):
    ...     print((x @ x).dtype, (x + x).dtype)
    minigrad.bfloat16 minigrad.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        kind = device(device_type).type
        self.device, self.fast_dtype = kind, DTYPES[kind] if dtype is None else dtype
        if self.fast_dtype not in (dtypes.bfloat16, dtypes.float16, dtypes.float32):
            fix = "pass dtype=minigrad.bfloat16"
            raise error(RuntimeError, "autocast", f"{self.fast_dtype} is not a dtype for autocast", fix)
        self._enabled = enabled and is_autocast_available(kind)
        if enabled and not self._enabled:
            what = f"autocast({device_type!r}) does nothing: there is no GPU"
            warn("autocast-off", "autocast", what, 'write autocast("cpu") or autocast(x.device.type)')
        self._uses: list[use] = []

    def __enter__(self) -> autocast:
        here = current()
        if self._enabled:
            around = use(Frame(Autocast(self.fast_dtype), here.grad, here.dual, here.inference, here))
        else:
            around = use(without_layer(here, Autocast.name))
        around.__enter__()
        self._uses.append(around)
        return self

    def __exit__(self, *error: object) -> None:
        self._uses.pop().__exit__(*error)

    def __call__(self, function: Callable) -> Callable:
        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside


def active() -> Autocast | None:
    """Return the innermost active autocast."""
    frame = current()
    while frame.layer is not EAGER:
        if isinstance(frame.layer, Autocast):
            return frame.layer
        frame = frame.parent
    return None


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Return True if an autocast is active.

    >>> import minigrad
    >>> with minigrad.autocast("cpu"):
    ...     minigrad.is_autocast_enabled("cpu")
    True
    """
    return active() is not None


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """Return the dtype in which an autocast on this device computes products.

    >>> get_autocast_dtype("cpu")
    minigrad.bfloat16
    """
    layer = active()
    return DTYPES[device(device_type).type] if layer is None else layer.low


def is_autocast_available(device_type: str) -> bool:
    """Return True if `autocast(device_type)` has an effect here.

    >>> is_autocast_available("cpu")
    True
    """
    return device_type == "cpu" or device_type == "cuda" and cuda.is_available()


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: dtypes.dtype | None = None) -> Any:
    """Decorate a Function's forward: with `cast_inputs`, its tensors are converted, and it runs outside of autocast.

    >>> import minigrad
    >>> class Double(minigrad.autograd.Function):
    ...     @staticmethod
    ...     @minigrad.amp.custom_fwd(device_type="cpu", cast_inputs=minigrad.float32)
    ...     def forward(ctx, x):
    ...         return 2 * x
    """

    def decorate(forward: Callable) -> Callable:
        @wraps(forward)
        def inside(ctx: Any, *args: Any) -> Any:
            if cast_inputs is None or active() is None:
                return forward(ctx, *args)
            with autocast(device_type, enabled=False):
                return forward(ctx, *[converted(a, cast_inputs) for a in args])

        return inside

    return decorate if fwd is None else decorate(fwd)


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Any:
    """Decorate a Function's backward, which needs no change here: gradients have the dtypes of their outputs.

    >>> import minigrad
    >>> class Double(minigrad.autograd.Function):
    ...     @staticmethod
    ...     @minigrad.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return 2 * g
    """
    return bwd if bwd is not None else lambda backward: backward


_guard(__name__)
