"""The same model on all ranks: whether it is, and how it becomes so."""

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

TOGETHER = 250 << 20  # bytes that are broadcast in one piece


def check_alike(parameters: Sequence[Numbered], group: ProcessGroup, who: str) -> None:
    """Raise RuntimeError, on every rank, unless all have parameters of the same names, shapes and dtypes in one order."""
    mine = [(p.name, tuple(p.tensor.shape), str(p.tensor.dtype)) for p in parameters]
    found: list[Any] = [None] * group.size()
    with labelled("whether all ranks have the same parameters"):
        all_gather_object(found, mine, group)
    for rank, theirs in enumerate(found):
        if theirs != found[0]:
            raise error(RuntimeError, who, difference(found[0], theirs, rank), "build the same model on all ranks")


def difference(first: list, other: list, rank: int) -> str:
    """Return in words the first parameter that is another on a rank than on rank 0."""
    for i, (a, b) in enumerate(zip(first, other)):
        if a != b:
            return f"parameter {i} is {described(a)} on rank 0 and {described(b)} on rank {rank}"
    longer, r = (first, 0) if len(first) > len(other) else (other, rank)
    extra = described(longer[min(len(first), len(other))])
    return f"rank 0 has {len(first)} parameters and rank {rank} has {len(other)}: rank {r} alone has {extra}"


def described(parameter: tuple) -> str:
    """Return a parameter in words."""
    name, shape, dtype = parameter
    return f"{name} of shape {shape} and dtype {dtype.rpartition('.')[2]}"


def broadcast_all(tensors: Iterable[Tensor], src: int, group: ProcessGroup, label: str) -> None:
    """Write the tensors of a group's rank `src` into those of the others, in as few pieces as they have dtypes and devices."""
    for piece in begin_broadcast(tensors, src, group, label):
        piece.finish()


def begin_broadcast(tensors: Iterable[Tensor], src: int, group: ProcessGroup, label: str) -> list[Piece]:
    """Begin what `broadcast_all` does; the pieces are to be finished."""
    found = []
    with no_grad(), labelled(label):
        for members in pieces(tensors):
            flat = cat([t.detach().reshape(-1) for t in members])
            work: Any = broadcast(flat, group.ranks[src], group, async_op=True)
            found.append(Piece(members, flat, work, group.rank() == src))
    return found


class Piece(NamedTuple):
    """Tensors that are broadcast together."""

    members: list[Tensor]
    flat: Tensor
    work: Work
    sent: bool  # by this rank

    def finish(self) -> None:
        """Wait for the numbers, and write them into the tensors.

        A tensor that has them already is not written to, so that what has saved it for backward does not mind.
        """
        self.work.wait()
        if not self.sent:
            with no_grad():
                for t, part in zip(self.members, self.flat.split([t.numel() for t in self.members])):
                    if not equal(t.detach(), part := part.view(t.shape)):
                        t.detach().copy_(part)


def pieces(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
    """Return tensors in lists that can travel as one: of one dtype and device, and not too many bytes."""
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
