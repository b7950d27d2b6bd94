"""PyTorch's modules for several GPUs in one process; minigrad runs them on one device.

DistributedDataParallel (many processes) is in minigrad/distributed, which minigrad/__init__.py plugs in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .module import Module

__all__ = [
    "DataParallel",
    "DistributedDataParallel",  # noqa: F822  # pyright: ignore[reportUnsupportedDunderAll]  __getattr__ makes it
]

plugged: dict[str, Callable[[], Any]] = {}  # names that are defined further down -> imports them on first use


class DataParallel(Module):
    """A wrapper that runs its attribute `module` on one device; names in the state_dict begin with `module.`.

    >>> import minigrad
    >>> model = minigrad.nn.DataParallel(minigrad.nn.Linear(2, 1))
    >>> list(model.state_dict()), model(minigrad.ones(3, 2)).shape
    (['module.weight', 'module.bias'], minigrad.Size([3, 1]))
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        self.module, self.device_ids, self.output_device, self.dim = module, device_ids, output_device, dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def __getattr__(name: str) -> Any:
    """Return a plugged name: it needs more of the library than modules do."""
    if name in plugged:
        return plugged[name]()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list:
    return sorted([*globals(), *plugged])
