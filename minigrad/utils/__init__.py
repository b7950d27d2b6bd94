"""Loading data, computing parts of a graph again, timing: torch.utils's names."""

from . import checkpoint, data

__all__ = ["checkpoint", "data"]
