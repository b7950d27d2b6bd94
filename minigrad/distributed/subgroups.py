"""Divides the ranks into subgroups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import error
from .groups import GroupMember, new_group, world


def new_subgroups(
    group_size: int | None = None, group: Any = None, timeout: Any = None, backend: str | None = None, **_: Any
) -> tuple[Any, list]:
    """Divide all ranks into groups of `group_size` consecutive ranks; return this rank's group, and all groups.

    `group_size` is the number of ranks on this computer by default.  Groups without this rank are
    GroupMember.NON_GROUP_MEMBER.  Raises ValueError if `group_size` does not divide the number of ranks.

    >>> import minigrad, minigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> mine, every_one = dist.new_subgroups(1)
    >>> mine.ranks, len(every_one)
    ([0], 1)
    >>> dist.destroy_process_group()
    """
    who, whole = "new_subgroups", world()
    if group is not None and group is not whole:
        raise error(ValueError, who, "only the group of all ranks can be divided", "use new_subgroups_by_enumeration")
    hosts = [host for host, _ in whole.ear.processes]
    n = hosts.count(hosts[whole.rank()]) if group_size is None else group_size
    if not 0 < n <= whole.size() or whole.size() % n:
        what = f"{whole.size()} processes cannot be divided into groups of {n}"
        raise error(ValueError, who, what, "pass a group_size that divides torch.distributed.get_world_size()")
    return new_subgroups_by_enumeration([range(i, i + n) for i in range(0, whole.size(), n)], timeout, backend)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: Any = None, backend: str | None = None, **_: Any
) -> tuple[Any, list]:
    """Make a group of each list of ranks; return this rank's group, or None, and all groups.

    All ranks must call it.  Raises ValueError if a rank is in two lists.

    >>> import minigrad, minigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> mine, every_one = dist.new_subgroups_by_enumeration([[0]])
    >>> mine.ranks
    [0]
    >>> dist.destroy_process_group()
    """
    listed = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if repeated := sorted({r for r in listed if listed.count(r) > 1}):
        what = f"rank {repeated[0]} is in more than one group"
        raise error(ValueError, "new_subgroups_by_enumeration", what, "let each rank be in one group")
    groups = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    return next((g for g in groups if g is not GroupMember.NON_GROUP_MEMBER), None), groups
