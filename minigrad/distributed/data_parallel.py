"""DistributedDataParallel: every rank has a copy of the model and a part of the batch, and gets the mean of all gradients.

replicas.py makes the copies equal, and reducer.py averages the gradients.
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
from .buckets import MIB, NumberedParameter
from .groups import member
from .reducer import WHO, Reducer
from .replicas import broadcast_all, check_alike

CAPS = (1.0, 25.0)  # MiB of the first bucket (small, so that communication begins early) and of all others


class DistributedDataParallel(Module):
    """Train `module` on all ranks together: each rank gets the mean of all ranks' gradients.

    Construction copies the parameters and buffers of rank 0 to all ranks.  During backward, gradients travel in buckets of
    `bucket_cap_mb` MiB (25, the first bucket 1), the last parameters first.  After backward `.grad` is the mean over the
    ranks: with batches of equal size it is the gradient of the mean loss over all batches.  The mean includes gradients that
    `.grad` holds already, for example from `no_sync()`.  `autograd.grad` returns this rank's gradients only.

    Each backward must give every parameter exactly one gradient, unless `find_unused_parameters` is True: parameters that
    the outputs do not depend on then count as zero, and keep their `.grad` if no rank has a gradient for them.  With
    `static_graph` every step repeats the first one; parameters may be unused, or get several gradients in reentrant
    checkpoints.  With `gradient_as_bucket_view` `.grad` is a view of a bucket, which saves memory.  Each forward copies the
    buffers of rank 0 to all ranks, unless `broadcast_buffers` is False.  `init_sync=False` skips the copies and checks at
    construction; the models must be equal already.  If `device_ids` names a device, inputs are moved to the module's device.
    `output_device`, `dim` and `check_reduction` have no effect.

    Raises RuntimeError if no parameter requires grad, if a parameter has no shape yet, or if the parameters differ from
    those on rank 0; ValueError for several `device_ids`.

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
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ):
        super().__init__()
        self.module, self.process_group = module, member(process_group, WHO)
        trained = self._parameters_with_gradients()
        check_module(module, trained, device_ids)
        self.device, self.device_ids = trained[0].tensor.device, device_ids
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        caps = CAPS if bucket_cap_mb is None else (min(CAPS[0], bucket_cap_mb), bucket_cap_mb)
        self.bucket_bytes_caps = [int(mb * MIB) for mb in caps]
        if init_sync:
            check_alike(trained, self.process_group, WHO)
            copied = [*module.parameters(), *(module.buffers() if broadcast_buffers else ())]
            broadcast_all(copied, self.process_group, "parameters and buffers")
        self.reducer = Reducer(trained, self)

    def _parameters_with_gradients(self) -> list[NumberedParameter]:
        """Return the parameters whose gradients are averaged."""
        named = [(name, p) for name, p in self.module.named_parameters() if p.requires_grad]
        return [NumberedParameter(i, name, p) for i, (name, p) in enumerate(named)]

    # ------------------------------------------------------------------ one step
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncs = is_grad_enabled() and self.require_backward_grad_sync
        if syncs:
            self.reducer.check_finished()
        if self.require_forward_param_sync and self.broadcast_buffers:
            broadcast_all(self.module.buffers(), self.process_group, "buffers")
        if self.device_ids:
            inputs, kwargs = to_device((inputs, kwargs), self.device)
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = syncs
        if syncs:
            self.reducer.prepare(tensors_in(output))
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

        The hook returns a future, also one of `concurrent.futures`, of the flat tensor that replaces `bucket.buffer()`, for
        example `distributed.all_reduce(bucket.buffer(), async_op=True).get_future()`.  Raises TypeError if `hook` is not
        callable, RuntimeError for a second hook.
        """
        if not callable(hook):
            what = f"hook must be callable, got {hook!r}"
            raise error(TypeError, "register_comm_hook", what, "pass hook(state, bucket)")
        if self.reducer.hook is not None:
            what = "register_comm_hook can only be called once, and this model has a hook already"
            raise error(RuntimeError, "register_comm_hook", what, "call both from one function")
        self.reducer.hook = lambda bucket: hook(state, bucket)

    # ------------------------------------------------------------------ copies
    def __getstate__(self) -> dict:
        return {k: v for k, v in vars(self).items() if k not in ("process_group", "reducer")}

    def __setstate__(self, state: dict) -> None:
        """Restore a copied or loaded model in the group of all ranks."""
        vars(self).update(state)
        self.process_group = member(None, WHO)
        self.reducer = Reducer(self._parameters_with_gradients(), self)


# ---------------------------------------------------------------------- helpers
def check_module(module: Module, trained: list[NumberedParameter], device_ids: Sequence | None) -> None:
    """Raise RuntimeError or ValueError for a module that cannot be trained on several ranks."""
    for name, p in module.named_parameters():
        if isinstance(p, Uninitialized):
            what = f"Modules with uninitialized parameters can't be used with `DistributedDataParallel`: {name} has no shape"
            raise error(RuntimeError, WHO, what, "call the module once before, on an example of the input")
    if not trained:
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
