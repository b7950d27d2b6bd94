"""Process groups: the group of all ranks, which are the processes that mpiexec starts, and groups of some of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec
from itertools import count
from typing import Any

from ..config import install
from ..errors import error
from ..utils.data import distributed as sampler
from .agreement import Agreement
from .failures import ends
from .waiting import StatusListener

FIX = "call torch.distributed.init_process_group('mpi') first"
INSTALL = f"install it: {install('mpi')}, and start the program with: minigrad run -n 4 train.py"
BACKENDS = {"mpi", "gloo", "nccl"}  # that programs name; all mean MPI

default_pg_timeout = timedelta(minutes=30)  # PyTorch's


class ProcessGroup:
    """A group of processes: `rank()` is the number of this process in the group, `size()` the number of processes.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> dist.group.WORLD.rank(), dist.group.WORLD.size()
    (0, 1)
    """

    made = count()

    def __init__(self, comm: Any, ranks: Sequence[int], timeout: float, listener: StatusListener):
        self.comm, self.aside, self.listener = comm, comm.Dup(), listener
        self.ranks, self.timeout = list(ranks), timeout
        self.key = (next(ProcessGroup.made), *self.ranks)  # the same on all its ranks
        self.calls, self.agreement = 0, Agreement()

    def __repr__(self) -> str:
        return f"<ProcessGroup of ranks {', '.join(map(str, self.ranks))}>"

    def rank(self) -> int:
        """Return this process's number in the group."""
        return self.comm.rank

    def size(self) -> int:
        """Return the number of processes in the group."""
        return self.comm.size

    def __deepcopy__(self, memo: dict) -> ProcessGroup:
        """Return the group itself: the copy of a module communicates with the same processes."""
        return self

    def free(self) -> None:
        """Free the communicators."""
        self.comm.Free()
        self.aside.Free()


class GroupMember:
    """Holds the group of all processes, and the object that stands for a group without this process.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> pair = dist.new_group([0])
    >>> pair is dist.GroupMember.NON_GROUP_MEMBER  # True on the other ranks
    False
    """

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = object()


group = GroupMember  # PyTorch has both names


# ---------------------------------------------------------------------- what is available
def is_available() -> bool:
    """Return True if distributed computing is available: if mpi4py is installed.

    >>> import minigrad
    >>> minigrad.distributed.is_available() == minigrad.distributed.is_mpi_available()
    True
    """
    return find_spec("mpi4py") is not None


is_mpi_available = is_available


def is_gloo_available() -> bool:
    """Return False: minigrad communicates through MPI.

    >>> import minigrad
    >>> minigrad.distributed.is_gloo_available()
    False
    """
    return False


is_nccl_available = is_gloo_available


def is_initialized() -> bool:
    """Return True after init_process_group.

    >>> import minigrad
    >>> minigrad.distributed.is_initialized()
    False
    """
    return group.WORLD is not None


# ---------------------------------------------------------------------- start and end
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
    """Join the processes that mpiexec started; a process started without mpiexec is a group of one.

    MPI numbers the ranks.  The backends "gloo" and "nccl", which PyTorch programs name, mean MPI as well.  A rank that waits
    for others longer than `timeout` (a timedelta or seconds; 30 minutes by default) raises an error.  Raises RuntimeError if
    mpi4py is not installed; ValueError if `world_size` or `rank` differ from MPI's, and for a second call.

    >>> import minigrad, minigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    who = "init_process_group"
    if is_initialized():
        raise error(ValueError, who, "trying to initialize the default process group twice", "call it once")
    if not BACKENDS.issuperset((backend or "mpi").replace("cpu:", "").replace("cuda:", "").split(",")):
        raise error(ValueError, who, f"there is no backend {backend!r}", "write init_process_group('mpi')")
    if not is_available():
        raise error(RuntimeError, who, "mpi4py is not installed", INSTALL)
    ends.handle_death_signal()
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    if world_size not in (-1, world.size) or rank not in (-1, world.rank):
        what = f"this is process {world.rank} of {world.size}, not {rank} of {world_size}: MPI numbers the processes"
        raise error(ValueError, who, what, f"start it with: minigrad run -n {max(world_size, 1)} train.py")
    limit = seconds(timeout, who, default_pg_timeout.total_seconds())
    listener = StatusListener(world.Dup())
    GroupMember.WORLD = ProcessGroup(world.Dup(), range(world.size), limit, listener)
    sampler.group = world.rank, world.size
    ends.begin(GroupMember.WORLD)


def seconds(timeout: Any, who: str, default: float) -> float:
    """Return a timeout in seconds.  Raises ValueError if it is not a positive time."""
    if timeout is None:
        return default
    found = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if not isinstance(found, (int, float)) or isinstance(found, bool) or not found > 0:
        what = f"expected timeout to be a time, got {timeout!r}"
        raise error(ValueError, who, what, "write timeout=timedelta(minutes=5)")
    return float(found)


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leave a group, or all groups if none is given.  All ranks of the group must call it.

    >>> import minigrad, minigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> pair = dist.new_group([0])
    >>> dist.destroy_process_group(pair)
    >>> dist.destroy_process_group()
    """
    if group is not None and group is not GroupMember.WORLD:
        member(group, "destroy_process_group").free()
        return
    world().free()
    ends.stop()
    GroupMember.WORLD = sampler.group = None


def new_group(ranks: Sequence[int] | None = None, timeout: Any = None, backend: str | None = None, **_: Any) -> Any:
    """Return a group of the given ranks; every process calls it, and the others get GroupMember.NON_GROUP_MEMBER.

    Raises ValueError for ranks that do not exist or are repeated.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> first = dist.new_group([0])
    >>> if dist.get_rank() == 0:
    ...     dist.all_reduce(minigrad.ones(2), group=first)
    """
    whole = world()
    chosen = sorted(whole.ranks if ranks is None else ranks)
    if len(set(chosen)) < len(chosen) or any(not 0 <= r < whole.size() for r in chosen):
        what = f"expected distinct ranks from 0 to {whole.size() - 1}, got ranks={list(ranks or ())}"
        raise error(ValueError, "new_group", what, "pass some of range(torch.distributed.get_world_size())")
    comm = whole.comm.Create(whole.comm.group.Incl(chosen))
    if whole.rank() not in chosen:
        next(ProcessGroup.made)
        return GroupMember.NON_GROUP_MEMBER
    return ProcessGroup(comm, chosen, seconds(timeout, "new_group", whole.timeout), whole.listener)


# ---------------------------------------------------------------------- ranks
def world() -> ProcessGroup:
    """Return the group of all processes.  Raises ValueError before init_process_group."""
    if group.WORLD is None:
        raise error(ValueError, "torch.distributed", "the default process group has not been initialized", FIX)
    return group.WORLD


def member(given: Any, who: str) -> ProcessGroup:
    """Return the given group, by default the group of all ranks.

    Raises ValueError if this process is not in it, RuntimeError if the group was destroyed.
    """
    if given is None:
        return world()
    if not isinstance(given, ProcessGroup):
        what = f"process {world().rank()} is not in the group"
        raise error(ValueError, who, what, "call it on the ranks of the group alone: if rank in ranks: ...")
    if not given.comm or GroupMember.WORLD is None:
        what = f"the group of ranks {given.ranks} was destroyed"
        raise error(RuntimeError, who, what, "call destroy_process_group() after the last backward and collective")
    return given


def rank_in(pg: ProcessGroup, rank: int, who: str, name: str) -> int:
    """Return the rank in a group of the process with the given global rank.  Raises ValueError if it is not in the group."""
    if rank not in pg.ranks:
        what = f"{name}={rank} is not in the group of ranks {pg.ranks}"
        raise error(ValueError, who, what, f"write {name}={pg.ranks[0]}")
    return pg.ranks.index(rank)


def get_rank(group: Any = None) -> int:
    """Return the rank of this process in a group, from 0; -1 if it is not in the group.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> dist.get_rank()
    0
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else member(group, "get_rank").rank()


def get_world_size(group: Any = None) -> int:
    """Return the number of processes in a group; -1 if this process is not in it.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> dist.get_world_size()
    1
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else member(group, "get_world_size").size()


def get_backend(group: Any = None) -> str:
    """Return "mpi".

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> dist.get_backend()
    'mpi'
    """
    member(group, "get_backend")
    return "mpi"


def get_process_group_ranks(group: Any = None) -> list[int]:
    """Return the global ranks of a group's processes.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> dist.get_process_group_ranks()
    [0]
    """
    return list(member(group, "get_process_group_ranks").ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Return the rank in a group of the process with the given global rank.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> dist.get_group_rank(dist.group.WORLD, 0)
    0
    """
    return rank_in(group, global_rank, "get_group_rank", "global_rank")


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Return the global rank of the process with the given rank in a group.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    """
    if not 0 <= group_rank < group.size():
        what = f"expected a rank from 0 to {group.size() - 1}, got group_rank={group_rank}"
        raise error(ValueError, "get_global_rank", what, "write group_rank=0")
    return group.ranks[group_rank]
