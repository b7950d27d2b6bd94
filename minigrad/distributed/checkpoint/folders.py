"""The folder of a checkpoint, and the arguments of save and load that name it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import error
from .metadata import Metadata


class FileSystemWriter:
    """A folder to write to: `save(state_dict, storage_writer=FileSystemWriter(path))`.

    >>> import minigrad, tempfile
    >>> import minigrad.distributed.checkpoint as dcp
    >>> writer = dcp.FileSystemWriter(tempfile.mkdtemp())
    >>> _ = dcp.save({"w": minigrad.ones(2)}, storage_writer=writer)
    """

    def __init__(self, path: Any, **_: Any):
        self.path = Path(path)


class FileSystemReader:
    """A folder to read from: `load(state_dict, storage_reader=FileSystemReader(path))`.

    >>> import minigrad, tempfile
    >>> import minigrad.distributed.checkpoint as dcp
    >>> folder, w = tempfile.mkdtemp(), minigrad.zeros(2)
    >>> _ = dcp.save({"w": minigrad.ones(2)}, checkpoint_id=folder)
    >>> dcp.load({"w": w}, storage_reader=dcp.FileSystemReader(folder))
    >>> w
    tensor([1., 1.])
    """

    def __init__(self, path: Any, **_: Any):
        self.path = Path(path)

    def read_metadata(self) -> Metadata:
        """Return the metadata of the checkpoint.  Raises FileNotFoundError where there is none."""
        return Metadata.read(self.path, "FileSystemReader")


def folder_of(who: str, checkpoint_id: Any, storage: Any, kind: type, planner: Any) -> Path:
    """Return the folder that the arguments name.  Raises ValueError where they name none, NotImplementedError for a planner."""
    if planner is not None:
        raise error(NotImplementedError, who, "planner is not supported", "leave planner=None")
    if storage is not None and not isinstance(storage, kind):
        what = f"expected a {kind.__name__}, got {type(storage).__name__}"
        raise error(TypeError, who, what, "pass checkpoint_id='folder' instead")
    if checkpoint_id is not None:
        return Path(checkpoint_id)
    if storage is None:
        raise error(ValueError, who, "the arguments name no folder for the checkpoint", "pass checkpoint_id='folder'")
    return storage.path
