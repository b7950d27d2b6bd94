"""What the function of a generated module for a GPU calls: memory, the sizes of launches, and calls of operations."""

from __future__ import annotations

from ..kernels.cuda.array import empty, full
from ..kernels.cuda.modules import threads
from ..kernels.cuda.outside import Outside
from ..kernels.cuda.parts import joined, parts, rows, shares
from .codegen import call

__all__ = ["Outside", "call", "empty", "full", "joined", "parts", "rows", "shares", "threads"]
