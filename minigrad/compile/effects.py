"""Side effects of a compiled function: entries of dicts and lists, attributes, and `.grad`.

A capture really changes these objects, and `Surroundings` restores them afterwards. The changes become effects of the
program, which every call repeats: `optimizer.state[p] = {...}`, `self.count += 1`, `p.grad = ...`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.tensor import Tensor
from .captured_steps import Refused
from .guards import MISSING, PLAIN, RETURN, UNTOUCHED, Environment, attributes, equal
from .symbols import is_symbolic, plain

if TYPE_CHECKING:
    from .trace import Trace

Part = tuple[Any, Any]  # the parts of an object: ("out", number), ..., (list, parts), (dict, parts by key)


class Surroundings:
    """The objects that a function reads: lent to a capture, then compared and restored."""

    def __init__(self, environment: Environment):
        self.environment = environment
        self.containers: list[Any] = []  # contents of lists, dicts and attributes when a capture began

    @contextmanager
    def lent(self, numbers: list) -> Iterator[None]:
        """Replace varying numbers by symbols, and restore everything afterwards."""
        environment = self.environment
        grads = [(t, t._grad) for _, _, t in environment.tensors]
        try:
            for (source, _), number in zip(environment.numbers.values(), numbers):
                source.put(number)
            for t, _ in grads:
                t._grad = UNTOUCHED
            self.containers = [container.copy() for container, _, _ in environment.containers]
            yield
        finally:
            self.containers = []
            for t, g in grads:
                t._grad = g
            for source, number in environment.numbers.values():
                source.put(number)
            for container, before, _ in environment.containers:
                if ids(container) != ids(before):
                    container.clear()
                    container.extend(before) if isinstance(container, list) else container.update(before)
            for cls, before in environment.classes:
                for name in attributes(cls).keys() - before.keys():
                    delattr(cls, name)
                for name, value in before.items():
                    if vars(cls).get(name, MISSING) is not value:
                        setattr(cls, name, value)

    def changes(self) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Yield each change of a list, dict or attribute in a capture: container, key, old and new value (or MISSING)."""
        if any(ids(attributes(cls)) != ids(before) for cls, before in self.environment.classes):
            raise Refused("it changes an attribute of a class", None, True, RETURN)
        for (now, _, path), before in zip(self.environment.containers, self.containers):
            if ids(now) == ids(before):
                continue
            if isinstance(now, list) and len(now) != len(before):
                why = f"it changes the length of the list {path}, which outlives the call"
                raise Refused(why, None, True, RETURN, path)
            new, old = [dict(enumerate(one)) if isinstance(one, list) else one for one in (now, before)]
            yield from ((now, key, old[key], MISSING) for key in old if key not in new)
            changed = ((now, key, old.get(key, MISSING), value) for key, value in new.items())
            yield from (one for one in changed if one[2] is not one[3])


def ids(container: Any) -> list[int]:
    """Return the ids of the objects in a list or dict, in order."""
    held = container if isinstance(container, list) else itertools.chain.from_iterable(container.items())
    return [id(a) for a in held]


class Effect(NamedTuple):
    """One side effect: an entry of a dict or list, by its variable, or the `.grad` of an input, by its position."""

    what: str  # "entry" or "grad"
    holder: Any
    key: Any
    part: Part | None  # None: the entry is deleted
    changes: bool = True  # False: the number keeps its value in this capture


def effects(surroundings: Surroundings, trace: Trace, leaf: Callable) -> tuple[list[Effect], bool]:
    """Return the effects of a capture, and True if they make the next call one of another kind.

    `leaf` classifies a tensor or number of the program, and returns None for other objects.
    """
    environment, made = surroundings.environment, set()
    found, another = [], False
    for holder, key, old, value in surroundings.changes():
        new = None if value is MISSING else part(value, environment, leaf, made)
        changes = new is None or new[0] not in ("value", "number") or not equal(plain(old), plain(new[1]))
        found.append(Effect("entry", environment.names[id(holder)], key, new, changes))
        another = another or not same_guards(old, new)
    for t, before in list(trace.grads.values()):
        if t._grad is not UNTOUCHED and not (trace.asked_for_grad(t) and t._grad is before):
            found.append(Effect("grad", leaf(t)[1], None, part(t._grad, environment, leaf, made)))
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
        return kind == "value" and equal(old, content)
    return is_symbolic(old) or type(old) is kind and len(old) == len(content)


def part(value: Any, environment: Environment, leaf: Callable, made: set[int]) -> Part:
    """Return the parts of a stored object; `made` holds the ids of lists and dicts seen so far."""
    if (known := leaf(value)) is not None:
        return known
    if id(value) in environment.names:
        return "known", environment.names[id(value)]
    if type(value) not in (tuple, list, dict) or id(value) in made:
        what = f"it stores a {type(value).__name__} in a list, dictionary or attribute that outlives the call"
        raise Refused(what, None, True, RETURN)
    made.add(id(value))
    if type(value) is dict:
        return dict, [(key, part(one, environment, leaf, made)) for key, one in value.items()]
    return type(value), [part(one, environment, leaf, made) for one in value]


def places(one: Part) -> list[Part]:
    """Return the parts of a part, with lists and dicts flattened."""
    kind, content = one
    if kind in (list, tuple):
        return [p for inner in content for p in places(inner)]
    return [p for _, inner in content for p in places(inner)] if kind is dict else [one]
