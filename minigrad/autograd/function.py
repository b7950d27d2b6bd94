"""What custom Functions need besides Function itself: once_differentiable and NestedIOFunction (PyTorch's module of this name)."""

from __future__ import annotations

from ..core.function import Function
