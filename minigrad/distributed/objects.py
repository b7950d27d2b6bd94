"""Python objects for a whole group: mpi4py pickles them and sends the bytes.

Unpickling can run any code, so the ranks trust each other: they all run the same program.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

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
    sent = pickle.dumps(list(object_list)) if pg.rank() == root else None
    content = together(who, pg, (len(object_list), f"src={src}"), lambda: pg.comm.bcast(sent, root))
    if pg.rank() != root:
        object_list[:] = pickle.loads(content)


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
    sent = pickle.dumps(obj)
    object_list[:] = map(pickle.loads, together(who, pg, (), lambda: pg.comm.allgather(sent)))


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
    if pg.rank() == root and object_gather_list is None:
        what = f"process {dst} passes no list"
        raise error(ValueError, who, what, "pass object_gather_list=[None] * world_size")
    sent = pickle.dumps(obj)
    found = together(who, pg, (f"dst={dst}",), lambda: pg.comm.gather(sent, root))
    if found is not None and object_gather_list is not None:
        object_gather_list[:] = map(pickle.loads, found)


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
    root, sent = rank_in(pg, src, who, "src"), None
    if pg.rank() == root:
        check_list(who, "scatter_object_input_list", scatter_object_input_list, pg)
        sent = [pickle.dumps(obj) for obj in scatter_object_input_list or ()]
    output[0] = pickle.loads(together(who, pg, (f"src={src}",), lambda: pg.comm.scatter(sent, root)))


def together(who: str, pg: ProcessGroup, same: tuple, exchange: Callable[[], Any]) -> Any:
    """Return the result of an exchange that blocks; it begins when all ranks have made this call, so it ends soon.

    The senders have pickled their objects before: an object that cannot be pickled is an error that no rank waits for.
    """
    call = checked_call(who, pg, 0, *same)
    wait_for(call, [pg.comm.Ibarrier()])
    found = exchange()
    call.ended()
    return found
