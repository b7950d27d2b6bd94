"""Policies for `auto_wrap_policy`: they choose the modules inside a model that become units."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...nn.containers import ModuleDict, ModuleList
from ...nn.module import Module
from ...nn.multihead_attention import MultiheadAttention

CONTAINERS = (ModuleList, ModuleDict)
LEAVES = (MultiheadAttention,)


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
    """Return True if a module has at least `min_num_params` elements in the parameters that no unit inside it has taken.

    Choose the number with `functools.partial(size_based_auto_wrap_policy, min_num_params=1000)`.  Modules of the classes in
    `exclude_wrap_modules`, ModuleList and ModuleDict by default, are not wrapped: a model calls their members and not them.
    Those in `force_leaf_modules`, MultiheadAttention by default, and the modules inside them stay in the unit around them.
    """
    classes = (force_leaf_modules, LEAVES) if recurse else (exclude_wrap_modules, CONTAINERS)
    excluded = tuple(classes[1] if classes[0] is None else classes[0])
    return nonwrapped_numel >= min_num_params and not isinstance(module, excluded)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type[Module]]
) -> bool:
    """Return True if a module belongs to one of the given classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


class ModuleWrapPolicy:
    """A policy that wraps the modules of the given classes.

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


def wrap_inside(model: Module, policy: Callable, is_unit: Callable, wrap: Callable[[Module], Module]) -> None:
    """Wrap the modules inside a model that a policy chooses, the innermost first."""
    for name, child in list(model.named_children()):
        if is_unit(child) or not policy(module=child, recurse=True, nonwrapped_numel=numel_of(child, is_unit)):
            continue
        wrap_inside(child, policy, is_unit, wrap)
        left = numel_of(child, is_unit)
        if left and policy(module=child, recurse=False, nonwrapped_numel=left):
            setattr(model, name, wrap(child))


def numel_of(module: Module, is_unit: Callable) -> int:
    """Return the number of elements in the parameters that belong to no unit."""
    own = sum([p.numel() for p in module.parameters(recurse=False)])
    return own + sum([numel_of(child, is_unit) for child in module.children() if not is_unit(child)])
