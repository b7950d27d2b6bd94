"""Where a program's time and memory go, operation by operation: torch.profiler's names."""
