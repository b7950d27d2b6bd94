"""The hooks of optimizers: functions called before and after a step, and when a state is made or loaded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..tensors.hooks import Handle


class Hooked:
    """The hooks of an Optimizer.  With `prepend` a hook is called before the others of its kind."""

    _hooks: dict[str, dict[int, Callable]]  # for each kind, in calling order

    def register_step_pre_hook(self, hook: Callable) -> Handle:
        """Call hook(optimizer, args, kwargs) before each step; `args` are those of `step`, the optimizer itself first."""
        return self._register(hook, "before")

    def register_step_post_hook(self, hook: Callable) -> Handle:
        """Call hook(optimizer, args, kwargs) after each step, with the same arguments as the pre-hooks."""
        return self._register(hook, "after")

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(optimizer) before state_dict() collects the state."""
        return self._register(hook, "state_pre", prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(optimizer, state_dict) with the collected state; a result other than None replaces it."""
        return self._register(hook, "state", prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(optimizer, state_dict) before a state is loaded; a result other than None replaces it."""
        return self._register(hook, "load_pre", prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> Handle:
        """Call hook(optimizer) after a state is loaded."""
        return self._register(hook, "load", prepend)

    def _register(self, hook: Callable, kind: str, prepend: bool = False) -> Handle:
        hooks = self._hooks.setdefault(kind, OrderedDict())
        handle = Handle(hooks, hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)  # type: ignore[attr-defined]
        return handle

    def _passed(self, kind: str, *state: Any) -> Any:
        """Call the hooks of a kind with the optimizer, and with a state if there is one; return the state."""
        for hook in list(self._hooks.get(kind, {}).values()):
            changed = hook(self, *state)
            state = (changed,) if state and changed is not None else state
        return state[0] if state else None
