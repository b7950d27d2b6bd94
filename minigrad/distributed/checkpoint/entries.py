"""Names for the entries of a nested state_dict: `{"model": {"weight": w}}` has the entry "model.weight"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

from ...core.tensor import Tensor
from ...errors import error
from ..sharded_tensor import ShardedTensor


@runtime_checkable
class Stateful(Protocol):
    """An object with a state: a module, an optimizer, a schedule, or an object of any class with these two methods.

    >>> import minigrad
    >>> import minigrad.distributed.checkpoint as dcp
    >>> isinstance(minigrad.nn.Linear(2, 1), dcp.Stateful)
    True
    """

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""
        ...

    def load_state_dict(self, state_dict: Any, /) -> Any:
        """Take over a state."""
        ...


def entries(tree: Any, who: str) -> dict[str, Any]:
    """Return the tensors and values in nested dictionaries, and in lists with tensors, by dotted name.

    Raises TypeError for keys other than strings and integers, ValueError for two entries with the same name.
    """
    found: dict[str, Any] = {}
    for name, value in named(tree, "", who):
        if name in found:
            what = f"two entries of the state_dict have the name {name!r}, which is their keys joined by dots"
            raise error(ValueError, who, what, "rename the key of one of them")
        found[name] = value
    return found


def named(tree: Any, prefix: str, who: str) -> Iterator[tuple[str, Any]]:
    """Yield the entries of a tree with their names; a list without tensors is one entry."""
    if not has_entries(tree):
        yield prefix[:-1], tree
        return
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if not isinstance(key, (str, int)):
            what = f"expected the keys of a state_dict to be strings or integers, got {key!r} in {prefix[:-1] or 'it'}"
            raise error(TypeError, who, what, "use str(key)")
        yield from named(value, f"{prefix}{key}.", who)


def has_entries(tree: Any) -> bool:
    """Return True if the members of a value are entries themselves; a list without tensors is one entry."""
    if isinstance(tree, (list, tuple)) and not isinstance(tree, Tensor):
        return any([isinstance(v, (Tensor, ShardedTensor, dict)) or has_entries(v) for v in tree])
    return isinstance(tree, dict)


def replaced(tree: Any, values: dict[str, Any], prefix: str = "") -> Any:
    """Put values, by name, into the dictionaries and lists of a tree; return the tree, or what replaces it."""
    if not has_entries(tree):
        return values.get(prefix[:-1], tree)
    if isinstance(tree, tuple):
        new = [replaced(v, values, f"{prefix}{i}.") for i, v in enumerate(tree)]
        return type(tree)(*new) if hasattr(tree, "_fields") else type(tree)(new)
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        new = replaced(value, values, f"{prefix}{key}.")
        if new is not value:
            tree[key] = new
    return tree


def states(state_dict: Any, who: str) -> dict[str, Any]:
    """Return a state_dict with states in place of its Stateful values.  Raises TypeError for anything but a dictionary."""
    if not isinstance(state_dict, dict):
        what = f"expected state_dict to be a dict, got {type(state_dict).__name__}"
        raise error(TypeError, who, what, "pass {'model': model.state_dict()}")
    return {k: v.state_dict() if has_state(v) else v for k, v in state_dict.items()}


def has_state(value: Any) -> bool:
    """Return True if `states` replaces a value by its state."""
    return isinstance(value, Stateful) and not isinstance(value, (Tensor, ShardedTensor, dict))
