"""Loading data, computing parts of a graph again, timing: torch.utils's names."""

from . import data

__all__ = ["data"]
