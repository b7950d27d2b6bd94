"""Enter this folder's functions into the table of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.registry import op


def functional(*samples: str, **options: Any) -> Callable:
    """Enter a function that PyTorch has in nn.functional under the same name, and that is no method."""
    return lambda f: op(*samples, torch=f"nn.functional.{f.__name__}", method=False, **options)(f)
