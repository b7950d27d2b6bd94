"""States of models and optimizers that do not depend on the number of ranks, as in torch.distributed.checkpoint.state_dict.

Parameters have the names that they have in the model without wrappers; the state of an optimizer uses these names too.  A
tensor of which a rank holds only a part is a ShardedTensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any

from ...core.tensor import Tensor
from ...errors import error
from ...nn.module import Module
from ...optim import Optimizer
from ..data_parallel import DistributedDataParallel
from ..fsdp import FullyShardedDataParallel, StateDictType
from ..fsdp.fully_sharded import INNER
from ..sharded_tensor import HoldsParts, Part, ShardedTensor, fill
from ..zero import ZeroRedundancyOptimizer

SET = "set_optimizer_state_dict"

Held = tuple[Tensor, list[Part]]  # a parameter, and the parts of tensors of the state_dict that it holds


@dataclass
class StateDictOptions:
    """Options of the functions here: `full_state_dict` gathers whole tensors on all ranks, `strict` goes to load_state_dict.

    Raises NotImplementedError for other values of PyTorch's remaining options.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False

    def __post_init__(self) -> None:
        for f in fields(self):
            if f.name not in ("strict", "full_state_dict") and getattr(self, f.name) != f.default:
                what = f"{f.name}={getattr(self, f.name)} is not supported"
                raise error(NotImplementedError, "StateDictOptions", what, f"leave {f.name} out")


def get_state_dict(
    model: Module, optimizers: Optimizer | Sequence[Optimizer], *, options: StateDictOptions | None = None
) -> tuple[dict, dict]:
    """Return the states of a model and its optimizers, for distributed.checkpoint to save or load.

    >>> import minigrad, tempfile
    >>> import minigrad.distributed.checkpoint as dcp
    >>> from minigrad.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    >>> model = minigrad.nn.Linear(2, 1)
    >>> optimizer = minigrad.optim.Adam(model.parameters())
    >>> states, folder = get_state_dict(model, optimizer), tempfile.mkdtemp()
    >>> sorted(states[1]["state"]["bias"])
    ['exp_avg', 'exp_avg_sq', 'step']
    >>> _ = dcp.save({"model": states[0], "optimizer": states[1]}, checkpoint_id=folder)
    >>> dcp.load({"model": states[0], "optimizer": states[1]}, checkpoint_id=folder)
    >>> set_state_dict(model, optimizer, model_state_dict=states[0], optim_state_dict=states[1])
    <All keys matched successfully>
    """
    found = get_model_state_dict(model, options=options)
    return found, get_optimizer_state_dict(model, optimizers, options=options)


def get_model_state_dict(model: Module, *, options: StateDictOptions | None = None) -> dict[str, Any]:
    """Return the state of a model."""
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
        return whole(unwrapped(model).state_dict(), options)


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizer | Sequence[Optimizer], *, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """Return the states of optimizers, by the names of the parameters.

    For parameters without a state, the result has the state after a step with lr=0 and zero gradients; the optimizer itself
    stays without, so that training goes on as if the function had not been called.
    """
    held, found = parts(model), {"state": {}, "param_groups": []}
    for optimizer in listed(optimizers):
        new = initialize(optimizer)
        for p, mine in of_optimizer(optimizer, held):
            for part in mine:
                found["state"][part.name] = {
                    k: sharded(part, v) if same_shape(v, p) else v for k, v in optimizer.state[p].items()
                }
        for group in optimizer.param_groups:
            found["param_groups"].append({**group, "params": names_of(group, held)})
        for p in new:
            optimizer.state.pop(p, None)
    return whole(found, options)


def set_state_dict(
    model: Module,
    optimizers: Optimizer | Sequence[Optimizer],
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Load the states of a model and its optimizers; return the result of the model's load_state_dict."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load the state of a model: whole tensors, or shards for the same number of ranks."""
    return unwrapped(model).load_state_dict(model_state_dict, strict=options is None or options.strict)


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Sequence[Optimizer],
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Copy the states of optimizers from a dictionary.

    Raises RuntimeError for names that are missing, for shapes that do not fit, and for the state of another kind of optimizer.
    """
    held, saved = parts(model), optim_state_dict["state"]
    settings = {name: group for group in optim_state_dict["param_groups"] for name in group["params"]}
    for optimizer in listed(optimizers):
        initialize(optimizer)
        for p, mine in of_optimizer(optimizer, held):
            fill_state(optimizer.state[p], p, mine, saved)
        for group in optimizer.param_groups:
            names = names_of(group, held)
            check_there(names, settings)
            if names:
                changed = {k: v for k, v in settings[names[0]].items() if k not in ("params", "param_names")}
                group.update(deepcopy(changed))


def fill_state(state: dict, p: Tensor, mine: list[Part], saved: dict[str, dict]) -> None:
    """Copy the state of a parameter from the states of the tensors that it holds parts of."""
    check_there([part.name for part in mine], saved)
    for k, v in state.items():
        if absent := [part.name for part in mine if k not in saved[part.name]]:
            what = f"the state of {absent[0]!r} has no {k!r}, which this optimizer keeps"
            raise error(RuntimeError, SET, what, "pass the state of an optimizer of the same class and settings")
        if not same_shape(v, p):
            state[k] = deepcopy(saved[mine[0].name][k])
            continue
        for part in mine:
            if fault := fill(part.of(v), saved[part.name][k]):
                raise error(RuntimeError, SET, f"size mismatch for {k} of {part.name!r}: {fault}")


def check_there(names: list[str], saved: dict) -> None:
    """Raise RuntimeError where a dictionary lacks one of the names."""
    if absent := [name for name in names if name not in saved]:
        what = f"the state of {absent[0]!r} is missing"
        raise error(RuntimeError, SET, what, "pass what get_optimizer_state_dict returned for this model")


# ---------------------------------------------------------------------- helpers
def parts(model: Module) -> dict[int, Held]:
    """Return the parameters of a model by id, with the parts of tensors of its state_dict that they hold."""
    found: dict[int, Held] = {}
    for path, module in unwrapped(model).named_modules():
        prefix = f"{path}.".replace(INNER, "") if path else ""
        own = module.held_parts() if isinstance(module, HoldsParts) else {}
        for name, p in module._parameters.items():
            if p is not None and id(p) not in found:
                shape = tuple(p.shape)
                mine = own.get(name, [Part(name, shape, 0, [((0,) * p.ndim, shape)])])
                found[id(p)] = p, [part._replace(name=prefix + part.name) for part in mine]
    return found


def whole(state: dict, options: StateDictOptions | None) -> dict:
    """Replace ShardedTensors in a state by whole tensors, if the options ask for it; return the state."""
    if options is not None and options.full_state_dict:
        for key, value in state.items():
            if isinstance(value, ShardedTensor):
                state[key] = value.full_tensor()
            elif isinstance(value, dict):
                whole(value, options)
    return state


def unwrapped(model: Module) -> Module:
    """Return the module inside a DistributedDataParallel, whose names the states use."""
    return model.module if isinstance(model, DistributedDataParallel) else model


def listed(optimizers: Any) -> list[Optimizer]:
    """Return one or several optimizers as a list."""
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def names_of(group: dict, held: dict[int, Held]) -> list[str]:
    """Return the names of the tensors that the parameters of a group hold, or hold parts of."""
    return [part.name for p in group["params"] for part in held[id(p)][1]]


def of_optimizer(optimizer: Optimizer, held: dict[int, Held]) -> Iterator[Held]:
    """Yield the parameters of an optimizer that have a state.  Raises ValueError for one that does not belong to the model."""
    for p in optimizer._all():
        if id(p) not in held:
            what = f"the optimizer has a parameter of shape {tuple(p.shape)} that does not belong to the model"
            raise error(ValueError, "get_optimizer_state_dict", what, "build the optimizer from model.parameters()")
        if optimizer.state.get(p):
            yield held[id(p)]


def same_shape(value: Any, p: Tensor) -> bool:
    """Return True if a value of a state has an element for each element of a parameter."""
    return isinstance(value, Tensor) and value.shape == p.shape


def sharded(part: Part, local: Tensor) -> Tensor | ShardedTensor:
    """Return the tensor that a rank's tensor is, or is a part of."""
    return local.detach() if part.group is None else part.of(local)


def initialize(optimizer: Optimizer) -> list[Tensor]:
    """Make a step that changes no parameter, so that each of this rank's parameters has a state; return those without one."""
    if isinstance(optimizer, ZeroRedundancyOptimizer):
        optimizer = optimizer.optim  # its own step is a call of all ranks, and some may need none
    new = [p for p in optimizer._all() if p.requires_grad and not optimizer.state.get(p)]
    if new:
        with unchanged(optimizer, new):
            optimizer.step()
    return new


@contextmanager
def unchanged(optimizer: Optimizer, new: list) -> Iterator[None]:
    """Set lr to 0 inside the `with` block, and give zero gradients to new parameters and none to others."""
    every, chosen = optimizer._all(), set(map(id, new))
    grads, rates = [p.grad for p in every], [group.get("lr") for group in optimizer.param_groups]
    for p in every:
        p.grad = p.detach().new_zeros(p.shape) if id(p) in chosen else None
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = group["lr"] * 0
    try:
        yield
    finally:
        for p, grad in zip(every, grads):
            p.grad = grad
        for group, rate in zip(optimizer.param_groups, rates):
            if "lr" in group:
                group["lr"] = rate
