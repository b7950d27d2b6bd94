"""Loading data, computing parts of a graph again, timing: torch.utils's names."""

from . import benchmark, checkpoint, data

__all__ = ["benchmark", "checkpoint", "data"]
