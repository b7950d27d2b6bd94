"""The values that a function reads from outside: closures, globals, defaults, attributes of `self`.

A capture first walks through everything reachable and writes the walk down as Python (`lines`). Each call runs these lines,
which look up the same values and return MISS if one has changed. Tensors found on the way become hidden inputs; numbers that
have changed before become parameters. If a value cannot be watched, the function is refused and runs eagerly.
"""

from __future__ import annotations

import dis
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Set
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays.devices import device
from ..arrays.dtypes import dtype
from ..core.tensor import Tensor
from ..ops.generator import Generator
from ..places import PACKAGE
from .captured_steps import Refused
from .stand_ins import is_cache, is_replaced, warns_or_logs

PLAIN = (int, float, complex, str, bytes, type(None), type(...), slice, range, dtype, np.dtype, np.generic, device)
LIMIT = 3000  # entries; a function that reads more is not compiled
ARRAY = 1 << 16  # bytes; larger NumPy arrays are not compared at each call
SPEAKING = {"print", "input", "open", "exec", "eval", "globals", "locals", "vars", "setattr", "delattr", "next", "id",
            "breakpoint"}  # fmt: skip
CHANGING = {"random", "time", "datetime", "secrets", "uuid", "os", "sys", "threading", "numpy.random", "io"}
TRUSTED = set("minigrad numpy scipy optree numba einops math functools itertools operator collections".split())
MISSING, MISS = object(), object()
EMPTY = types.CellType()  # equal to a cell that is empty, and to no other
MADE_OF = {types.MethodType: ("__self__", "__func__"), partial: ("func", "args", "keywords")}
UNTOUCHED: Any = object()  # marks a `.grad` that a capture has neither read nor set
# exceptions of a lookup whose target is missing
GONE = "(KeyError, IndexError, ValueError, AttributeError, TypeError)"
RETURN = "return the new value, and let the caller store it"


class Guard(NamedTuple):
    """A value that must stay the same, by its path; `shown` if `explain` should print the value."""

    path: str
    value: Any
    shown: bool


class Source(NamedTuple):
    """The location of a value: an expression, and a function that stores another value there (None if impossible)."""

    text: str
    put: Callable | None = None


ALWAYS = Source("")  # for values that are always there, such as the function itself


class Environment:
    """Everything that some functions and objects can read: `guards`, and `tensors` (name, expression, tensor)."""

    def __init__(self, roots: dict, varying: Set[str] = frozenset(), own: Any = None):
        self.varying = varying  # paths of numbers that changed between calls
        self.own = own  # the function being compiled
        self.numbers: dict[str, tuple[Source, Any]] = {}  # varying numbers found here; they can be parameters
        self.guards: list[Guard] = []
        self.lines: list[str] = []
        self.scope: dict[str, Any] = dict(equal=equal, equal_arrays=equal_arrays, empty=EMPTY, MISS=MISS)
        self.tensors: list[tuple[str, str, Tensor]] = []
        # values that a capture replaces, and how to store the replacement (stand_ins.py)
        self.stand_ins: list[tuple[Callable, Any]] = []
        self.speaking: dict[tuple[int, str], dict] = {}  # globals of functions that call one of SPEAKING
        self.containers: list[tuple[Any, Any, str]] = []  # lists, dicts and attributes, their contents, and their path
        self.classes: list[tuple[type, dict]] = []  # classes with a copy of their attributes
        self.names: dict[int, str] = {}  # variables of the objects found, by id; scope and guards keep them alive
        self.modules: set[tuple] = set()
        self.mentioned: set[str] = set()  # names in the functions, attributes included
        self.methods: dict[str, list[tuple]] = {}  # methods of users' classes that no function has mentioned yet
        for name, root in roots.items():
            self.look(name, root)

    @cached_property
    def numbers_now(self) -> Callable[[list], Any]:
        """A function of the arguments' leaves that returns the varying numbers, or MISS if a guard fails."""
        found = f"return [{', '.join([source.text for source, _ in self.numbers.values()])}]"
        lines = ["try:", *["    " + line for line in (*self.lines, found)], f"except {GONE}: return MISS"]
        scope = dict(self.scope)
        exec("\n    ".join(["def now(leaves):", *lines]), scope)
        return scope["now"]

    def no_grad(self, source: str) -> None:
        """Record that the function reads a `.grad` that is None."""
        if (condition := f"if not ({source} is None): return MISS") not in self.lines:
            self.guards.append(Guard(source, None, False))
            self.lines.append(condition)

    def numbers_that_changed(self, others: Iterable[Environment]) -> set[str]:
        """Return the paths of numbers that differ in other environments."""
        mine = {path: value for path, value, _ in self.guards if type(value) in (int, float)}
        theirs = [(path, value) for other in others for path, value, _ in other.guards if path in mine]
        return {path for path, value in theirs if type(value) is type(mine[path]) and value != mine[path]}

    # ------------------------------------------------------------------ the walk
    def guard(self, path: str, value: Any, condition: str, shown: bool = False) -> None:
        """Add a condition that must hold."""
        self.guards.append(Guard(path, value, shown))
        self.lines.append(f"if not ({condition}): return MISS")
        if len(self.guards) + len(self.tensors) > LIMIT:
            raise Refused(f"it can read more than {LIMIT} values from outside")

    def constant(self, a: Any) -> str:
        """Add an object to the scope and return its variable."""
        name = f"g{len(self.scope)}"
        self.scope[name] = a
        return name

    def look(self, path: str, value: Any, source: Source = ALWAYS) -> None:
        """Visit a value and everything reachable through it."""
        try:
            if is_replaced(value):
                self.replace(path, value, source)
            self.look_at(path, value, source)
        except Refused as e:
            if e.culprit and not e.is_own and not e.culprit.startswith((path + ".", path + "[")):
                e.culprit = path
            raise

    def replace(self, path: str, value: Any, source: Source) -> None:
        """Record that a stand-in replaces a value during the capture."""
        if source.put is not None:
            self.stand_ins.append((source.put, value))
        elif is_cache(value) or warns_or_logs(value):
            does = "caches its results" if is_cache(value) else "warns or logs at each call"
            raise Refused(f"it can call {path}, which {does}", fix="call it through a global variable or an attribute")

    def look_at(self, path: str, value: Any, source: Source) -> None:
        """Visit a value according to its kind."""
        if source is ALWAYS and (isinstance(value, (Tensor, *PLAIN)) or id(value) in self.names):
            return
        if isinstance(value, Tensor):
            self.tensors.append((re.sub(r"\W+", "_", path).strip("_"), source.text, value))
        elif isinstance(value, PLAIN):
            self.look_value(path, value, source)
        elif isinstance(value, np.ndarray):
            if value.nbytes > ARRAY or value.dtype.hasobject:
                raise Refused(f"it can read the NumPy array {path}, which is too large to compare at each call")
            if source is not ALWAYS:
                self.guard(path, value, f"equal_arrays({source.text}, {self.constant(value.copy())})", True)
        elif id(value) in self.names:
            self.guard(path, value, f"{source.text} is {self.names[id(value)]}")
        elif source is not ALWAYS and type(value) in (list, tuple, dict):
            self.names[id(value)] = name = f"o{len(self.names)}"
            self.lines.append(f"{name} = {source.text}")
            self.guard(path, value, f"type({name}) is {type(value).__name__}")
            self.look_through(path, value, name, source)
        else:
            self.names[id(value)] = name = self.constant(value)
            if source is not ALWAYS:
                self.guard(path, value, f"{source.text} is {name}")
            self.look_through(path, value, name, source)

    def look_value(self, path: str, value: Any, source: Source) -> None:
        """Visit a number, text or other plain value, which must stay equal."""
        varies = path in self.varying and type(value) in (int, float) and source.put is not None
        if varies and self.numbers.setdefault(path, (source, value))[0].text == source.text:
            return
        if value is None or value is True or value is False or value is ...:
            self.guard(path, value, f"{source.text} is {value!r}", True)
        else:
            known = self.constant(value)
            self.guard(path, value, f"(o := {source.text}) is {known} or equal(o, {known})", True)

    def look_through(self, path: str, value: Any, name: str, source: Source) -> None:
        """Visit everything reachable through a value held in a variable."""
        if warns_or_logs(value):
            return
        if isinstance(value, types.ModuleType):
            if value.__name__ in CHANGING:
                why = f"it uses {value.__name__}, whose results change from call to call"
                raise Refused(why, culprit=path.partition(".")[0])
        elif isinstance(value, (list, tuple, dict)):
            self.look_into(path, value, name, source)
        elif isinstance(value, (set, frozenset)):
            self.guard(f"frozenset({path})", frozenset(value), f"{name} == {self.constant(frozenset(value))}", True)
        elif isinstance(value, types.FunctionType):
            self.look_function(path, value)
        elif isinstance(value, type):
            self.look_class(path, value)
        elif made_of := next((names for kind, names in MADE_OF.items() if isinstance(value, kind)), None):
            for part in made_of:
                self.look(path, getattr(value, part))
        elif hasattr(value, "__wrapped_by_compile__"):
            self.look(path, value.function)
        elif not isinstance(value, (types.BuiltinFunctionType, np.ufunc)):
            self.look_object(path, value)

    def look_into(self, path: str, container: Any, name: str, source: Source) -> None:
        """Visit the elements of a list, tuple or dict."""
        put = container_put(container, source)
        keys = list(container) if isinstance(container, dict) else range(len(container))
        if not isinstance(container, tuple):
            self.containers.append((container, container.copy(), path))
        if not isinstance(container, tuple) or name not in self.scope:
            self.guard(f"len({path})", len(container), f"len({name}) == {len(container)}", True)
        for key in keys:
            shown = f"{path}[{key!r}]" if isinstance(key, (int, str)) else path
            self.look(shown, container[key], self.entry(name, key, put))

    def entry(self, name: str, key: Any, put: Callable | None) -> Source:
        """Return the location of an element; `put(key, value)` stores another one there."""
        word = repr(key) if type(key) in (int, str) else self.constant(key)
        return Source(f"{name}[{word}]", put and partial(put, key))

    def look_function(self, name: str, f: Any) -> None:
        """Visit a user's function: its cells, the globals it names, its defaults. Library functions are trusted."""
        if is_trusted(f.__code__.co_filename):
            return
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            source = Source(f"{self.constant(cell)}.cell_contents", partial(setattr, cell, "cell_contents"))
            if cell == EMPTY:  # not bound yet
                self.guard(name, MISSING, f"{self.constant(cell)} == empty")
            else:
                self.look(name, cell.cell_contents, source)
        for defaults in (f.__defaults__ or (), f.__kwdefaults__):
            self.look("defaults", defaults)
        try:
            for code in codes(f.__code__):
                self.look_names(code, f.__globals__)
        except Refused as e:
            e.is_own = e.is_own or f is self.own
            raise

    def look_names(self, code: Any, scope: dict) -> None:
        """Visit the globals that a code object reads, and attributes of modules among them."""
        self.look_methods({*code.co_names, *[a for a in code.co_consts if isinstance(a, str)]})
        names, writes = named(code)
        if writes:
            raise Refused(f"it assigns to {writes[0]}, which outlives the call")
        for n in names:
            if n in scope:
                self.look_global(n, scope, code)
            else:
                self.guard(n, MISSING, f"{n!r} not in {self.name_of(scope)}")
                if n in SPEAKING:
                    self.speaking[id(scope), n] = scope
        if "random" in code.co_names and any(scope.get(m) is np for m in code.co_names):
            raise Refused("it uses numpy.random, whose results change from call to call")

    def look_global(self, n: str, scope: dict, code: Any) -> None:
        """Visit one name of a module; if it is a module itself, visit the attributes that a code object can read."""
        self.look(n, scope[n], self.entry(self.name_of(scope), n, scope.__setitem__))
        self.look_module(scope[n], code)

    def name_of(self, scope: dict) -> str:
        """Return a variable for the namespace of a module, which is not walked as a whole."""
        return next((name for name, a in self.scope.items() if a is scope), None) or self.constant(scope)

    def look_module(self, module: Any, code: Any) -> None:
        """Visit the attributes of a user's module, and of its submodules, that a code object can read."""
        if not isinstance(module, types.ModuleType) or is_library(module) or (id(module), id(code)) in self.modules:
            return
        self.modules.add((id(module), id(code)))
        for n in code.co_names:
            if n in vars(module):
                self.look_global(n, vars(module), code)

    def look_methods(self, names: set[str]) -> None:
        """Record mentioned names, and visit the methods with these names."""
        names -= self.mentioned
        self.mentioned |= names
        for name in [n for n in names if n in self.methods]:
            for path, f in self.methods.pop(name):
                self.look(path, f)

    def look_class(self, path: str, cls: type) -> None:
        """Visit the methods of a user's class that may be called, and its other attributes."""
        for base in cls.__mro__:
            module = sys.modules.get(base.__module__)
            if base.__module__ == "builtins" or module is None or id(base) in self.modules:
                continue
            if is_library(module):
                if vars(module).get("math") is math:  # learning rate schedules use it
                    self.stand_ins.append((partial(vars(module).__setitem__, "math"), math))
                continue
            self.modules.add(id(base))
            self.classes.append((base, attributes(base)))
            for n, value in list(vars(base).items()):
                if n in ("__init__", "__new__", "__repr__"):
                    continue
                value = getattr(value, "__func__", getattr(value, "fget", value))
                if isinstance(value, types.FunctionType) or is_cache(value):
                    self.methods.setdefault(n, []).append((f"{path}.{n}", value))
                    if n.startswith("__") or n in self.mentioned or is_overridden(base, n):
                        self.mentioned.discard(n)
                        self.look_methods({n})
                elif not n.startswith("__") and isinstance(value, (*PLAIN, list, tuple, dict, Tensor, np.ndarray)):
                    self.look(n, value, Source(f"{self.constant(base)}.{n}", partial(setattr, base, n)))

    def look_object(self, path: str, value: Any) -> None:
        """Visit an object's attributes and the methods of its class. Trace.drawing handles the state of a generator."""
        if isinstance(value, Generator):
            return
        held = getattr(value, "__dict__", None)
        if held is None or isinstance(value, types.GeneratorType):
            if type(value).__module__.partition(".")[0] == PACKAGE_NAME:
                return
            raise Refused(f"it can read {path}, a {type(value).__name__} whose contents cannot be watched")
        self.look_class(path, type(value))
        self.containers.append((held, dict(held), path))
        self.names[id(held)] = name = self.constant(held)
        self.guard(f"len(vars({path}))", len(held), f"len({name}) == {len(held)}", True)
        for key, part in list(held.items()):
            self.look(f"{path}.{key}", part, self.entry(name, key, held.__setitem__))


def container_put(container: Any, source: Source) -> Callable | None:
    """Return a function that stores an element in a list or dict, or a new tuple for a tuple; None if impossible."""
    if not isinstance(container, tuple):
        return container.__setitem__
    if (put_whole := source.put) is None or type(container) is not tuple:
        return None
    now = list(container)

    def put(key: int, value: Any) -> None:
        now[key] = value
        put_whole(tuple(now))

    return put


PACKAGE_NAME = __name__.partition(".")[0]


@cache
def is_trusted(file: str) -> bool:
    """Return True if a file belongs to minigrad, Python or a trusted library, whose functions do not change."""
    installed = re.search(r"(site|dist)-packages/(\w+)", file)
    if installed:
        return file.startswith(PACKAGE) or installed[2] in TRUSTED
    return file.startswith((PACKAGE, sys.base_prefix + "/lib", "<frozen"))


def is_overridden(cls: type, name: str) -> bool:
    """Return True if a library's base class has a method of that name, which it may call."""
    above = [(base, sys.modules.get(base.__module__)) for base in cls.__mro__[1:] if name in vars(base)]
    return any(module is None or is_library(module) for _, module in above)


def is_library(module: Any) -> bool:
    """Return True if a module belongs to a library."""
    file = getattr(module, "__file__", None)
    return file is None and module.__name__ != "__main__" or file is not None and is_trusted(file)


def codes(code: Any) -> list:
    """Return a code object and all code objects inside it."""
    inside = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return [code, *[found for one in inside for found in codes(one)]]


SETS, SETS_CELL = {"STORE_GLOBAL", "DELETE_GLOBAL"}, {"STORE_DEREF", "DELETE_DEREF"}


@cache
def named(code: Any) -> tuple[list, list]:
    """Return the globals that a code object reads, and the outside names it assigns to."""
    reads, writes = [], []
    for i in dis.get_instructions(code):
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            reads.append(i.argval)
        elif i.opname in SETS or i.opname in SETS_CELL and i.argval in code.co_freevars:
            writes.append(i.argval)
        elif i.opname == "IMPORT_NAME" and i.argval.partition(".")[0] not in TRUSTED:
            raise Refused(f"it imports {i.argval} while it runs: move the import out of the function")
    return list(dict.fromkeys(reads)), writes


def attributes(cls: type) -> dict:
    """Return the public attributes of a class."""
    return {name: value for name, value in vars(cls).items() if not name.startswith("_")}


def equal(a: Any, b: Any) -> bool:
    """Return True for the same value and type; a NaN equals only itself, and signs of zeros count."""
    return a is b or type(a) is type(b) and a == b and (a != 0 or repr(a) == repr(b))


def equal_arrays(a: Any, b: np.ndarray) -> bool:
    """Return True for arrays with the same dtype, shape and bytes."""
    return isinstance(a, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
