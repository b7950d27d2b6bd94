"""Checkpoints of many processes, under the names of torch.distributed.checkpoint: `save(state_dict, checkpoint_id="folder")`.

Each rank writes files with the tensors that it holds.  When all files are on the disk, rank 0 replaces metadata.json, which
names them; so the folder holds a whole checkpoint even if a process is killed.  metadata.py is the content of that file,
saving.py and loading.py are the two functions, entries.py names the entries of nested dictionaries, and state_dict.py
returns the states of models and optimizers in a form that any number of ranks can load.
"""

from . import state_dict
from .entries import Stateful
from .folders import FileSystemReader, FileSystemWriter
from .loading import load
from .metadata import Metadata, TensorMetadata
from .saving import save

__all__ = [
    "FileSystemReader",
    "FileSystemWriter",
    "Metadata",
    "Stateful",
    "TensorMetadata",
    "load",
    "save",
    "state_dict",
]
