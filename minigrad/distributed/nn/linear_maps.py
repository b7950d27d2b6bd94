"""Collectives as linear maps from the tensors of all ranks to tensors of all ranks.

Each is a Function of one tensor of this rank.  Its backward is its transpose, which is also a collective, and its jvp is the
map itself.  Backward computes the gradient of the sum of all ranks' losses.

    broadcast   <->  reduce            all_reduce  <->  all_reduce
    all_gather  <->  reduce_scatter    all_to_all  <->  all_to_all
    scatter     <->  gather            send        <->  recv

The maps gather and divide dimension 0; under vmap the batch is the last dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.function import Function
from ...core.tensor import Tensor
from .. import collectives, point_to_point
from ..groups import ProcessGroup


class LinearMap(Function):
    """A linear map of all ranks' tensors: `forward(tensor, *settings)`.

    `transpose(grad, *settings)` returns the gradient of this rank's tensor from the gradients of all ranks' results.
    """

    transpose: Callable[..., Tensor]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        """Keep the settings."""
        _, *ctx.settings = inputs

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple:
        """Apply the transpose."""
        return ctx._fn.transpose(*grads, *ctx.settings), *[None] * len(ctx.settings)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        """Apply the map itself."""
        return ctx._fn.apply(tangents[0], *ctx.settings)

    @staticmethod
    def vmap(info: Any, in_dims: tuple, tensor: Tensor, *settings: Any) -> tuple:
        """Apply the map to all examples at once, which lie along the last dimension."""
        return info.function.apply(tensor.movedim(in_dims[0], -1), *settings), -1


class AllReduce(LinearMap):
    """The sum of all ranks' tensors, on each of them."""

    @staticmethod
    def forward(tensor: Tensor, group: ProcessGroup) -> Tensor:
        out = tensor.clone()
        collectives.all_reduce(out, group=group)
        return out

    transpose = lambda grad, group: AllReduce.apply(grad, group)


class Broadcast(LinearMap):
    """The tensor of rank `src`, on each rank."""

    @staticmethod
    def forward(tensor: Tensor, src: int, group: ProcessGroup) -> Tensor:
        out = tensor.clone()
        collectives.broadcast(out, src, group)
        return out

    transpose = lambda grad, src, group: Reduce.apply(grad, src, group)


class Reduce(LinearMap):
    """The sum of all ranks' tensors on rank `dst`, zeros on the others."""

    @staticmethod
    def forward(tensor: Tensor, dst: int, group: ProcessGroup) -> Tensor:
        out = tensor.clone()
        collectives.reduce(out, dst, group=group)
        return out if group.ranks[group.rank()] == dst else out.zero_()

    transpose = lambda grad, dst, group: Broadcast.apply(grad, dst, group)


class AllGather(LinearMap):
    """The tensors of all ranks on each rank, concatenated."""

    @staticmethod
    def forward(tensor: Tensor, group: ProcessGroup) -> Tensor:
        out = tensor.new_empty((group.size() * tensor.shape[0], *tensor.shape[1:]))
        collectives.all_gather_into_tensor(out, tensor, group)
        return out

    transpose = lambda grad, group: ReduceScatter.apply(grad, group)


class ReduceScatter(LinearMap):
    """Part i of the sum of all ranks' tensors, on rank i."""

    @staticmethod
    def forward(tensor: Tensor, group: ProcessGroup) -> Tensor:
        out = tensor.new_empty((tensor.shape[0] // group.size(), *tensor.shape[1:]))
        collectives.reduce_scatter_tensor(out, tensor, group=group)
        return out

    transpose = lambda grad, group: AllGather.apply(grad, group)


class AllToAll(LinearMap):
    """Part i of rank j's tensor as part j of rank i's; `sent` and `received` are the numbers of rows of the parts."""

    @staticmethod
    def forward(tensor: Tensor, sent: list[int], received: list[int], group: ProcessGroup) -> Tensor:
        out = tensor.new_empty((sum(received), *tensor.shape[1:]))
        collectives.all_to_all_single(out, tensor, received, sent, group)
        return out

    transpose = lambda grad, sent, received, group: AllToAll.apply(grad, received, sent, group)


class Scatter(LinearMap):
    """Part i of the tensor of rank `src`, on rank i; of the others' tensors only the shape matters."""

    @staticmethod
    def forward(tensor: Tensor, src: int, group: ProcessGroup) -> Tensor:
        out = tensor.new_empty((tensor.shape[0] // group.size(), *tensor.shape[1:]))
        parts = list(tensor.chunk(group.size())) if group.ranks[group.rank()] == src else None
        collectives.scatter(out, parts, src, group)
        return out

    transpose = lambda grad, src, group: Gather.apply(grad, src, group)


class Gather(LinearMap):
    """The tensors of all ranks on rank `dst`, concatenated; zeros on the others."""

    @staticmethod
    def forward(tensor: Tensor, dst: int, group: ProcessGroup) -> Tensor:
        out = tensor.new_zeros((group.size() * tensor.shape[0], *tensor.shape[1:]))
        parts = list(out.chunk(group.size())) if group.ranks[group.rank()] == dst else None
        collectives.gather(tensor, parts, dst, group)
        return out

    transpose = lambda grad, dst, group: Scatter.apply(grad, dst, group)


class Send(LinearMap):
    """A tensor sent to rank `dst`; backward receives the gradient through the result, which has no elements."""

    @staticmethod
    def forward(tensor: Tensor, dst: int, tag: int, group: ProcessGroup) -> Tensor:
        point_to_point.send(tensor, dst, group, tag)
        return tensor.new_empty((0, *tensor.shape))

    transpose = lambda grad, dst, tag, group: Recv.apply(grad, dst, tag, group)


class Recv(LinearMap):
    """A tensor received from rank `src`, with the shape of the argument after its first dimension, which has no elements."""

    @staticmethod
    def forward(tensor: Tensor, src: int, tag: int, group: ProcessGroup) -> Tensor:
        out = tensor.new_empty(tensor.shape[1:])
        point_to_point.recv(out, src, group, tag)
        return out

    transpose = lambda grad, src, tag, group: Send.apply(grad, src, tag, group)
