"""load: each rank reads what it asks for, however many ranks wrote it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ...autograd import no_grad
from ...core.tensor import Tensor
from ...errors import error
from ...optim import Optimizer
from ...serialization import load as load_file
from ..sharded_tensor import ShardedTensor, inside, overlap
from .entries import entries, has_state, replaced, states
from .folders import FileSystemReader, folder_of
from .metadata import Metadata, described, parts_of
from .ranks import group_of, together
from .state_dict import initialize


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Read into a nested state_dict what the checkpoint in the folder `checkpoint_id` has under its names.

    Tensors are written to in place, and shards of ShardedTensors; other values take the places of those in the dictionaries.
    What has a load_state_dict() itself gets its state by it.  The number of ranks may be another than save's.  All ranks of
    the group call it; without init_process_group, or with `no_dist`, one process is alone.

    Raises FileNotFoundError where the folder has no checkpoint, RuntimeError where files of it are missing or cut short and
    for names that it does not have, ValueError for other shapes and dtypes, all before anything is written to; and the errors
    of `minigrad.load` for values of classes that it refuses.

    >>> import minigrad, tempfile
    >>> import minigrad.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> _ = dcp.save({"w": minigrad.arange(3.0)}, checkpoint_id=folder)
    >>> w = minigrad.zeros(3)
    >>> dcp.load({"w": w}, checkpoint_id=folder)
    >>> w
    tensor([0., 1., 2.])
    """
    who = "distributed.checkpoint.load"
    folder = folder_of(who, checkpoint_id, storage_reader, FileSystemReader, planner)
    group = group_of(process_group, no_dist, who)

    def check() -> tuple[dict, dict, Metadata]:
        for value in state_dict.values() if isinstance(state_dict, dict) else ():
            if isinstance(value, Optimizer):
                initialize(value)  # else there is nothing to load into
        tree = states(state_dict, who)
        wanted, there = entries(tree, who), Metadata.read(folder, who)
        check_wanted(wanted, there, folder, who)
        return tree, wanted, there

    tree, wanted, there = together(group, who, check)
    together(group, who, lambda: fill(state_dict, tree, wanted, there, folder))


def check_wanted(wanted: dict[str, Any], there: Metadata, folder: Path, who: str) -> None:
    """Raise the first error that there is about what is asked for."""
    missing = [name for name in wanted if name not in there.tensors and name not in there.values]
    if missing:
        what = f"Missing key(s) in the checkpoint in {folder}: {', '.join(map(repr, missing))}"
        raise error(RuntimeError, who, what, "ask for what was saved alone: take the other names out of the state_dict")
    for name, value in wanted.items():
        asked = described(value) if isinstance(value, (Tensor, ShardedTensor)) else None
        found = there.tensors.get(name)
        if asked is None and found is None:
            continue
        if asked is None or found is None:
            kinds = ["a tensor" if t else "no tensor" for t in (found, asked)]
            what = f"{name!r} is {kinds[0]} in the checkpoint, and {kinds[1]} in the state_dict"
            raise error(ValueError, who, what, "build the state_dict as it was built for save")
        if asked.shape != found.shape:
            what = f"Size mismatch between saved {found.shape} and current {asked.shape} for {name!r}"
            raise error(ValueError, who, what, "build the model with the sizes that were saved")
        if asked.dtype != found.dtype:
            what = f"{name!r} is {found.dtype} in the checkpoint, and {asked.dtype} in the state_dict"
            raise error(ValueError, who, what, f"load it into a tensor of {found.dtype}, and convert that")


def fill(state_dict: dict, tree: dict, wanted: dict[str, Any], there: Metadata, folder: Path) -> None:
    """Read what is wanted: tensors into their memory, values into the places where they are."""

    @cache
    def content(file: str) -> dict:
        return load_file(folder / file, map_location="cpu", mmap=True)

    values = {name: content(there.values[name])[name] for name in wanted if name in there.values}
    with no_grad():
        for name, value in wanted.items():
            if name in there.tensors:
                for t, offsets in parts_of(value):
                    for part in there.tensors[name].parts:
                        common = overlap((tuple(offsets), tuple(t.shape)), part.box)
                        if common is not None:
                            stored = content(part.file)[name][part.index]
                            inside(t, offsets, common).copy_(inside(stored, part.offsets, common))
    for key, value in list(state_dict.items()):
        new = replaced(tree[key], values, f"{key}.")
        if has_state(value):
            value.load_state_dict(new)
        elif new is not value:
            state_dict[key] = new
