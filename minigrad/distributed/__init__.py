"""Distributed computing with torch.distributed's names, on MPI: `minigrad run -n 4 train.py`.

groups.py has the process groups, collectives.py the collectives, point_to_point.py the messages between two ranks, and
objects.py both for Python objects; mpi_memory.py passes tensors to MPI.  nn has collectives with derivatives, and
data_parallel.py averages gradients while backward runs.  launch.py starts processes from a program or a notebook.
Everything can be imported without MPI; `is_available()` returns True if mpi4py is installed.
"""

from ..diagnose.boundary import guard as _guard
from . import nn
from .buckets import GradBucket
from .collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from .groups import (
    GroupMember,
    ProcessGroup,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    new_group,
)
from .launch import Ranks, run
from .mpi_memory import ReduceOp, Work
from .objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    scatter_object_list,
)
from .point_to_point import (
    irecv,
    isend,
    recv,
    send,
)

_guard(__name__)
