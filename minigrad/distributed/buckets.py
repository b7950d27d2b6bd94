"""Buckets: gradients that share a flat tensor, and are reduced by one collective.

One large collective is faster than many small ones, but it can only start when its last gradient is complete.  So each bucket
holds a few megabytes, beginning with the last parameters, whose gradients backward computes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.saved import memory
from ..core.tensor import Tensor
from ..ops.create import empty
from ..places import Place
from .mpi_memory import can_write_directly

MIB = 1 << 20
NAMES = 4  # the most parameters that a label names


class NumberedParameter(NamedTuple):
    """A parameter with its name in the module, and its number among the parameters that require grad."""

    number: int
    name: str
    tensor: Tensor


def divided(parameters: Sequence[NumberedParameter], caps: Sequence[int]) -> list[list[NumberedParameter]]:
    """Divide parameters into buckets of one dtype and device each; the last parameters are in the first bucket.

    The first bucket of a dtype is full at `caps[0]` bytes, the next at `caps[1]`, and so on; the last cap holds for all
    further buckets.  Buckets are sorted by the parameter that completes them: if gradients come in the reverse order of the
    parameters, buckets fill up in the order of their numbers.

    >>> import minigrad
    >>> from minigrad.distributed.buckets import NumberedParameter, divided
    >>> weights = [minigrad.zeros(n) for n in (100, 200, 50, 60)]  # 400, 800, 200 and 240 bytes
    >>> numbered = [NumberedParameter(i, f"w{i}", t) for i, t in enumerate(weights)]
    >>> [[p.name for p in bucket] for bucket in divided(numbered, [240, 1000])]
    [['w3'], ['w2', 'w1'], ['w0']]
    """
    full: list[list[NumberedParameter]] = []
    filling: dict[Any, list[NumberedParameter]] = {}  # by dtype and device
    size, number = Counter(), Counter()
    for p in reversed(parameters):
        kind = (p.tensor.dtype, p.tensor.device)
        filling.setdefault(kind, []).append(p)
        size[kind] += p.tensor.nbytes
        if size[kind] >= caps[min(number[kind], len(caps) - 1)]:
            full.append(filling.pop(kind))
            size[kind] = 0
            number[kind] += 1
    return sorted([*full, *filling.values()], key=lambda bucket: -bucket[-1].number)


class Bucket:
    """Parameters, and the flat tensor `buffer` that holds their gradients; `views` are its parts in the parameters' shapes."""

    def __init__(self, number: int, members: list[NumberedParameter]):
        like = members[0].tensor
        self.number, self.members, self.missing = number, members, len(members)
        self.buffer = empty(sum(p.tensor.numel() for p in members), dtype=like.dtype, device=like.device)
        self.views, at = [], 0
        for p in members:
            self.views.append(self.buffer[at : at + p.tensor.numel()].view(p.tensor.shape))
            at += p.tensor.numel()
        self.work: Any = None  # handle of the running reduction

    @property
    def label(self) -> str:
        """The label of the bucket's communication: its number and the names of its first parameters."""
        names = [p.name for p in self.members[:NAMES]]
        if more := len(self.members) - len(names):
            names.append(f"{more} more")
        return f"bucket {self.number}: {', '.join(names)}"

    def take(self, i: int, n: int) -> None:
        """Write the gradient of member i, divided by n, into the buffer; zeros if it has none."""
        grad, view = self.members[i].tensor._grad, self.views[i]
        if grad is None:
            view.zero_()
        elif both_direct(grad, view):  # the reduction bumps the version
            np.divide(grad._a, grad._a.dtype.type(n), out=view._a)
        else:
            view.copy_(grad.detach()).div_(n)
        self.missing -= 1

    def give(self, i: int, as_view: bool, place: Place | None = None) -> None:
        """Set the gradient of member i to the reduced one: to the view itself if `as_view`, else to a copy."""
        p, view = self.members[i].tensor, self.views[i]
        if as_view:
            if p._grad is not view:
                p.grad = view
        elif (grad := p._grad) is None:
            p.grad = view.clone()
        elif both_direct(grad, view):
            np.copyto(grad._a, view._a)
            memory(grad).bump("all_reduce", place)
        else:
            grad.detach().copy_(view)


def both_direct(grad: Tensor, view: Tensor) -> bool:
    """Return True if NumPy may copy between the tensors' memory: both are plain and have the same dtype."""
    return can_write_directly(view) and can_write_directly(grad) and view._a.dtype == grad._a.dtype


class GradBucket:
    """The bucket that a hook of `register_comm_hook` receives.

    >>> import minigrad
    >>> from minigrad.distributed.buckets import Bucket, GradBucket, NumberedParameter
    >>> bucket = GradBucket(Bucket(0, [NumberedParameter(0, "weight", minigrad.zeros(2, 3))]), last=True)
    >>> bucket.buffer().shape, bucket.index(), bucket.is_last(), len(bucket.gradients())
    (minigrad.Size([6]), 0, True, 1)
    """

    def __init__(self, bucket: Bucket, last: bool):
        self._bucket, self._last = bucket, last

    def index(self) -> int:
        """Return the number of the bucket; bucket 0 is complete first."""
        return self._bucket.number

    def buffer(self) -> Tensor:
        """Return the flat tensor of all gradients in the bucket."""
        return self._bucket.buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Copy `buffer` into the flat tensor."""
        self._bucket.buffer.copy_(buffer)

    def gradients(self) -> list[Tensor]:
        """Return the gradients: views of the flat tensor in the parameters' shapes."""
        return list(self._bucket.views)

    def parameters(self) -> list[Tensor]:
        """Return the parameters of the bucket."""
        return [p.tensor for p in self._bucket.members]

    def is_last(self) -> bool:
        """Return True if this is the last bucket of the backward."""
        return self._last
