"""Modules as functions: functional_call and stack_module_state; norms without running statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core.function import as_tuple
from ..core.tensor import Tensor
from ..errors import error
from ..ops.join import stack


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call `module` with the given parameters and buffers, by name, instead of the module's.

    `args` is a tuple of arguments, or one argument.  `strict` requires all names and no others.  The module itself stays
    unchanged.  Raises KeyError for unknown names.

    >>> import minigrad
    >>> net = minigrad.nn.Linear(2, 1)
    >>> weights = {"weight": minigrad.ones(1, 2), "bias": minigrad.zeros(1)}
    >>> minigrad.func.functional_call(net, weights, (minigrad.tensor([1., 2.]),))
    tensor([3.])
    """
    given: dict[str, Tensor] = {}
    for i, d in enumerate(as_tuple(parameter_and_buffer_dicts)):
        if not isinstance(d, Mapping):
            what = f"parameters are given by name, in dictionaries, but element {i} is a {type(d).__name__}"
            raise error(TypeError, "functional_call", what, "pass dict(module.named_parameters())")
        if repeated := set(given) & set(d):
            raise error(
                ValueError, "functional_call", f"{sorted(repeated)[0]!r} appears in several of the dictionaries"
            )
        given.update(d)
    own = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    check_names(module, given, own, strict)
    if tie_weights:
        given = tied(given, own)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    places = [place_of(module, name) for name in given]
    before = [store[name] for store, name in places]
    try:
        put(places, given.values())
        return module(*args, **(kwargs or {}))
    finally:
        put(places, before)


def check_names(module: Any, given: dict, own: dict, strict: bool) -> None:
    """Check that all given names exist and stand for tensors; with strict, that no name is missing."""
    for name, t in given.items():
        if not isinstance(t, Tensor):
            raise error(TypeError, "functional_call", f"{name!r} is a {type(t).__name__}, not a tensor")
    if unknown := [n for n in given if n not in own]:
        what = f"{type(module).__name__} has no parameter or buffer {unknown[0]!r}; it has {', '.join(own)}"
        fix = "use the names of module.named_parameters(), without a wrapper's prefix"
        raise error(RuntimeError if strict else KeyError, "functional_call", what, fix)
    if strict and (missing := [n for n in own if n not in given]):
        raise error(RuntimeError, "functional_call", f"with strict=True, {missing[0]!r} is missing")


def tied(given: dict, own: dict) -> dict:
    """Return the given tensors, also under the other names of tensors that the module holds under several names."""
    found = dict(given)
    for name, t in given.items():
        for other, o in own.items():
            if o is own[name] and found.setdefault(other, t) is not t:
                what = f"got different tensors for {name!r} and {other!r}, which are the same tensor in the module"
                raise error(ValueError, "functional_call", what, "pass only one of them, or tie_weights=False")
    return found


def place_of(module: Any, name: str) -> tuple:
    """Return the dictionary and key under which a module stores the tensor of this name."""
    *path, last = name.split(".")
    for part in path:
        module = module._modules[part]
    return (module._parameters if last in module._parameters else module._buffers), last


def put(places: list, tensors: Iterable) -> None:
    """Put tensors at their places in the module."""
    for (store, name), t in zip(places, tensors):
        store[name] = t


def stack_module_state(models: Sequence) -> tuple[dict, dict]:
    """Return the parameters and the buffers of several modules of one class, each stacked along a new first dimension.

    The stacked parameters require grad.  Use them with vmap over functional_call.

    >>> import minigrad
    >>> nets = [minigrad.nn.Linear(2, 1) for _ in range(3)]
    >>> parameters, buffers = minigrad.func.stack_module_state(nets)
    >>> parameters["weight"].shape
    minigrad.Size([3, 1, 2])
    """
    if not models:
        raise error(RuntimeError, "stack_module_state", "expected at least one model, got none")
    if len({type(m) for m in models}) > 1:
        raise error(
            RuntimeError,
            "stack_module_state",
            f"expected all models to be of the same class, got {', '.join(sorted({type(m).__name__ for m in models}))}",
        )
    if len({m.training for m in models}) > 1:
        what = "expected all models to have the same training/eval mode"
        raise error(RuntimeError, "stack_module_state", what, "call model.train() or model.eval() on each of them")
    for name, p in models[0].named_parameters():
        for i, m in enumerate(models):
            if (other := dict(m.named_parameters())[name]).shape != p.shape:
                what = f"{name} has shape {tuple(p.shape)} in model 0 and {tuple(other.shape)} in model {i}"
                fix = "give all models the same shapes; vmap cannot run different ones together"
                raise error(RuntimeError, "stack_module_state", what, fix)
    parameters = {n: stack([dict(m.named_parameters())[n].detach() for m in models]).requires_grad_(p.requires_grad)
                  for n, p in models[0].named_parameters()}  # fmt: skip
    buffers = {n: stack([dict(m.named_buffers())[n] for m in models]).detach() for n, _ in models[0].named_buffers()}
    return parameters, buffers


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let the batch norms of a model use the batch's statistics alone, in place, and return the model.

    A transform cannot update running statistics, which all examples share.

    >>> import minigrad
    >>> net = replace_all_batch_norm_modules_(minigrad.nn.Sequential(minigrad.nn.BatchNorm1d(3)))
    >>> net[0].running_mean is None, net[0].track_running_stats
    (True, False)
    """
    for module in root.modules():
        if getattr(module, "_over_batch", False) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
