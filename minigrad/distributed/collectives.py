"""Collectives: communication that all processes of a group call together, each with its own tensors.

As in PyTorch, results are written into given tensors; `distributed.nn.functional` has differentiable forms.  With
`async_op=True` a collective returns a Work at once, and the results are in their tensors after `wait()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.kinds import empty
from ..core.tensor import Tensor
from ..errors import error
from .agreement import described
from .calls import CollectiveCall, collective, report_communication
from .groups import ProcessGroup, member, rank_in
from .mpi_memory import (
    ReduceOp,
    Work,
    array_of,
    as_bytes,
    can_write_directly,
    flat_bytes,
    handle_or_wait,
    in_place,
    mpi_buffer,
    operation,
    receive_buffer,
    reduced,
    to_reduce,
    write,
)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all processes of the group make this call.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> dist.barrier()
    """
    report_communication("barrier")
    pg = member(group, "barrier")
    call = checked_call("barrier", pg, 0)
    return handle_or_wait(call, pg.comm.Ibarrier(), lambda: None, async_op)


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Reduce the tensors of all processes to their sum, mean, product, minimum or maximum, in place on each process.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.tensor([1.0, 2.0])
    >>> dist.all_reduce(x)
    >>> x
    tensor([1., 2.])
    """
    who, pg = "all_reduce", member(group, "all_reduce")
    mine = array_of(tensor, who)
    found = to_reduce(mine, op, who, can_write_directly(tensor))
    call = checked_call(who, pg, mine.nbytes, mine, op)
    request = pg.comm.Iallreduce(in_place(), mpi_buffer(found), operation(op))
    finish = lambda: write(tensor, reduced(found, op, pg.size(), mine.dtype), call)
    return handle_or_wait(call, request, finish, async_op, tensor)


def reduce(tensor: Tensor, dst: int = 0, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Reduce the tensors of all processes, and write the result into the tensor of process `dst` only.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.tensor([1.0, 2.0])
    >>> dist.reduce(x, dst=0)
    >>> x
    tensor([1., 2.])
    """
    who, pg = "reduce", member(group, "reduce")
    root, mine = rank_in(pg, dst, who, "dst"), array_of(tensor, who)
    there = pg.rank() == root
    found = to_reduce(mine, op, who, not there or can_write_directly(tensor))
    call = checked_call(who, pg, mine.nbytes, mine, op, f"dst={dst}", reads=(tensor,) * (not there))
    send, receive = (in_place(), mpi_buffer(found)) if there else (mpi_buffer(found), None)
    request = pg.comm.Ireduce(send, receive, operation(op), root)
    finish = lambda: there and write(tensor, reduced(found, op, pg.size(), mine.dtype), call)
    return handle_or_wait(call, request, finish, async_op, tensor)


def broadcast(tensor: Tensor, src: int = 0, group: Any = None, async_op: bool = False) -> Work | None:
    """Copy the tensor of process `src` into the tensors of all others, which have the same shape and dtype.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.tensor([1.0, 2.0])
    >>> dist.broadcast(x, src=0)
    >>> x
    tensor([1., 2.])
    """
    who, pg = "broadcast", member(group, "broadcast")
    root = rank_in(pg, src, who, "src")
    there = pg.rank() == root
    found = array_of(tensor, who) if there else receive_buffer(tensor, who)
    call = checked_call(who, pg, found.nbytes, found, f"src={src}", reads=(tensor,) * there)
    request = pg.comm.Ibcast(as_bytes(found), root)
    return handle_or_wait(call, request, lambda: there or write(tensor, found, call), async_op, tensor)


def all_gather(tensor_list: Sequence[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Gather the tensors of all processes, in the order of their ranks, into each process's list.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.tensor([1.0, 2.0])
    >>> found = [minigrad.empty(2) for _ in range(dist.get_world_size())]
    >>> dist.all_gather(found, x)
    >>> found
    [tensor([1., 2.])]
    """
    who, pg = "all_gather", member(group, "all_gather")
    check_list(who, "tensor_list", tensor_list, pg)
    mine = array_of(tensor, who)
    found = Parts(tensor_list, who)
    call = checked_call(who, pg, found.nbytes, *found.rooms, reads=(tensor,))
    request = pg.comm.Iallgatherv(as_bytes(mine), found.buffer)
    return handle_or_wait(call, request, lambda: found.write(call), async_op, *tensor_list)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Any:
    """Gather the tensors of all processes into one tensor, concatenated or stacked along dimension 0.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.tensor([1.0, 2.0])
    >>> found = minigrad.empty(2 * dist.get_world_size())
    >>> dist.all_gather_into_tensor(found, x)
    >>> found
    tensor([1., 2.])
    """
    who, pg = "all_gather_into_tensor", member(group, "all_gather_into_tensor")
    mine = array_of(input_tensor, who, "input_tensor")
    found = receive_buffer(output_tensor, who, "output_tensor", mine)
    check_total(who, found.size, mine.size * pg.size(), "output_tensor", pg)
    call = checked_call(who, pg, found.nbytes, mine, reads=(input_tensor,))
    request = pg.comm.Iallgather(as_bytes(mine), as_bytes(found))
    return handle_or_wait(call, request, lambda: write(output_tensor, found, call), async_op, output_tensor)


def gather(
    tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: int = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    """Gather the tensors of all processes, in the order of their ranks, into the list of process `dst`.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.tensor([1.0, 2.0])
    >>> found = [minigrad.empty(2) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
    >>> dist.gather(x, found, dst=0)
    >>> found
    [tensor([1., 2.])]
    """
    who, pg = "gather", member(group, "gather")
    root, mine = rank_in(pg, dst, who, "dst"), array_of(tensor, who)
    call = checked_call(who, pg, mine.nbytes, mine.dtype, f"dst={dst}", reads=(tensor,))
    if pg.rank() != root:
        return handle_or_wait(call, pg.comm.Igatherv(as_bytes(mine), None, root), lambda: None, async_op)
    check_list(who, "gather_list", gather_list, pg)
    found = Parts(gather_list or (), who)
    request = pg.comm.Igatherv(as_bytes(mine), found.buffer, root)
    return handle_or_wait(call, request, lambda: found.write(call), async_op, *found.tensors)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int = 0,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Copy member i of the list of process `src` into the tensor of process i.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.empty(2)
    >>> parts = [minigrad.full((2,), float(i)) for i in range(dist.get_world_size())]
    >>> dist.scatter(x, parts if dist.get_rank() == 0 else None, src=0)
    >>> x
    tensor([0., 0.])
    """
    who, pg = "scatter", member(group, "scatter")
    root, found = rank_in(pg, src, who, "src"), receive_buffer(tensor, who)
    call = checked_call(who, pg, found.nbytes, found.dtype, f"src={src}", reads=tuple(scatter_list or ()))
    if pg.rank() == root:
        check_list(who, "scatter_list", scatter_list, pg)
    sent = joined(scatter_list or (), who) if pg.rank() == root else None
    request = pg.comm.Iscatterv(sent, as_bytes(found), root)
    return handle_or_wait(call, request, lambda: write(tensor, found, call), async_op, tensor)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the lists of all processes member by member, and write member i into the tensor of process i.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.empty(2)
    >>> dist.reduce_scatter(x, [minigrad.ones(2) for _ in range(dist.get_world_size())])
    >>> x
    tensor([1., 1.])
    """
    who, pg = "reduce_scatter", member(group, "reduce_scatter")
    check_list(who, "input_list", input_list, pg)
    parts = [to_reduce(array_of(t, who), op, who, own=True).reshape(-1) for t in input_list]
    counts, mine = [p.size for p in parts], array_of(output, who, "output")
    check_total(who, mine.size, counts[pg.rank()], "output", pg)
    found = empty((counts[pg.rank()],), parts[0])
    call = checked_call(who, pg, sum(p.nbytes for p in parts), *parts, op, reads=tuple(input_list))
    request = pg.comm.Ireduce_scatter(mpi_buffer(np.concatenate(parts)), mpi_buffer(found), counts, operation(op))
    finish = lambda: write(output, reduced(found, op, pg.size(), mine.dtype), call)
    return handle_or_wait(call, request, finish, async_op, output)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce the tensors of all processes, split the result along dimension 0, and write part i to process i.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.empty(2)
    >>> dist.reduce_scatter_tensor(x, minigrad.ones(2 * dist.get_world_size()))
    >>> x
    tensor([1., 1.])
    """
    who, pg = "reduce_scatter_tensor", member(group, "reduce_scatter_tensor")
    sent = to_reduce(array_of(input, who, "input"), op, who, own=True)
    mine = receive_buffer(output, who, "output", sent)
    check_total(who, sent.size, mine.size * pg.size(), "input", pg)
    found = mine if mine.dtype == sent.dtype else empty((mine.size,), sent)
    call = checked_call(who, pg, sent.nbytes, sent, op, reads=(input,))
    request = pg.comm.Ireduce_scatter_block(mpi_buffer(sent), mpi_buffer(found), operation(op))
    finish = lambda: write(output, reduced(found, op, pg.size(), mine.dtype), call)
    return handle_or_wait(call, request, finish, async_op, output)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Copy member j of process i's input list into member i of process j's output list.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> sent = [minigrad.full((2,), float(i)) for i in range(dist.get_world_size())]
    >>> found = [minigrad.empty(2) for _ in sent]
    >>> dist.all_to_all(found, sent)
    >>> found
    [tensor([0., 0.])]
    """
    who, pg = "all_to_all", member(group, "all_to_all")
    check_list(who, "output_tensor_list", output_tensor_list, pg)
    check_list(who, "input_tensor_list", input_tensor_list, pg)
    sent, found = joined(input_tensor_list, who), Parts(output_tensor_list, who)
    call = checked_call(who, pg, found.nbytes, np.dtype(np.uint8), reads=tuple(input_tensor_list))
    request = pg.comm.Ialltoallv(sent, found.buffer)
    return handle_or_wait(call, request, lambda: found.write(call), async_op, *output_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Exchange parts of tensors as all_to_all does: the parts along dimension 0, of equal or of the given sizes.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> sent = minigrad.arange(2.0 * dist.get_world_size())
    >>> found = minigrad.empty_like(sent)
    >>> dist.all_to_all_single(found, sent)
    >>> found
    tensor([0., 1.])
    """
    who, pg = "all_to_all_single", member(group, "all_to_all_single")
    sent = array_of(input, who, "input")
    found = receive_buffer(output, who, "output", sent)
    counts = [
        split_bytes(who, name, a, sizes, pg)
        for name, a, sizes in (("input", sent, input_split_sizes), ("output", found, output_split_sizes))
    ]
    call = checked_call(who, pg, found.nbytes, sent.dtype, reads=(input,))
    request = pg.comm.Ialltoallv([as_bytes(sent), counts[0]], [as_bytes(found), counts[1]])
    return handle_or_wait(call, request, lambda: write(output, found, call), async_op, output)


# ---------------------------------------------------------------------- helpers
def checked_call(who: str, pg: ProcessGroup, nbytes: int, *same: Any, reads: tuple = ()) -> CollectiveCall:
    """Return the CollectiveCall of a collective that starts; every so often, compare the calls of all ranks first.

    `same` must be equal on all ranks.  `reads` are the tensors that are sent, unless the result overwrites them.
    """
    call = collective(who, f"{who}({described(*same)})", pg, nbytes, reads)
    pg.agreement.check(call)
    return call


def joined(tensors: Sequence[Tensor], who: str) -> list:
    """Return the bytes of tensors, one after another, and the number of each, as mpi4py sends them."""
    parts = [flat_bytes(array_of(t, who)) for t in tensors]
    return [mpi_buffer(np.concatenate(parts)), [p.size for p in parts]]


class Parts:
    """Memory that receives the bytes of several tensors, one after another; `buffer` is its form for mpi4py."""

    def __init__(self, tensors: Sequence[Tensor], who: str):
        self.tensors, self.rooms = tensors, [receive_buffer(t, who) for t in tensors]
        sizes = [room.nbytes for room in self.rooms]
        self.bytes, self.nbytes = empty((sum(sizes),), self.rooms[0], np.uint8), sum(sizes)
        self.buffer = [mpi_buffer(self.bytes), sizes]

    def write(self, call: CollectiveCall) -> None:
        """Write the received bytes into the tensors."""
        at = 0
        for t, room in zip(self.tensors, self.rooms):
            flat_bytes(room)[:] = self.bytes[at : at + room.nbytes]
            write(t, room, call)
            at += room.nbytes


def check_list(who: str, name: str, pg: Any, group: ProcessGroup) -> None:
    """Raise ValueError unless the list has a tensor for each process."""
    n = len(pg) if isinstance(pg, (list, tuple)) else None
    if n != group.size():
        got = "nothing" if pg is None else type(pg).__name__ if n is None else f"{n}"
        what = f"expected {name} to have a tensor for each of {group.size()} processes, got {got}"
        raise error(ValueError, who, what, f"write {name}=[torch.empty_like(tensor) for _ in range(world_size)]")


def check_total(who: str, there: int, wanted: int, name: str, group: ProcessGroup) -> None:
    """Raise ValueError if a tensor does not have the number of elements that the processes exchange."""
    if there != wanted:
        what = f"{name} has {there} elements, but {group.size()} processes need {wanted}"
        raise error(ValueError, who, what, f"give {name} {wanted} elements")


def split_bytes(who: str, name: str, a: Any, sizes: Sequence[int] | None, group: ProcessGroup) -> list[int]:
    """Return the number of bytes of each part of an array."""
    rows = a.shape[0] if a.ndim else 0
    row = a.nbytes // rows if rows else 0
    return [n * row for n in rows_of_parts(who, name, rows, sizes, group)]


def rows_of_parts(who: str, name: str, rows: int, sizes: Sequence[int] | None, group: ProcessGroup) -> list[int]:
    """Return the number of rows of each rank's part.  Raises RuntimeError if the sizes do not add up to all rows."""
    if sizes is None:
        if rows % group.size():
            what = f"{name} has {rows} rows, not a multiple of {group.size()} processes"
            raise error(RuntimeError, who, what, f"pass {name}_split_sizes")
        sizes = [rows // group.size()] * group.size()
    if len(sizes) != group.size() or sum(sizes) != rows:
        what = f"{name}_split_sizes={list(sizes)} do not split {rows} rows among {group.size()} processes"
        raise error(RuntimeError, who, what, f"pass {group.size()} sizes whose sum is {rows}")
    return list(sizes)
