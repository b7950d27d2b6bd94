"""Buckets: gradients that travel together, in one piece of memory for one collective.

One collective of many numbers is faster than many of few, but it can only begin when the last of its gradients is there.  So
parameters are put into buckets of some megabytes, the last parameters first: their gradients come first in backward.
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
from .mpi_memory import direct

MIB = 1 << 20
NAMES = 4  # of so many parameters a label names all


class Numbered(NamedTuple):
    """A parameter with its number among those that want a gradient, and its name in the module."""

    number: int
    name: str
    tensor: Tensor


def divided(parameters: Sequence[Numbered], caps: Sequence[int]) -> list[list[Numbered]]:
    """Return parameters in buckets, the last parameters in the first bucket; those of a bucket have one dtype and one device.

    The first bucket of a dtype is full with `caps[0]` bytes or more, the next with `caps[1]`, and so on; the last cap is that
    of all others.  A bucket's place is that of the parameter that completes it, so that buckets are complete in their order
    where gradients come in the reverse order of the parameters.

    >>> import minigrad
    >>> from minigrad.distributed.buckets import Numbered, divided
    >>> weights = [minigrad.zeros(n) for n in (100, 200, 50, 60)]  # 400, 800, 200 and 240 bytes
    >>> numbered = [Numbered(i, f"w{i}", t) for i, t in enumerate(weights)]
    >>> [[p.name for p in bucket] for bucket in divided(numbered, [240, 1000])]
    [['w3'], ['w2', 'w1'], ['w0']]
    """
    full: list[list[Numbered]] = []
    filling: dict[Any, list[Numbered]] = {}  # by dtype and device
    size, number = Counter(), Counter()
    for p in reversed(parameters):
        kind = (p.tensor.dtype, p.tensor.device)
        filling.setdefault(kind, []).append(p)
        size[kind] += nbytes(p.tensor)
        if size[kind] >= caps[min(number[kind], len(caps) - 1)]:
            full.append(filling.pop(kind))
            size[kind] = 0
            number[kind] += 1
    return sorted([*full, *filling.values()], key=lambda bucket: -bucket[-1].number)


def nbytes(t: Tensor) -> int:
    """Return how many bytes a tensor's numbers take."""
    return t.numel() * t.element_size()


class Bucket:
    """Some parameters, and the memory in which their gradients travel.

    `views` are the parts of the flat tensor `buffer`, in the parameters' shapes.
    """

    def __init__(self, number: int, members: list[Numbered]):
        like = members[0].tensor
        self.number, self.members, self.missing = number, members, len(members)
        self.buffer = empty(sum(p.tensor.numel() for p in members), dtype=like.dtype, device=like.device)
        self.views, at = [], 0
        for p in members:
            self.views.append(self.buffer[at : at + p.tensor.numel()].view(p.tensor.shape))
            at += p.tensor.numel()
        self.work: Any = None  # what is under way

    @property
    def label(self) -> str:
        """The bucket as communication is labelled: its number, and the names of its first parameters."""
        names = [p.name for p in self.members[:NAMES]]
        if more := len(self.members) - len(names):
            names.append(f"{more} more")
        return f"bucket {self.number}: {', '.join(names)}"

    def take(self, i: int, n: int) -> None:
        """Put the gradient of member i, divided by n, into the memory; zeros where there is none."""
        grad, view = self.members[i].tensor._grad, self.views[i]
        if grad is None:
            view.zero_()
        elif both_direct(grad, view):  # reducing the bucket counts the write
            np.divide(grad._a, grad._a.dtype.type(n), out=view._a)
        else:
            view.copy_(grad.detach()).div_(n)
        self.missing -= 1

    def give(self, i: int, as_view: bool, place: Place | None = None) -> None:
        """Let the gradient of member i be what has come back, or with `as_view` the memory itself; `place` has reduced it."""
        p, view = self.members[i].tensor, self.views[i]
        if as_view:
            p._grad = view
        elif (grad := p._grad) is None:
            p._grad = view.clone()
        elif both_direct(grad, view):
            np.copyto(grad._a, view._a)
            memory(grad).bump("all_reduce", place)
        else:
            grad.detach().copy_(view)


def both_direct(grad: Tensor, view: Tensor) -> bool:
    """Return whether NumPy may write from one tensor's memory into the other's: both are plain, and of one dtype."""
    return direct(view) and direct(grad) and view._a.dtype == grad._a.dtype


class GradBucket:
    """A bucket as a hook of `register_comm_hook` sees it.

    >>> import minigrad
    >>> from minigrad.distributed.buckets import Bucket, GradBucket, Numbered
    >>> bucket = GradBucket(Bucket(0, [Numbered(0, "weight", minigrad.zeros(2, 3))]), last=True)
    >>> bucket.buffer().shape, bucket.index(), bucket.is_last(), len(bucket.gradients())
    (minigrad.Size([6]), 0, True, 1)
    """

    def __init__(self, bucket: Bucket, last: bool):
        self._bucket, self._last = bucket, last

    def index(self) -> int:
        """Return its number: 0 for the bucket whose gradients come first."""
        return self._bucket.number

    def buffer(self) -> Tensor:
        """Return all its gradients as one flat tensor."""
        return self._bucket.buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Write other numbers into the flat tensor."""
        self._bucket.buffer.copy_(buffer)

    def gradients(self) -> list[Tensor]:
        """Return its gradients, which are parts of the flat tensor, in the parameters' shapes."""
        return list(self._bucket.views)

    def parameters(self) -> list[Tensor]:
        """Return the parameters that its gradients belong to."""
        return [p.tensor for p in self._bucket.members]

    def is_last(self) -> bool:
        """Return whether the gradients of all other buckets are under way."""
        return self._last
