"""torch.profiler's names; autograd/profiler.py has the profiler."""

from .autograd.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)
from .diagnose.boundary import guard as _guard

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "tensorboard_trace_handler"]
_guard(__name__)
