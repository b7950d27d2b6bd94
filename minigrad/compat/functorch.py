"""functorch's functions for modules, whose successors are `func.functional_call` and `func.stack_module_state`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ..func import functional_call, stack_module_state
from ..nn import Module

__all__ = ["combine_state_for_ensemble", "make_functional", "make_functional_with_buffers"]


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Callable, tuple, tuple]:
    """Return a module as a function of (parameters, buffers, *inputs), with copies of its parameters and buffers as tuples.

    >>> import minigrad
    >>> f, parameters, buffers = make_functional_with_buffers(minigrad.nn.BatchNorm1d(2))
    >>> len(parameters), len(buffers), tuple(f(parameters, buffers, minigrad.ones(3, 2)).shape)
    (2, 3, (3, 2))
    """
    own = copy.deepcopy(model)
    parameters, buffers = dict(own.named_parameters()), dict(own.named_buffers())
    if disable_autograd_tracking:
        own.requires_grad_(False)

    def run(parameter_values: Sequence, buffer_values: Sequence, *args: Any, **kwargs: Any) -> Any:
        state = dict(zip(parameters, parameter_values)) | dict(zip(buffers, buffer_values))
        return functional_call(own, state, args, kwargs)

    return run, tuple(parameters.values()), tuple(buffers.values())


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[Callable, tuple]:
    """Return a module as a function of (parameters, *inputs), with a copy of its parameters as a tuple.

    >>> import minigrad
    >>> f, parameters = make_functional(minigrad.nn.Linear(2, 1))
    >>> minigrad.func.grad(lambda p: f(p, minigrad.ones(3, 2)).sum())(parameters)[1]
    tensor([3.])
    """
    run, parameters, buffers = make_functional_with_buffers(model, disable_autograd_tracking)
    return lambda values, *args, **kwargs: run(values, buffers, *args, **kwargs), parameters


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[Callable, tuple, tuple]:
    """Return the function of the first of several modules of one kind, with all parameters and buffers stacked, for vmap.

    >>> import minigrad
    >>> f, parameters, buffers = combine_state_for_ensemble([minigrad.nn.Linear(2, 1) for _ in range(4)])
    >>> tuple(minigrad.vmap(f, (0, 0, None))(parameters, buffers, minigrad.ones(3, 2)).shape)
    (4, 3, 1)
    """
    run = make_functional_with_buffers(models[0])[0]
    parameters, buffers = stack_module_state(list(models))
    return run, tuple(parameters.values()), tuple(buffers.values())
