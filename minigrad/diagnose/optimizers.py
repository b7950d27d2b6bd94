"""Mistakes in training loops that an optimizer can detect.

They cost a step only a few comparisons; the names of parameters are those that `Module.parameters` has seen.
"""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from ..core.graph import Leaf
from ..core.tensor import Tensor
from ..errors import error, warn
from ..places import Place, defined_at, noted, user_place
from . import debug, slips, trained_models
from .cut_lines import cleared_line, cut_line_at_step
from .debug import Lent
from .detached import switched_off
from .modules import is_module, modules_of, parameters_of, stored_at, table, used
from .report import row
from .users_program import End, made_at

# ---------------------------------------------------------------------- its parameters
module_of: WeakKeyDictionary = WeakKeyDictionary()  # iterator of model.parameters() -> the model


def listed(who: str, params: Any) -> tuple[list, Any]:
    """Return the parameters or groups as a list, and the module whose parameters() they are, if it is known.

    Raises TypeError for a value that is not iterable, and ValueError for an exhausted iterator.
    """
    if isinstance(params, Tensor) or not any(hasattr(type(params), name) for name in ("__iter__", "__getitem__")):
        what = "a tensor" if isinstance(params, Tensor) else type(params).__name__
        if callable(params) and hasattr(params, "__name__"):
            what = f"the method {params.__name__}, which is not called"
        fix = "pass a list: [tensor]" if isinstance(params, Tensor) else "pass model.parameters()"
        raise error(TypeError, who, f"params argument should be an iterable of tensors or dicts, but got {what}", fix)
    if isinstance(params, Generator) and params.gi_frame is None:
        raise error(
            ValueError,
            who,
            "optimizer got an empty parameter list: the iterator is already used up",
            "keep the parameters in a list: parameters = list(model.parameters())",
            notes=made_at(params),
        )
    model = module_of.get(params) if isinstance(params, Generator) else None
    if model is not None:
        slips.warn_read_again(who, params, model)
    return list(params), model


def read_for(who: str, params: Any) -> None:
    """Look at an iterator of parameters that a call is about to read."""
    if isinstance(params, Generator) and params.gi_frame is not None and params in module_of:
        slips.warn_read_again(who, params, module_of[params])


def warn_used_up(who: str, params: Any) -> None:
    """Warn about an iterator of a module's parameters that has no more of them."""
    if isinstance(params, Generator) and params.gi_frame is None and params in module_of:
        warn(
            "iterator-used-up",
            who,
            f"gets no parameters: another call has already read all that this iterator of "
            f"{type(module_of[params]).__name__}.parameters() had",
            "keep the parameters in a list: parameters = list(model.parameters())",
        )


def not_registered(model: Any, known: Iterable) -> tuple[str, str, Place | None]:
    """Return a phrase about parameters that a module holds but does not register, the fix and the line; or "", "" and None."""
    seen = {id(p) for p in (*known, *parameters_of(model))}
    for m in modules_of(model):
        for name, value in vars(m).items():
            who = f"{type(m).__name__}.{name}"
            if isinstance(value, (list, tuple, dict)) and not name.startswith("_"):
                n = len({id(p) for p in parameters_in(value) if p.requires_grad} - seen)
                if n:
                    what = (
                        f"{who}, a plain {type(value).__name__}, holds {n} parameters that the module does not register"
                    )
                    return what, f"write self.{name} = {container(value)}", stored_at(m, name)
    found = None if known else next(trained_models.plain_tensors(model, seen), None)
    return found[1:] if found else ("", "", None)


def container(value: Any) -> str:
    """Return the code of the container that registers the layers or parameters in a list or dictionary."""
    values = value.values() if isinstance(value, dict) else value
    kind = "Parameter" if all(isinstance(v, Tensor) for v in values) else "Module"
    return f"nn.{kind}Dict({{...}})" if isinstance(value, dict) else f"nn.{kind}List([...])"


def parameters_in(value: Any) -> Iterator[Tensor]:
    """Yield all parameters in a structure of lists and dictionaries."""
    if getattr(value, "_is_param", False):
        yield value
    elif is_module(value):
        yield from parameters_of(value)
    elif isinstance(value, (list, tuple, dict)):
        for v in value.values() if isinstance(value, dict) else value:
            yield from parameters_in(v)


def warn_not_registered(who: str, models: list, known: list) -> None:
    """Warn about the first module with unregistered parameters that the optimizer does not have otherwise."""
    for text, fix, place in [not_registered(model, known) for model in models]:
        if text:
            notes = noted("the optimizer is made", user_place()) if place else []
            warn("unregistered-parameters", who, f"{text}; no step will change them", fix, place, notes)
            return


# ---------------------------------------------------------------------- at a step
def closure_without_loss(who: str, closure: Any) -> Exception:
    """Return the error for a closure that returns nothing."""
    what = "the closure returns None, but a step compares the losses that it returns"
    return error(TypeError, who, what, "end the closure with `return loss`", defined_at(closure))


def warn_schedule_first(who: str, params: list) -> None:
    """Warn if a schedule's first step comes before the optimizer's, although gradients exist."""
    if any([p._grad is not None for p in params]):
        warn(
            "schedule-before-step",
            who,
            "the schedule's step() comes before the optimizer's, so the first learning rate is never used",
            "call optimizer.step() first, then schedule.step()",
        )


def warn_epoch(who: str) -> None:
    """Warn about the older form step(epoch) of a schedule."""
    what = "step(epoch) is PyTorch's older form: it jumps to an epoch, in closed form where the schedule has one"
    warn("schedule-epoch", who, what, "call scheduler.step() once after each epoch")


def warn_next_rate(who: str) -> None:
    """Warn about get_lr() outside of a schedule's step, which is taken for the current rate."""
    what = "get_lr() computes the rates that come next; outside of step() they are not the current ones"
    warn("next-learning-rate", who, what, "call scheduler.get_last_lr()")


def without_gradients(who: str, params: list, earlier: Earlier) -> None:
    """Warn about a step without gradients, if gradients were computed and cleared or a graph of the parameters is alive."""
    if not params:
        return
    place = None
    if earlier.cleared:
        place = cleared_line()
        why = "zero_grad() has cleared the gradients that backward computed since the last step"
    elif earlier.stepped:  # a loss may depend on others than at the first step
        return
    elif in_a_graph(params):
        if slips.check_source("backward"):  # loss.backward without parentheses
            return
        why = "results depend on them, but backward has not reached them"
    else:
        trained_models.warn_unrelated(who, params, earlier.place)
        return
    warn(
        "step-without-gradients",
        who,
        f"none of the {len(params)} parameters has a gradient, so this step does nothing: {why}",
        "keep this order: optimizer.zero_grad(), loss = ..., loss.backward(), optimizer.step()",
        place,
        noted("the step was called", user_place()) if place else (),
    )


def in_a_graph(params: list) -> bool:
    """Return True if a node that is alive holds the leaf of a parameter."""
    leaves = tuple([p._edge for p in params if type(p._edge) is Leaf])  # a list would be passed on as one more holder
    own = {id(leaves), *map(id, params)}
    return any([id(holder) not in own for holder in gc.get_referrers(*leaves)])


def warn_frozen(who: str, params: list) -> None:
    """Warn about a step of parameters of which none requires grad."""
    if params:
        which = (
            f"none of the {len(params)} parameters requires"
            if len(params) > 1
            else "the only parameter does not require"
        )
        warn(
            "step-without-gradients",
            who,
            f"{which} grad, so this step does nothing",
            "set requires_grad=True on them, or call module.requires_grad_(True), before computing the loss",
            notes=made_at(params[0]) if len(params) == 1 else switched_off(),
        )


class Earlier:
    """Notes on earlier steps: gradients by id, parameters that had one, and the models that the parameters belong to."""

    __slots__ = ("cleared", "had", "inside", "made", "models", "place", "stepped", "used", "watched")

    def __init__(self):
        self.cleared = self.stepped = self.inside = False  # inside: a step is running
        self.had: set[int] = set()
        self.used: set[int] = set()
        self.models: list = []
        self.watched: list[trained_models.WatchedModel] = []
        self.place: Place | None = None  # the line that made the optimizer
        self.made: trained_models.MadeOptimizer | None = None

    def __reduce__(self):
        """Copy and pickle an optimizer without notes."""
        return Earlier, ()

    def begins(self, optimizer: Any, models: list) -> None:
        """Note a new optimizer and the models whose parameters it has."""
        who, params = type(optimizer).__name__, optimizer._all()
        self.models, self.place = [], user_place()
        self.watched = [trained_models.WatchedModel(m) for m in models]
        self.made = trained_models.made(who, params, optimizer.defaults)
        trained_models.alive.add(optimizer)
        warn_not_registered(who, models, params)
        trained_models.warn_shared_memory(who, params, models)
        for model in models:
            trained_models.warn_results(who, model)

    def check_models(self, who: str) -> None:
        """Look at the models at a step."""
        if self.made is not None:
            self.made.stepped()
        for watched in self.watched:
            watched.check(who)
            if not self.stepped and (model := watched.model()) is not None:
                trained_models.warn_layers_in_forward(model)
                trained_models.warn_plain_tensors(who, model)
                trained_models.warn_backward_of_module(model)

    def clearing(self, p: Tensor) -> None:
        """Note a gradient that is about to be cleared before a step has used it."""
        self.cleared = self.cleared or p._grad is not None and id(p._grad) not in self.used

    def uses(self, g: Tensor) -> bool:
        """Note a gradient that a step uses; return True if an earlier step used it and backward has added to it since."""
        self.used.add(id(g))
        return lend(g)


def lend(g: Tensor) -> bool:
    """Mark a gradient that a step uses; return True if it was marked before and backward has added to it since."""
    seen = g._ver
    if seen is None:
        g._ver = Lent()
    if type(seen) is not Lent:  # written before its first step, by several batches or in other ways
        return False
    added = seen.n == seen.used + 1 and seen.writer == "backward" and not seen.exposed
    seen.used, seen.exposed = seen.n, False
    return added


def warn_not_cleared(who: str, n: int, total: int) -> None:
    """Warn about gradients that a step has used and backward has added to."""
    warn(
        "gradients-not-cleared",
        who,
        f"{n} of {total} parameters still have the gradients that the last step used, and backward has added to them",
        "call optimizer.zero_grad() before backward",
    )


def warn_replaced(who: str, p: Tensor, known: list) -> None:
    """Warn about a parameter that its module has replaced by one that the optimizer does not have."""
    new, place = getattr(p, "_replaced", None) or (lambda: None, None)
    value = new()
    if value is None or {id(q) for q in parameters_in(value)} <= {id(q) for q in known}:
        return
    warn(
        "replaced-parameter",
        who,
        f"the model has replaced {described(p)}, but the optimizer still updates the old one",
        "make the optimizer after the last change of the model, or call optimizer.add_param_group",
        place,
    )


def warn_cut_off(who: str, params: list, models: list) -> None:
    """Warn about parameters that have never received a gradient because a history ended, or because no method reads them."""
    cut: dict = {}
    for p, name in [(p, described(p)) for p in params]:  # described first: the search lists parameters of submodules
        if p._edge is not None and (end := cut_line_at_step(p._edge) or unused(p, models)):
            cut.setdefault(end, []).append(name)
    for end, names in cut.items():
        warn(
            "parameter-cut-off",
            who,
            f"{row(names)} {'has' if len(names) == 1 else 'have'} never received a gradient, but other parameters have: "
            f"{end.name} {end.why}",
            end.fix,
            end.place,
        )


def unused(p: Tensor, models: list) -> End | None:
    """Return the reason why a parameter has no gradient if the methods of the module that holds it never read its name."""
    for m in [m for model in models for m in modules_of(model)]:
        for name in [*table(m, "_parameters"), *table(m, "_modules")]:
            if not used(m, name) and any(q is p for q in held_as(m, name)):
                fix = f"use self.{name} in forward, or remove it; if this is meant, leave its parameters out of the optimizer"
                return End(f"{type(m).__name__}.forward", stored_at(m, name), f"never uses self.{name}", fix)
    return None


def held_as(module: Any, name: str) -> list[Tensor]:
    """Return the parameters in a module's attribute of this name."""
    found = table(module, "_parameters").get(name)
    return list(parameters_of(table(module, "_modules").get(name))) if found is None else [found]


def debugging() -> bool:
    """Return True if debug mode is on."""
    return debug.mode.on


def described(p: Tensor) -> str:
    """Return a parameter's name, if it has one, and its shape."""
    return f"{getattr(p, '_path', '') or 'a parameter'} of shape {tuple(p.shape)}"
