"""Python objects for a whole group or for one other rank: they are pickled and sent as bytes.

Unpickling can run any code, so the ranks trust each other: they all run the same program.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import error
from .collectives import check_list, checked_call
from .groups import ProcessGroup, member, rank_in
from .waiting import wait_for


def broadcast_object_list(object_list: list, src: int = 0, group: Any = None, device: Any = None) -> None:
    """Copy the members of rank `src`'s list into the lists of all other ranks, which have the same length.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> objects = [{"epoch": 3}] if dist.get_rank() == 0 else [None]
    >>> dist.broadcast_object_list(objects, src=0)
    >>> objects
    [{'epoch': 3}]
    """
    who, pg = "broadcast_object_list", member(group, "broadcast_object_list")
    root = rank_in(pg, src, who, "src")
    content = pickled(list(object_list) if pg.rank() == root else None)
    size = np.array([content.size])

    def bytes_follow() -> Any:
        nonlocal content
        if pg.rank() != root:
            content = np.empty(size[0], np.uint8)
        return pg.comm.Ibcast(content, root)

    run_steps(who, pg, (len(object_list), f"src={src}"), lambda: pg.comm.Ibcast(size, root), bytes_follow)
    if pg.rank() != root:
        object_list[:] = unpickled(content)


def all_gather_object(object_list: list, obj: Any, group: Any = None) -> None:
    """Put the objects of all ranks, in the order of ranks, into the list of each rank.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> found = [None] * dist.get_world_size()
    >>> dist.all_gather_object(found, {"rank": dist.get_rank()})
    >>> found
    [{'rank': 0}]
    """
    who, pg = "all_gather_object", member(group, "all_gather_object")
    check_list(who, "object_list", object_list, pg)
    mine, sizes, found = pickled(obj), np.empty(pg.size(), np.int64), Room()
    run_steps(
        who,
        pg,
        (),
        lambda: pg.comm.Iallgather(np.array([mine.size]), sizes),
        lambda: pg.comm.Iallgatherv(mine, found.of(sizes)),
    )
    object_list[:] = found.objects()


def gather_object(obj: Any, object_gather_list: list | None = None, dst: int = 0, group: Any = None) -> None:
    """Put the objects of all ranks, in the order of ranks, into the list of rank `dst`.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> found = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    >>> dist.gather_object("done", found, dst=0)
    >>> found
    ['done']
    """
    who, pg = "gather_object", member(group, "gather_object")
    root = rank_in(pg, dst, who, "dst")
    here = pg.rank() == root
    if here and object_gather_list is None:
        what = f"process {dst} passes no list"
        raise error(ValueError, who, what, "pass object_gather_list=[None] * world_size")
    mine, sizes, found = pickled(obj), np.empty(pg.size(), np.int64), Room()
    run_steps(
        who,
        pg,
        (f"dst={dst}",),
        lambda: pg.comm.Igather(np.array([mine.size]), sizes if here else None, root),
        lambda: pg.comm.Igatherv(mine, found.of(sizes) if here else None, root),
    )
    if here and object_gather_list is not None:
        object_gather_list[:] = found.objects()


def scatter_object_list(
    output: list, scatter_object_input_list: list | None = None, src: int = 0, group: Any = None
) -> None:
    """Put member i of rank `src`'s list into the first place of rank i's `output`.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> mine = [None]
    >>> dist.scatter_object_list(mine, list(range(dist.get_world_size())), src=0)
    >>> mine
    [0]
    """
    who, pg = "scatter_object_list", member(group, "scatter_object_list")
    root = rank_in(pg, src, who, "src")
    size, content, sent = np.empty(1, np.int64), np.empty(0, np.uint8), None
    sizes = None
    if pg.rank() == root:
        check_list(who, "scatter_object_input_list", scatter_object_input_list, pg)
        parts = [pickled(obj) for obj in scatter_object_input_list or ()]
        sizes = np.array([p.size for p in parts])
        sent = [np.concatenate(parts), sizes.tolist()]

    def bytes_follow() -> Any:
        nonlocal content
        content = np.empty(size[0], np.uint8)
        return pg.comm.Iscatterv(sent, content, root)

    run_steps(who, pg, (f"src={src}",), lambda: pg.comm.Iscatter(sizes, size, root), bytes_follow)
    output[0] = unpickled(content)


# ---------------------------------------------------------------------- helpers
def pickled(obj: Any) -> np.ndarray:
    """Return an object as bytes."""
    return np.frombuffer(bytearray(pickle.dumps(obj)), np.uint8)


def unpickled(content: np.ndarray) -> Any:
    """Return the object that was pickled as these bytes."""
    return pickle.loads(content.data)


class Room:
    """Memory for the bytes of all ranks' objects, one after another."""

    def of(self, sizes: np.ndarray) -> list:
        """Allocate memory for objects of these sizes, and return it in the form that MPI takes."""
        self.sizes, self.bytes = sizes.tolist(), np.empty(sizes.sum(), np.uint8)
        return [self.bytes, self.sizes]

    def objects(self) -> list:
        """Return the objects that were received."""
        return [unpickled(part) for part in np.split(self.bytes, np.cumsum(self.sizes)[:-1])]


def run_steps(who: str, pg: ProcessGroup, same: tuple, *begin: Callable[[], Any]) -> None:
    """Run the steps of one call, each when the previous one is done: the sizes travel before the bytes."""
    call = checked_call(who, pg, 0, *same)
    for step in begin:
        wait_for(call, [step()])
    call.ended()
