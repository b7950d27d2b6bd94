"""The state of modules: parameters and buffers by dotted name, saved from a module and loaded into one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..autograd.grad_mode import no_grad
from ..core.tensor import Tensor, wrap
from ..diagnose import loaded_names
from ..errors import error
from .module_hooks import Hooked
from .parameter import Parameter, is_lazy

EXTRA = "_extra_state"
PYTORCHS = ("_non_persistent_buffers_set", "_is_full_backward_hook")  # further attributes of PyTorch's modules


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
    _transient: set
    _version = 1  # of the names in the state_dict, stored in its attribute _metadata
    _since: dict[str, int] = {}  # name -> the version that introduced it

    def __setstate__(self, state: dict) -> None:
        """Restore a module from a pickle.  Raises RuntimeError for a module of PyTorch with hooks."""
        if PYTORCHS[0] in state:
            state = dict(state)
            for name in [k for k in state if k.endswith("_hooks") or "_hooks_" in k]:
                if state.pop(name):
                    what = f"the file has a module of PyTorch with {name}, which minigrad cannot load"
                    raise error(RuntimeError, type(self).__name__, what, "in PyTorch, save its state_dict instead")
            state |= {"_hooks": {}, "_options": {}, "_transient": state[PYTORCHS[0]]}
            state = {k: v for k, v in state.items() if k not in PYTORCHS}
        vars(self).update(state)

    def get_extra_state(self) -> Any:
        """Return further state for the state_dict; a subclass defines it together with set_extra_state."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Restore the value that get_extra_state returned."""
        raise error(
            RuntimeError,
            type(self).__name__,
            "the state_dict has an extra state for a module without set_extra_state",
            "define set_extra_state(self, state) as well as get_extra_state(self)",
        )

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
        for hook, _ in self._of("state_pre"):
            hook(self, prefix, keep_vars)
        for name, t in {**self._parameters, **self._buffers}.items():
            if t is not None and name not in self._transient:
                state[prefix + name] = t if keep_vars else t.detach()
        if has_extra_state(self):
            state[prefix + EXTRA] = self.get_extra_state()
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook, _ in self._of("state"):
            hook(self, state, prefix, version)
        if destination is None:
            loaded_names.note_taken(state)
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy tensors or NumPy arrays into the parameters and buffers with these names.

        With `strict` the names have to match the module's exactly.  With `assign` the given tensors replace the module's
        own.  Raises TypeError if `state_dict` is not a dictionary, RuntimeError with a list of all missing names,
        unexpected names and mismatched shapes.
        """
        if not isinstance(state_dict, Mapping):
            raise error(
                TypeError,
                "load_state_dict",
                f"expected state_dict to be dict-like, got {type(state_dict).__name__}",
                "pass the result of model.state_dict(), or load(file)",
            )
        own, state, result = dict(slots(self)), dict(state_dict), IncompatibleKeys([], [])
        faults: list[str] = []
        owners = [(f"{p}." if p else "", m) for p, m in self.named_modules(remove_duplicate=False)]  # type: ignore[attr-defined]
        for prefix, module in owners:
            for hook, _ in module._of("load_pre"):
                hook(module, state, prefix, {}, strict, *result, faults)
        versions = getattr(state_dict, "_metadata", None) or {}
        result.missing_keys.extend(k for k in own if k not in state and not is_newer(k, own[k][0], versions))
        result.unexpected_keys.extend(k for k in state if k not in own)
        tensors = {k: as_tensor(state[k]) for k, (_, _, t) in own.items() if k in state and t is not None}
        tensors = {k: t for k, t in tensors.items() if not (is_lazy(t) and is_lazy(own[k][2]))}
        faults += [
            f"size mismatch for {k}: copying a param with shape {tuple(t.shape)} from checkpoint, the shape in "
            f"current model is {tuple(own[k][2].shape)}."
            for k, t in tensors.items()
            if t.shape != own[k][2].shape
        ]
        after = [(m, hook) for _, m in reversed(owners) for hook, _ in m._of("load")]
        differ = strict and (result.missing_keys or result.unexpected_keys)
        if faults or differ and not after:  # before anything is written
            raise load_error(self, strict, result, faults, state)
        loaded_names.check_loaded(self, own, state_dict, tensors)
        with no_grad():
            for k, t in tensors.items():
                owner, name, mine = own[k]
                place(owner, name, mine, t, assign)
        for k, (owner, _, mine) in own.items():
            if mine is None and k in state:
                owner.set_extra_state(state[k])
        for owner, hook in after:  # it may remove keys from the result
            hook(owner, result)
        if strict and (result.missing_keys or result.unexpected_keys):
            raise load_error(self, strict, result, faults, state)
        return result


def slots(module: Any) -> Iterator[tuple[str, tuple]]:
    """Yield the key of each state_dict entry with (module, name, current tensor, or None for extra state)."""
    for path, m in module.named_modules(remove_duplicate=False):
        prefix = f"{path}." if path else ""
        for name, t in {**m._parameters, **m._buffers}.items():
            if t is not None and name not in m._transient:
                yield prefix + name, (m, name, t)
        if has_extra_state(m):
            yield prefix + EXTRA, (m, EXTRA, None)


def is_newer(key: str, module: Any, versions: Mapping[str, dict]) -> bool:
    """Return True if the module's version that wrote the state_dict did not have this name yet."""
    path, _, name = key.rpartition(".")
    return versions.get(path, {}).get("version", 1) < module._since.get(name, 1)


def has_extra_state(module: Any) -> bool:
    """Return True if the class overrides get_extra_state."""
    return type(module).get_extra_state is not Stateful.get_extra_state


def place(module: Any, name: str, own: Tensor, given: Tensor, assign: bool) -> None:
    """Copy a tensor into the module's own, or replace that one if `assign`."""
    if not assign:
        own.copy_(given)
    elif isinstance(own, Parameter):
        setattr(module, name, given if isinstance(given, Parameter) else Parameter(given, own.requires_grad))
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
    return error(
        RuntimeError,
        "load_state_dict",
        f"Error(s) in loading state_dict for {type(module).__name__}: " + " ".join(faults),
        loaded_names.fix_of_names([k for k, _ in slots(module)], state)
        if strict and (keys.missing_keys or keys.unexpected_keys)
        else "make the model with the sizes of the saved one",
    )
