"""Pipeline parallelism, under the names of torch.distributed.pipelining: each rank has some layers, and each batch is divided.

The stages exchange tensors by the differentiable Send and Recv, so backward leads from the loss on the last stage through all
stages.  A stage calls backward on the result of `send`, and waits there for the gradient from the next stage.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ..autograd import no_grad
from ..core.frames import current
from ..core.tensor import Tensor
from ..errors import error
from ..nn.module import Module
from ..ops.create import empty
from ..ops.join import cat, stack
from .groups import ProcessGroup, member
from .nn.functional import recv, send
from .objects import recv_object_list, send_object_list


class PipelineStage:
    """The layers of this rank: stage `stage_index`, which is the rank in the group, of `num_stages`.

    The module returns a tensor, or a tuple of tensors of one dtype, which is the input of the next stage.  `input_args` and
    `output_args`, from which PyTorch learns the shapes, are not needed.  Raises ValueError unless each rank has one stage.
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: Any = None,
        input_args: Any = None,
        output_args: Any = None,
        group: Any = None,
        dw_builder: Any = None,
    ):
        self.submod, self.stage_index, self.num_stages, self.device = submodule, stage_index, num_stages, device
        self.group: ProcessGroup = member(group, "PipelineStage")
        if num_stages != self.group.size() or stage_index != self.group.rank():
            what = f"stage {stage_index} of {num_stages} is on rank {self.group.rank()} of {self.group.size()}"
            fix = "put one stage on each rank: stage_index=get_rank(), num_stages=get_world_size()"
            raise error(ValueError, "PipelineStage", what, fix)

    @property
    def is_first(self) -> bool:
        """Return True if this stage takes the batch."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Return True if this stage computes the loss."""
        return self.stage_index == self.num_stages - 1

    def receive(self) -> tuple[Tensor, ...]:
        """Wait for the output of the previous stage for the next part of the batch, and return it."""
        header: list[Any] = [None]
        src = self.group.ranks[self.stage_index - 1]
        recv_object_list(header, src, self.group)
        shapes, dtype, requires_grad = header[0]
        sizes = [prod(shape) for shape in shapes]
        like = empty(sum(sizes), dtype=dtype, device=self.device).requires_grad_(requires_grad)
        flat = recv(like, src, self.group)
        return tuple([part.reshape(shape) for part, shape in zip(flat.split(sizes), shapes)])

    def send(self, output: Any) -> Tensor:
        """Send the output of this stage to the next; return a zero, through which backward receives the gradient."""
        tensors = output if isinstance(output, (tuple, list)) else (output,)
        if not all([isinstance(t, Tensor) and t.dtype == tensors[0].dtype for t in tensors]):
            kinds = ", ".join(str(t.dtype) if isinstance(t, Tensor) else type(t).__name__ for t in tensors)
            what = f"stage {self.stage_index} returns {kinds}, and a stage can send only tensors of one dtype"
            raise error(TypeError, "PipelineStage", what, "return a tensor, or a tuple of tensors of one dtype")
        dst, flat = self.group.ranks[self.stage_index + 1], cat([t.reshape(-1) for t in tensors])
        send_object_list([([tuple(t.shape) for t in tensors], flat.dtype, flat.requires_grad)], dst, self.group)
        return send(flat, dst, self.group).sum()


class ScheduleGPipe:
    """The schedule that runs forward for all parts of a batch, and then backward for all.

    `loss_fn(output, target)` returns the loss of one part; without it there is no backward.  Backward computes the gradient of
    the mean of the parts' losses, or of their sum with `scale_grads=False`.  If the loss is a mean and the parts are equally
    large, this is the gradient of the whole batch.

    >>> import minigrad, minigrad.distributed as dist
    >>> from minigrad.distributed.pipelining import PipelineStage, ScheduleGPipe
    >>> dist.init_process_group("mpi")
    >>> model = minigrad.nn.Linear(2, 1)
    >>> schedule = ScheduleGPipe(PipelineStage(model, 0, 1), n_microbatches=2, loss_fn=minigrad.nn.MSELoss())
    >>> losses = []
    >>> schedule.step(minigrad.ones(4, 2), target=minigrad.zeros(4, 1), losses=losses).shape, len(losses)
    (minigrad.Size([4, 1]), 2)
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Tensor] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ):
        for name, given in (("args", args_chunk_spec), ("kwargs", kwargs_chunk_spec), ("output", output_merge_spec)):
            if given is not None:
                what = f"the specification for {name} is not supported: batches are divided along dimension 0"
                raise error(NotImplementedError, "ScheduleGPipe", what, "leave it out")
        if n_microbatches < 1:
            what = f"expected n_microbatches to be at least 1, got {n_microbatches}"
            raise error(ValueError, "ScheduleGPipe", what, "write n_microbatches=4")
        self.stage, self.n, self.loss_fn, self.scale_grads = stage, n_microbatches, loss_fn, scale_grads

    def step(self, *args: Any, target: Any = None, losses: list | None = None, **kwargs: Any) -> Any:
        """Run one batch through all stages, forward and, if there is a loss_fn, backward; all ranks call this.

        Pass the batch on the first stage.  On the last stage pass the targets and, if you want the loss of each part, a list
        `losses`, whose members are replaced.  Keyword arguments go to the module of this stage.  Tensors are divided along
        dimension 0.  Returns the outputs for the whole batch on the last stage, None on the others.  Raises ValueError where
        the batch or the targets are missing or have fewer rows than there are parts.
        """
        stage, n = self.stage, self.n
        inputs = parts(args, n, "the batch") if stage.is_first else [()] * n
        options = [
            dict(zip(kwargs, values)) for values in parts(tuple(kwargs.values()), n, "a keyword argument", False)
        ]
        with_loss = self.loss_fn is not None and stage.is_last
        targets = parts((target,), n, "target") if with_loss else []
        ends, outputs, found = [], [], []  # backward starts at the ends
        for i in range(n):
            given = inputs[i] if stage.is_first else stage.receive()
            output = stage.submod(*given, **options[i])
            if not stage.is_last:
                ends.append(stage.send(output))
                continue
            outputs.append(output)
            if self.loss_fn is not None:
                found.append(self.loss_fn(output, *targets[i]))
                ends.append(found[-1] / n if self.scale_grads else found[-1])
        if self.loss_fn is not None and current().grad:
            for end in ends:
                if end.requires_grad:
                    end.backward()
        if losses is not None and stage.is_last:
            losses[:] = [loss.detach() for loss in found]
        return merged(outputs) if stage.is_last else None


def parts(values: tuple, n: int, name: str, needed: bool = True) -> list[tuple]:
    """Return the values for each part of a batch: tensors are divided along dimension 0, other values are repeated.

    Raises ValueError where `needed` values are missing, or a tensor has fewer rows than there are parts.
    """
    if needed and (not values or values[0] is None):
        raise error(ValueError, "step", f"this stage needs {name}, got nothing", "write schedule.step(x, target=y)")
    for t in values:
        if isinstance(t, Tensor) and (t.ndim == 0 or t.shape[0] < n):
            what = f"{name} of shape {tuple(t.shape)} cannot be divided into {n} parts along dimension 0"
            raise error(
                ValueError, "step", what, "pass a larger batch, or make the schedule with a smaller n_microbatches"
            )
    divided = [t.tensor_split(n) if isinstance(t, Tensor) else [t] * n for t in values]
    return list(zip(*divided)) if divided else [()] * n


def merged(outputs: list) -> Any:
    """Return the outputs for the whole batch: the outputs of all parts, concatenated, or stacked if they are scalars."""
    with no_grad():
        if isinstance(outputs[0], (tuple, list)):
            return tuple([merged(list(same)) for same in zip(*outputs)])
        return cat(outputs) if outputs[0].ndim else stack(outputs)
