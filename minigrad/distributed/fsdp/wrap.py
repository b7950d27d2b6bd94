"""Which modules inside of a model become units of their own: functions for `auto_wrap_policy`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...nn.module import Module


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Return True: wrap every module.

    >>> always_wrap_policy(module=None, recurse=False, nonwrapped_numel=0)
    True
    """
    return True


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: Any = None,
    exclude_wrap_modules: Any = None,
) -> bool:
    """Return whether a module has `min_num_params` parameters that no module inside of it has taken.

    Choose the number with `functools.partial(size_based_auto_wrap_policy, min_num_params=1000)`.
    """
    enough = nonwrapped_numel >= min_num_params
    if recurse:
        return enough and not isinstance(module, tuple(force_leaf_modules or ()))
    return enough and not isinstance(module, tuple(exclude_wrap_modules or ()))


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type[Module]]
) -> bool:
    """Return whether a module is of one of the given classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


class ModuleWrapPolicy:
    """Wrap the modules of the given classes.

    >>> import minigrad
    >>> policy = ModuleWrapPolicy({minigrad.nn.Linear})
    >>> policy(minigrad.nn.Linear(1, 1), recurse=False, nonwrapped_numel=2)
    True
    """

    def __init__(self, module_classes: Iterable[type[Module]]):
        self.module_classes = tuple(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, self.module_classes)

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({', '.join(c.__name__ for c in self.module_classes)})"


def wrapped_inside(model: Module, policy: Callable, is_unit: Callable, wrap: Callable[[Module], Module]) -> int:
    """Wrap the modules inside of a model that a policy wants; return the number of elements in the parameters taken."""
    taken = 0
    for name, child in list(model.named_children()):
        if is_unit(child):
            continue
        numel = numel_of(child, is_unit)
        inside = 0
        if policy(module=child, recurse=True, nonwrapped_numel=numel):
            inside = wrapped_inside(child, policy, is_unit, wrap)
        if numel > inside and policy(module=child, recurse=False, nonwrapped_numel=numel - inside):
            setattr(model, name, wrap(child))
            inside = numel
        taken += inside
    return taken


def numel_of(module: Module, is_unit: Callable) -> int:
    """Return the number of elements of the parameters that no unit has taken."""
    own = sum([p.numel() for p in module.parameters(recurse=False)])
    return own + sum([numel_of(child, is_unit) for child in module.children() if not is_unit(child)])
