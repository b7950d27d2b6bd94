"""torch.amp: `autocast`, which runs products and convolutions in half precision, and `GradScaler`, for float16.

`autocast` is a layer in the chain of frames, like a transform: it receives an operation, converts its arguments, and runs it
one layer down. So the conversions are ordinary operations, with derivatives, and appear in pictures. The class of an
operation says in which dtype it runs (`autocast`).
Source: PyTorch's "Automatic Mixed Precision package", "CPU Ops that can autocast".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import wraps
from typing import Any

from .. import cuda
from ..arrays import dtypes
from ..arrays.devices import device
from ..autograd.grad_mode import no_grad, without_layer
from ..core.frames import EAGER, Frame, Layer, apply_at, current, use
from ..core.inplace import inplace_at
from ..core.tensor import Tensor
from ..diagnose.boundary import guard as _guard
from ..errors import error, warn

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


class GradScaler:
    """Scale a loss so that small float16 gradients do not become 0, and skip steps whose gradients are not finite.

    The scale grows by `growth_factor` after `growth_interval` good steps and shrinks by `backoff_factor` after a bad one.
    If the device is missing, the scaler is off: `scale` returns its argument, and `step` always steps.

    >>> import minigrad
    >>> w = minigrad.tensor([1.], requires_grad=True)
    >>> optimizer, scaler = minigrad.optim.SGD([w], lr=0.1), minigrad.amp.GradScaler("cpu", init_scale=4.)
    >>> scaler.scale((w * w).sum()).backward()
    >>> w.grad
    tensor([8.])
    >>> scaler.step(optimizer); scaler.update()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        self._enabled = enabled and is_autocast_available(device)
        self._scale, self._growth, self._backoff = init_scale, growth_factor, backoff_factor
        self._interval, self._good_steps = growth_interval, 0
        self._unscaled: dict[int, bool] = defaultdict(bool)  # optimizer -> True if its gradients are finite

    def scale(self, outputs: Any) -> Any:
        """Return a tensor, or each one in a list or tuple, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(t) for t in outputs])
        return outputs * self._scale

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, in place; call it before you clip them."""
        if not self._enabled:
            return
        if id(optimizer) in self._unscaled:
            what = "unscale_() has already been called on this optimizer since the last update()"
            raise error(RuntimeError, "GradScaler.unscale_", what, "call it once before each step")
        finite = True
        with no_grad():
            for group in optimizer.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.grad.mul_(1.0 / self._scale)
                        finite = finite and bool(p.grad.isfinite().all())
        self._unscaled[id(optimizer)] = finite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the optimizer's step with unscaled gradients; skip it if one is infinite or NaN."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        return optimizer.step(*args, **kwargs) if self._unscaled[id(optimizer)] else None

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Update the scale after a step, according to its gradients, or to `new_scale`."""
        if not self._enabled:
            return
        if new_scale is None and not self._unscaled:
            what = "update() must follow step(): no gradients were checked since the last update"
            raise error(AssertionError, "GradScaler.update", what, "call scaler.step(optimizer); scaler.update()")
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not all(self._unscaled.values()):
            self._scale, self._good_steps = self._scale * self._backoff, 0
        else:
            self._good_steps += 1
            if self._good_steps == self._interval:
                self._scale, self._good_steps = self._scale * self._growth, 0
        self._unscaled.clear()

    def get_scale(self) -> float:
        """Return the scale; 1 if the scaler is off."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Return True if the scaler is on."""
        return self._enabled

    def state_dict(self) -> dict:
        """Return the scale and its settings under PyTorch's names; empty if the scaler is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth,
            "backoff_factor": self._backoff,
            "growth_interval": self._interval,
            "_growth_tracker": self._good_steps,
        }

    def load_state_dict(self, state_dict: dict) -> None:
        """Load a dictionary returned by `state_dict`."""
        if self._enabled:
            self._scale, self._growth = state_dict["scale"], state_dict["growth_factor"]
            self._backoff, self._interval = state_dict["backoff_factor"], state_dict["growth_interval"]
            self._good_steps = state_dict["_growth_tracker"]


_guard(__name__)
