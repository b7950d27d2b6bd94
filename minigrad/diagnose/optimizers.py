"""What an optimizer can tell about a training loop that does not do what it was written for.

None of it costs a step more than a few comparisons; the names of parameters are those that `Module.parameters` has seen.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from ..core.graph import Leaf
from ..core.tensor import Tensor
from ..errors import error, warn
from . import debug, detached
from .debug import Lent


def is_module(x: Any) -> bool:
    """Return whether x is a module of nn.  This file must not import nn, which imports it."""
    return hasattr(x, "named_parameters")


# ---------------------------------------------------------------------- what is given to it
module_of: WeakKeyDictionary = WeakKeyDictionary()  # what model.parameters() gave -> the model


def listed(who: str, params: Any) -> tuple[list, Any]:
    """The parameters, or groups of them, as a list, and the module whose parameters() they are, if it can be told.

    Raises TypeError for what is no iterable, ValueError for an iterator that has nothing left.
    """
    if isinstance(params, Tensor) or is_module(params) or not isinstance(params, Iterable):
        what = "a tensor" if isinstance(params, Tensor) else type(params).__name__
        if callable(params) and hasattr(params, "__name__"):
            what = f"the method {params.__name__}, which was not called"
        fix = "pass a list: [tensor]" if isinstance(params, Tensor) else "pass model.parameters()"
        raise error(TypeError, who, f"params argument should be an iterable of tensors or dicts, but got {what}", fix)
    if isinstance(params, Generator) and params.gi_frame is None:
        raise error(
            ValueError,
            who,
            "optimizer got an empty parameter list: the iterator that was passed is used up already",
            "keep a list, which can be gone through again: parameters = list(model.parameters())",
        )
    model = module_of.get(params) if isinstance(params, Generator) else None
    return list(params), model


def not_registered(model: Any, known: Iterable) -> str:
    """Parameters that lie in lists and dictionaries where a module does not look, in words; "" if there are none."""
    seen = {id(p) for p in (*known, *model.parameters())}
    for m in model.modules():
        for name, value in vars(m).items():
            if isinstance(value, (list, tuple, dict)) and not name.startswith("_"):
                n = len({id(p) for p in parameters_in(value) if p.requires_grad} - seen)
                if n:
                    return (
                        f"{type(m).__name__}.{name}, a plain {type(value).__name__}, holds {n} parameters that the module "
                        "does not know of"
                    )
    return ""


REGISTER = "keep layers in an nn.ModuleList or nn.ModuleDict, parameters in an nn.ParameterList or nn.ParameterDict"


def parameters_in(value: Any) -> Iterator[Tensor]:
    """All parameters in a structure of lists and dictionaries."""
    if getattr(value, "_is_param", False):
        yield value
    elif is_module(value):
        yield from value.parameters()
    elif isinstance(value, (list, tuple, dict)):
        for v in value.values() if isinstance(value, dict) else value:
            yield from parameters_in(v)


def warn_not_registered(who: str, models: list, known: list) -> None:
    """Warn of the first of the modules that has such parameters, none of which the optimizer was given otherwise."""
    for text in filter(None, [not_registered(model, known) for model in models]):
        warn("unregistered-parameters", who, f"{text}; they will not be optimized", REGISTER)
        return


# ---------------------------------------------------------------------- at a step
def warn_schedule_first(who: str, params: list) -> None:
    """Warn of a schedule's first step where gradients wait for the optimizer's first one."""
    if any([p._grad is not None for p in params]):
        warn(
            "schedule-before-step",
            who,
            "the schedule's step() was called before the optimizer's, so the first learning rate is never used",
            "call optimizer.step() first, then schedule.step()",
        )


def without_gradients(who: str, params: list, cleared: bool) -> None:
    """Warn that a step found no gradient, where one was computed and cleared, or a graph from the parameters is alive."""
    if not params:
        return
    if cleared:
        why = "zero_grad() has cleared the gradients that backward had computed since the last step"
    elif any([type(p._edge) is Leaf and sys.getrefcount(p._edge) > 2 for p in params]):
        why = "something was computed from them, but backward has not reached them"
    else:
        return
    warn(
        "step-without-gradients",
        who,
        f"none of the {len(params)} parameters has a gradient, so this step does nothing: {why}",
        "the order is optimizer.zero_grad(), loss = ..., loss.backward(), optimizer.step()",
    )


class Earlier:
    """Hold what is known of earlier steps: gradients by id, and parameters that had one."""

    __slots__ = ("cleared", "had", "models", "stepped", "used")

    def __init__(self):
        self.cleared = self.stepped = False
        self.had: set[int] = set()
        self.used: set[int] = set()
        self.models: list = []

    def clearing(self, p: Tensor) -> None:
        """Note whether a gradient that no step has used is about to be cleared."""
        self.cleared = self.cleared or p._grad is not None and id(p._grad) not in self.used

    def uses(self, g: Tensor) -> bool:
        """Note a gradient that a step has used; return whether one did before, and backward has added to it since."""
        self.used.add(id(g))
        return lend(g)


def lend(g: Tensor) -> bool:
    """Mark a gradient that a step has used; returns whether it was marked before, and backward has added to it since."""
    seen = g._ver
    if seen is None:
        g._ver = Lent()
    if type(seen) is not Lent:  # written before the first step that used it, by more than one batch or in other ways
        return False
    added = seen.n == seen.used + 1 and seen.writer == "backward" and not seen.exposed
    seen.used, seen.exposed = seen.n, False
    return added


def warn_not_cleared(who: str, n: int, total: int) -> None:
    """Backward has added to gradients that a step had used already."""
    warn(
        "gradients-not-cleared",
        who,
        f"{n} of {total} parameters have gradients that the last step has used already, and backward has added to them since",
        "call optimizer.zero_grad() before backward",
    )


def warn_replaced(who: str, p: Tensor, known: list) -> None:
    """Warn of a parameter that was replaced in its module by one that the optimizer does not have."""
    new, place = getattr(p, "_replaced", None) or (lambda: None, None)
    value = new()
    if value is None or {id(q) for q in parameters_in(value)} <= {id(q) for q in known}:
        return
    warn(
        "replaced-parameter",
        who,
        f"{described(p)} was replaced in its module after the optimizer was made, which does not have the new one",
        "make the optimizer after the last change of the model, or call optimizer.add_param_group",
        place,
    )


def warn_cut_off(who: str, params: list) -> None:
    """In debug mode: warn of parameters that have never had a gradient, though computed with, because a history ended."""
    names: dict = {}
    for p in params:
        if p._edge is not None and (end := detached.cut_off(p._edge)):
            names.setdefault(end, []).append(described(p))
    for end, cut in names.items():
        warn(
            "parameter-cut-off",
            who,
            f"{', '.join(cut)} have never had a gradient, though others have: {end.name} {end.why}",
            end.fix,
            end.place,
        )


def debugging() -> bool:
    """Whether debug mode is on."""
    return debug.mode.on


def described(p: Tensor) -> str:
    """A parameter's name, if it has one, and shape."""
    return f"{getattr(p, '_path', '') or 'a parameter'} of shape {tuple(p.shape)}"
