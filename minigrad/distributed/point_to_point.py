"""Point-to-point communication: one process sends a tensor, another receives it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ..core.tensor import Tensor
from ..errors import error
from .agreement import described
from .calls import message
from .groups import member, rank_in
from .mpi_memory import Work, array_of, as_bytes, handle_or_wait, receive_buffer, write


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to process `dst`, and wait until its memory may be written again.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> if dist.get_rank() == 1:
    ...     dist.send(minigrad.ones(2), dst=0)
    """
    isend(tensor, dst, group, tag, group_dst).wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Wait for a tensor from process `src`, or from any process, and write it into `tensor`; return the sender's rank.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.empty(2)
    >>> if dist.get_rank() == 0 and dist.get_world_size() > 1:
    ...     print(dist.recv(x, src=1))
    """
    work = received(tensor, src, member(group, "recv"), tag, group_src, "recv")
    work.wait()
    return work.call.peer


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work:
    """Start to send a tensor to process `dst`; return a handle.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> if dist.get_rank() == 1:
    ...     work = dist.isend(minigrad.ones(2), dst=0)
    ...     work.wait()
    """
    pg, sent = member(group, "isend"), array_of(tensor, "send")
    to = rank_in(pg, dst, "send", "dst") if group_dst is None and dst is not None else group_dst
    if to is None or to == pg.rank():
        what = f"rank {pg.rank()} cannot send to itself" if to is not None else "the destination is missing"
        raise error(ValueError, "send", what, "write send(tensor, dst=1)")
    call = message("send", f"send({described(sent)}, dst={pg.ranks[to]})", pg, sent.nbytes, pg.ranks[to], tag)
    call.reads = (tensor,)
    # the handle keeps the memory alive until it is sent
    return Work(call, [pg.comm.Isend(as_bytes(sent), to, tag)], lambda: sent)


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work:
    """Start to receive a tensor from process `src`, or from any process, into `tensor`; return a handle.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> x = minigrad.empty(2)
    >>> if dist.get_rank() == 0 and dist.get_world_size() > 1:
    ...     work = dist.irecv(x, src=1)
    ...     work.wait()
    """
    return received(tensor, src, member(group, "irecv"), tag, group_src, "irecv")


def received(tensor: Tensor, src: int | None, pg: Any, tag: int, group_src: int | None, who: str) -> Any:
    """Start to receive a tensor; when it arrives, the call's `peer` is the sender."""
    from mpi4py import MPI

    found, begin, status = receive_buffer(tensor, who), group_src, MPI.Status()
    if begin is None:
        begin = MPI.ANY_SOURCE if src is None else rank_in(pg, src, "recv", "src")
    peer = pg.ranks[begin] if begin >= 0 else None
    words = f"recv({described(found)}, src={'any rank' if peer is None else peer})"
    call = message("recv", words, pg, found.nbytes, peer, tag)

    def finish() -> None:
        call.peer = pg.ranks[status.Get_source()]
        write(tensor, found, call)

    request = pg.comm.Irecv(as_bytes(found), begin, tag)
    return handle_or_wait(call, SimpleNamespace(Test=lambda: request.Test(status)), finish, True, tensor)
