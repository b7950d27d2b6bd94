"""save: each rank writes its part of a checkpoint, and rank 0 joins the parts.

If several ranks hold a tensor, one of them writes it; the plan gives each rank about the same number of elements.  Each save
chooses new file names.  When all files are on the disk, rank 0 replaces metadata.json, which lists the files of the
checkpoint.  If a process is killed before that, the folder keeps the earlier checkpoint, and the next save removes the
files that belong to none.
"""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

from ...core.tensor import Tensor
from ...errors import error
from ...serialization import save as save_file
from ..groups import ProcessGroup
from ..sharded_tensor import Box, ShardedTensor, overlap
from .entries import entries, states
from .folders import FileSystemWriter, folder_of
from .metadata import Metadata, Stored, TensorMetadata, described, parts_of
from .ranks import gathered, group_of, run_on_all_ranks

OURS = re.compile(r"[0-9a-f]{16}-\d+\.(tensors|values)(\.\d+-\d+)?|metadata\.json\.\d+-\d+")  # and unfinished files
Described = dict[str, TensorMetadata | None]  # a rank's entries: None for values other than tensors


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write the nested state_dicts of all ranks into the folder `checkpoint_id`, and replace the checkpoint in it.

    All ranks of the group call save; without init_process_group, or with `no_dist`, one process saves alone.  A Tensor is
    equal on all ranks that have its name, and one of them writes it; of a ShardedTensor each rank holds some shards.  Other
    values are written as by `minigrad.save`.  A value with a state_dict() method is saved by that method.  If a process is
    killed at any moment, the folder holds either the earlier checkpoint or this one.

    Raises TypeError and ValueError for keys that cannot be names, ValueError where the ranks have different shapes or dtypes
    under one name, or shards that overlap or leave a gap, and RuntimeError on all ranks where one fails to write.

    >>> import minigrad, tempfile
    >>> import minigrad.distributed.checkpoint as dcp
    >>> folder = tempfile.mkdtemp()
    >>> _ = dcp.save({"model": minigrad.nn.Linear(2, 1).state_dict(), "epoch": 3}, checkpoint_id=folder)
    >>> state = {"model": minigrad.nn.Linear(2, 1).state_dict(), "epoch": 0}
    >>> dcp.load(state, checkpoint_id=folder)
    >>> state["epoch"]
    3
    """
    who = "distributed.checkpoint.save"
    folder = folder_of(who, checkpoint_id, storage_writer, FileSystemWriter, planner)
    group = group_of(process_group, no_dist, who)
    rank = 0 if group is None else group.rank()
    mine, token = run_on_all_ranks(group, who, lambda: begin(state_dict, folder, rank, who))
    descriptions = gathered(group, {k: described(v) if is_tensor(v) else None for k, v in mine.items()})
    token = gathered(group, token)[0]
    plan = planned(descriptions, token, who, group)
    try:
        sizes = run_on_all_ranks(group, who, lambda: write(mine, plan, folder, token, rank))
    except Exception:
        remove(folder, lambda name: name.startswith(f"{token}-{rank}."))
        raise
    for found in gathered(group, sizes):
        plan.files |= found
    run_on_all_ranks(group, who, lambda: rank == 0 and commit(plan, folder))
    return plan


def begin(state_dict: Any, folder: Path, rank: int, who: str) -> tuple[dict[str, Any], str]:
    """Return this rank's entries and a token for the file names, of which rank 0's is used; rank 0 makes the folder."""
    if rank == 0:
        folder.mkdir(parents=True, exist_ok=True)
    return entries(states(state_dict, who), who), secrets.token_hex(8)


def is_tensor(value: Any) -> bool:
    """Return True if a value is a tensor, whole or sharded."""
    return isinstance(value, (Tensor, ShardedTensor))


# ---------------------------------------------------------------------- the plan: which rank writes which part
def planned(descriptions: list[Described], token: str, who: str, group: ProcessGroup | None) -> Metadata:
    """Return the plan of the checkpoint: of the ranks that hold a part, the one with the fewest elements so far writes it."""
    plan, loads = Metadata(len(descriptions)), [0] * len(descriptions)
    for rank, mine in enumerate(descriptions):
        for name, found in mine.items():
            check_same(name, rank, found, descriptions, who, group)
            if found is not None:
                plan.tensors.setdefault(name, TensorMetadata(found.dtype, found.shape, []))
    for (name, box), ranks in sorted(holders(descriptions).items(), key=lambda item: -elements(item[0][1])):
        writer = min(ranks, key=loads.__getitem__)
        loads[writer] += elements(box)
        if box is None:
            plan.values[name] = file_of(token, writer, "values")
            continue
        file, parts = file_of(token, writer, "tensors"), plan.tensors[name].parts
        parts.append(Stored(*box, file, index=sum([p.file == file for p in parts])))
    for name, found in plan.tensors.items():
        check_covered(name, found, who)
    return plan


def holders(descriptions: list[Described]) -> dict[tuple[str, Box | None], list[int]]:
    """Return the ranks that hold each box of each tensor; a value other than a tensor has the box None."""
    found: dict[tuple[str, Box | None], list[int]] = {}
    for rank, mine in enumerate(descriptions):
        for name, tensor in mine.items():
            for box in [None] if tensor is None else [p.box for p in tensor.parts]:
                found.setdefault((name, box), []).append(rank)
    return found


def elements(box: Box | None) -> int:
    """Return the number of elements in a box."""
    return 0 if box is None else prod(box[1])


def check_covered(name: str, found: TensorMetadata, who: str) -> None:
    """Raise ValueError unless the parts of a tensor hold each of its elements once."""
    fix = "let the shards hold each element once"
    for a, b in combinations(found.parts, 2):
        if overlap(a.box, b.box) is not None:
            what = f"the ranks' shards of {name!r} overlap: {a} and {b}"
            raise error(ValueError, who, what, fix)
    if sum([elements(part.box) for part in found.parts]) != prod(found.shape):
        boxes = ", ".join(map(str, found.parts)) or "nothing"
        what = f"the ranks' shards of {name!r} leave a gap in its shape, {found.shape}: {boxes}"
        raise error(ValueError, who, what, fix)


def check_same(
    name: str,
    rank: int,
    found: TensorMetadata | None,
    descriptions: list[Described],
    who: str,
    group: ProcessGroup | None,
) -> None:
    """Raise ValueError where an entry differs from the one on an earlier rank."""
    first = next(r for r, d in enumerate(descriptions) if name in d)
    other = descriptions[first][name]
    if (found and (found.dtype, found.shape)) != (other and (other.dtype, other.shape)):
        ranks = range(len(descriptions)) if group is None else group.ranks
        both = [f"{f or 'not a tensor'} on rank {ranks[r]}" for r, f in ((first, other), (rank, found))]
        what = f"{name!r} is {' and '.join(both)}"
        raise error(ValueError, who, what, "use a different name on each rank, or pass a ShardedTensor")


def file_of(token: str, rank: int, kind: str) -> str:
    """Return the name of the file that a rank writes."""
    return f"{token}-{rank}.{kind}"


# ---------------------------------------------------------------------- files
def write(mine: dict[str, Any], plan: Metadata, folder: Path, token: str, rank: int) -> dict[str, int]:
    """Write this rank's part of the plan; return the number of bytes of each file."""
    tensors, values = file_of(token, rank, "tensors"), file_of(token, rank, "values")
    content: dict[str, dict] = {tensors: {}, values: {k: mine[k] for k, file in plan.values.items() if file == values}}
    for name, found in plan.tensors.items():
        wanted = [p.box for p in found.parts if p.file == tensors]
        if wanted:
            held = {(tuple(offsets), tuple(t.shape)): t for t, offsets in parts_of(mine[name])}
            content[tensors][name] = [compact(held[box]) for box in wanted]
    for file, held in content.items():
        if held:
            save_file(held, folder / file)
    return {file: (folder / file).stat().st_size for file, held in content.items() if held}


def compact(t: Tensor) -> Tensor:
    """Return a tensor, or a copy of a view: a file holds all the memory of its tensors, not only the elements of a view."""
    return t if t.is_contiguous() and t.untyped_storage().nbytes() == t.nbytes else t.clone()


def commit(plan: Metadata, folder: Path) -> None:
    """Make the planned files the folder's checkpoint, and remove the files of the earlier one."""
    plan.write(folder)
    remove(folder, lambda name: OURS.fullmatch(name) and name not in plan.files)


def remove(folder: Path, chosen: Any) -> None:
    """Remove some files of a folder."""
    for file in [*folder.iterdir()] if folder.is_dir() else []:
        if chosen(file.name):
            with suppress(OSError):
                file.unlink()
