"""Errors and warnings for mistakes in the use of modules, and in the loading of their states."""

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any
from weakref import WeakKeyDictionary, ref

from ..arrays.memory import storage
from ..core.saved import next_number, plain_tensor
from ..core.tensor import Tensor
from ..errors import MinigradError, error, warn
from ..places import (
    STORES,
    Place,
    defined_at,
    local_variables,
    noted,
    parsed,
    steps,
    user_frame,
    user_place,
    users_code,
    users_part,
)
from .report import Notes, counted, row, searches

switched: WeakKeyDictionary = WeakKeyDictionary()  # module -> the line that last called its eval()


def is_module(x: Any) -> bool:
    """Return True if x is a module of nn.  This package must not import nn, which imports it."""
    return hasattr(type(x), "named_parameters")


def parameters_of(x: Any) -> Iterator[Tensor]:
    """Yield the parameters in a module's own tables, submodules included; no method of the user's class runs."""
    for module in modules_of(x):
        yield from (p for p in table(module, "_parameters").values() if p is not None)


def modules_of(x: Any, of: Callable = lambda module, name: True) -> list:
    """Return a module and its submodules, each once, from its own tables; only those of which `of(module, name)` is true."""
    found, waiting = {}, [x]
    while waiting:
        if (module := waiting.pop()) is not None and id(module) not in found:
            found[id(module)] = module
            waiting += reversed([m for name, m in table(module, "_modules").items() if of(module, name)])
    return list(found.values())


def used_parameters(x: Any) -> Iterator[Tensor]:
    """Yield the parameters that a module's forward may use: in a user's class, those whose names its methods read."""
    for module in modules_of(x, of=used):
        yield from (p for name, p in table(module, "_parameters").items() if p is not None and used(module, name))


def used(module: Any, name: str) -> bool:
    """Return True unless the methods of a user's class never read the attribute of this name."""
    reads = names_read(type(module))
    return reads is None or name in reads


@lru_cache(256)
def names_read(kind: type) -> frozenset[str] | None:
    """Return the names in the methods of a user's module, without __init__; None if they may find a layer in other ways."""
    methods = [f for c in kind.__mro__ for name, f in vars(c).items() if name != "__init__" and inspect.isfunction(f)]
    codes = [code for f in methods if (code := users_code(f)) is not None]
    if users_code(inspect.getattr_static(kind, "forward", None)) is None:
        return None
    for code in codes:  # grows while it is iterated over: functions and comprehensions inside
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
    found = frozenset(name for code in codes for name in code.co_names)
    return None if found & BY_OTHER_NAMES else found


BY_OTHER_NAMES = frozenset(
    "getattr vars parameters children modules named_parameters named_children named_modules get_submodule get_parameter "
    "_modules _parameters __dict__ state_dict functional_call forward __call__ eval exec".split()
)


def table(x: Any, name: str) -> dict:
    """Return a module's table of parameters or submodules; an empty one for any other object."""
    found = inspect.getattr_static(x, name, None)
    return found if isinstance(found, dict) else {}


def stored_at(module: Any, name: str) -> Place | None:
    """Return the line of a module's __init__ that stores an attribute, if exactly one does."""
    init = type(module).__init__
    places = {place for step, which, place in steps(init) if step in STORES and which == name}
    return places.pop() if len(places) == 1 else None


def no_forward(module: Any) -> Exception:
    """Return the error for calling a module without forward."""
    near = get_close_matches("forward", [n for n in vars(type(module)) if n != "forward" and n[0] != "_"], 1)
    return error(
        NotImplementedError,
        type(module).__name__,
        f'Module [{type(module).__name__}] is missing the required "forward" function'
        + (f"; did you misspell it as {near[0]}?" if near else ""),
        "define it in the class: def forward(self, input): ...",
        notes=noted(f"{near[0]} is", defined_at(getattr(type(module), near[0]))) if near else (),
    )


def check_call(module: Any, args: tuple, kwargs: dict, e: Exception) -> None:
    """Raise the error for a call whose arguments a user's forward does not take, if `e` comes from such a call."""
    forward = module.forward
    if (
        not isinstance(e, TypeError)
        or isinstance(e, MinigradError)
        or users_code(forward) is None
        or users_part(e.__traceback__) is not None
    ):
        return
    try:
        inspect.signature(forward).bind(*args, **kwargs)
    except TypeError as fault:
        own = inspect.signature(getattr(forward, "__func__", forward))
        names, n = list(own.parameters), len(args) + len(kwargs)
        fix = f"call it as model({', '.join(names[1:])}), or let forward take more arguments"
        if names[:1] != ["self"]:
            fix = f"write def forward({', '.join(['self', *names])})"
        given = f"is called with {n} argument{'s' * (n != 1)}, but is defined as forward{own}: {fault}"
        notes = noted("it is defined", defined_at(forward))
        raise error(TypeError, f"{type(module).__name__}.forward", given, fix, notes=notes) from None


def not_initialised(module: Any, what: str) -> Exception:
    """Return the error for a module whose base __init__ was not called."""
    notes = noted("its __init__ is", defined_at(type(module).__init__))
    return error(
        AttributeError, type(module).__name__, what, "call super().__init__() first in its __init__", notes=notes
    )


def made_of(module: Any, t: Tensor, inputs: str, kind: type) -> Exception:
    """Return the error for a module that receives its input instead of a setting."""
    name = type(module).__name__
    what = f"takes settings, but got a tensor of shape {tuple(t.shape)}"
    return error(kind, name, what, f"create the module first, then call it: {name}(){inputs}")


def note_replaced(old: Any, new: Any) -> None:
    """Note on parameters that another parameter or module replaces them; optimizers read it."""
    place = user_place()
    for p in [old] if isinstance(old, Tensor) else [p for _, p in old.named_parameters()]:
        p._replaced = ref(new), place


def note_eval(module: Any) -> None:
    """Remember the line that calls a module's eval()."""
    switched[module] = user_place()


def inside(module: Any) -> bool:
    """Return True if the running user's code is a method of the module, which may set its own attributes."""
    frame = user_frame(2)
    return frame is not None and hasattr(type(module), frame.f_code.co_name)


def warn_requires_grad(module: Any, value: Any) -> None:
    """Warn about assigning requires_grad to a module, which only sets a new attribute."""
    n = len(list(module.parameters()))
    warn(
        "requires-grad-of-module",
        type(module).__name__,
        f"setting requires_grad on a module has no effect: its {n} parameters do not change",
        f"call model.requires_grad_({value!r})",
    )


# ---------------------------------------------------------------------- functional dropout
always: dict[tuple[CodeType, int], bool] = {}  # call in the user's code -> True if it drops without regard to the mode


def warn_dropped(who: str) -> None:
    """Warn about functional dropout in a method of a module in eval mode, if the call says nothing about training."""
    frame = user_frame(2)
    if frame is None or not frame.f_code.co_argcount:
        return
    call = frame.f_code, frame.f_lasti
    if call not in always:
        always[call] = omits_training(who, frame)
    module = local_variables(frame).get(frame.f_code.co_varnames[0]) if always[call] else None
    if is_module(module) and module.training is False:
        warn(
            "dropout-in-eval",
            who,
            f"drops elements although {type(module).__name__} is in eval mode: the function does not know the mode, and its "
            "argument training is True unless it is given",
            f"write {who}(..., training=self.training), or training=True if this is meant",
        )


@searches(False)
def omits_training(who: str, frame: FrameType) -> bool:
    """Return True if the only call of a dropout on the running line has no argument for `training`."""
    tree = parsed(frame.f_code.co_filename)
    nodes = () if tree is None else ast.walk(tree)
    calls = [n for n in nodes if isinstance(n, ast.Call) and n.lineno <= frame.f_lineno <= (n.end_lineno or 0)]
    calls = [n for n in calls if getattr(n.func, "attr", getattr(n.func, "id", "")) == who]
    if len(calls) != 1:
        return False
    names = {k.arg for k in calls[0].keywords}  # None for **kwargs
    return len(calls[0].args) < 3 and not {"training", None} & names and not starred(calls[0].args)


def starred(given: list) -> bool:
    """Return True if a call gets *args."""
    return any(isinstance(g, ast.Starred) for g in given)


taken = Notes()  # the first tensor of a state_dict -> its creation number, the line that took it


def note_taken(state: Mapping) -> None:
    """Remember when and where a state was taken, at one of its tensors: a copy of the dictionary has the same ones."""
    if (first := next((t for t in state.values() if isinstance(t, Tensor)), None)) is not None:
        taken[first] = next_number(), user_place()


def fix_of_names(own: Iterable[str], state: Mapping) -> str:
    """Return the fix for a state whose names differ from the model's."""
    names, given = set(own), list(state)
    for key, value in state.items():
        if isinstance(value, Mapping) and names & set(value):
            return f"the checkpoint holds the state under {key!r}: load_state_dict(checkpoint[{key!r}])"
    heads = {k.partition(".")[0] for k in given if isinstance(k, str)}
    if len(heads) == 1 and {k.partition(".")[2] for k in given} & names:
        head = heads.pop()
        return (
            f"remove the prefix {head!r}: load_state_dict({{k.removeprefix('{head}.'): v for k, v in state.items()}})"
        )
    return "load into a model like the saved one, or pass strict=False to skip names that differ"


def check_loaded(module: Any, names: Callable, state: Mapping, pairs: list[tuple], missing: list[str]) -> None:
    """Warn about a state of which no name matches, or whose tensors are the model's own and have changed with it.

    `names(module)` are the model's names, `pairs` its tensors, each with the one that is loaded into it.
    """
    who = type(module).__name__
    if state and missing and not pairs and state.keys().isdisjoint(own := names(module)):
        first, other = next(iter(state)), own[0]
        fix = fix_of_names(own, state)
        what = f"strict=False loads nothing into {who}: none of the {counted(len(state), 'name')} is one of the model's; the "
        warn("nothing-loaded", "load_state_dict", f"{what}state has {first!r}, the model {other!r}", fix)
        return
    number, place = next((note for _, t in pairs if (note := taken.get(t)) is not None), (0, None))
    mine = [plain_tensor(m) for m, _ in pairs]
    # a load writes with copy_, also one into the tensors of the state, and is meant
    changed = [m for m in mine if m._ver is not None and m._ver.at > number and m._ver.writer != "copy_"]
    shared = all(storage(plain_tensor(t)._a) is storage(m._a) for (_, t), m in zip(pairs, mine))
    if number and changed and shared:
        warn_own_state(who, len(changed), len(mine), place)


def warn_own_state(who: str, written: int, n: int, place: Place | None) -> None:
    """Warn about loading a state that is the model's own memory."""
    warn(
        "own-state",
        "load_state_dict",
        f"the state shares its memory with {who}, which has changed {written} of {n} tensors since state_dict() was called: "
        "loading it changes nothing",
        "keep a copy: copy.deepcopy(model.state_dict())",
        place,
        noted("it is loaded", user_place()),
    )


def no_optimizer_state(who: str, state: Any) -> Exception:
    """Return the error for an optimizer that loads something other than an optimizer's state."""
    kind = type(state).__name__
    if not isinstance(state, Mapping):
        return error(
            TypeError, who, f"expected the state_dict() of an optimizer, got {kind}", "pass optimizer.state_dict()"
        )
    names = row(list(map(repr, state))[:4]) if state else "nothing"
    what = f"expected the state_dict() of an optimizer, with 'state' and 'param_groups', got {names}"
    return error(KeyError, who, what, "load it into the model that it comes from, and pass optimizer.state_dict() here")
