"""Functions that generated GPU modules call: memory, launch sizes, and calls of operations."""

from ...kernels.cuda.device_array import empty, full
from ...kernels.cuda.index_errors import Outside
from ...kernels.cuda.kernel_modules import threads
from ...kernels.cuda.two_step_reductions import by_four, joined, parts, rows, shares
from .module_text import call

__all__ = ["Outside", "by_four", "call", "empty", "full", "joined", "parts", "rows", "shares", "threads"]
