"""Guards: what a captured function has read from outside, as Python that each call runs.

`read` records one read: numbers, texts and small arrays must stay equal, tensors become hidden inputs, and any other object
must stay the same object. `same` and `shape` record what patching changes: attributes of modules and classes. `walk` records
the contents of a list or dict, and the state of minigrad's modules and optimizers. A number that has changed once becomes a
parameter of the program. Each call runs `conditions`, which return MISS if a guard fails.
"""

from __future__ import annotations

import math
import re
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Tensor
from ..places import home
from .allowed import (
    MISSING,
    MUTABLE,
    PLAIN,
    attribute_of,
    has_state,
    is_library,
    is_module,
    is_of_library,
    is_plain,
    is_user_function,
    is_users,
    may_be_read,
    methods,
    names_in,
    runs_python,
)
from .captured_steps import OUTSIDE, RETURN, Refused
from .symbols import MATH

LIMIT = 3000  # entries; a function that reads more is not compiled
ARRAY = 1 << 16  # bytes; larger NumPy arrays are not compared at each call
MISS = object()
UNTOUCHED: Any = object()  # marks a `.grad` that a capture has neither read nor set
# exceptions of a lookup whose target is missing
GONE = "(KeyError, IndexError, ValueError, AttributeError, TypeError)"
ROOT = "minigrad.nn.module"
OF_MODULES = (
    "_parameters",
    "_buffers",
    "_modules",
    "_hooks_by_kind",
    "training",
)  # what minigrad reads of a user's module
NOT_IN_CALLS = ("_hook_options", "_non_persistent_buffers_set")  # change with hooks, or matter for state_dict alone


# callables that are made of other objects
PARTS = {
    types.MethodType: ("__self__", "__func__"),
    types.BuiltinFunctionType: ("__self__",),
    partial: ("func", "args", "keywords"),
}


class GuardedValue(NamedTuple):
    """A value that must stay the same, by its path; `shown` if `explain` should print the value."""

    path: str
    value: Any
    shown: bool


class Container(NamedTuple):
    """A list or dict from outside, with its contents from before the capture, and as the capture has got it."""

    now: Any
    before: Any
    lent: Any
    path: str


class Guards:
    """Everything that one capture has read from outside: `guards`, and `tensors` (name, expression, tensor)."""

    def __init__(self, varying: set[str] | None = None, others: Sequence[Guards] = ()):
        self.varying = set() if varying is None else varying  # paths of numbers that changed between calls
        self.earlier = [(path, value) for one in others for path, value, _ in one.guards if type(value) in (int, float)]
        self.guards: list[GuardedValue] = []
        self.lines: list[str] = []
        self.scope: dict[str, Any] = dict(equal=equal, equal_all=equal_all, equal_arrays=equal_arrays, MISS=MISS)
        self.kept: set[str] = set()  # attributes of modules and classes that must stay the same
        self.shapes: dict[int, type] = {}  # classes, by id, to which no attribute may be added
        self.tensors: list[tuple[str, str, Tensor]] = []
        self.numbers: list[str] = []  # expressions of varying numbers
        self.names: dict[int, str] = {}  # variables of the objects found, by id; the scope keeps them alive
        self.paths: dict[int, str] = {}
        self.constants: dict[int, str] = {}
        self.reads: dict[str, Any] = {}  # expressions that were read -> a symbol, or MISSING
        self.walked: set[int] = set()
        self.states: set[int] = set()  # ids of containers that belong to a module or optimizer
        self.containers: list[Container] = []
        self.undo: list[Callable] = []
        # set by the capture: takes a new tensor; creates a symbol; replaces a user's function by one with checks
        self.found: Callable = lambda name, text, t: None
        self.symbol: Callable = lambda path, text, value: value
        self.replacement: Callable = lambda f: f
        self.refuse: Callable[..., Refused] = Refused  # the capture keeps the exception, in case user code catches it

    # ------------------------------------------------------------------ conditions
    def guard(self, path: str, value: Any, condition: str, shown: bool = False) -> None:
        """Add a condition that must hold."""
        if (line := f"if not ({condition}): return MISS") in self.reads:
            return
        self.reads[line] = MISSING
        self.guards.append(GuardedValue(path, value, shown))
        self.lines.append(line)
        if len(self.guards) + len(self.tensors) > LIMIT:
            raise self.refuse(f"it reads more than {LIMIT} values from outside")

    def same(self, owner: Any, name: str) -> None:
        """Record that an attribute of a module or class must stay the same object."""
        if (text := f"{self.constant(owner)}.{name}") not in self.kept:
            self.kept.add(text)
            value = getattr(owner, name)
            same = "is" if getattr(owner, name) is value else "=="  # a bound method is made anew at each look
            self.lines.append(f"if not ({text} {same} {self.constant(value)}): return MISS")

    def shape(self, cls: type) -> None:
        """Record that nothing may be added to a class or its bases: it could hide an attribute, or define an operator."""
        for base in (*cls.__mro__, *type(cls).__mro__):
            if is_users(base):
                self.shapes[id(base)] = base

    def decision(self, ask: Callable[[Any, Any], bool], a: Any, kinds: Any) -> bool:
        """Return isinstance or issubclass of an object from outside; each call asks again."""
        result, (first, second) = ask(a, kinds), (self.names.get(id(a)) or self.constant(a), self.constant(kinds))
        self.guard(f"{ask.__name__}({first}, {second})", result, f"{ask.__name__}({first}, {second}) is {result}")
        return result

    def conditions(self) -> list[str]:
        """Return the lines of all guards; those of classes first, because they are the cheapest."""
        sizes = [(self.constant(vars(base)), len(vars(base))) for base in self.shapes.values()]
        return [*[f"if len({name}) != {size}: return MISS" for name, size in sizes], *self.lines]

    def constant(self, a: Any) -> str:
        """Add an object to the scope and return its variable."""
        if id(a) not in self.constants:
            self.constants[id(a)] = name = f"g{len(self.scope)}"
            self.scope[name] = a
        return self.constants[id(a)]

    @cached_property
    def numbers_now(self) -> Callable[[list], Any]:
        """A function of the arguments' leaves that returns the varying numbers, or MISS if a guard fails."""
        lines = ["try:", *["    " + line for line in (*self.conditions(), f"return [{', '.join(self.numbers)}]")]]
        scope = dict(self.scope)
        exec("\n    ".join(["def now(leaves):", *lines, f"except {GONE}: return MISS"]), scope)
        return scope["now"]

    # ------------------------------------------------------------------ reads
    def read(self, path: str, text: str, value: Any) -> Any:
        """Record the read of an expression, and return its value: a symbol for a number that varies."""
        if text in self.reads:
            symbol = self.reads[text]
            return value if symbol is MISSING else symbol
        self.reads[text] = MISSING
        if isinstance(value, Tensor):
            name = re.sub(r"\W+", "_", path).strip("_")
            self.tensors.append((name, text, value))
            self.found(name, text, value)
        elif is_plain(value):
            return self.read_value(path, text, value)
        elif type(value) is np.ndarray:
            if value.nbytes > ARRAY or value.dtype.hasobject:
                raise self.refuse(f"it reads the NumPy array {path}, which is too large to compare at each call")
            self.guard(path, value, f"equal_arrays({text}, {self.constant(value.copy())})", True)
        elif type(value) is tuple:
            return self.read_tuple(path, text, value)
        elif type(value) in (list, dict) and id(value) not in self.names:  # another one with equal contents will do
            name = self.variable(path, value)
            self.guard(path, value, f"type({name} := {text}) is {type(value).__name__}")
            self.walk(value)
        elif type(value) in (list, dict):
            self.guard(path, value, f"{text} is {self.names[id(value)]}")
        else:
            self.guard(path, value, f"{text} is {self.constant(value)}")
            self.object(path, value)
        return value

    def object(self, path: str, a: Any) -> None:
        """Record an object that is compared by identity, and its contents: the function, an argument, or one that was read."""
        if not may_be_read(a):
            raise self.refuse(f"it reads {path}, a {type(a).__name__}, which cannot be watched", fix=OUTSIDE)
        self.names[id(a)] = name = self.constant(a)
        self.paths.setdefault(id(a), path)
        if type(a).__flags__ & MUTABLE:  # others keep their class
            self.guard(f"type({path})", None, f"type({name}) is {self.constant(type(a))}")
            self.shape(type(a))
        self.walk(a)

    def read_value(self, path: str, text: str, value: Any) -> Any:
        """Record the read of a number, text or other plain value."""
        if type(value) in (int, float) and self.varies(path, value):
            symbol = self.symbol(path, text, value)
            self.reads[text] = MISSING if symbol is value else symbol
            return symbol
        if value is None or value is True or value is False or value is ...:
            self.guard(path, value, f"{text} is {value!r}", True)
        else:
            known = self.constant(value)
            self.guard(path, value, f"(o := {text}) is {known} or equal(o, {known})", True)
        return value

    def varies(self, path: str, value: Any) -> bool:
        """Return True for the path of a number that has had another value in an earlier capture."""
        if any(one == path and type(old) is type(value) and old != value for one, old in self.earlier):
            self.varying.add(path)
        return path in self.varying

    def variable(self, path: str, a: Any) -> str:
        """Return the variable that each call puts a list, dict or tuple in, whose elements it compares."""
        self.names[id(a)] = name = f"o{len(self.lines)}"
        self.paths[id(a)], self.scope[f"kept_{name}"] = path, a  # the object lives as long as its id is used
        return name

    def read_tuple(self, path: str, text: str, value: tuple) -> Any:
        """Record the read of a tuple, element by element, because another tuple may have the same ones."""
        name = self.variable(path, value)
        self.guard(path, value, f"type({name} := {text}) is tuple and len({name}) == {len(value)}")
        parts = tuple([self.read(f"{path}[{i}]", f"{name}[{i}]", one) for i, one in enumerate(value)])
        if all(a is b for a, b in zip(parts, value)):
            return value
        del self.names[id(value)]
        self.reads[text] = parts
        return parts

    # ------------------------------------------------------------------ contents
    def walk(self, a: Any) -> None:
        """Record the contents of a container, or the state of one of minigrad's objects."""
        if id(a) in self.walked:
            return
        self.walked.add(id(a))
        path, name = self.paths.get(id(a), type(a).__name__), self.names.get(id(a)) or self.constant(a)
        if (parts := PARTS.get(type(a)) or getattr(type(a), "parts_for_guards", ())) and not is_of_library(a):
            for part in parts:
                self.read(f"{path}.{part}", f"{name}.{part}", getattr(a, part))
        elif isinstance(a, (set, frozenset)):
            same = f"equal_all([*{name}], {self.constant([*a])})" if a else f"not {name}"
            self.guard(f"frozenset({path})", frozenset(a), same, True)
        elif isinstance(a, tuple):
            for i, one in enumerate(a):
                self.read(f"{path}[{i}]", f"{name}[{i}]", one)
        elif isinstance(a, (list, dict)):
            self.walk_container(a, path, name, id(a) in self.states)
        elif has_state(a):
            self.walk_object(a, path)

    def walk_container(self, a: Any, path: str, name: str, state: bool, keys: Any = None, lent: Any = None) -> None:
        """Record the length and the elements of a list or dict; numbers that vary are replaced by symbols.

        The attributes of an object are a dict as well: then `keys` are those that matter, and `lent` are methods with checks.
        """
        before = a.copy()
        self.names[id(a)] = name
        if keys is None:  # each element is looked up as well, so only the order of several keys is left
            size = f"len({name}) == {len(a)}" if a else f"not {name}"
            if isinstance(a, dict) and a:  # texts compare by themselves, other keys with their types
                size = "[*{}] == {}" if all(type(key) is str for key in a) else "equal_all([*{}], {})"
                size = size.format(name, self.constant([*a]))
            self.guard(f"len({path})", len(a), size, True)
        for key in keys if keys is not None else list(a) if isinstance(a, dict) else range(len(a)):
            word = repr(key) if type(key) in (int, str) else self.constant(key)
            shown = f"{path}[{key!r}]" if isinstance(key, (int, str)) else path
            shown = f"{path}.{key}" if keys is not None else shown
            value = a[key]
            if state and isinstance(value, (list, dict)):
                self.states.add(id(value))
            new = self.read(shown, f"{name}[{word}]", value)
            if callable(value) and not isinstance(value, (type, Tensor)) and not has_state(value):
                new = self.replacement(value)
            if new is not value:
                a[key] = new
        if lent:
            a.update(lent)
        self.containers.append(Container(a, before, a.copy(), path))

    def walk_object(self, a: Any, path: str) -> None:
        """Record the attributes of a module, optimizer or other object of minigrad's; user's methods get checks."""
        held = vars(a)
        keys = [key for key in held if key not in NOT_IN_CALLS]
        if is_module(a) and id(every := type(a)._every) not in self.walked:
            self.walked.add(id(every))
            self.walk_container(
                vars(every), "torch.nn.modules.module", self.constant(vars(every)), True, ["_hooks_by_kind"]
            )
        for cls in type(a).__mro__[:-1]:
            self.lend_math(cls)
        self.look_at_class(a, type(a), path)
        lent = {}
        for name in methods(type(a)):
            f = attribute_of(type(a), name)
            self.same(type(a), name)
            if is_user_function(f):
                self.guard(f"{path}.{name}", None, f"{name!r} not in {self.constant(held)}")
                method = types.MethodType(f, a)
                lent[name] = in_this_thread(self.replacement(method), method)
        if "forward" in lent and is_module(a):
            keys = [key for key in OF_MODULES if key in held]
        else:
            self.guard(f"len(vars({path}))", len(held), f"len({self.constant(held)}) == {len(held)}", True)
        self.walk_container(held, path, self.constant(held), True, keys, lent)

    def look_at_class(self, a: Any, cls: type, path: str) -> None:
        """Record what minigrad's own methods of an object read of the user's class; refuse what they would call there."""
        own = [base for base in cls.__mro__ if is_library(base)]
        if is_module(a):
            self.same(cls, "__call__")
        used = [
            name
            for base in own
            if home(base) != ROOT
            for word, f in vars(base).items()
            for name in (word, *names_in(f))
        ]
        names = {*OF_MODULES, *[name for name in used if name[:2] != "__"]}
        for base in filter(is_users, cls.__mro__):
            if runs_python(base, ("__getattribute__",)) or "__getattr__" in vars(base) and len(names) > len(OF_MODULES):
                raise self.refuse(
                    f"{path} is a {cls.__name__}, whose {base.__name__} decides what an attribute is", fix=OUTSIDE
                )
            for name in names & {*vars(base)}:
                raw = vars(base)[name]
                if isinstance(raw, types.FunctionType):
                    continue
                if hasattr(type(raw), "__get__"):
                    raise self.refuse(f"minigrad reads {path}.{name}, which {base.__name__} computes", fix=OUTSIDE)
                self.read(f"{cls.__name__}.{name}", f"{self.constant(cls)}.{name}", getattr(cls, name))

    def lend_math(self, cls: type) -> None:
        """Let a class of minigrad's compute with symbols: learning rate schedules use `math`."""
        module = sys.modules.get(home(cls))
        if is_library(cls) and module is not None and vars(module).get("math") is math:
            vars(module)["math"] = MATH
            self.undo.append(partial(vars(module).__setitem__, "math", math))

    # ------------------------------------------------------------------ the end of a capture
    def restore(self) -> None:
        """Undo every change of a capture."""
        for undo in reversed(self.undo):
            undo()
        self.undo = []
        for now, before, _, _ in self.containers:
            if ids(now) != ids(before):
                now.clear()
                now.extend(before) if isinstance(now, list) else now.update(before)
        # nothing of the capture stays
        self.containers, self.reads = [], dict.fromkeys(self.reads, MISSING)
        self.found = self.symbol = self.replacement = lambda *args: args[-1]

    def changes(self) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Yield each change of a list, dict or attribute in a capture: container, key, old and new value (or MISSING)."""
        for now, _, before, path in self.containers:
            if ids(now) == ids(before):
                continue
            if isinstance(now, list) and len(now) != len(before):
                raise self.refuse(f"it changes the length of the list {path}, which outlives the call", fix=RETURN)
            new, old = [dict(enumerate(one)) if isinstance(one, list) else one for one in (now, before)]
            yield from ((now, key, old[key], MISSING) for key in old if key not in new)
            changed = ((now, key, old.get(key, MISSING), value) for key, value in new.items())
            yield from (one for one in changed if one[2] is not one[3])


def in_this_thread(f: Callable, others: Callable) -> Callable:
    """Return a function that is `f` in this thread, and `others` in all others."""
    thread = get_ident()
    return lambda *args, **kwargs: (f if get_ident() == thread else others)(*args, **kwargs)


def ids(container: Any) -> list[int]:
    """Return the ids of the objects in a list or dict, in order."""
    if isinstance(container, list):
        return [id(a) for a in container]
    return [id(a) for pair in container.items() for a in pair]


def equal(a: Any, b: Any) -> bool:
    """Return True for the same value and type; NaNs are equal, and signs of zeros count."""
    if a is b or type(a) is not type(b):
        return a is b
    if type(a) is tuple:
        return equal_all(a, b)
    return isinstance(a, PLAIN) and (a == b if a == a != 0 and type(a) is not complex else repr(a) == repr(b))


def equal_all(found: Sequence, known: Sequence) -> bool:
    """Return True for equal keys of a dict, or elements of a set, in the same order."""
    return len(found) == len(known) and all(map(equal, found, known))


def equal_arrays(a: Any, b: np.ndarray) -> bool:
    """Return True for arrays with the same dtype, shape and bytes."""
    return isinstance(a, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
