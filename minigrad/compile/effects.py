"""Effects of a compiled function besides writes to tensors: the `.grad` of tensors, the state of modules and optimizers.

A capture really changes these objects, and `Guards.restore` takes that back. The changes become effects of the program,
which every call repeats: `optimizer.state[p] = {...}`, a new rate in `param_groups`, `p.grad = ...`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.tensor import Tensor
from .allowed import MISSING, PLAIN
from .captured_steps import RETURN, Refused
from .guards import UNTOUCHED, Guards
from .symbols import is_symbolic

if TYPE_CHECKING:
    from .trace import CaptureTrace

Part = tuple[Any, Any]  # the parts of an object: ("out", number), ..., (list, parts), (dict, parts by key)


class Effect(NamedTuple):
    """One side effect: an entry of a dict or list, by its variable, or the `.grad` of an input, by its position."""

    what: str  # "entry" or "grad"
    holder: Any
    key: Any
    part: Part | None  # None: the entry is deleted


def effects(guards: Guards, trace: CaptureTrace, leaf: Callable) -> tuple[list[Effect], bool]:
    """Return the effects of a capture, and True if they make the next call one of another kind.

    `leaf` classifies a tensor or number of the program, and returns None for other objects.
    """
    made: set[int] = set()
    found, another = [], False
    for holder, key, old, value in guards.changes():
        new = None if value is MISSING else part(value, guards, leaf, made)
        found.append(Effect("entry", guards.names[id(holder)], key, new))
        another = another or not same_guards(old, new)
    for t, before in list(trace.grads.values()):
        if t._grad is not UNTOUCHED and not (trace.asked_for_grad(t) and t._grad is before):
            found.append(Effect("grad", leaf(t)[1], None, part(t._grad, guards, leaf, made)))
            another = another or before is None and trace.asked_for_grad(t)
    return found, another


def same_guards(old: Any, new: Part | None) -> bool:
    """Return True if guards that hold for the old value also hold for the new one."""
    if old is MISSING or new is None:
        return False
    kind, content = new
    if isinstance(old, Tensor):
        return kind in ("out", "input", "count")
    if isinstance(old, PLAIN) and not is_symbolic(old):
        return kind == "value" and type(old) is type(content) and old == content
    return is_symbolic(old) or type(old) is kind and len(old) == len(content)


def part(value: Any, guards: Guards, leaf: Callable, made: set[int]) -> Part:
    """Return the parts of a stored object; `made` holds the ids of lists and dicts seen so far."""
    if (known := leaf(value)) is not None:
        return known
    if id(value) in guards.names:
        return "known", guards.names[id(value)]
    if type(value) not in (tuple, list, dict) or id(value) in made:
        what = f"it stores a {type(value).__name__} in an object that outlives the call"
        raise Refused(what, None, True, RETURN)
    made.add(id(value))
    if type(value) is dict:
        return dict, [(key, part(one, guards, leaf, made)) for key, one in value.items()]
    return type(value), [part(one, guards, leaf, made) for one in value]


def places(one: Part) -> list[Part]:
    """Return the parts of a part, with lists and dicts flattened."""
    kind, content = one
    if kind in (list, tuple):
        return [p for inner in content for p in places(inner)]
    return [p for _, inner in content for p in places(inner)] if kind is dict else [one]
