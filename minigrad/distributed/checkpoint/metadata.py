"""The content of metadata.json: the tensors of a checkpoint, the file of each of their parts, and the sizes of the files."""

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
    """A box of a tensor, and its place: `file` holds a list of boxes under the tensor's name, and this one has this index."""

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
    """A checkpoint: the number of ranks that wrote it, its tensors by name, the file of each value, the bytes of each file.

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
        """Make this the checkpoint of a folder."""
        sync(folder)  # first the files that it names
        with written(folder / METADATA) as file:
            file.write(json.dumps({"version": VERSION, **vars(self)}, default=vars).encode())
        sync(folder)

    @classmethod
    def read(cls, folder: Path, who: str) -> Metadata:
        """Return a folder's metadata.  Raises FileNotFoundError where it has none, RuntimeError where files are missing."""
        try:
            content = json.loads((folder / METADATA).read_bytes())
            if (version := content.pop("version")) != VERSION:
                what = f"{folder / METADATA} has version {version}, and this minigrad reads version {VERSION}"
                raise error(RuntimeError, who, what, "install the version of minigrad that wrote it")
            tensors = content.pop("tensors")
            found = cls(tensors={name: TensorMetadata(**t) for name, t in tensors.items()}, **content)
        except FileNotFoundError:
            raise missing_checkpoint(folder, who) from None
        except (ValueError, TypeError, KeyError, AttributeError) as e:
            what = f"{folder / METADATA} cannot be read ({type(e).__name__}: {e})"
            raise error(RuntimeError, who, what, "load another checkpoint") from None
        for name, nbytes in found.files.items():
            there = os.path.getsize(folder / name) if (folder / name).exists() else None
            if there != nbytes:
                got = "is missing" if there is None else f"has {there} bytes instead of {nbytes}"
                what = f"the checkpoint in {folder} is incomplete: {name} {got}"
                raise error(RuntimeError, who, what, "copy the whole folder, or load another checkpoint")
        return found


def missing_checkpoint(folder: Path, who: str) -> Exception:
    """Return the error for a folder without a checkpoint."""
    if not folder.is_dir():
        what = f"there is no folder {folder}"
        return error(FileNotFoundError, who, what, "pass the checkpoint_id that you passed to save")
    unfinished = ", only files of a save that did not finish" if [*folder.glob("*.tensors*")] else ""
    what = f"there is no checkpoint in {folder}: the folder has no {METADATA}{unfinished}"
    return error(FileNotFoundError, who, what, "load another checkpoint")


def sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk; do nothing on systems that cannot open folders."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def parts_of(value: Tensor | ShardedTensor) -> list[Shard]:
    """Return the shards of a tensor that this rank holds."""
    return value.local_shards() if isinstance(value, ShardedTensor) else [Shard(value.detach(), (0,) * value.ndim)]


def described(value: Tensor | ShardedTensor) -> TensorMetadata:
    """Return the dtype and shape of a tensor, and the boxes that this rank holds."""
    boxes = [Stored(offsets, tuple(t.shape)) for t, offsets in parts_of(value)]
    return TensorMetadata(str(value.dtype).rpartition(".")[2], tuple(value.shape), boxes)
