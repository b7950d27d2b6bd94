"""PyTorch's modules for several GPUs in one process; minigrad runs them on one device.

DistributedDataParallel (many processes) is in minigrad/distributed, which minigrad/__init__.py plugs in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..ops.join import cat
from .module import Module

__all__ = [
    "DataParallel",
    "DistributedDataParallel",  # noqa: F822  # pyright: ignore[reportUnsupportedDunderAll]  __getattr__ makes it
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
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


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict | None = None,
) -> Any:
    """Return `module(*inputs)`; minigrad uses one device.

    >>> import minigrad
    >>> minigrad.nn.parallel.data_parallel(minigrad.nn.Linear(2, 1), minigrad.ones(3, 2)).shape
    minigrad.Size([3, 1])
    """
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **module_kwargs or {})


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> list:
    """Return the inputs for each device: one entry with all of them."""
    return [inputs]


def gather(outputs: Any, target_device: Any = None, dim: int = 0) -> Any:
    """Join the outputs of all devices along `dim`, inside tuples, lists and dicts as well.

    >>> import minigrad
    >>> minigrad.nn.parallel.gather([minigrad.ones(1, 2), minigrad.zeros(2, 2)]).shape
    minigrad.Size([3, 2])
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        return cat(list(outputs), dim)
    if isinstance(first, dict):
        return type(first)((k, gather([out[k] for out in outputs], target_device, dim)) for k in first)
    joined = [gather(parts, target_device, dim) for parts in zip(*outputs)]
    return type(first)(*joined) if hasattr(first, "_fields") else type(first)(joined)


def replicate(network: Module, devices: Any, detach: bool = False) -> list[Module]:
    """Return a module per device: one entry, the module itself."""
    return [network]


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list:
    """Return the output of each module for its inputs, computed one after the other."""
    given = [each if isinstance(each, (tuple, list)) else (each,) for each in inputs]
    return [module(*args, **kwargs) for module, args, kwargs in zip(modules, given, kwargs_tup or [{}] * len(given))]


def __getattr__(name: str) -> Any:
    """Return a plugged name: it needs more of the library than modules do."""
    if name in plugged:
        return plugged[name]()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list:
    return sorted([*globals(), *plugged])
