"""save and load: any Python object with tensors in it, as a file that PyTorch reads and writes too.

A file is a zip archive (zip_archive.py) of a pickle and the memory of its tensors. Python's own reader can run any code in a
pickle, so `load` uses a separate reader (pickle_reader.py), unless the caller trusts the file (trusted.py). rebuild.py maps
PyTorch's names for both readers; pickle_writer.py gives minigrad's objects these names.
"""

from ..diagnose.boundary import guard as _guard
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

_guard(__name__)
