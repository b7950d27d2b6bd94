"""Who takes part: the processes that mpiexec has started, and groups of them.

An exception that nobody catches ends all processes, with the traceback of the one that raised it: the others would wait for
ever.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from ..errors import error

FIX = "call torch.distributed.init_process_group('mpi') first"
INSTALL = "install it: pip install 'minigrad-viz[mpi]', and start the program with: mpiexec -n 4 minigrad run train.py"


class ProcessGroup:
    """Some of the processes: `rank()` is this one's number among them, `size()` how many there are."""

    def __init__(self, comm: Any, ranks: Sequence[int]):
        self.comm, self.ranks = comm, list(ranks)

    def rank(self) -> int:
        """Return this process's number in the group."""
        return self.comm.rank

    def size(self) -> int:
        """Return how many processes there are in the group."""
        return self.comm.size


class GroupMember:
    """What stands for the group of all processes, and for a group that this process is not in."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = object()


class group(GroupMember):
    """`group.WORLD`: the group of all processes; None before init_process_group."""


# ---------------------------------------------------------------------- what there is
def is_available() -> bool:
    """Return whether processes can compute together here: whether mpi4py is installed.

    >>> import minigrad
    >>> minigrad.distributed.is_available() == minigrad.distributed.is_mpi_available()
    True
    """
    return find_spec("mpi4py") is not None


def is_mpi_available() -> bool:
    """Return whether mpi4py is installed."""
    return is_available()


def is_gloo_available() -> bool:
    """Return False: MPI moves the numbers."""
    return False


def is_nccl_available() -> bool:
    """Return False: MPI moves the numbers."""
    return False


def is_torchelastic_launched() -> bool:
    """Return False: mpiexec starts the processes."""
    return False


def is_initialized() -> bool:
    """Return whether init_process_group was called.

    >>> import minigrad
    >>> minigrad.distributed.is_initialized()
    False
    """
    return group.WORLD is not None


# ---------------------------------------------------------------------- the beginning and the end
def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Join the processes that mpiexec has started; one that was started without it is alone.

    Ranks are MPI's.  "gloo" and "nccl", which programs for PyTorch name, are MPI here as well.  Raises RuntimeError without
    mpi4py, ValueError for another number of processes than there are and for a second call.
    """
    who = "init_process_group"
    if is_initialized():
        raise error(ValueError, who, "trying to initialize the default process group twice", "call it once")
    if backend is not None and not set(backend.replace("cpu:", "").replace("cuda:", "").split(",")) <= {
        "mpi",
        "gloo",
        "nccl",
    }:
        raise error(ValueError, who, f"there is no backend {backend!r}", "write init_process_group('mpi')")
    if not is_available():
        raise error(RuntimeError, who, "mpi4py is not installed", INSTALL)
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    if world_size not in (-1, world.size) or rank not in (-1, world.rank):
        what = f"this is process {world.rank} of {world.size}, not {rank} of {world_size}: MPI numbers the processes"
        raise error(ValueError, who, what, f"start it with: mpiexec -n {max(world_size, 1)} minigrad run train.py")
    GroupMember.WORLD = group.WORLD = ProcessGroup(world.Dup(), range(world.size))
    if sys.excepthook is not end_all:
        end_all.before, sys.excepthook = sys.excepthook, end_all


class EndAll:
    """End all processes after an exception that nobody catches, once it is printed."""

    before: Any = sys.__excepthook__

    def __call__(self, kind: type[BaseException], e: BaseException, tb: TracebackType | None) -> None:
        self.before(kind, e, tb)
        if is_initialized() and get_world_size() > 1:
            print(f"rank {get_rank()} of {get_world_size()} has failed, so all end", file=sys.stderr, flush=True)
            world().comm.Abort(1)


end_all = EndAll()


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leave a group, or all of them where none is given."""
    from . import groups

    if group is None or group is groups.group.WORLD:
        world().comm.Free()
        GroupMember.WORLD = groups.group.WORLD = None
    else:
        member(group, "destroy_process_group").comm.Free()


def new_group(ranks: Sequence[int] | None = None, timeout: Any = None, backend: str | None = None, **_: Any) -> Any:
    """Return the group of these processes; every process calls it, and the others get GroupMember.NON_GROUP_MEMBER.

    Raises ValueError for numbers that no process has, and for repeated ones.
    """
    whole = world()
    chosen = sorted(whole.ranks if ranks is None else ranks)
    if len(set(chosen)) < len(chosen) or any(not 0 <= r < whole.size() for r in chosen):
        what = f"expected different numbers from 0 to {whole.size() - 1}, got ranks={list(ranks or ())}"
        raise error(ValueError, "new_group", what, "pass some of range(torch.distributed.get_world_size())")
    comm = whole.comm.Create(whole.comm.group.Incl(chosen))
    return ProcessGroup(comm, chosen) if whole.rank() in chosen else GroupMember.NON_GROUP_MEMBER


# ---------------------------------------------------------------------- who is who
def world() -> ProcessGroup:
    """Return the group of all processes.  Raises ValueError before init_process_group."""
    if group.WORLD is None:
        raise error(ValueError, "torch.distributed", "the default process group has not been initialized", FIX)
    return group.WORLD


def member(given: Any, who: str) -> ProcessGroup:
    """Return the group that is meant.  Raises ValueError where this process is not in it."""
    if given is None:
        return world()
    if not isinstance(given, ProcessGroup):
        what = f"process {world().rank()} is not in the group"
        raise error(ValueError, who, what, "call it on the ranks of the group alone: if rank in ranks: ...")
    return given


def rank_in(given: ProcessGroup, rank: int, who: str, name: str) -> int:
    """Return the number in a group of the process with a number among all.  Raises ValueError where it is not in it."""
    if rank not in given.ranks:
        what = f"{name}={rank} is no process of the group, which are {given.ranks}"
        raise error(ValueError, who, what, f"write {name}={given.ranks[0]}")
    return given.ranks.index(rank)


def get_rank(group: Any = None) -> int:
    """Return this process's number, from 0; -1 where it is not in the group."""
    return -1 if group is GroupMember.NON_GROUP_MEMBER else member(group, "get_rank").rank()


def get_world_size(group: Any = None) -> int:
    """Return the number of processes; -1 where this one is not in the group."""
    return -1 if group is GroupMember.NON_GROUP_MEMBER else member(group, "get_world_size").size()


def get_backend(group: Any = None) -> str:
    """Return "mpi"."""
    member(group, "get_backend")
    return "mpi"


def get_process_group_ranks(group: Any = None) -> list[int]:
    """Return the numbers among all of a group's processes."""
    return list(member(group, "get_process_group_ranks").ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the number in a group of the process with a number among all."""
    return rank_in(group, global_rank, "get_group_rank", "global_rank")


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the number among all of the process with a number in a group."""
    if not 0 <= group_rank < group.size():
        what = f"expected a number from 0 to {group.size() - 1}, got group_rank={group_rank}"
        raise error(ValueError, "get_global_rank", what, "write group_rank=0")
    return group.ranks[group_rank]
