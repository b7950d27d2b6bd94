"""The state of modules: parameters and buffers by dotted name, saved from a module and loaded into one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..autograd.grad_mode import no_grad
from ..core.tensor import Tensor, wrap
from ..diagnose import modules
from ..errors import error
from .module_hooks import Hooked
from .parameter import Parameter, is_lazy

EXTRA = "_extra_state"
OF_PYTORCH = "_is_full_backward_hook"  # an attribute that PyTorch's modules alone have
EARLIER = {  # an attribute in files of earlier versions -> its name
    "_hooks": "_hooks_by_kind",
    "_options": "_hook_options",
    "_transient": "_non_persistent_buffers_set",
}


class IncompatibleKeys(NamedTuple):
    """The names that load_state_dict missed, and the names that it did not expect."""

    missing_keys: list
    unexpected_keys: list

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class Stateful(Hooked):
    """The state of a Module: its state_dict, and the loading of one."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set
    _version = 1  # of the names in the state_dict, stored in its attribute _metadata
    _since: dict[str, int] = {}  # name -> the version that introduced it

    def __setstate__(self, state: dict) -> None:
        """Restore a module from a pickle.  Raises RuntimeError for a module of PyTorch with hooks."""
        if OF_PYTORCH in state:
            state = {"_hooks_by_kind": {}, "_hook_options": {}} | {k: v for k, v in state.items() if k != OF_PYTORCH}
            for name in [k for k in state if k.endswith("_hooks") or "_hooks_" in k and k != "_hooks_by_kind"]:
                if state.pop(name):
                    what = f"the file has a module of PyTorch with {name}, which minigrad cannot load"
                    raise error(RuntimeError, type(self).__name__, what, "in PyTorch, save its state_dict instead")
        elif "_transient" in state:
            state = {EARLIER.get(name, name): value for name, value in state.items()}
        vars(self).update(state)

    def get_extra_state(self) -> Any:
        """Return further state for the state_dict; a subclass defines it together with set_extra_state."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Restore the value that get_extra_state returned."""
        raise NotImplementedError(f"{type(self).__name__} defines no set_extra_state")

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict:
        """Return all parameters and persistent buffers by dotted name, sharing memory, detached unless `keep_vars`.

        `prefix` goes before the names.  If `destination` is given, the tensors are added to it.
        """
        state: Any = OrderedDict() if destination is None else destination
        if destination is None:
            state._metadata = OrderedDict()
        version = {"version": self._version}
        if hasattr(state, "_metadata"):
            state._metadata[prefix[:-1]] = version
        for hook, _ in self._hooks_of("state_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(state, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook, options in self._hooks_of("state"):
            changed = hook(self, state, prefix, version)
            state = changed if "returns" in options and changed is not None else state
        if destination is None:
            modules.note_taken(state)
        return state

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Add this module's own parameters, persistent buffers and extra state to a state_dict, without its children's.

        Classes that have further state override it.
        """
        for name, t in own_state(self):
            destination[prefix + name] = t if keep_vars else t.detach()
        if overrides(self, "get_extra_state"):
            destination[prefix + EXTRA] = self.get_extra_state()

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy tensors or NumPy arrays into the parameters and buffers with these names.

        With `strict` the names have to match the module's exactly.  With `assign` the given tensors replace the module's
        own.  Raises TypeError if `state_dict` is not a dictionary, RuntimeError with a list of all missing names,
        unexpected names and mismatched shapes.
        """
        if not isinstance(state_dict, Mapping):
            what = f"expected state_dict to be dict-like, got {type(state_dict).__name__}"
            raise error(TypeError, "load_state_dict", what, "pass the result of model.state_dict(), or load(file)")
        state, result = Loaded(state_dict), IncompatibleKeys([], [])
        state._metadata = getattr(state_dict, "_metadata", None) or {}
        faults: list[str] = []
        writes: list[partial] = []
        after = self._load_tree(state, "", assign, writes, result, faults)
        differ = strict and (result.missing_keys or result.unexpected_keys)
        if faults or differ and not after:  # before anything is written
            raise load_error(self, strict, result, faults, state)
        pairs = [write.args[2:4] for write in writes if write.func is place]
        modules.check_loaded(self, state_names, state_dict, pairs, result.missing_keys)
        written(writes)
        for owner, hook in after:  # it may remove keys from the result
            hook(owner, result)
        if strict and (result.missing_keys or result.unexpected_keys):
            raise load_error(self, strict, result, faults, state)
        return result

    def _load_tree(
        self, state: Loaded, prefix: str, assign: bool, writes: list, result: IncompatibleKeys, faults: list
    ) -> list:
        """Load this module and those below it; return the hooks to call afterwards, each with its module.

        A class with PyTorch's `_load_from_state_dict` puts its writes off until all names and shapes are known to fit.
        Where a subclass overrides it, they happen at once: its code may read them.
        """
        own = dict(state._metadata.get(prefix[:-1], {}))
        own |= {"assign_to_params_buffers": True} if assign else {}
        own |= {} if overrides(self, "_load_from_state_dict") else {WRITES: writes}
        self._load_from_state_dict(state, prefix, own, True, *result, faults)
        after = []
        for name, child in self._modules.items():
            if child is not None:
                inside = f"{prefix}{name}."
                part = Loaded((k, v) for k, v in state.items() if k.startswith(inside))
                part._metadata = state._metadata
                after += child._load_tree(part, inside, assign, writes, result, faults)
        return after + [(self, hook) for hook, _ in self._hooks_of("load")]

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
    ) -> None:
        """Load this module's own tensors and extra state, without its children's; the lists collect the faults.

        Classes with other state, or with other names in an older version, override it.
        """
        given_to_hooks = state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        for hook, options in self._hooks_of("load_pre"):
            hook(*[self] * ("with_module" in options), *given_to_hooks)
        own: dict[str, Any] = dict(own_state(self)) | ({EXTRA: None} if overrides(self, "set_extra_state") else {})
        writes, missing = [], []
        for name, mine in own.items():
            if (key := prefix + name) not in state_dict:
                if (local_metadata.get("version") or 1) >= self._since.get(name, 1):
                    missing.append(key)
            elif mine is None:
                writes.append(partial(self.set_extra_state, state_dict[key]))
            elif (fault := misfit(key, mine, given := as_tensor(state_dict[key]))) is not None:
                error_msgs.append(fault)
            elif not (is_lazy(mine) and is_lazy(given)):
                assign = bool(local_metadata.get("assign_to_params_buffers"))
                writes.append(partial(place, self, name, mine, given, assign))
        if strict:
            missing_keys += missing
            unexpected_keys += [
                key for key in state_dict if key.startswith(prefix) and not self._knows(key, prefix, own)
            ]
        if WRITES in local_metadata:
            local_metadata[WRITES] += writes
        else:
            written(writes)

    def _knows(self, key: str, prefix: str, own: Mapping) -> bool:
        """Return True if a key belongs to one of the module's `own` names or to a child."""
        head, _, inside = key.removeprefix(prefix).partition(".")
        return head in (self._modules if inside else own)


WRITES = "writes of minigrad"  # the writes of a load that has not been checked to the end, among a module's metadata


class Loaded(OrderedDict):
    """The state_dict that a load changes; `_metadata` has the versions of the modules."""

    _metadata: Mapping[str, dict] = {}


def own_state(module: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the names and tensors of a module's state, without its children's."""
    for name, t in {**module._parameters, **module._buffers}.items():
        if t is not None and name not in module._non_persistent_buffers_set:
            yield name, t


def overrides(module: Any, method: str) -> bool:
    """Return True if a class overrides a method of Stateful."""
    return getattr(type(module), method) is not getattr(Stateful, method)


def state_names(module: Any) -> list[str]:
    """Return the keys of a module's state_dict."""
    return [
        f"{path}.{name}" if path else name
        for path, m in module.named_modules(remove_duplicate=False)
        for name in [name for name, _ in own_state(m)] + [EXTRA] * overrides(m, "get_extra_state")
    ]


def misfit(key: str, own: Tensor, given: Tensor) -> str | None:
    """Return what is wrong if a tensor cannot be loaded because of its shape."""
    if is_lazy(own) and is_lazy(given) or given.shape == own.shape or (given.shape, own.shape) == ((1,), ()):
        return None
    return (
        f"size mismatch for {key}: copying a param with shape {tuple(given.shape)} from checkpoint, the shape in current "
        f"model is {tuple(own.shape)}."
    )


def written(writes: list) -> None:
    """Carry out the writes of a load."""
    with no_grad():
        for write in writes:
            write()


def place(module: Any, name: str, own: Tensor, given: Tensor, assign: bool) -> None:
    """Copy a tensor into the module's own, or replace that one if `assign`."""
    if not assign:
        own.copy_(given.reshape(own.shape))  # a tensor without dimensions was saved with one by old versions
    elif isinstance(own, Parameter):
        given = given if isinstance(given, Parameter) else Parameter(given)
        setattr(module, name, given.requires_grad_(own.requires_grad))
    else:
        setattr(module, name, given)


def as_tensor(value: Any) -> Tensor:
    """Return a tensor unchanged, an array or a list as a tensor."""
    return value if isinstance(value, Tensor) else wrap(np.asarray(value))


def load_error(module: Any, strict: bool, keys: IncompatibleKeys, faults: list, state: Mapping) -> Exception:
    """Return one error that lists all faults of a state_dict."""
    if strict and keys.missing_keys:
        faults.insert(0, "Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in keys.missing_keys) + ".")
    if strict and keys.unexpected_keys:
        faults.insert(0, "Unexpected key(s) in state_dict: " + ", ".join(f'"{k}"' for k in keys.unexpected_keys) + ".")
    fix = "make the model with the sizes of the saved one"
    if strict and any(k.rpartition(".")[2] == EXTRA for k in keys.unexpected_keys):
        fix = "define set_extra_state(self, state) as well as get_extra_state(self)"
    elif strict and (keys.missing_keys or keys.unexpected_keys):
        fix = modules.fix_of_names(state_names(module), state)
    what = f"Error(s) in loading state_dict for {type(module).__name__}: " + " ".join(faults)
    return error(RuntimeError, "load_state_dict", what, fix)
