"""Tools for those who work on minigrad: which kernels there are for a GPU, and whether all of them compile."""
