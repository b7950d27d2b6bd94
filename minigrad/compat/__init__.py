"""Programs written for PyTorch, run as they stand: `import torch` gives minigrad while `as_torch()` holds.

as_torch.py puts minigrad in the place of PyTorch, torch_modules.py says which module stands for which, and
diagnose/missing_names.py what is not there.  The other files are modules of PyTorch's that have little to do here, such as
`jit` and `backends`.
"""
