"""Kernels for the processor that no formula gives, or that were measured to be faster than what it gives."""
