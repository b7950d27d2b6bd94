"""GradScaler: a factor on the loss that keeps small float16 gradients from becoming 0.

It notes for each optimizer what the current iteration has done: unscaled its gradients, stepped; `update` begins anew.
Names with an underscore are PyTorch's, for subclasses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from .. import cuda
from ..arrays import dtypes
from ..autograd.grad_mode import no_grad
from ..core.tensor import Tensor
from ..diagnose.boundary import guard as _guard
from ..errors import error, warn
from ..ops.create import full

OptState = Enum("OptState", "READY UNSCALED STEPPED", start=0)
USE = "scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()"


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
        self._device, self._enabled = device, enabled and (device != "cuda" or cuda.is_available())
        if enabled and not self._enabled:
            warn(
                "autocast-off",
                "GradScaler",
                "does nothing: there is no GPU",
                'write GradScaler("cpu"), or enabled=False',
            )
        if self._enabled and (growth_factor <= 1 or backoff_factor >= 1):
            what = (
                f"expected growth_factor > 1.0 and backoff_factor < 1.0, but got {growth_factor} and {backoff_factor}"
            )
            raise error(AssertionError, "GradScaler", what, "write growth_factor=2.0, backoff_factor=0.5")
        self._init_scale, self._growth_factor, self._backoff_factor = init_scale, growth_factor, backoff_factor
        self._growth_interval, self._init_growth_tracker = growth_interval, 0
        self._scale: Tensor | None = None  # made by the first loss, on its device
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, dict] = defaultdict(fresh)

    # ------------------------------------------------------------------ an iteration
    def scale(self, outputs: Any) -> Any:
        """Return a tensor times the scale, or each one in a list, tuple or other iterable.  Raises ValueError for others."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            scale = self._lazy_init_scale_growth_tracker(outputs.device) if self._scale is None else self._scale
            return outputs * scale.to(outputs.device)
        if not isinstance(outputs, Iterable):
            what = f"outputs must be a Tensor or an iterable of Tensors, but got {type(outputs).__name__}"
            raise error(ValueError, "GradScaler.scale", what, "scaler.scale(loss).backward()")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled  # type: ignore[call-arg]

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> Tensor:
        """Make the tensors of the scale on the device of the first loss."""
        self._growth_tracker = full((), self._init_growth_tracker, dtype=dtypes.int32, device=dev)
        self._scale = scale = full((), self._init_scale, dtype=dtypes.float32, device=dev)
        return scale

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, in place; call it before you clip them.

        Raises RuntimeError for a second call before `update`, and ValueError for float16 gradients.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is not OptState.READY:
            what = "unscale_() has already been called on this optimizer since the last update()"
            what = "unscale_() is being called after step()" if state["stage"] is OptState.STEPPED else what
            raise error(RuntimeError, "GradScaler.unscale_", what, "call it once, before scaler.step(optimizer)")
        found = full((), 0.0, dtype=dtypes.float32, device=scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(
            optimizer, scale.double().reciprocal().float(), found, False
        )
        state["stage"] = OptState.UNSCALED

    def _unscale_grads_(self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool) -> dict:
        """Multiply gradients by `inv_scale`; return for each device a tensor that is 1 if one of them was not finite."""
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not allow_fp16 and any(g.dtype is dtypes.float16 for g in grads):
            what = "Attempting to unscale FP16 gradients: they have already lost what a scale protects"
            raise error(
                ValueError, "GradScaler.unscale_", what, "keep the parameters in float32; autocast converts them"
            )
        found: dict = {}
        with no_grad():
            for g in grads:
                bad = found.setdefault(g.device, found_inf.clone().to(g.device))
                if not g.isfinite().all():
                    bad.fill_(1.0)
                g.mul_(inv_scale.item())
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the optimizer's step with unscaled gradients; skip it if one is infinite or NaN.

        Raises RuntimeError for a closure and for a second call before `update`, and AssertionError without gradients.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            what = "Closure use is not currently supported if GradScaler is enabled: it would compute scaled gradients"
            raise error(RuntimeError, "GradScaler.step", what, USE)
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            what = "step() has already been called since the last update()"
            raise error(RuntimeError, "GradScaler.step", what, "call scaler.update() after the steps of an iteration")
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            what = "No inf checks were recorded for this optimizer: none of its parameters has a gradient"
            raise error(AssertionError, "GradScaler.step", what, f"call scaler.scale(loss).backward() first: {USE}")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict, *args: Any, **kwargs: Any) -> Any:
        """Run the optimizer's step if its gradients are finite."""
        if any(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Update the scale after a step, according to its gradients, or to `new_scale`.

        Raises AssertionError before a step, and for a tensor of several elements.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor) and (new_scale.numel() != 1 or new_scale.requires_grad):
                what = "new_scale should be a float or a tensor of 1 element with requires_grad=False"
                raise error(AssertionError, "GradScaler.update", what, "pass a float")
            scale.fill_(float(new_scale))
        else:
            found = [
                bad.item() for s in self._per_optimizer_states.values() for bad in s["found_inf_per_device"].values()
            ]
            if not found:
                what = "No inf checks were recorded prior to update: no optimizer has stepped since the last one"
                raise error(AssertionError, "GradScaler.update", what, USE)
            self._follow(scale, tracker, any(found))
        self._per_optimizer_states = defaultdict(fresh)

    def _follow(self, scale: Tensor, tracker: Tensor, bad: bool) -> None:
        """Let the scale shrink after a bad step, and grow after enough good ones, but not to infinity."""
        if bad:
            scale.fill_(scale.item() * self._backoff_factor)
            tracker.zero_()
        elif tracker.add_(1).item() == self._growth_interval:
            if (grown := scale.item() * self._growth_factor) <= dtypes.finfo(dtypes.float32).max:
                scale.fill_(grown)
            tracker.zero_()

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        """Return the scale and the number of good steps.  Raises AssertionError if no loss was scaled."""
        if self._scale is None or self._growth_tracker is None:
            what = f"Attempted {funcname} but _scale is None: scaler.scale(loss) was not called earlier"
            raise error(AssertionError, f"GradScaler.{funcname}", what, USE)
        return self._scale, self._growth_tracker

    def _check_inf_per_device(self, optimizer: Any) -> dict:
        """Check the gradients of an optimizer without a change."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, found = scale.new_ones(()), scale.new_zeros(())
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = self._unscale_grads_(
            optimizer, one, found, True
        )
        return self._found_inf_per_device(optimizer)

    def _found_inf_per_device(self, optimizer: Any) -> dict:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    # ------------------------------------------------------------------ settings and state
    def get_scale(self) -> float:
        """Return the scale; 1 if the scaler is off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if (scale := self._get_scale_async()) is None else scale.item()

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of good steps after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of good steps after which the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Return True if the scaler is on."""
        return self._enabled

    def state_dict(self) -> dict:
        """Return the scale and its settings under PyTorch's names; empty if the scaler is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict) -> None:
        """Load a dictionary returned by `state_dict`.  Raises RuntimeError for that of a scaler that was off."""
        if not self._enabled:
            return
        if not state_dict:
            what = "The source state dict is empty, possibly because it was saved from a disabled GradScaler"
            raise error(RuntimeError, "GradScaler.load_state_dict", what, "leave it out if the dict is empty")
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict:
        if self._per_optimizer_states:
            what = "A GradScaler may only be pickled or copied at the beginning of an iteration, or after update()"
            raise error(AssertionError, "GradScaler", what, "call scaler.update() first, or save scaler.state_dict()")
        now = {"_init_scale": self.get_scale(), "_init_growth_tracker": self._get_growth_tracker()}
        return vars(self) | (now if self._enabled else {}) | {"_scale": None, "_growth_tracker": None}


class CudaGradScaler(GradScaler):
    """torch.cuda.amp.GradScaler: the older name of GradScaler("cuda")."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def fresh() -> dict:
    """Return the state of an optimizer at the beginning of an iteration."""
    return {"stage": OptState.READY, "found_inf_per_device": {}}


_guard(__name__)
