"""What metadata.json says of a checkpoint: its tensors, in which file each of their parts is, and how long the files are."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from ...core.tensor import Tensor
from ...errors import error
from ...files import written
from ..sharded_tensor import Box, Shard, ShardedTensor

METADATA = "metadata.json"
VERSION = 1


@dataclass
class Stored:
    """Where a box of a tensor is: it is the one with this index among those of its name in a file."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    file: str = ""
    index: int = 0

    def __post_init__(self) -> None:
        self.offsets, self.sizes = tuple(self.offsets), tuple(self.sizes)

    @property
    def box(self) -> Box:
        """The box, as a pair."""
        return self.offsets, self.sizes

    def __str__(self) -> str:
        return f"{self.sizes} at {self.offsets}"


@dataclass
class TensorMetadata:
    """A tensor of a checkpoint: its dtype ("float32"), its shape, and its parts.

    >>> import minigrad, tempfile
    >>> import minigrad.distributed.checkpoint as dcp
    >>> found = dcp.save({"w": minigrad.ones(2, 3)}, checkpoint_id=tempfile.mkdtemp())
    >>> print(found.tensors["w"])
    float32 (2, 3)
    """

    dtype: str
    shape: tuple[int, ...]
    parts: list[Stored]

    def __post_init__(self) -> None:
        self.shape = tuple(self.shape)
        self.parts = [Stored(**p) if isinstance(p, dict) else p for p in self.parts]

    def __str__(self) -> str:
        return f"{self.dtype} {self.shape}"


@dataclass
class Metadata:
    """A checkpoint: how many ranks wrote it, tensors by name, the file of each value, and the bytes of each file.

    >>> import minigrad, tempfile
    >>> import minigrad.distributed.checkpoint as dcp
    >>> found = dcp.save({"w": minigrad.ones(2), "epoch": 3}, checkpoint_id=tempfile.mkdtemp())
    >>> found.ranks, list(found.tensors), list(found.values)
    (1, ['w'], ['epoch'])
    """

    ranks: int = 1
    tensors: dict[str, TensorMetadata] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Make it the folder's checkpoint."""
        sync(folder)  # the files that it names are there first
        with written(folder / METADATA) as file:
            file.write(json.dumps({"version": VERSION, **vars(self)}, default=vars).encode())
        sync(folder)

    @classmethod
    def read(cls, folder: Path, who: str) -> Metadata:
        """Return what a folder says.  Raises FileNotFoundError where it has none, RuntimeError where files are missing."""
        try:
            said = json.loads((folder / METADATA).read_bytes())
            version, tensors = said.pop("version"), said.pop("tensors")
            found = cls(tensors={name: TensorMetadata(**t) for name, t in tensors.items()}, **said)
        except FileNotFoundError:
            raise nothing_there(folder, who) from None
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            what = f"{folder / METADATA} cannot be followed ({type(e).__name__}: {e})"
            raise error(RuntimeError, who, what, "load another checkpoint") from None
        if version != VERSION:
            what = f"{folder / METADATA} is of version {version}, and this one reads version {VERSION}"
            raise error(RuntimeError, who, what, "install the minigrad that wrote it")
        for name, nbytes in found.files.items():
            there = os.path.getsize(folder / name) if (folder / name).exists() else None
            if there != nbytes:
                got = "is missing" if there is None else f"has {there} bytes instead of {nbytes}"
                what = f"the checkpoint in {folder} is incomplete: {name} {got}"
                raise error(RuntimeError, who, what, "copy the whole folder, or load another checkpoint")
        return found


def nothing_there(folder: Path, who: str) -> Exception:
    """Return the error for a folder without a checkpoint."""
    if not folder.is_dir():
        what = f"there is no folder {folder}"
        return error(FileNotFoundError, who, what, "pass the checkpoint_id that save was called with")
    held = "was begun, and has not come to its end" if [*folder.glob("*.tensors*")] else "is none"
    what = f"there is no checkpoint in {folder}: the folder has no {METADATA}, so what is there {held}"
    return error(FileNotFoundError, who, what, "load another checkpoint")


def sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can open folders."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def parts_of(value: Tensor | ShardedTensor) -> list[Shard]:
    """Return what this rank holds of a tensor."""
    return value.local_shards() if isinstance(value, ShardedTensor) else [Shard(value.detach(), (0,) * value.ndim)]


def described(value: Tensor | ShardedTensor) -> TensorMetadata:
    """Return what a tensor is, and the boxes of it that this rank holds."""
    boxes = [Stored(offsets, tuple(t.shape)) for t, offsets in parts_of(value)]
    return TensorMetadata(str(value.dtype).rpartition(".")[2], tuple(value.shape), boxes)
