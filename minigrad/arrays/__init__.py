"""Facts about arrays, no tensors: their kinds and dtypes, where they lie in memory, how NumPy reports errors."""
