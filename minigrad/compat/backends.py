"""torch.backends: switches of the libraries that PyTorch uses. They can be set and read, but have no effect here.

`is_available()` returns True for CUDA if there is a GPU, and False for all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from .. import cuda as gpu


class Backend(ModuleType):
    """The switches of one library, as a module, because programs import it (`import torch.backends.cudnn as cudnn`).

    >>> import minigrad
    >>> minigrad.backends.cudnn.benchmark = True
    >>> minigrad.backends.cudnn.benchmark, minigrad.backends.mps.is_available()
    (True, False)
    """

    def __init__(self, available: Any = lambda: False, **switches: Any):
        super().__init__("backend")
        self.is_available = self.is_built = available
        vars(self).update(switches)

    def version(self) -> None:
        """Return None: the library is not part of minigrad."""

    @contextmanager
    def flags(self, **switches: Any) -> Iterator[None]:
        """Set switches within the block."""
        before = dict(vars(self))
        vars(self).update(switches)
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)


cudnn = Backend(
    enabled=True, benchmark=False, deterministic=False, allow_tf32=True, benchmark_limit=10, fp32_precision="none"
)
cuda = Backend(
    gpu.is_available,
    matmul=Backend(allow_tf32=False, allow_fp16_reduced_precision_reduction=True, fp32_precision="none"),
    flash_sdp_enabled=lambda: False,
    mem_efficient_sdp_enabled=lambda: False,
    math_sdp_enabled=lambda: True,
    enable_flash_sdp=lambda enabled: None,
    enable_mem_efficient_sdp=lambda enabled: None,
    enable_math_sdp=lambda enabled: None,
)
mps, mkl, mkldnn, openmp, xnnpack, nnpack, opt_einsum = (Backend(enabled=False) for _ in range(7))
