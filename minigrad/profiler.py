"""torch.profiler's names; autograd/profiler.py has the profiler."""

from .autograd.profiler import ProfilerActivity, profile, record_function

__all__ = ["ProfilerActivity", "profile", "record_function"]
