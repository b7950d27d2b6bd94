"""Names of `torch` that have no effect in minigrad, or are another spelling of a tensor's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays.devices import CUDA, put_default_device
from ..arrays.dtypes import set_default_dtype
from ..core.tensor import Tensor
from ..errors import OutOfMemoryError
from ..nn import ModuleDict, ParameterDict
from .amp import GradScaler, autocast, get_autocast_dtype, is_autocast_enabled
from .as_torch import as_torch

__all__ = [
    "GradScaler",
    "ModuleDict",
    "OutOfMemoryError",
    "ParameterDict",
    "are_deterministic_algorithms_enabled",
    "as_torch",
    "autocast",
    "get_autocast_dtype",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_autocast_enabled",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_tensor_type",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]
SETTINGS: dict[str, Any] = {"deterministic": False, "warn_only": False, "precision": "highest", "warn_always": False}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Store the setting; on the processor, minigrad's results are always the same from run to run.

    >>> import minigrad
    >>> minigrad.use_deterministic_algorithms(True)
    >>> minigrad.are_deterministic_algorithms_enabled()
    True
    >>> minigrad.use_deterministic_algorithms(False)
    """
    SETTINGS.update(deterministic=mode, warn_only=warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Return the last mode passed to `use_deterministic_algorithms`."""
    return SETTINGS["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return the last `warn_only` passed to `use_deterministic_algorithms`."""
    return SETTINGS["warn_only"]


def set_float32_matmul_precision(precision: str) -> None:
    """Store the setting; float32 products always have full precision in minigrad.

    >>> import minigrad
    >>> minigrad.set_float32_matmul_precision("high"); minigrad.get_float32_matmul_precision()
    'high'
    """
    SETTINGS["precision"] = precision


def get_float32_matmul_precision() -> str:
    """Return the last precision passed to `set_float32_matmul_precision`."""
    return SETTINGS["precision"]


def set_warn_always(b: bool) -> None:
    """Store the setting; Python's own filter decides: `warnings.simplefilter("always")`."""
    SETTINGS["warn_always"] = b


def is_warn_always_enabled() -> bool:
    """Return the last value passed to `set_warn_always`."""
    return SETTINGS["warn_always"]


def set_flush_denormal(mode: bool) -> bool:
    """Return False: minigrad keeps denormal numbers."""
    return False


def set_num_interop_threads(n: int) -> None:
    """Do nothing: operations run one after the other."""


def get_num_interop_threads() -> int:
    """Return 1: operations run one after the other."""
    return 1


def set_default_tensor_type(t: Any) -> None:
    """Make a tensor type's dtype and device the default: `torch.DoubleTensor`, `"torch.cuda.FloatTensor"`.

    >>> import minigrad
    >>> minigrad.set_default_tensor_type("torch.DoubleTensor")
    >>> minigrad.ones(1).dtype
    minigrad.float64
    >>> minigrad.set_default_tensor_type(minigrad.FloatTensor)
    """
    name = t if isinstance(t, str) else repr(t)
    set_default_dtype(Tensor().type(t).dtype)
    put_default_device(CUDA if "cuda" in name else None)


def get_device_module(device: Any = None) -> Any:
    """Return the module for a device: `minigrad.cuda`."""
    from .. import cuda

    return cuda


def __getattr__(name: str) -> Callable:
    """Return the function for an in-place operation, such as `torch.relu_(x)`, which calls `x.relu_()`."""
    if name.endswith("_") and not name.startswith("_") and callable(getattr(Tensor, name, None)):
        return lambda input, *args, **kwargs: getattr(input, name)(*args, **kwargs)
    raise AttributeError(name)
