"""Loading data, computing parts of a graph again, timing: torch.utils's names."""
