"""Any objects of Python's for a whole group, or for one other process: they are pickled, and travel as bytes.

What receives them unpickles, and so runs, what the other ranks have sent: these are of the same program.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.tensor import wrap
from ..errors import error
from .collectives import agreed, check_list
from .groups import ProcessGroup, member, rank_in
from .point_to_point import recv, send
from .waiting import wait_for


def broadcast_object_list(object_list: list, src: int = 0, group: Any = None, device: Any = None) -> None:
    """Put the members of process `src`'s list into the lists of all others, which are as long.

    >>> import minigrad, minigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> said = [{"epoch": 3}] if dist.get_rank() == 0 else [None]
    >>> dist.broadcast_object_list(said, src=0)
    >>> said
    [{'epoch': 3}]
    >>> dist.destroy_process_group()
    """
    who, given = "broadcast_object_list", member(group, "broadcast_object_list")
    root = rank_in(given, src, who, "src")
    content = pickled(list(object_list) if given.rank() == root else None)
    size = np.array([content.size])

    def bytes_follow() -> Any:
        nonlocal content
        if given.rank() != root:
            content = np.empty(size[0], np.uint8)
        return given.comm.Ibcast(content, root)

    in_turn(who, given, (len(object_list), f"src={src}"), lambda: given.comm.Ibcast(size, root), bytes_follow)
    if given.rank() != root:
        object_list[:] = unpickled(content)


def all_gather_object(object_list: list, obj: Any, group: Any = None) -> None:
    """Put the objects of all processes, by their numbers, into the list that each of them gives.

    >>> import minigrad, minigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> found = [None] * dist.get_world_size()
    >>> dist.all_gather_object(found, {"rank": dist.get_rank()})
    >>> found
    [{'rank': 0}]
    >>> dist.destroy_process_group()
    """
    who, given = "all_gather_object", member(group, "all_gather_object")
    check_list(who, "object_list", object_list, given)
    mine, sizes, found = pickled(obj), np.empty(given.size(), np.int64), Room()
    in_turn(
        who,
        given,
        (),
        lambda: given.comm.Iallgather(np.array([mine.size]), sizes),
        lambda: given.comm.Iallgatherv(mine, found.of(sizes)),
    )
    object_list[:] = found.objects()


def gather_object(obj: Any, object_gather_list: list | None = None, dst: int = 0, group: Any = None) -> None:
    """Put the objects of all processes, by their numbers, into the list that process `dst` gives.

    >>> import minigrad, minigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> found = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    >>> dist.gather_object("done", found, dst=0)
    >>> found
    ['done']
    >>> dist.destroy_process_group()
    """
    who, given = "gather_object", member(group, "gather_object")
    root = rank_in(given, dst, who, "dst")
    here = given.rank() == root
    if here and object_gather_list is None:
        what = f"process {dst} gives no list"
        raise error(ValueError, who, what, "pass object_gather_list=[None] * world_size")
    mine, sizes, found = pickled(obj), np.empty(given.size(), np.int64), Room()
    in_turn(
        who,
        given,
        (f"dst={dst}",),
        lambda: given.comm.Igather(np.array([mine.size]), sizes if here else None, root),
        lambda: given.comm.Igatherv(mine, found.of(sizes) if here else None, root),
    )
    if here and object_gather_list is not None:
        object_gather_list[:] = found.objects()


def scatter_object_list(
    output: list, scatter_object_input_list: list | None = None, src: int = 0, group: Any = None
) -> None:
    """Put member i of process `src`'s list into the first place of process i's `output`.

    >>> import minigrad, minigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> mine = [None]
    >>> dist.scatter_object_list(mine, list(range(dist.get_world_size())), src=0)
    >>> mine
    [0]
    >>> dist.destroy_process_group()
    """
    who, given = "scatter_object_list", member(group, "scatter_object_list")
    root = rank_in(given, src, who, "src")
    size, content, sent = np.empty(1, np.int64), np.empty(0, np.uint8), None
    sizes = None
    if given.rank() == root:
        check_list(who, "scatter_object_input_list", scatter_object_input_list, given)
        parts = [pickled(obj) for obj in scatter_object_input_list or ()]
        sizes = np.array([p.size for p in parts])
        sent = [np.concatenate(parts), sizes.tolist()]

    def bytes_follow() -> Any:
        nonlocal content
        content = np.empty(size[0], np.uint8)
        return given.comm.Iscatterv(sent, content, root)

    in_turn(who, given, (f"src={src}",), lambda: given.comm.Iscatter(sizes, size, root), bytes_follow)
    output[0] = unpickled(content)


def send_object_list(
    object_list: list, dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None
) -> None:
    """Send the members of a list to process `dst`, which calls recv_object_list with a list as long.

    >>> import minigrad, minigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> if dist.get_rank() == 1:
    ...     dist.send_object_list(["done"], dst=0)
    >>> dist.destroy_process_group()
    """
    content = pickled(list(object_list))
    for sent in (np.array([len(object_list), content.size]), content):
        send(wrap(sent), dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list, src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> int:
    """Put what process `src`, or any, sends by send_object_list into the list; return who has sent it.

    Raises ValueError where the lists differ in length.

    >>> import minigrad, minigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> said = [None]
    >>> if dist.get_rank() == 0 and dist.get_world_size() > 1:
    ...     print(dist.recv_object_list(said, src=1))
    >>> dist.destroy_process_group()
    """
    head = wrap(np.zeros(2, np.int64))
    sender = recv(head, src, group, group_src=group_src)
    length, nbytes = head.tolist()
    content = wrap(np.empty(nbytes, np.uint8))
    recv(content, sender, group)
    if length != len(object_list):
        what = f"process {sender} sends {length} objects, and the list has room for {len(object_list)}"
        raise error(ValueError, "recv_object_list", what, f"pass [None] * {length}")
    object_list[:] = unpickled(content.numpy())
    return sender


# ---------------------------------------------------------------------- helpers
def pickled(obj: Any) -> np.ndarray:
    """Return the bytes of an object."""
    return np.frombuffer(bytearray(pickle.dumps(obj)), np.uint8)


def unpickled(content: np.ndarray) -> Any:
    """Return the object of bytes."""
    return pickle.loads(content.data)


class Room:
    """Memory for the bytes of all ranks' objects, behind each other."""

    def of(self, sizes: np.ndarray) -> list:
        """Return memory for so many bytes of each rank, as MPI takes it."""
        self.sizes, self.bytes = sizes.tolist(), np.empty(sizes.sum(), np.uint8)
        return [self.bytes, self.sizes]

    def objects(self) -> list:
        """Return the objects."""
        return [unpickled(part) for part in np.split(self.bytes, np.cumsum(self.sizes)[:-1])]


def in_turn(who: str, given: ProcessGroup, same: tuple, *begin: Callable[[], Any]) -> None:
    """Make one call of several steps, each of which begins when the one before is done: sizes come before bytes."""
    call = agreed(who, given, 0, *same)
    for step in begin:
        wait_for(call, [step()])
    call.ended()
