"""What a call of a compiled function leaves behind besides its result: entries of dicts and lists, attributes, and `.grad`.

While a function is captured it changes what is really there; guards.py puts that back.  What had changed becomes effects of
the program, which each call has anew: `optimizer.state[p] = {...}`, `self.count += 1`, `p.grad = ...`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.graph import history
from ..core.tensor import Tensor
from .captured_steps import Refused
from .guards import MISSING, RETURN, Environment

if TYPE_CHECKING:
    from .trace import Trace

Part = tuple[
    Any, Any
]  # what an object is made of: ("out", number), ..., (list, parts), (dict, parts by key), (None, object)


class Effect(NamedTuple):
    """Hold what is set: an entry of a dict or list, or the `.grad` of an input, which goes by its place."""

    what: str  # "entry" or "grad"
    holder: Any
    key: Any
    part: Part | None  # None: the entry is deleted


def effects(environment: Environment, trace: Trace, leaf: Callable) -> list[Effect]:
    """Return what a capture has changed; `leaf` says what a tensor or number is to the program, None for other objects."""
    made: set[int] = set()
    found = [
        Effect("entry", holder, key, None if value is MISSING else part(value, environment, leaf, made))
        for holder, key, value in environment.changes()
    ]
    for t, before in list(trace.grads.values()):
        if t._grad is not before:
            found.append(Effect("grad", leaf(t)[1], None, part(t._grad, environment, leaf, made)))
    return found


def part(value: Any, environment: Environment, leaf: Callable, made: set[int]) -> Part:
    """Return what an object that is left behind is made of; `made` are the lists and dicts that are new."""
    if isinstance(value, Tensor) and history(value) is not None and not is_input(value, leaf):
        raise Refused("it keeps a tensor with its history", None, True, "keep tensor.detach(), or return it")
    if (known := leaf(value)) is not None:
        return known
    if id(value) in environment.seen:
        return None, value
    if type(value) not in (tuple, list, dict) or id(value) in made:
        what = f"it keeps a {type(value).__name__}, in a list, dictionary or attribute that outlives the call"
        raise Refused(what, None, True, RETURN)
    made.add(id(value))
    if type(value) is dict:
        return dict, [(key, part(one, environment, leaf, made)) for key, one in value.items()]
    return type(value), [part(one, environment, leaf, made) for one in value]


def is_input(t: Tensor, leaf: Callable) -> bool:
    """Return whether a tensor is one of the function's own."""
    return leaf(t)[0] == "input"


def places(one: Part) -> list[Part]:
    """Return the parts of a part that are no lists or dicts."""
    kind, content = one
    if kind in (list, tuple):
        return [p for inner in content for p in places(inner)]
    return [p for _, inner in content for p in places(inner)] if kind is dict else [one]
