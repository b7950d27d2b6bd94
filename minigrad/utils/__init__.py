"""Data loading, activation checkpointing and timing: torch.utils's names."""

from . import benchmark, checkpoint, data

__all__ = ["benchmark", "checkpoint", "data"]
