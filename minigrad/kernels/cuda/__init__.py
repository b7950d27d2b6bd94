"""CUDA: arrays in a GPU's memory, and the kernels that compute on them.

machine.py finds the GPU (or the simulator), allocator.py manages its memory, device_array.py is an array there, functions.py
maps NumPy's functions to code for such arrays, and kernel_modules.py compiles and launches kernels. The kernels themselves
are in the other files, one file for each kind.
"""
