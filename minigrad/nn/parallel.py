"""Modules that PyTorch spreads over several GPUs of one process, on the one device that there is here.

DistributedDataParallel, of one process among many, is in minigrad/distributed, which is imported when it is first named.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..core.tensor import Tensor
from ..ops.join import cat
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


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict | None = None,
) -> Any:
    """Return `module(*inputs)`: there is one device to compute on.

    >>> import minigrad
    >>> minigrad.nn.parallel.data_parallel(minigrad.nn.Linear(2, 1), minigrad.ones(3, 2)).shape
    minigrad.Size([3, 1])
    """
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **module_kwargs or {})


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> list:
    """Return the inputs for each device: all of them for the one that there is."""
    return [inputs]


def gather(outputs: Any, target_device: Any = None, dim: int = 0) -> Any:
    """Return the outputs of all devices as one: tensors joined along `dim`, inside tuples, lists and dicts as well.

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
    """Return a module for each device: the module itself for the one that there is."""
    return [network]


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list:
    """Return what each module gives for its inputs, one after the other."""
    given = [each if isinstance(each, (tuple, list)) else (each,) for each in inputs]
    return [module(*args, **kwargs) for module, args, kwargs in zip(modules, given, kwargs_tup or [{}] * len(given))]


def __getattr__(name: str) -> Any:
    """Return DistributedDataParallel, which needs more of the library than modules do."""
    if name == "DistributedDataParallel":
        return getattr(import_module("minigrad.distributed.data_parallel"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list:
    return sorted([*globals(), "DistributedDataParallel"])
