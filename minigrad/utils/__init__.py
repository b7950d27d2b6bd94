"""Data loading and activation checkpointing: torch.utils's names."""

from ..diagnose.missing_names import explained
from . import checkpoint, data

__getattr__ = explained(__name__)
