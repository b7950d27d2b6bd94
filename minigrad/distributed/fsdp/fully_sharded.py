"""FullyShardedDataParallel: a module whose parameters are whole only while forward or backward uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum, auto
from typing import Any

from ...autograd import no_grad
from ...core.frames import current
from ...core.tensor import Tensor
from ...errors import error
from ...nn.module import Module
from ...nn.state import slots
from ...ops.join import stack
from .. import collectives
from ..groups import member
from ..mpi_memory import ReduceOp
from ..sharded_tensor import HoldsParts, Part, fill
from .flat_shard import FLAT, WHO, FlatShard
from .wrap import wrap_inside

INNER = "_fsdp_wrapped_module."  # stands in the names of parameters, but not in those of a state_dict


class ShardingStrategy(Enum):
    """The amount of sharding: FULL_SHARD frees whole parameters after forward, SHARD_GRAD_OP keeps them until backward ends.

    The other members have PyTorch's names; FullyShardedDataParallel refuses them.

    >>> from minigrad.distributed.fsdp import ShardingStrategy
    >>> ShardingStrategy.SHARD_GRAD_OP in list(ShardingStrategy)  # parameters stay whole between forward and backward
    True
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class StateDictType(Enum):
    """The kind of state_dict: FULL_STATE_DICT has whole tensors on each rank, SHARDED_STATE_DICT has this rank's shards.

    >>> from minigrad.distributed.fsdp import StateDictType
    >>> [kind.name for kind in StateDictType]
    ['FULL_STATE_DICT', 'LOCAL_STATE_DICT', 'SHARDED_STATE_DICT']
    """

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class FullyShardedDataParallel(HoldsParts, Module):
    """A module that is trained on many ranks, each of which holds a shard of the parameters, gradients and optimizer states.

    The parameters become one flat parameter, which is divided evenly.  The ranks gather it for forward, free it, and gather
    it again for backward, which leaves on each rank its shard of the averaged gradients.  `parameters()` returns the shards,
    and an optimizer of the shards computes the same update as an optimizer of the whole model.  A module inside that is
    wrapped itself, by hand or by `auto_wrap_policy`, is a unit with a separate flat parameter, which is gathered separately.

    All ranks of the group make the same calls.  They start with equal parameters: use the same seed on all ranks, or
    `sync_module_states=True`.

    Raises ValueError for a module without parameters, for a unit whose parameters differ in dtype, device or requires_grad,
    and for a parameter that two units share.  Raises NotImplementedError for `cpu_offload`, `mixed_precision`,
    `ignored_modules` and other strategies.  Arguments that schedule communication in PyTorch have no effect.

    >>> import minigrad, minigrad.distributed as dist
    >>> from minigrad.distributed.fsdp import FullyShardedDataParallel
    >>> dist.init_process_group("mpi")
    >>> model = FullyShardedDataParallel(minigrad.nn.Linear(2, 1))
    >>> model(minigrad.ones(4, 2)).mean().backward()
    >>> [(name, p.shape, p.grad.tolist()) for name, p in model.named_parameters()]
    [('_flat_param', minigrad.Size([3]), [1.0, 1.0, 1.0])]
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Callable | None = None,
        backward_prefetch: Any = None,
        mixed_precision: Any = None,
        ignored_modules: Any = None,
        param_init_fn: Any = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: Any = None,
    ):
        super().__init__()
        group, strategy = member(process_group, WHO), sharding_strategy or ShardingStrategy.FULL_SHARD
        refuse(
            cpu_offload=cpu_offload,
            mixed_precision=mixed_precision,
            ignored_modules=ignored_modules,
            ignored_states=ignored_states,
            param_init_fn=param_init_fn,
            device_mesh=device_mesh,
            use_orig_params=use_orig_params or None,
        )
        if strategy not in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
            fix = "use FULL_SHARD or SHARD_GRAD_OP; use DistributedDataParallel to keep the parameters whole"
            raise error(NotImplementedError, WHO, f"{strategy} is not supported", fix)
        if sync_module_states:
            with no_grad():
                for t in [*[p for *_, p in own_parameters(module)], *module.buffers()]:
                    collectives.broadcast(t, group.ranks[0], group)
        if auto_wrap_policy is not None:
            wrap_inside(module, auto_wrap_policy, is_unit, lambda child: type(self)(child, group, strategy))
        own = list(own_parameters(module))
        self._strategy, self._state_type, self._group = strategy, StateDictType.FULL_STATE_DICT, group
        regather = strategy is ShardingStrategy.FULL_SHARD
        self._shard = FlatShard(own, self._parameters, group, regather) if own else None
        if self._shard is None and not any(map(is_unit, module.modules())):
            raise error(ValueError, WHO, "the module has no parameters", "use the module without wrapping it")
        self._fsdp_wrapped_module = module
        self.register_load_state_dict_pre_hook(take_over)

    @property
    def module(self) -> Module:
        """The module inside."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        inner = self.__dict__.get("_modules", {}).get(INNER[:-1])
        found = [s for s in ("_parameters", "_buffers", "_modules") if name in self.__dict__.get(s, {})]
        return getattr(inner, name) if inner is not None and not found else super().__getattr__(name)

    def __getitem__(self, key: Any) -> Any:
        return self.module[key]  # type: ignore[index]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Gather the parameters and return the output of the module."""
        shard = self._shard
        if shard is None:
            return self.module(*args, **kwargs)
        if shard.summoned:
            if current().grad:
                what = "forward inside summon_full_params computes gradients of temporary parameters, which are lost"
                raise error(RuntimeError, WHO, what, "call the model outside of summon_full_params, or under no_grad()")
            return self.module(*args, **kwargs)
        with shard.gathered():
            return self.module(*args, **kwargs)

    # ------------------------------------------------------------------ all units of a model
    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Return the units in a module, including the module itself; with `root_only` only those that are in no other unit."""
        units = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        inner = {id(m) for unit in units for m in unit.module.modules()}
        return [u for u in units if id(u) not in inner] if root_only else units

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Keep all parameters whole in the modules inside the `with` block, and save changes to them if `writeback`.

        Each rank saves its part of the changes that it makes, so all ranks make the same changes.
        """
        refuse("summon_full_params", rank0_only=rank0_only or None, with_grads=with_grads or None)
        units = FullyShardedDataParallel.fsdp_modules(module) if recurse else [module]
        with ExitStack() as stack:
            for unit in units:
                if isinstance(unit, FullyShardedDataParallel) and unit._shard is not None:
                    stack.enter_context(unit._shard.summon(writeback))
            yield

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Change nothing: each backward adds the averaged gradient to this rank's shard.

        PyTorch keeps whole gradients inside the `with` block and communicates less; the result is the same.
        """
        yield

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale all gradients, in place, so that their norm over all ranks is at most `max_norm`; return the earlier norm.

        `torch.nn.utils.clip_grad_norm_` sees only this rank's shards.
        """
        grads = [p.grad for p in self.parameters() if p.grad is not None]
        kind, norm_type = ReduceOp.MAX if norm_type == float("inf") else ReduceOp.SUM, float(norm_type)
        with no_grad():
            norms = stack([g.norm(norm_type) for g in grads]) if grads else next(self.parameters()).new_zeros(1)
            total = norms.max() if kind is ReduceOp.MAX else (norms**norm_type).sum()
            collectives.all_reduce(total, kind, self._group)
            total = total if kind is ReduceOp.MAX else total ** (1 / norm_type)
            scale: Any = max_norm / (total + 1e-6)
            for g in grads:
                g *= scale.clamp(max=1.0)
        return total

    # ------------------------------------------------------------------ state
    @staticmethod
    def set_state_dict_type(module: Module, state_dict_type: StateDictType, *_: Any) -> None:
        """Choose whether state_dict() of a model returns whole tensors or this rank's shards."""
        if state_dict_type is StateDictType.LOCAL_STATE_DICT:
            fix = "use StateDictType.SHARDED_STATE_DICT, which another number of ranks can load"
            raise error(NotImplementedError, WHO, "LOCAL_STATE_DICT is not supported", fix)
        for unit in FullyShardedDataParallel.fsdp_modules(module):
            unit._state_type = state_dict_type

    @staticmethod
    @contextmanager
    def state_dict_type(module: Module, state_dict_type: StateDictType, *_: Any) -> Iterator[None]:
        """Let state_dict() of a model return whole tensors or this rank's shards inside the `with` block."""
        before = [(unit, unit._state_type) for unit in FullyShardedDataParallel.fsdp_modules(module)]
        FullyShardedDataParallel.set_state_dict_type(module, state_dict_type)
        try:
            yield
        finally:
            for unit, kind in before:
                unit._state_type = kind

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict:
        """Return the state of the module inside, under the names that it has unwrapped; all ranks gather whole tensors.

        Under `state_dict_type(model, StateDictType.SHARDED_STATE_DICT)` the parameters are ShardedTensors, which share memory
        with this rank's shard, for distributed.checkpoint to save or load.
        """
        state = self.module.state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
        if (shard := self._shard) is None:
            return state
        if self._state_type is StateDictType.SHARDED_STATE_DICT:
            shard.check_sharded("a sharded state_dict")
            tensors: list = [part.of(shard.flat) for part in shard.parts()]
        else:
            with shard.summon(writeback=False):
                tensors = [m._parameters[name].detach().clone() for e in shard.entries for m, name in e.places[:1]]
        for entry, t in zip(shard.entries, tensors):
            for name in entry.names:
                state[prefix + name] = t
        return state

    def held_parts(self) -> dict[str, list[Part]]:
        return {} if self._shard is None else {FLAT: self._shard.parts()}


# ---------------------------------------------------------------------- the parameters of a unit
def is_unit(module: Module) -> bool:
    """Return True if a module is a FullyShardedDataParallel."""
    return isinstance(module, FullyShardedDataParallel)


def own_parameters(module: Module, prefix: str = "") -> Iterator[tuple]:
    """Yield the parameters that belong to no unit inside, each with its name in the state_dict, module and name there."""
    if isinstance(module, HoldsParts):
        what = f"{prefix[:-1] or 'the module'} is a {type(module).__name__}, whose parameters are already divided"
        raise error(NotImplementedError, WHO, what, f"use parallelize_module or {WHO} once for a module, not both")
    for name, p in module._parameters.items():
        if p is not None:
            yield prefix + name, module, name, p
    for name, child in module._modules.items():
        if child is not None and not is_unit(child):
            yield from own_parameters(child, f"{prefix}{name}.")


def refuse(who: str = WHO, **arguments: Any) -> None:
    """Raise NotImplementedError for arguments that are not None."""
    for name, value in arguments.items():
        if value is not None:
            raise error(NotImplementedError, who, f"{name}={value!r} is not supported", f"leave {name} out")


# ---------------------------------------------------------------------- loading
def take_over(
    unit: FullyShardedDataParallel,
    state: dict,
    prefix: str,
    metadata: Any,
    strict: bool,
    missing: list,
    unexpected: list,
    faults: list,
) -> None:
    """Rename the entries of a state_dict from the unwrapped module's names to this unit's, and flatten its parameters."""
    shown = prefix.replace(INNER, "")
    known = {name.replace(INNER, "") for name, _ in slots(unit.module) if name.rpartition(".")[2] != FLAT}
    known |= {n for u in unit.fsdp_modules(unit) for n in names_of(unit, u)}
    for key in [k for k in state if k.startswith(prefix)]:
        value, name = state.pop(key), key[len(prefix) :]
        if name in known:
            state[f"{prefix}{INNER}{name}"] = value
        else:
            unexpected.append(shown + name)
    shard = unit._shard
    if shard is None:
        return
    shard.check_sharded("load_state_dict")
    flat = shard.flat.detach().clone()
    for entry, part in zip(shard.entries, shard.parts()):
        mine = part.of(flat)
        for name in entry.names:
            whole = state.pop(f"{prefix}{INNER}{name}", None)
            if whole is None:
                missing.append(shown + name)
            elif fault := fill(mine, whole):
                faults.append(f"size mismatch for {shown}{name}: {fault}.")
    state[f"{prefix}{FLAT}"] = flat


def names_of(root: Module, unit: FullyShardedDataParallel) -> list[str]:
    """Return the names of a unit's own parameters in the state_dict of `root`."""
    path = next(path for path, m in root.named_modules() if m is unit)
    path = f"{path}.".replace(INNER, "") if path else ""
    return [] if unit._shard is None else [path + n for e in unit._shard.entries for n in e.names]
