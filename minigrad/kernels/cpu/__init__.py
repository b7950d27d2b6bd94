"""Kernels for the processor that no formula yields, or that were measured to be faster than the generated ones."""
