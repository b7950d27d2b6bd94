"""save and load: any Python object with tensors in it, as a file that PyTorch reads and writes too.

A file is a zip archive (zip_archive.py) of a pickle and of the memory of its tensors.  A pickle can run any code when Python
reads it, so `load` reads it by itself (pickle_reader.py), unless it is told that the file is trusted (trusted.py).
rebuild.py has what both make of PyTorch's names, pickle_writer.py how minigrad's objects come by them.
"""

from .allowlist import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .save_load import get_unsafe_globals_in_checkpoint, load, save

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]
