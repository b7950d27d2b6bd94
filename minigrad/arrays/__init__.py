"""Arrays without tensors: their kinds and dtypes, their layout in memory, and how NumPy reports errors."""
