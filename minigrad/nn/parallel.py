"""A module spread over several GPUs in PyTorch, and over the one device that there is here."""

from __future__ import annotations

from typing import Any

from .module import Module


class DataParallel(Module):
    """Run a module, which is its attribute `module`, on one device; names in the state_dict begin with `module.`.

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
