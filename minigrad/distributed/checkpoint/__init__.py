"""Checkpoints of many processes, under torch.distributed.checkpoint's names: `save(state_dict, checkpoint_id="folder")`.

Each rank writes its own files of what it holds, and metadata.json, which names them, is put in its place when all are there:
a folder has the last checkpoint that is whole, whenever a process was killed.  metadata.py is what that file says,
saving.py and loading.py are the two functions, entries.py goes through nested dictionaries, and state_dict.py gets states of
models and optimizers in a form that another number of ranks can load.
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
