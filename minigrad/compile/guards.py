"""What a function reads besides its arguments: closures, globals, defaults, the objects it is a method of.

Everything reachable is walked once, before a capture, and the walk is written down as Python (`lines`), which each call runs:
it looks up what the walk has found, and leaves where something is not as it was.  Tensors found on the way become hidden
inputs, numbers that have changed before become parameters.  What cannot be watched is refused, and then the function runs
eagerly.
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
from .stand_ins import is_cache, is_replaced, speaks

PLAIN = (int, float, complex, str, bytes, type(None), type(...), slice, range, dtype, np.dtype, np.generic, device)
LIMIT = 3000  # entries; what reads more than that is not watched
ARRAY = 1 << 16  # bytes of a NumPy array that is compared at each call
SPEAKING = {"print", "input", "open", "exec", "eval", "globals", "locals", "vars", "setattr", "delattr", "next", "id",
            "breakpoint"}  # fmt: skip
CHANGING = {"random", "time", "datetime", "secrets", "uuid", "os", "sys", "threading", "numpy.random", "io"}
TRUSTED = set("minigrad numpy scipy optree numba einops math functools itertools operator collections".split())
MISSING, MISS = object(), object()
EMPTY = types.CellType()  # equal to a cell that holds nothing, and to no other
MADE_OF = {types.MethodType: ("__self__", "__func__"), partial: ("func", "args", "keywords")}
UNTOUCHED: Any = object()  # in the place of a `.grad` that a capture has neither read nor set
# what a look-up raises where something is missing
GONE = "(KeyError, IndexError, ValueError, AttributeError, TypeError)"
RETURN = "return what is to be kept, and let the caller store it"


class Guard(NamedTuple):
    """Hold what has to stay as it was: a value by its path; `shown` where the value says more than that it is there."""

    path: str
    value: Any
    shown: bool


class Source(NamedTuple):
    """Say where a value is found: as an expression, and how another one is put there, None where that cannot be."""

    text: str
    put: Callable | None = None


ALWAYS = Source("")  # of what is there whatever happens, as the function itself is


class Environment:
    """Hold all that some functions and objects can read: `guards`, and `tensors` (name, expression, tensor)."""

    def __init__(self, roots: dict, varying: Set[str] = frozenset(), own: Any = None):
        self.varying = varying  # the paths of numbers that have changed between calls
        self.own = own  # the function that is compiled
        self.numbers: dict[str, tuple[Source, Any]] = {}  # those of them that are here, and can be parameters
        self.guards: list[Guard] = []
        self.lines: list[str] = []
        self.scope: dict[str, Any] = dict(equal=equal, equal_arrays=equal_arrays, empty=EMPTY, MISS=MISS)
        self.tensors: list[tuple[str, str, Tensor]] = []
        # what a capture replaces, and how it is put there (stand_ins.py)
        self.stand_ins: list[tuple[Callable, Any]] = []
        self.speaking: dict[tuple[int, str], dict] = {}  # the globals of functions that name one of these
        self.containers: list[tuple[Any, Any, str]] = []  # lists, dicts and attributes, what they held, and their path
        self.classes: list[tuple[type, dict]] = []  # classes with a copy of their attributes
        self.names: dict[int, str] = {}  # what has been found, by id, with a variable for it: scope and guards hold it
        self.modules: set[tuple] = set()
        self.mentioned: set[str] = set()  # names that stand in a function, of attributes too
        self.methods: dict[str, list[tuple]] = {}  # of users' classes, that no function has mentioned yet
        for name, root in roots.items():
            self.look(name, root)

    @cached_property
    def numbers_now(self) -> Callable[[list], Any]:
        """Return a function of the arguments' leaves that gives the numbers that vary; MISS where something has changed."""
        found = f"return [{', '.join([source.text for source, _ in self.numbers.values()])}]"
        lines = ["try:", *["    " + line for line in (*self.lines, found)], f"except {GONE}: return MISS"]
        scope = dict(self.scope)
        exec("\n    ".join(["def now(leaves):", *lines]), scope)
        return scope["now"]

    def no_grad(self, source: str) -> None:
        """Note that a tensor has no `.grad`, which was asked for."""
        if (condition := f"if not ({source} is None): return MISS") not in self.lines:
            self.guards.append(Guard(source, None, False))
            self.lines.append(condition)

    def numbers_that_changed(self, others: Iterable[Environment]) -> set[str]:
        """Return the paths of numbers that are others elsewhere."""
        mine = {path: value for path, value, _ in self.guards if type(value) in (int, float)}
        theirs = [(path, value) for other in others for path, value, _ in other.guards if path in mine]
        return {path for path, value in theirs if type(value) is type(mine[path]) and value != mine[path]}

    # ------------------------------------------------------------------ the walk
    def guard(self, path: str, value: Any, condition: str, shown: bool = False) -> None:
        """Note that a condition has to hold."""
        self.guards.append(Guard(path, value, shown))
        self.lines.append(f"if not ({condition}): return MISS")
        if len(self.guards) + len(self.tensors) > LIMIT:
            raise Refused(f"it can read more than {LIMIT} values besides its arguments")

    def constant(self, a: Any) -> str:
        """Return a variable of the text for an object."""
        name = f"g{len(self.scope)}"
        self.scope[name] = a
        return name

    def look(self, path: str, value: Any, source: Source = ALWAYS) -> None:
        """Note one value, and what can be reached through it."""
        try:
            if is_replaced(value):
                self.replace(path, value, source)
            self.look_at(path, value, source)
        except Refused as e:
            if e.culprit and not e.is_own and not e.culprit.startswith((path + ".", path + "[")):
                e.culprit = path
            raise

    def replace(self, path: str, value: Any, source: Source) -> None:
        """Note that something stands in a value's place while the function is captured."""
        if source.put is not None:
            self.stand_ins.append((source.put, value))
        elif is_cache(value) or speaks(value):
            does = "keeps its results" if is_cache(value) else "warns or logs at each call"
            raise Refused(f"it can call {path}, which {does}", fix="call it by a global variable or an attribute")

    def look_at(self, path: str, value: Any, source: Source) -> None:
        """Note one value by its kind."""
        if source is ALWAYS and (isinstance(value, (Tensor, *PLAIN)) or id(value) in self.names):
            return
        if isinstance(value, Tensor):
            self.tensors.append((re.sub(r"\W+", "_", path).strip("_"), source.text, value))
        elif isinstance(value, PLAIN):
            self.look_value(path, value, source)
        elif isinstance(value, np.ndarray):
            if value.nbytes > ARRAY or value.dtype.hasobject:
                raise Refused(f"it can read the NumPy array {path}, too large to be compared at each call")
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
        """Note a number, a text or the like, which has to stay equal."""
        varies = path in self.varying and type(value) in (int, float) and source.put is not None
        if varies and self.numbers.setdefault(path, (source, value))[0].text == source.text:
            return
        if value is None or value is True or value is False or value is ...:
            self.guard(path, value, f"{source.text} is {value!r}", True)
        else:
            known = self.constant(value)
            self.guard(path, value, f"(o := {source.text}) is {known} or equal(o, {known})", True)

    def look_through(self, path: str, value: Any, name: str, source: Source) -> None:
        """Note what can be reached through a value, which stands in a variable."""
        if speaks(value):
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
        """The elements of a list, tuple or dict."""
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
        """Say where an element of a list, tuple or dict is; `put(key, value)` puts another one there."""
        word = repr(key) if type(key) in (int, str) else self.constant(key)
        return Source(f"{name}[{word}]", put and partial(put, key))

    def look_function(self, name: str, f: Any) -> None:
        """A user's function: its cells, the globals that it names, its defaults.  Library functions are taken as they are."""
        if foreign(f.__code__.co_filename):
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
        """The globals that a code object reads, and attributes of modules among them."""
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
        """One name of a module, and where that is a module, what a code object can read of it."""
        self.look(n, scope[n], self.entry(self.name_of(scope), n, scope.__setitem__))
        self.look_module(scope[n], code)

    def name_of(self, scope: dict) -> str:
        """Return a variable for the names of a module, which are not walked as a whole."""
        return next((name for name, a in self.scope.items() if a is scope), None) or self.constant(scope)

    def look_module(self, module: Any, code: Any) -> None:
        """What a code object can read of a user's module, and of modules in it."""
        if not isinstance(module, types.ModuleType) or library(module) or (id(module), id(code)) in self.modules:
            return
        self.modules.add((id(module), id(code)))
        for n in code.co_names:
            if n in vars(module):
                self.look_global(n, vars(module), code)

    def look_methods(self, names: set[str]) -> None:
        """Note that names are mentioned, and look at the methods that are called so."""
        names -= self.mentioned
        self.mentioned |= names
        for name in [n for n in names if n in self.methods]:
            for path, f in self.methods.pop(name):
                self.look(path, f)

    def look_class(self, path: str, cls: type) -> None:
        """What the methods of a user's class read that may be called, and its other attributes."""
        for base in cls.__mro__:
            module = sys.modules.get(base.__module__)
            if base.__module__ == "builtins" or module is None or id(base) in self.modules:
                continue
            if library(module):
                if vars(module).get("math") is math:  # a schedule's rates are computed with it
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
        """An object's attributes, and the methods of its class.  What a generator holds is asked of it (Trace.drawing)."""
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
    """Return what puts an element into a list or dict, or a new tuple in the place of a tuple; None where that cannot be."""
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
def foreign(file: str) -> bool:
    """Whether a file is minigrad's, Python's or of the libraries below, whose functions are taken not to change."""
    installed = re.search(r"(site|dist)-packages/(\w+)", file)
    if installed:
        return file.startswith(PACKAGE) or installed[2] in TRUSTED
    return file.startswith((PACKAGE, sys.base_prefix + "/lib", "<frozen"))


def is_overridden(cls: type, name: str) -> bool:
    """Return whether a class of a library has a method of that name, which may call it."""
    above = [(base, sys.modules.get(base.__module__)) for base in cls.__mro__[1:] if name in vars(base)]
    return any(module is None or library(module) for _, module in above)


def library(module: Any) -> bool:
    """Whether a module is a library's."""
    file = getattr(module, "__file__", None)
    return file is None and module.__name__ != "__main__" or file is not None and foreign(file)


def codes(code: Any) -> list:
    """A code object and those inside it."""
    inside = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return [code, *[found for one in inside for found in codes(one)]]


SETS, SETS_CELL = {"STORE_GLOBAL", "DELETE_GLOBAL"}, {"STORE_DEREF", "DELETE_DEREF"}


@cache
def named(code: Any) -> tuple[list, list]:
    """The globals that a code object reads, and what it assigns to that outlives the call."""
    reads, writes = [], []
    for i in dis.get_instructions(code):
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            reads.append(i.argval)
        elif i.opname in SETS or i.opname in SETS_CELL and i.argval in code.co_freevars:
            writes.append(i.argval)
        elif i.opname == "IMPORT_NAME" and i.argval.partition(".")[0] not in TRUSTED:
            raise Refused(f"it imports {i.argval} while it runs: import it outside")
    return list(dict.fromkeys(reads)), writes


def attributes(cls: type) -> dict:
    """Return the attributes of a class that are not for itself."""
    return {name: value for name, value in vars(cls).items() if not name.startswith("_")}


def equal(a: Any, b: Any) -> bool:
    """The same value of the same type; NaN is no other NaN, and the signs of zeros count."""
    return a is b or type(a) is type(b) and a == b and (a != 0 or repr(a) == repr(b))


def equal_arrays(a: Any, b: np.ndarray) -> bool:
    """The same elements."""
    return isinstance(a, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
