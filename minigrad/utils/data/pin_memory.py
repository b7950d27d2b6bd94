"""Pinned batches, for DataLoader(pin_memory=True)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import warn
from ...ops import transfer
from .collate import like


def can_pin() -> bool:
    """Return True if there is a GPU to pin memory for; warn if there is none."""
    if transfer.count():
        return True
    warn("no-gpu-to-pin-for", "DataLoader", "pin_memory=True has no effect: there is no GPU", "leave it out")
    return False


def pin_memory(data: Any) -> Any:
    """Return data with each tensor, and each object that has a method `pin_memory`, as a copy in pinned memory."""
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, Mapping):
        return like(data, {key: pin_memory(data[key]) for key in data})
    if isinstance(data, (str, bytes)) or not isinstance(data, Sequence):
        return data
    parts = [pin_memory(x) for x in data]
    return type(data)(parts) if isinstance(data, tuple) and not hasattr(data, "_fields") else like(data, parts)
