"""Collectives as differentiable functions, under the names of torch.distributed.nn.functional.

They return their results, while the collectives of `minigrad.distributed` write into given tensors.  All ranks of the group
run them in the same order, in forward, in backward and in forward mode.  Backward computes the gradient of the sum of all
ranks' losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...errors import error
from ...ops.join import cat, stack
from .. import collectives
from ..groups import ProcessGroup, member, rank_in
from ..mpi_memory import ReduceOp
from .linear_maps import AllGather, AllReduce, AllToAll, Broadcast, Gather, Recv, Reduce, ReduceScatter, Scatter, Send

# the reductions that are not linear reduce gathered tensors, so amax, amin and prod have their derivatives
OF_GATHERED = {
    ReduceOp.MAX: lambda all_of_them: all_of_them.amax(0),
    ReduceOp.MIN: lambda all_of_them: all_of_them.amin(0),
    ReduceOp.PRODUCT: lambda all_of_them: all_of_them.prod(0),
}


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return on each rank the sum of all ranks' tensors, or their mean, product, minimum or maximum.

    The result has the shape and dtype of the tensor.  The gradient of a sum is the sum of all ranks' gradients; the gradient
    of a maximum goes in equal parts to the ranks that have it.  Raises TypeError for a tensor that is not a Tensor or an op
    that is not a ReduceOp, RuntimeError for operations that the dtype does not support.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> functional.all_reduce(x).square().sum().backward()
    >>> x.grad  # the sum of all ranks' gradients
    tensor([2., 4.])
    """
    pg = member(group, "all_reduce")
    if check_reduction(tensor, op, "all_reduce") in OF_GATHERED:
        return OF_GATHERED[op](AllGather.apply(tensor.unsqueeze(0), pg))
    return mean_or_sum(AllReduce.apply(tensor, pg), op, pg)


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return on rank `dst` the result of all_reduce, and zeros on the others.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> functional.reduce(x, dst=0).sum().backward()
    >>> x.grad  # on each rank the gradient of the sum on rank 0
    tensor([1., 1.])
    """
    pg = member(group, "reduce")
    rank_in(pg, dst, "reduce", "dst")
    if check_reduction(tensor, op, "reduce") in OF_GATHERED:
        return OF_GATHERED[op](Gather.apply(tensor.unsqueeze(0), dst, pg))
    return mean_or_sum(Reduce.apply(tensor, dst, pg), op, pg)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the tensor of rank `src` on each rank; the others' tensors have its shape and dtype, and gradients of zero.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> functional.broadcast(x, src=0).sum().backward()
    >>> x.grad  # on rank 0 the number of ranks, on the others zeros
    tensor([1., 1.])
    """
    pg = member(group, "broadcast")
    rank_in(pg, src, "broadcast", "src")
    return Broadcast.apply(checked(tensor, "broadcast"), src, pg)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Return on each rank the tensors of all ranks, which have one shape, in the order of ranks.

    The gradient of a rank's tensor is the sum of its gradients on all ranks.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> first, *_ = functional.all_gather(x)
    >>> first.sum().backward()
    >>> x.grad  # on rank 0 the number of ranks, on the others zeros
    tensor([1., 1.])
    """
    pg = member(group, "all_gather")
    return AllGather.apply(checked(tensor, "all_gather").unsqueeze(0), pg).unbind(0)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Return on rank `dst` the tensors of all ranks, in the order of ranks, and on the others as many tensors of zeros.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> sum(functional.gather(x, dst=0)).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    pg = member(group, "gather")
    rank_in(pg, dst, "gather", "dst")
    return Gather.apply(checked(tensor, "gather").unsqueeze(0), dst, pg).unbind(0)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Return member i of the list of rank `src` on rank i; the others' lists have tensors of the same shape.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> functional.scatter([x] * dist.get_world_size(), src=0).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    pg = member(group, "scatter")
    rank_in(pg, src, "scatter", "src")
    collectives.check_list("scatter", "tensors", tensors, pg)
    return Scatter.apply(stack(list(tensors)), src, pg).squeeze(0)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """Return on rank i the sum of members i of all ranks' lists, or their mean, product, minimum or maximum.

    The result has the shape of `output`, which stays unchanged.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> functional.reduce_scatter(x, [x] * dist.get_world_size()).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    who, pg = "reduce_scatter", member(group, "reduce_scatter")
    collectives.check_list(who, "input_list", input_list, pg)
    check_reduction(input_list[0], op, who)
    if op not in OF_GATHERED and len({t.shape for t in input_list}) == 1:
        out = ReduceScatter.apply(stack(list(input_list)), pg).squeeze(0)
        return same_shape(who, mean_or_sum(out, op, pg), output, "output")
    received = stack(all_to_all([output] * pg.size(), input_list, pg))
    return OF_GATHERED[op](received) if op in OF_GATHERED else mean_or_sum(received.sum(0), op, pg)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Return member j of rank i's list as member i on rank j; the results have the shapes of `output_tensor_list`.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> out = functional.all_to_all([x] * dist.get_world_size(), [x] * dist.get_world_size())
    >>> sum(out).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    who, pg = "all_to_all", member(group, "all_to_all")
    collectives.check_list(who, "output_tensor_list", output_tensor_list, pg)
    collectives.check_list(who, "input_tensor_list", input_tensor_list, pg)
    sent, received = [t.numel() for t in input_tensor_list], [t.numel() for t in output_tensor_list]
    out = AllToAll.apply(cat([t.reshape(-1) for t in input_tensor_list]), sent, received, pg)
    return tuple([part.reshape(t.shape) for part, t in zip(out.split(received), output_tensor_list)])


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Tensor:
    """Return on rank i the parts i of the rows of all ranks' tensors, concatenated; the result has the shape of `output`.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> functional.all_to_all_single(minigrad.empty(2), x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    who, pg = "all_to_all_single", member(group, "all_to_all_single")
    sent, received = [
        collectives.rows_of_parts(who, name, t.shape[0] if t.ndim else 0, sizes, pg)
        for name, t, sizes in (("input", input, input_split_sizes), ("output", output, output_split_sizes))
    ]
    return same_shape(who, AllToAll.apply(checked(input, who), sent, received, pg), output, "output")


def send(tensor: Tensor, dst: int, group: Any = None, tag: int = 0) -> Tensor:
    """Send a tensor to rank `dst`; return a tensor without elements, through which backward receives the gradient.

    Add its sum, which is 0, to the loss of this rank: `(loss + sent.sum()).backward()`.  Raises ValueError where `dst` is
    this rank or not in the group.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> if dist.get_rank() == 1:
    ...     functional.send(2 * x, dst=0).sum().backward()
    """
    pg = member(group, "send")
    rank_in(pg, dst, "send", "dst")
    return Send.apply(checked(tensor, "send"), dst, tag, pg)


def recv(tensor: Tensor, src: int, group: Any = None, tag: int = 0) -> Tensor:
    """Return the tensor that rank `src` sends, which has the shape and dtype of `tensor`.

    If `tensor` requires grad, so does the result, and backward sends the gradient to `src`.  Pass a tensor that requires
    grad if and only if the sent tensor does.  With `torch.autograd.grad` and in forward mode, compute it from the inputs, as
    in `x * 0`: backward runs only for operations that lead to an input.

    >>> import minigrad, minigrad.distributed as dist  # after dist.init_process_group("mpi")
    >>> from minigrad.distributed.nn import functional
    >>> x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    >>> if dist.get_rank() == 0 and dist.get_world_size() > 1:
    ...     functional.recv(x, src=1).sum().backward()  # sends the gradient to rank 1
    """
    pg = member(group, "recv")
    rank_in(pg, src, "recv", "src")
    return Recv.apply(checked(tensor, "recv").unsqueeze(0)[:0], src, tag, pg)


# ---------------------------------------------------------------------- helpers
def checked(tensor: Tensor, who: str) -> Tensor:
    """Return a tensor unchanged.  Raises TypeError for anything else."""
    if not isinstance(tensor, Tensor):
        what = f"expected a tensor, got {type(tensor).__name__}"
        raise error(TypeError, who, what, "pass minigrad.tensor(value)")
    return tensor


def check_reduction(tensor: Tensor, op: ReduceOp, who: str) -> ReduceOp:
    """Return the op.  Raises an error if it is not a ReduceOp, or not defined for the tensor's dtype."""
    collectives.to_reduce(np.empty(0, checked(tensor, who)._np_dtype), op, who)
    return op


def mean_or_sum(total: Tensor, op: ReduceOp, pg: ProcessGroup) -> Tensor:
    """Return the mean over the ranks of a sum, or the sum itself."""
    return total / pg.size() if op is ReduceOp.AVG else total


def same_shape(who: str, out: Tensor, like: Tensor, name: str) -> Tensor:
    """Return a result unchanged.  Raises ValueError unless it has the shape of the tensor that the caller gave for it."""
    if out.shape != like.shape:
        what = f"{name} has shape {tuple(like.shape)}, and the result {tuple(out.shape)}"
        raise error(ValueError, who, what, f"pass {name}=torch.empty({tuple(out.shape)})")
    return out
