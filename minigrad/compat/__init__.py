"""Programs written for PyTorch, run unchanged: `import torch` gives minigrad while `as_torch()` holds.

as_torch.py replaces PyTorch by minigrad, torch_modules.py maps PyTorch's modules to minigrad's, and
diagnose/missing_names.py reports missing ones. placeholders.py is a table of the modules that have little to do here, such as
`jit` and `backends`; amp.py computes in half precision; port.py lists the names that a program misses.
"""
