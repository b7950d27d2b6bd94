"""load: each rank reads the parts of tensors that it holds, however many ranks wrote the checkpoint."""

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
from .ranks import group_of, run_on_all_ranks
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
    """Read the entries of a nested state_dict from the checkpoint in the folder `checkpoint_id`.

    Tensors, and the shards of ShardedTensors, are filled in place; other values are replaced in their dictionaries.  A value
    with a load_state_dict() method receives its state by that method.  Any number of ranks can load a checkpoint.  All ranks
    of the group call load; without init_process_group, or with `no_dist`, one process loads alone.

    Raises FileNotFoundError where the folder has no checkpoint, RuntimeError where its files are missing or cut short and
    for names that it lacks, ValueError for other shapes and dtypes.  These errors leave the state_dict unchanged.  Raises
    the errors of `minigrad.load` for values of classes that it refuses.

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
                initialize(value)  # otherwise there is no state to load into
        tree = states(state_dict, who)
        wanted, there = entries(tree, who), Metadata.read(folder, who)
        check_wanted(wanted, there, folder, who)
        return tree, wanted, there

    tree, wanted, there = run_on_all_ranks(group, who, check)
    run_on_all_ranks(group, who, lambda: fill(state_dict, tree, wanted, there, folder))


def check_wanted(wanted: dict[str, Any], there: Metadata, folder: Path, who: str) -> None:
    """Raise an error for the first entry that the checkpoint lacks or has with another kind, shape or dtype."""
    missing = [name for name in wanted if name not in there.tensors and name not in there.values]
    if missing:
        what = f"Missing key(s) in the checkpoint in {folder}: {', '.join(map(repr, missing))}"
        raise error(RuntimeError, who, what, "remove these names from the state_dict, or load another checkpoint")
    for name, value in wanted.items():
        asked = described(value) if isinstance(value, (Tensor, ShardedTensor)) else None
        found = there.tensors.get(name)
        if asked is None and found is None:
            continue
        if asked is None or found is None:
            kinds = ["a tensor" if t else "not a tensor" for t in (found, asked)]
            what = f"{name!r} is {kinds[0]} in the checkpoint and {kinds[1]} in the state_dict"
            raise error(ValueError, who, what, "build the state_dict in the same way as for save")
        if asked.shape != found.shape:
            what = f"Size mismatch between saved {found.shape} and current {asked.shape} for {name!r}"
            raise error(ValueError, who, what, "build the model with the saved sizes")
        if asked.dtype != found.dtype:
            what = f"{name!r} is {found.dtype} in the checkpoint and {asked.dtype} in the state_dict"
            raise error(ValueError, who, what, f"load it into a {found.dtype} tensor, and convert that tensor")


def fill(state_dict: dict, tree: dict, wanted: dict[str, Any], there: Metadata, folder: Path) -> None:
    """Read the wanted tensors into their memory, and the wanted values into their dictionaries."""

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
