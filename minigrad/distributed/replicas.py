"""Makes the copies of a model on all ranks equal: checks their parameters, and broadcasts tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..autograd.grad_mode import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..ops.compare import equal
from ..ops.join import cat
from .buckets import Numbered, nbytes
from .calls import labelled
from .collectives import broadcast
from .groups import ProcessGroup
from .mpi_memory import Work
from .objects import all_gather_object

TOGETHER = 250 << 20  # bytes of one broadcast at most


def check_alike(parameters: Sequence[Numbered], group: ProcessGroup, who: str) -> None:
    """Raise RuntimeError on every rank unless all have parameters of the same names, shapes and dtypes, in the same order."""
    mine = [(p.name, tuple(p.tensor.shape), str(p.tensor.dtype)) for p in parameters]
    found: list[Any] = [None] * group.size()
    with labelled("parameters' names, shapes and dtypes"):
        all_gather_object(found, mine, group)
    for rank, theirs in enumerate(found):
        if theirs != found[0]:
            raise error(RuntimeError, who, difference(found[0], theirs, rank), "build the same model on all ranks")


def difference(first: list, other: list, rank: int) -> str:
    """Describe the first parameter that differs between a rank and rank 0."""
    for i, (a, b) in enumerate(zip(first, other)):
        if a != b:
            return f"parameter {i} is {described(a)} on rank 0 and {described(b)} on rank {rank}"
    longer, r = (first, 0) if len(first) > len(other) else (other, rank)
    extra = described(longer[min(len(first), len(other))])
    return f"rank 0 has {len(first)} parameters and rank {rank} has {len(other)}: rank {r} alone has {extra}"


def described(parameter: tuple) -> str:
    """Describe a parameter in words."""
    name, shape, dtype = parameter
    return f"{name} of shape {shape} and dtype {dtype.rpartition('.')[2]}"


def broadcast_all(tensors: Iterable[Tensor], src: int, group: ProcessGroup, label: str) -> None:
    """Broadcast the tensors of a group's rank `src`, all tensors of one dtype and device together."""
    for piece in begin_broadcast(tensors, src, group, label):
        piece.finish()


def begin_broadcast(tensors: Iterable[Tensor], src: int, group: ProcessGroup, label: str) -> list[Piece]:
    """Start `broadcast_all`; call `finish` on each of the returned pieces."""
    found = []
    with no_grad(), labelled(label):
        for members in pieces(tensors):
            flat = cat([t.detach().reshape(-1) for t in members])
            work: Any = broadcast(flat, group.ranks[src], group, async_op=True)
            found.append(Piece(members, flat, work, group.rank() == src))
    return found


class Piece(NamedTuple):
    """Tensors that travel in one broadcast."""

    members: list[Tensor]
    flat: Tensor
    work: Work
    sent: bool  # by this rank

    def finish(self) -> None:
        """Wait for the values, and write them into the tensors.

        Tensors that have these values already stay untouched, so that operations may have saved them for backward.
        """
        self.work.wait()
        if not self.sent:
            with no_grad():
                for t, part in zip(self.members, self.flat.split([t.numel() for t in self.members])):
                    if not equal(t.detach(), part := part.view(t.shape)):
                        t.detach().copy_(part)


def pieces(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
    """Divide tensors into lists that can travel together: of one dtype and device, and of TOGETHER bytes at most."""
    found: list[list[Tensor]] = []
    filling: dict[Any, list[Tensor]] = {}  # by dtype and device
    size: dict[Any, int] = {}
    for t in tensors:
        kind, n = (t.dtype, t.device), nbytes(t)
        if kind not in filling or size[kind] + n > TOGETHER:
            filling[kind], size[kind] = [], 0
            found.append(filling[kind])
        filling[kind].append(t)
        size[kind] += n
    return found
