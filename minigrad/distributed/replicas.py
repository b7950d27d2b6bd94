"""Makes the copies of a model on all ranks equal: checks their parameters, and broadcasts tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.tensor import Tensor
from ..errors import error
from ..ops.compare import equal
from ..ops.join import cat
from .buckets import NumberedParameter
from .calls import labelled
from .collectives import broadcast
from .groups import ProcessGroup
from .objects import all_gather_object


def check_alike(parameters: Sequence[NumberedParameter], group: ProcessGroup, who: str) -> None:
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


def broadcast_all(tensors: Iterable[Tensor], group: ProcessGroup, label: str) -> None:
    """Broadcast the tensors of a group's rank 0, all tensors of one dtype and device together.

    Tensors that have these values already stay untouched, so that operations may have saved them for backward.
    """
    alike: dict[Any, list[Tensor]] = {}
    for t in tensors:
        alike.setdefault((t.dtype, t.device), []).append(t)
    with no_grad(), labelled(label):
        for members in alike.values():
            flat = cat([t.detach().reshape(-1) for t in members])
            broadcast(flat, group.ranks[0], group)
            if group.rank() > 0:
                for t, part in zip(members, flat.split([t.numel() for t in members])):
                    if not equal(t.detach(), part := part.view(t.shape)):
                        t.detach().copy_(part)
