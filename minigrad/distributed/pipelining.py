"""Pipeline parallelism, under torch.distributed.pipelining's names: each rank has some layers, and batches go through in parts.

What one stage sends to the next goes through the differentiable Send and Recv, so that backward of the last stage's loss leads
through all stages, the other way round: a stage that has sent calls backward on what `send` returned, and waits there for the
gradient.
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
    """The layers of this rank: stage `stage_index` of `num_stages`, which is the rank's number in the group.

    Between stages goes what the module returns: a tensor, or a tuple of tensors of one dtype.  `input_args` and `output_args`,
    which tell PyTorch the shapes, are not needed.  Raises ValueError where the stages are not one on each rank.
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
            fix = "let there be one stage on each rank: stage_index=get_rank(), num_stages=get_world_size()"
            raise error(ValueError, "PipelineStage", what, fix)

    @property
    def is_first(self) -> bool:
        """Return whether the batch enters here."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Return whether the loss is computed here."""
        return self.stage_index == self.num_stages - 1

    def received(self) -> tuple[Tensor, ...]:
        """Wait for what the stage before has computed of the next part of the batch."""
        said: list[Any] = [None]
        src = self.group.ranks[self.stage_index - 1]
        recv_object_list(said, src, self.group)
        shapes, dtype, requires_grad = said[0]
        sizes = [prod(shape) for shape in shapes]
        like = empty(sum(sizes), dtype=dtype, device=self.device).requires_grad_(requires_grad)
        flat = recv(like, src, self.group)
        return tuple([part.reshape(shape) for part, shape in zip(flat.split(sizes), shapes)])

    def sent(self, output: Any) -> Tensor:
        """Send what this stage has computed to the next one; return a zero through which backward gets the gradient."""
        tensors = output if isinstance(output, (tuple, list)) else (output,)
        if not all([isinstance(t, Tensor) and t.dtype == tensors[0].dtype for t in tensors]):
            kinds = ", ".join(str(t.dtype) if isinstance(t, Tensor) else type(t).__name__ for t in tensors)
            what = f"stage {self.stage_index} returns {kinds}, and only tensors of one dtype can be sent on"
            raise error(TypeError, "PipelineStage", what, "return a tensor, or a tuple of tensors of one dtype")
        dst, flat = self.group.ranks[self.stage_index + 1], cat([t.reshape(-1) for t in tensors])
        send_object_list([([tuple(t.shape) for t in tensors], flat.dtype, flat.requires_grad)], dst, self.group)
        return send(flat, dst, self.group).sum()


class ScheduleGPipe:
    """All parts of a batch go forward, and then all go backward.

    `loss_fn(output, target)` is the loss of one part; without it there is no backward.  Gradients are those of the mean of the
    parts' losses, or of their sum with `scale_grads=False`: where the parts are equally large and the loss is a mean, those of
    the whole batch.

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
                what = f"the specification for {name} is not taken into account: batches are divided along dimension 0"
                raise error(NotImplementedError, "ScheduleGPipe", what, "leave it out")
        if n_microbatches < 1:
            what = f"expected n_microbatches to be at least 1, got {n_microbatches}"
            raise error(ValueError, "ScheduleGPipe", what, "write n_microbatches=4")
        self.stage, self.n, self.loss_fn, self.scale_grads = stage, n_microbatches, loss_fn, scale_grads

    def step(self, *args: Any, target: Any = None, losses: list | None = None, **kwargs: Any) -> Any:
        """Take one batch through all stages, forward and, if there is a loss_fn, backward; all ranks call it.

        The first stage gets the batch, the last one the targets, and `losses`, a list, in which it puts the loss of each
        part; keyword arguments go to this stage's module.  Tensors are divided along dimension 0.  Returns the outputs of the
        whole batch on the last stage, None on the others.  Raises ValueError where the batch or the targets are missing, or
        have fewer rows than there are parts.
        """
        stage, n = self.stage, self.n
        inputs = parts(args, n, "the batch") if stage.is_first else [()] * n
        options = [
            dict(zip(kwargs, values)) for values in parts(tuple(kwargs.values()), n, "a keyword argument", False)
        ]
        with_loss = self.loss_fn is not None and stage.is_last
        targets = parts((target,), n, "target") if with_loss else []
        ends, outputs, found = [], [], []  # backward begins from the ends
        for i in range(n):
            given = inputs[i] if stage.is_first else stage.received()
            output = stage.submod(*given, **options[i])
            if not stage.is_last:
                ends.append(stage.sent(output))
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
    """Return the values for each part of a batch: tensors are divided along dimension 0, and others are the same for all.

    Raises ValueError where there are none, or fewer rows than parts.
    """
    if needed and (not values or values[0] is None):
        raise error(ValueError, "step", f"this stage needs {name}, and got nothing", "write schedule.step(x, target=y)")
    for t in values:
        if isinstance(t, Tensor) and (t.ndim == 0 or t.shape[0] < n):
            what = f"{name} of shape {tuple(t.shape)} cannot be divided into {n} parts along dimension 0"
            raise error(
                ValueError, "step", what, "pass a larger batch, or make the schedule with a smaller n_microbatches"
            )
    divided = [t.tensor_split(n) if isinstance(t, Tensor) else [t] * n for t in values]
    return list(zip(*divided)) if divided else [()] * n


def merged(outputs: list) -> Any:
    """Return the outputs of all parts as those of the whole batch."""
    with no_grad():
        if isinstance(outputs[0], (tuple, list)):
            return tuple([merged(list(same)) for same in zip(*outputs)])
        return cat(outputs) if outputs[0].ndim else stack(outputs)
