"""Pinned memory, for fast copies to and from a GPU: `pin_memory`, and the copy behind the option of that name."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from . import transfer
from .copy import Conversion


class PinMemory(Conversion):
    """A copy in pinned memory."""

    node = "PinMemory"
    impl = lambda x: transfer.pinned(x)
    dx = lambda g: g
    definition = lambda x: x  # the device does not matter for its value


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Return a copy in pinned memory, which a GPU reads faster and without waiting; the tensor itself if it is pinned.

    Raises RuntimeError if there is no GPU, or if the tensor is not on the CPU.
    """
    if not self.is_cpu:
        what = f"cannot pin a tensor of shape {tuple(self.shape)} on {self.device}: only CPU tensors can be pinned"
        raise error(RuntimeError, "pin_memory", what, "leave it out")
    return self if self.is_pinned() else pinned(self, "pin_memory")


def pinned(t: Tensor, who: str) -> Tensor:
    """Return a copy in pinned memory; a meta tensor is returned itself.  Raises RuntimeError without a GPU."""
    if t.is_meta:
        return t
    if not transfer.count():
        what = "memory is pinned for a GPU or another accelerator, and there is none"
        raise error(RuntimeError, who, what, "pin it only if torch.cuda.is_available()")
    if t.is_cuda:
        what = f"cannot pin a tensor of shape {tuple(t.shape)} on {t.device}: only CPU tensors can be pinned"
        raise error(RuntimeError, who, what, "leave out pin_memory=True, or pass device='cpu'")
    return PinMemory.apply(t)
