"""DistributedDataParallel: every rank has a copy of the model and a part of the batch, and gets the mean of all gradients.

replicas.py makes the copies equal, reducer.py averages the gradients, and uneven_inputs.py handles ranks that run out of
data before the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from ..autograd.grad_mode import is_grad_enabled
from ..core.tensor import Tensor
from ..errors import error
from ..func.tree import tree_map
from ..nn.module import Module
from ..nn.parameter import Uninitialized
from ..ops.from_data import tensor
from .buckets import MIB, Numbered
from .calls import labelled
from .collectives import all_reduce
from .groups import member
from .mpi_memory import ReduceOp
from .reducer import WHO, Reducer
from .replicas import broadcast_all, check_alike
from .uneven_inputs import Join, Joinable, JoinHook

CAPS = (1.0, 25.0)  # MiB of the first bucket (small, so that communication begins early) and of all others


class DistributedDataParallel(Module, Joinable):
    """Train `module` on all ranks together: each rank gets the mean of all ranks' gradients.

    Construction copies the parameters and buffers of rank 0 to all ranks.  During backward, gradients travel in buckets of
    `bucket_cap_mb` MiB (25, the first bucket 1; `bucket_cap_mb_list` sets each size), the last parameters first.  After
    backward `.grad` is the mean over the ranks: with batches of equal size it is the gradient of the mean loss over all
    batches.  The mean includes gradients that `.grad` holds already, for example from `no_sync()`.  `autograd.grad` returns
    this rank's gradients only.

    Each backward must give every parameter exactly one gradient, unless `find_unused_parameters` is True: parameters that
    the outputs do not depend on then count as zero, and keep their `.grad` if no rank has a gradient for them.  With
    `static_graph` every step repeats the first one; parameters may be unused, or get several gradients in reentrant
    checkpoints.  With `gradient_as_bucket_view` `.grad` is a view of a bucket, which saves memory.  Each forward copies the
    buffers of rank 0 to all ranks, unless `broadcast_buffers` or `forward_sync_buffers` is False.  `init_sync=False` skips
    the copies and checks at construction; the models must be equal already.  If `device_ids` names a device, inputs are
    moved to the module's device.

    `output_device`, `dim`, `check_reduction`, `skip_all_reduce_unused_params` and `batched_grad_copy` have no effect.

    Raises RuntimeError if no parameter requires grad, if a parameter has no shape yet, or if the parameters differ from
    those on rank 0; ValueError for several `device_ids`; NotImplementedError for `mixed_precision` and
    `delay_all_reduce_named_params`.

    >>> import minigrad
    >>> minigrad.distributed.init_process_group("mpi")
    >>> model = minigrad.nn.parallel.DistributedDataParallel(minigrad.nn.Linear(2, 1))
    >>> model(minigrad.ones(3, 2)).mean().backward()
    >>> list(model.state_dict()), model.module.weight.grad.tolist()
    (['module.weight', 'module.bias'], [[1.0, 1.0]])
    >>> minigrad.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence | None = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Sequence[float] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ):
        super().__init__()
        refuse(mixed_precision=mixed_precision, delay_all_reduce_named_params=delay_all_reduce_named_params)
        if device_mesh is not None:
            if process_group is not None:
                raise error(
                    RuntimeError, WHO, "Cannot specify both process_group and device_mesh arguments", "pass one"
                )
            process_group = device_mesh.get_group()
        self.module, self.dim, self.output_device = module, dim, output_device
        self.process_group = member(process_group, WHO)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        wanting = self._parameters_with_gradients()
        check_module(module, wanting, device_ids)
        self.device, self.device_ids = wanting[0].tensor.device, device_ids
        by_name = broadcast_buffers is not False  # the older name of the argument is about construction as well
        self.forward_sync_buffers = by_name if forward_sync_buffers is None else forward_sync_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        first, rest = CAPS if bucket_cap_mb is None else (min(CAPS[0], bucket_cap_mb), bucket_cap_mb)
        self.bucket_bytes_cap_list = [int(mb * MIB) for mb in bucket_cap_mb_list or (first, rest)]
        if init_sync:
            check_alike(wanting, self.process_group, WHO)
            self._copy_module(0, by_name or forward_sync_buffers is not None)
        self._begin(wanting)

    def _begin(self, wanting: list[Numbered]) -> None:
        """Start to collect gradients."""
        self.reducer = Reducer(
            wanting,
            self.process_group,
            self.bucket_bytes_cap_list,
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            self.static_graph,
        )
        self._announcements: list[Any] = []  # messages to the ranks without input that may still be on their way
        self._divide_by_initial_world_size = True

    broadcast_buffers = property(lambda self: self.forward_sync_buffers, doc="True if forward copies rank 0's buffers.")
    join_device = property(lambda self: self.device, doc="The device of the tensors that ranks exchange in a Join.")
    join_process_group = property(lambda self: self.process_group, doc="The ranks that train together.")

    def _parameters_with_gradients(self) -> list[Numbered]:
        """Return the parameters whose gradients are averaged."""
        named = [(name, p) for name, p in self.module.named_parameters() if name not in self.parameters_to_ignore]
        return [Numbered(i, name, p) for i, (name, p) in enumerate((n, p) for n, p in named if p.requires_grad)]

    def _buffers_to_copy(self) -> list[Tensor]:
        return [b for name, b in self.module.named_buffers() if name not in self.parameters_to_ignore]

    # ------------------------------------------------------------------ one step
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncs = is_grad_enabled() and self.require_backward_grad_sync
        if syncs:
            self.reducer.check_finished()
        self._await_announcements()
        active = Join.notify_join_context(self)
        if self._copies_buffers():
            joining = self._join_config.enable
            self._copy_buffers(self._common_rank(True) if joining else 0)
        if self._join_config.enable:
            self._announcements = [work for work in (active, self._announce(syncs)[0]) if work is not None]
        if self.device_ids:
            inputs, kwargs = to_device((inputs, kwargs), self.device)
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = syncs
        if syncs:
            self.reducer.prepare(tensors_in(output), None if self._divide_by_initial_world_size else active)
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Accumulate gradients on each rank separately; the next backward outside averages the accumulated gradients.

        Run both forward and backward inside.

        >>> import minigrad
        >>> minigrad.distributed.init_process_group("mpi")
        >>> model = minigrad.nn.parallel.DistributedDataParallel(minigrad.nn.Linear(1, 1))
        >>> with model.no_sync():
        ...     model(minigrad.ones(1, 1)).sum().backward()
        >>> model(minigrad.ones(1, 1)).sum().backward()  # here the ranks communicate
        >>> model.module.bias.grad.item()
        2.0
        >>> minigrad.distributed.destroy_process_group()
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable) -> None:
        """Reduce each bucket (a GradBucket) by `hook(state, bucket)` instead of the mean over all ranks.

        The hook returns a future of the flat tensor that replaces `bucket.buffer()`, for example
        `distributed.all_reduce(bucket.buffer(), async_op=True).get_future()`.  Raises TypeError if `hook` is not callable,
        RuntimeError for a second hook.
        """
        if not callable(hook):
            raise error(
                TypeError, "register_comm_hook", f"hook must be callable, got {hook!r}", "pass hook(state, bucket)"
            )
        if self.reducer.hook is not None:
            what = "register_comm_hook can only be called once, and this model has a hook already"
            raise error(RuntimeError, "register_comm_hook", what, "call both from one function")
        self.reducer.hook = lambda bucket: hook(state, bucket)

    # ------------------------------------------------------------------ the same on all ranks
    def _copies_buffers(self) -> bool:
        return self.require_forward_param_sync and self.forward_sync_buffers and bool(self._buffers_to_copy())

    def _copy_buffers(self, src: int) -> None:
        broadcast_all(self._buffers_to_copy(), src, self.process_group, "buffers")

    def _copy_module(self, src: int, buffers: bool) -> None:
        """Copy the parameters of rank `src`, and its buffers if `buffers` is True, to all ranks."""
        named = self.module.named_parameters()
        tensors = [p for name, p in named if name not in self.parameters_to_ignore]
        tensors += self._buffers_to_copy() if buffers else []
        broadcast_all(tensors, src, self.process_group, "parameters and buffers")

    # ------------------------------------------------------------------ uneven inputs
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """Return the context manager for a training loop whose ranks have different numbers of batches.

        A rank without data contributes gradients of zero.  At the end it gets the model of a rank that trained last.  With
        `divide_by_initial_world_size=False` gradients are divided by the number of ranks that still train.  With
        `throw_on_early_termination=True` all ranks raise RuntimeError as soon as one rank has no data.
        """
        options = {"divide_by_initial_world_size": divide_by_initial_world_size}
        return Join([self], enable, throw_on_early_termination, **options)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the JoinHook of a rank without data; `divide_by_initial_world_size` may be in `kwargs`."""
        self._divide_by_initial_world_size = kwargs.get("divide_by_initial_world_size", True)
        return InPlaceOfTraining(self)

    def _announce(self, follows: bool) -> tuple[Any, Tensor]:
        """Start to tell the ranks without data if gradients follow; return the handle and the tensor that is sent."""
        flag = tensor([int(follows)], device="cpu")
        with labelled("whether gradients follow"):
            return all_reduce(flag, ReduceOp.MAX, self.process_group, async_op=True), flag

    def _await_announcements(self) -> None:
        """Wait until the other ranks have received all messages."""
        for work in self._announcements:
            work.wait()
        self._announcements = []

    def _common_rank(self, candidate: bool) -> int:
        """Return the last rank that calls this with True."""
        found = tensor([self.process_group.rank() if candidate else -1], device="cpu")
        with labelled("which rank's model it is"):
            all_reduce(found, ReduceOp.MAX, self.process_group)
        return int(found.item())

    # ------------------------------------------------------------------ copies
    def __getstate__(self) -> dict:
        return {k: v for k, v in vars(self).items() if k not in ("process_group", "reducer", "_announcements")}

    def __setstate__(self, state: dict) -> None:
        """Restore a copied or loaded model in the group of all ranks."""
        vars(self).update(state)
        self.process_group = member(None, WHO)
        self._begin(self._parameters_with_gradients())


class InPlaceOfTraining(JoinHook):
    """Makes the collectives of a training step on a rank without data, for the ranks that still train."""

    def __init__(self, ddp: DistributedDataParallel):
        self.ddp = ddp

    def main_hook(self) -> None:
        ddp = self.ddp
        ddp._await_announcements()
        if ddp._copies_buffers():
            ddp._copy_buffers(ddp._common_rank(False))
        work, follows = ddp._announce(False)
        work.wait()
        ddp.require_forward_param_sync = bool(follows.item())
        if follows.item():
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        ddp = self.ddp
        ddp._await_announcements()
        ddp._copy_module(ddp._common_rank(is_last_joiner), ddp.forward_sync_buffers)


# ---------------------------------------------------------------------- helpers
def refuse(**arguments: Any) -> None:
    """Raise NotImplementedError for arguments that minigrad does not support."""
    instead = {"mixed_precision": "compute the loss under torch.autocast"}
    for name, value in arguments.items():
        if value is not None:
            fix = instead.get(name, "leave it out: buckets are reduced while backward runs")
            raise error(NotImplementedError, WHO, f"minigrad has no {name}", fix)


def check_module(module: Module, wanting: list[Numbered], device_ids: Sequence | None) -> None:
    """Raise RuntimeError or ValueError for a module that cannot be trained on several ranks."""
    for name, p in module.named_parameters():
        if isinstance(p, Uninitialized):
            what = f"Modules with uninitialized parameters can't be used with `DistributedDataParallel`: {name} has no shape"
            raise error(RuntimeError, WHO, what, "call the module once before, on an example of the input")
    if not wanting:
        what = f"{WHO} is not needed when a module doesn't have any parameter that requires a gradient"
        raise error(RuntimeError, WHO, what, "use the module itself, or set requires_grad=True")
    if device_ids is not None and len(device_ids) > 1:
        what = f"device_ids can only be None or contain a single element, got {list(device_ids)}"
        raise error(ValueError, WHO, what, "start a process for each device, and pass device_ids=[rank]")


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in a module's output, which may nest tuples, lists, dicts and dataclasses."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from tensors_in(getattr(value, field.name))


def to_device(tree: Any, device: Any) -> Any:
    """Return a tree with its tensors on a device."""
    return tree_map(lambda t: t.to(device) if isinstance(t, Tensor) else t, tree)
