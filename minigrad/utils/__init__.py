"""Data loading and activation checkpointing: torch.utils's names."""

from ..diagnose.missing_names import explained as _explained
from . import checkpoint, data

__getattr__ = _explained(__name__)
