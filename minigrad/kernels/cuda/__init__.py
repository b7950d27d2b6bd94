"""Kernels for a GPU, and a simulator that runs them without one."""
