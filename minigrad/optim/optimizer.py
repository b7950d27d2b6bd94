"""Optimizer: groups of parameters with their settings, and a state for each parameter.

A subclass defines `update(p, grad, state, group)`: one step of one parameter.  It runs under no_grad, in place, with the
operations that users call, so a recording shows an update like any other code.  Or it defines `step`, as for PyTorch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import wraps
from typing import Any, Self

import numpy as np

from ..autograd import profiler
from ..autograd.grad_mode import enable_grad, set_grad_enabled
from ..core.frames import EAGER, current
from ..core.graph import operation_of
from ..core.tensor import Tensor
from ..diagnose import optimizers, trained_models
from ..diagnose.detached import switched_off
from ..diagnose.modules import no_optimizer_state
from ..diagnose.users_program import made_at
from ..errors import error, warn
from ..nn.module import clear_grad
from ..places import defined_at, held, home, noted, user_place
from . import one_pass
from .hooked import Hooked

__all__ = ["Optimizer"]

required: Any = object()  # as a default: every parameter group must state this setting


def surrounded(step: Callable) -> Callable:
    """Return a `step` with the hooks and the profiler's span around it; a step that it calls, its super's, has none."""

    @wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self._earlier.inside:
            return step(self, *args, **kwargs)
        args = (self, *args)
        for hook in list(self._hooks.get("before", {}).values()):
            args, kwargs = changed_by(hook, self, args, kwargs)
        self._earlier.inside = True
        try:
            if not profiler.profilers:
                result = step(*args, **kwargs)
            else:
                with profiler.span(f"Optimizer.step#{type(self).__name__}.step"):
                    result = step(*args, **kwargs)
        finally:
            self._earlier.inside = False
        self._earlier.cleared, self._earlier.stepped = False, True
        for hook in list(self._hooks.get("after", {}).values()):
            hook(self, args, kwargs)
        return result

    return run


def changed_by(hook: Callable, optimizer: Optimizer, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of a step after a hook, which may return other ones."""
    new = hook(optimizer, args, kwargs)
    if new is None:
        return args, kwargs
    if not isinstance(new, tuple) or len(new) != 2:
        what = f"a step pre-hook returned {type(new).__name__}, but it must return None or (args, kwargs)"
        raise error(RuntimeError, type(optimizer).__name__, what, "return None", defined_at(hook))
    return new


class Optimizer(Hooked):
    """Base class.  `params` are tensors, (name, tensor) pairs, or dictionaries `{"params": ..., **settings}`.

    `params` may be any iterable, such as a generator or nn.ParameterList; those of a group may not be a set.
    Every optimizer accepts PyTorch's `foreach`, `fused` and `capturable`; they choose among PyTorch's implementations and
    have no effect here.  With `differentiable` the step is recorded, and parameters need not be leaves.

    >>> import minigrad
    >>> class SignDescent(minigrad.optim.Optimizer):
    ...     def step(self):
    ...         with minigrad.no_grad():
    ...             for group in self.param_groups:
    ...                 for p in group["params"]:
    ...                     p -= group["lr"] * p.grad.sign()
    >>> x = minigrad.tensor([2.], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> SignDescent([x], {"lr": 0.5}).step()
    >>> x.tolist()
    [1.5]
    """

    amounts: tuple = ()  # the settings that must be numbers in the range that RANGES states, or at least 0
    listed_state: tuple = ()  # the names in a parameter's state of which `_init_group` makes lists

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = surrounded(cls.step)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make an optimizer with what every step needs, which a class that wraps others may leave out of its __init__."""
        made = super().__new__(cls)
        vars(made).update(_hooks={}, _earlier=optimizers.Earlier())
        return made

    def __init__(self, params: Iterable, defaults: dict):
        check(type(self).__name__, {name: defaults[name] for name in self.amounts if name in defaults})
        self.defaults = defaults
        self._earlier: optimizers.Earlier
        self.state: dict[Tensor, dict] = defaultdict(dict)
        self.param_groups: list[dict] = []
        groups, model = optimizers.listed(who := type(self).__name__, params)
        if not groups:
            what, fix, place = ("", "", None) if model is None else optimizers.not_registered(model, ())
            frozen = [] if what else switched_off()
            if frozen:
                fix = (
                    "leave a part of the parameters trainable, module.requires_grad_(True), before making the optimizer"
                )
            raise error(
                ValueError,
                who,
                f"optimizer got an empty parameter list{what and ': '}{what}",
                fix
                or "pass model.parameters() itself; a used generator yields nothing, but list(...) keeps the parameters",
                place,
                noted("the optimizer is made", user_place()) if place else frozen,
            )
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)
        self._earlier.begins(self, [m for m in (model, *self._earlier.models) if m is not None])

    def __setstate__(self, state: dict) -> None:
        """Restore an optimizer from a pickle of minigrad or PyTorch."""
        vars(self).update(state)

    def _all(self) -> list:
        """Return the parameters of all groups."""
        return [p for group in self.param_groups for p in group["params"]]

    def add_param_group(self, param_group: dict) -> None:
        """Add parameters, with their own settings if given.

        Raises TypeError for anything but tensors, ValueError for results of operations and parameters of other groups.
        """
        who = type(self).__name__
        if not isinstance(param_group, dict):
            what = f"param_group must be a dict, but got {type(param_group).__name__}"
            raise error(TypeError, who, what, "write add_param_group({'params': parameters})")
        if "params" not in param_group:
            raise error(
                KeyError, who, f"a parameter group has no 'params', only {sorted(param_group)}", "name them 'params'"
            )
        params = param_group["params"]
        if isinstance(params, set):
            raise error(
                TypeError, who, "parameters need an order, but the order of a set changes between runs", "pass a list"
            )
        items, model = ([params], None) if isinstance(params, Tensor) else optimizers.listed(who, params)
        self._earlier.models.append(model)
        tensors = [p[1] if isinstance(p, tuple) else p for p in items]
        names = [p[0] for p in items if isinstance(p, tuple)]
        named = bool(names) or "param_names" in param_group
        if names and len(names) < len(items) or any(named != ("param_names" in g) for g in self.param_groups):
            what = "some parameters have names and others do not"
            raise error(ValueError, who, what, "pass model.named_parameters(), or model.parameters(), in every group")
        present = {id(p) for g in self.param_groups for p in g["params"]}
        for p in tensors:
            self._check(p, present)
        if len({id(p) for p in tensors}) < len(tensors):
            warn(
                "repeated-parameter",
                who,
                "a parameter appears several times in one group, so each step updates it several times",
                "pass each parameter once: list(dict.fromkeys(parameters))",
            )
        param_group |= {"params": tensors, **({"param_names": names} if names else {})}
        for name, default in self.defaults.items():
            if param_group.setdefault(name, default) is required:
                what = f"parameter group didn't specify a value of required optimization parameter {name}"
                raise error(ValueError, who, what, f"write {name}=... in the group, or in the call of {who}")
        self.param_groups.append(param_group)

    def _check(self, p: Any, present: set[int]) -> None:
        """Raise an error if a parameter is not a leaf, or its id is `present` in another group."""
        who = type(self).__name__
        if not isinstance(p, Tensor):
            what = f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}"
            fix = "pass model.parameters(), or one flat list of tensors: [*a.parameters(), *b.parameters()]"
            raise error(TypeError, who, what, fix)
        if (made := p.grad_fn) is not None and not p.retains_grad and not self.defaults.get("differentiable"):
            raise error(
                ValueError,
                who,
                f"can't optimize a non-leaf Tensor: this one, of shape {tuple(p.shape)}, is the result of {operation_of(made)}",
                "optimize the tensors that it is computed from, or make it a leaf: w = (a * b).detach().requires_grad_()",
                notes=made_at(p),
            )
        if id(p) in present:
            what = "some parameters appear in more than one parameter group"
            fix = "pass each parameter once: leave out those of another group with `if p not in set(group)`"
            raise error(ValueError, who, what, fix)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients to None, or with `set_to_none=False` to zeros."""
        for p in self._all():
            self._earlier.clearing(p)
            clear_grad(p, set_to_none)

    @surrounded
    def step(self, closure: Callable | None = None) -> Any:
        """Update every parameter that has a gradient.  `closure`, if given, recomputes the loss, which is returned."""
        if closure is not None and not callable(closure):
            what = f"step takes a function that recomputes the loss, or nothing, but got {type(closure).__name__}"
            raise error(TypeError, type(self).__name__, what, "loss.backward(); optimizer.step()")
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        earlier, without, twice, updated = self._earlier, [], 0, 0
        looks = computes_now()
        earlier.used.clear()
        line = held.set(user_place() if home(self).startswith("minigrad.") else None)
        try:
            with set_grad_enabled(bool(self.defaults.get("differentiable"))):
                for group in self.param_groups:
                    params, grads = [], []
                    self._init_group(group, params, grads, *[[] for _ in self.listed_state])
                    without += [p for p in group["params"] if p._edge is not None and p.grad is None]
                    twice += sum([earlier.uses(g) for g in grads]) if looks else 0
                    updated += len(params)
                    pairs = list(zip(params, [-g for g in grads] if group.get("maximize") else grads))
                    for p, g in one_pass.step(self, group, pairs):
                        self.update(p, g, self.state[p], group)
        finally:
            held.reset(line)
        if looks:
            self._look(without, twice)
            if not updated and not without:
                optimizers.warn_frozen(type(self).__name__, self._all())
        return loss

    def _init_group(self, group: dict, params: list, grads: list, *states: list) -> bool:
        """Collect a group's parameters that have gradients, the gradients, and the state, which begins at the first step.

        As PyTorch's, it returns True for complex parameters, and a subclass may change what it collects.
        """
        for p in group["params"]:
            if (g := p.grad) is not None:
                params.append(p)
                grads.append(g)
                if not (state := self.state[p]):
                    self.begin(p, state, group)
                for name, values in zip(self.listed_state, states):
                    if name in state:
                        values.append(state[name])
        return any([p.is_complex() for p in params])

    def begin(self, p: Tensor, state: dict, group: dict) -> None:
        """Fill the state of a parameter as it is before the first step."""

    def _look(self, without: list, twice: int) -> None:
        """Warn about this step's parameters without a gradient, or with a gradient that was used before."""
        who, known = type(self).__name__, self._all() if without or twice else []
        self._earlier.check_models(who)
        if not self._earlier.stepped:
            trained_models.warn_all_zero(who, self._all())
        if twice:
            optimizers.warn_not_cleared(who, twice, len(known))
        if without and len(without) == len(known):
            optimizers.without_gradients(who, without, self._earlier)
        for p in without:
            optimizers.warn_replaced(who, p, known)
        if optimizers.debugging() or without and not self._earlier.stepped:
            self._earlier.had |= {id(p) for p in self._all() if p.grad is not None}
            if self._earlier.had:
                models = [model for w in self._earlier.watched if (model := w.model()) is not None]
                optimizers.warn_cut_off(who, [p for p in without if id(p) not in self._earlier.had], models)

    def update(self, p: Tensor, grad: Tensor, state: dict, group: dict) -> None:
        """Change one parameter in place."""
        raise NotImplementedError

    def state_dict(self) -> dict:
        """Return the state by parameter number, and the groups with parameter numbers; tensors share memory."""
        self._passed("state_pre")
        number = {id(p): i for i, p in enumerate(self._all())}
        groups = [{**g, "params": [number[id(p)] for p in g["params"]]} for g in self.param_groups]
        state = {number[id(p)] if isinstance(p, Tensor) else p: s for p, s in self.state.items() if s}
        return self._passed("state", {"state": state, "param_groups": groups})

    def load_state_dict(self, state_dict: dict) -> None:
        """Load a state_dict() of an optimizer whose groups have the same sizes.  Raises ValueError otherwise.

        Tensors move to the devices of their parameters; the step counters stay on the CPU.
        """
        if not isinstance(state_dict, dict) or "param_groups" not in state_dict:
            raise no_optimizer_state(type(self).__name__, state_dict)
        saved = deepcopy(self._passed("load_pre", dict(state_dict)))
        sizes = [len(g["params"]) for g in self.param_groups], [len(g["params"]) for g in saved["param_groups"]]
        if sizes[0] != sizes[1]:
            what = f"loaded state dict has parameter groups of sizes {sizes[1]}, this optimizer has {sizes[0]}"
            fix = "build the optimizer with the parameter groups that it had when it was saved"
            raise error(ValueError, type(self).__name__, what, fix)
        by_number, groups = {}, []
        for mine, theirs in zip(self.param_groups, saved["param_groups"]):
            by_number.update(zip(theirs["params"], mine["params"]))
            kept = [*self.defaults, "params", "param_names"]  # an older state may lack a setting
            groups.append({k: mine[k] for k in kept if k in mine} | {k: v for k, v in theirs.items() if k != "params"})
        state = {by_number.get(i, i): cast_state(by_number.get(i), s) for i, s in saved["state"].items()}
        self.__setstate__({"state": defaultdict(dict, state), "param_groups": groups})
        self._passed("load")

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {i}", *[f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"


def cast_state(p: Tensor | None, value: Any) -> Any:
    """Return a parameter's state on its device, and in its dtype if floating-point; `step` stays as it is."""
    if p is not None and isinstance(value, Tensor):
        return value.to(p.device, p.dtype if p.is_floating_point() else value.dtype)
    if p is not None and isinstance(value, dict):
        return {k: v if k == "step" else cast_state(p, v) for k, v in value.items()}
    return type(value)([cast_state(p, v) for v in value]) if type(value) in (list, tuple) else value


def count(step: Tensor) -> Any:
    """Count one more step.  Users may read the counter, a tensor, but recordings do not show it."""
    if computes_now():
        step._a[...] += 1
        return step._a.item()
    steps = step.item() + 1
    step.fill_(steps)
    return steps


def computes_now() -> bool:
    """Return True if operations compute at once, with no transform or capture in between."""
    layer = current().layer
    return layer is EAGER or layer.records


def number(value: Any) -> Any:
    """Return a setting as a number; a rate may be a tensor with one element."""
    return value.item() if isinstance(value, Tensor) else value


def settings(arguments: dict) -> dict:
    """Return the settings that an optimizer's __init__ received, from its locals()."""
    return {name: value for name, value in arguments.items() if name not in ("self", "params", "__class__")}


RANGES = {  # for settings with a range other than "at least 0": the test, and the fix
    "betas": (lambda betas: all(0 <= b < 1 for b in betas), "pass two numbers in [0, 1)"),
    "rho": (lambda rho: 0 <= rho <= 1, "pass a number in [0, 1]"),
    "etas": (lambda etas: 0 < etas[0] < 1 < etas[1], "pass a factor below 1 and one above: etas=(0.5, 1.2)"),
    "step_sizes": (lambda sizes: True, "pass the least and the largest size of a step: step_sizes=(1e-6, 50)"),
}
PAIRS = "betas", "etas", "step_sizes"
AMOUNT = (lambda value: value >= 0, "pass a number of at least 0; maximize=True ascends")


def check(who: str, amounts: dict) -> None:
    """Raise ValueError for settings outside their range, such as negative ones; TypeError for anything but numbers."""
    for name, value in amounts.items():
        allowed, remedy = RANGES.get(name, AMOUNT)
        pair, more = name in PAIRS, one_pass.several(value)
        if more != pair or pair and len(value) != 2:
            what = f"{name} has to be {'two numbers' if pair else 'a number'}, but got {value!r}"
            raise error(ValueError if more and pair else TypeError, who, what, remedy if pair else f"write {name}=0.01")
        for v in value if more else (value,):
            if not isinstance(v, (int, float, Tensor, np.generic)):
                raise error(TypeError, who, f"{name} has to be a number, but got {v!r}", f"write {name}=0.01")
            if isinstance(v, Tensor) and v.numel() != 1:
                what = f"{name} as a tensor must have 1 element, but got shape {tuple(v.shape)}"
                raise error(ValueError, who, what, "make a parameter group for each value")
        if not allowed(value):
            raise error(ValueError, who, f"invalid {name}: {value}", remedy)
