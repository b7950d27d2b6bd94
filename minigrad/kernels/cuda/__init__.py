"""CUDA: arrays in a GPU's memory, and the kernels that compute on them.

machine.py finds the GPU (or the simulator), allocator.py hands out its memory, device_array.py is an array there,
functions.py has what NumPy's functions do with such arrays, and kernel_modules.py compiles and launches kernels.  The
kernels themselves stand in the other files, one file for each kind.
"""
