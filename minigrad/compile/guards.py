"""What a function reads besides its arguments: closures, globals, defaults, the objects it is a method of.

Everything reachable is walked once, before a capture.  Tensors found on the way become hidden inputs, looked up again at
each call; every other value becomes a guard, and a compiled program is used only while all its guards hold.  What cannot be
watched is refused, and then the function runs eagerly.
"""

from __future__ import annotations

import builtins
import dis
import itertools
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays.devices import device
from ..arrays.dtypes import dtype
from ..core.tensor import Tensor
from ..places import PACKAGE
from .captured_steps import Refused

PLAIN = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    type(...),
    slice,
    range,
    dtype,
    np.dtype,
    np.generic,
    device,
)
LIMIT = 3000  # entries; what reads more than that is not watched
ARRAY = 1 << 16  # bytes of a NumPy array that is compared at each call
SPEAKING = {"print", "input", "open", "exec", "eval", "globals", "locals", "vars", "setattr", "delattr", "next", "id",
            "breakpoint"}  # fmt: skip
CHANGING = {"random", "time", "datetime", "secrets", "uuid", "os", "sys", "threading", "numpy.random", "io", "logging"}
TRUSTED = {"minigrad", "numpy", "scipy", "optree", "numba", "math", "functools", "itertools", "operator", "collections"}
MISSING = object()
RETURN = "return what is to be kept, and let the caller store it"


class Guard(NamedTuple):
    """Hold what has to stay as it was: a value by its path, how it is looked up, and when it is the same."""

    path: str
    get: Callable
    value: Any
    same: Callable


class Environment:
    """All that some functions and objects can read: `guards`, and `tensors` (name, get, tensor)."""

    def __init__(self, roots: dict, varying: Set[str] = frozenset()):
        self.varying = varying  # the paths of numbers that have changed between calls
        self.numbers: dict[str, partial] = {}  # those of them that are here, and can be parameters
        self.guards: list[Guard] = []
        self.tensors: list[tuple[str, Callable, Tensor]] = []
        self.mathematics: list[tuple[dict, str, Any]] = []  # globals that hold `math` or a function of it
        self.containers: list[tuple[Any, Any]] = []  # lists, dicts and attributes with a copy of what they held
        self.lent_out: list[Any] = []  # what these held when a capture began
        self.without_grad: dict[int, Callable] = {}  # tensors that have no gradient, which was asked for
        self.classes: list[tuple[type, dict]] = []  # classes with a copy of their attributes
        self.seen: set[int] = set()
        self.modules: set[tuple] = set()
        self.kept: list = []  # so that ids stay
        for name, root in roots.items():
            self.look(name, root, None)

    def holds(self) -> bool:
        """Whether everything that was read is still the same."""
        try:
            return all([same(get(), value) for _, get, value, same in self.guards])
        except (KeyError, IndexError, ValueError, AttributeError):
            return False

    @contextmanager
    def lent(self, numbers: list) -> Iterator[None]:
        """Give a capture symbols for the numbers that vary, and put back afterwards all that it has changed."""
        plain = [get() for get in self.numbers.values()]
        grads = [(t, t._grad) for _, _, t in self.tensors]
        try:
            for get, number in zip(self.numbers.values(), numbers):
                put(get, number)
            self.lent_out = [container.copy() for container, _ in self.containers]
            yield
        finally:
            for t, g in grads:
                t._grad = g
            for container, before in self.containers:
                if ids(container) != ids(before):
                    container.clear()
                    container.extend(before) if isinstance(container, list) else container.update(before)
            for cls, before in self.classes:
                for name in attributes(cls).keys() - before.keys():
                    delattr(cls, name)
                for name, value in before.items():
                    if vars(cls).get(name, MISSING) is not value:
                        setattr(cls, name, value)
            for get, number in zip(self.numbers.values(), plain):
                put(get, number)

    def changes(self) -> Iterator[tuple[Any, Any, Any]]:
        """Give what a capture has set in lists, dicts and attributes: container, key, value, which is MISSING if deleted."""
        if any(ids(attributes(cls)) != ids(before) for cls, before in self.classes):
            raise Refused("it changes an attribute of a class", None, True, RETURN)
        for (now, _), before in zip(self.containers, self.lent_out):
            if ids(now) == ids(before):
                continue
            if isinstance(now, list) and len(now) != len(before):
                raise Refused("it changes the length of a list that outlives the call", None, True, RETURN)
            new, old = [dict(enumerate(one)) if isinstance(one, list) else one for one in (now, before)]
            yield from ((now, key, MISSING) for key in old if key not in new)
            yield from ((now, key, value) for key, value in new.items() if old.get(key, MISSING) is not value)

    def no_grad(self, who: int, path: str, get: Callable) -> None:
        """Note that a tensor, by its id, has no `.grad`; of an argument, whose place `get` knows, the road looks itself."""
        if who not in self.without_grad:
            self.without_grad[who] = get
            if isinstance(get, partial):
                self.guards.append(Guard(path, get, None, is_same))

    def numbers_that_changed(self, others: Iterable[Environment]) -> set[str]:
        """Return the paths of numbers that are others elsewhere."""
        mine = {path: value for path, _, value, _ in self.guards if type(value) in (int, float)}
        return {
            path
            for other in others
            for path, _, value, _ in other.guards
            if path in mine and type(value) is type(mine[path]) and value != mine[path]
        }

    # ------------------------------------------------------------------ the walk
    def guard(self, path: str, get: Callable | None, value: Any, same: Callable) -> None:
        """Note that `get()` has to stay what it is."""
        if get is not None:
            self.guards.append(Guard(path, get, value, same))
        if len(self.guards) + len(self.tensors) > LIMIT:
            raise Refused(f"it can read more than {LIMIT} values besides its arguments")

    def look(self, path: str, value: Any, get: Callable | None) -> None:  # noqa: PLR0912 (one for each type of value)
        """Note one value, and what can be reached through it."""
        if isinstance(value, Tensor):
            if get is not None:
                self.tensors.append((re.sub(r"\W+", "_", path).strip("_"), get, value))
            return
        if isinstance(value, PLAIN):
            if path in self.varying and type(value) in (int, float) and self.may_be_symbol(path, get):
                return None
            return self.guard(path, get, value, equal)
        if isinstance(value, np.ndarray):
            if value.nbytes > ARRAY or value.dtype.hasobject:
                raise Refused(f"it can read the NumPy array {path}, too large to be compared at each call")
            return self.guard(path, get, value.copy(), equal_arrays)
        self.guard(path, get, value, is_same)
        if id(value) in self.seen:
            return
        self.seen.add(id(value))
        self.kept.append(value)
        if isinstance(value, types.ModuleType):
            if value.__name__ in CHANGING:
                raise Refused(f"it uses {value.__name__}, whose results change from call to call")
        elif isinstance(value, (list, tuple)):
            self.look_into(path, value, range(len(value)))
        elif isinstance(value, dict):
            self.look_into(path, value, list(value))
        elif isinstance(value, (set, frozenset)):
            self.guard(f"frozenset({path})", lambda: frozenset(value), frozenset(value), equal)
        elif isinstance(value, types.FunctionType):
            self.look_function(path, value)
        elif isinstance(value, types.MethodType):
            self.look(path, value.__self__, None)
            self.look(path, value.__func__, None)
        elif isinstance(value, partial):
            self.look(path, value.func, None)
            self.look(path, value.args, None)
            self.look(path, value.keywords, None)
        elif isinstance(value, type):
            self.look_class(value)
        elif hasattr(value, "__wrapped_by_compile__"):
            self.look(path, value.function, None)
        elif not isinstance(value, (types.BuiltinFunctionType, np.ufunc)):
            self.look_object(path, value)

    def may_be_symbol(self, path: str, get: Any) -> bool:
        """Note a number that varies, where it can be replaced: not in a tuple, and not where a path stands for two places."""
        return holder(get) is not None and holder(self.numbers.setdefault(path, get)) == holder(get)

    def look_into(self, path: str, container: Any, keys: Any) -> None:
        """The elements of a list, tuple or dict."""
        if not isinstance(container, tuple):
            self.containers.append((container, container.copy()))
            self.guard(f"len({path})", partial(len, container), len(container), equal)
        for key in keys:
            shown = f"{path}[{key!r}]" if isinstance(key, (int, str)) else path
            self.look(shown, container[key], partial(container.__getitem__, key))

    def look_function(self, name: str, f: Any) -> None:
        """A user's function: its cells, the globals that it names, its defaults.  Library functions are taken as they are."""
        if foreign(f.__code__.co_filename):
            return
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            get = partial(content, cell)
            if (value := get()) is MISSING:  # not bound yet
                self.guard(name, get, MISSING, is_same)
            else:
                self.look(name, value, get)
        self.look("defaults", f.__defaults__ or (), None)
        self.look("defaults", f.__kwdefaults__, None) if f.__kwdefaults__ else None
        for code in codes(f.__code__):
            self.look_names(code, f.__globals__)

    def look_names(self, code: Any, scope: dict) -> None:
        """The globals that a code object reads, and attributes of modules among them."""
        names, writes = named(code)
        if writes:
            raise Refused(f"it assigns to {writes[0]}, which outlives the call")
        for n in names:
            if n in scope:
                value = scope[n]
                self.look(n, value, partial(scope.get, n, MISSING))
                self.look_module(value, code)
                if value is math or isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math":
                    self.mathematics.append((scope, n, value))
            elif n in SPEAKING and hasattr(builtins, n):
                raise Refused(f"it calls {n}(), which does something at each call")
            else:
                self.guard(n, partial(scope.get, n, MISSING), MISSING, is_same)
        if "random" in code.co_names and any(scope.get(m) is np for m in code.co_names):
            raise Refused("it uses numpy.random, whose results change from call to call")

    def look_module(self, module: Any, code: Any) -> None:
        """What a code object can read of a user's module, and of modules in it."""
        if not isinstance(module, types.ModuleType) or library(module) or (id(module), id(code)) in self.modules:
            return
        self.modules.add((id(module), id(code)))
        for n in code.co_names:
            if n in vars(module):
                self.look(n, vars(module)[n], partial(vars(module).get, n, MISSING))
                self.look_module(vars(module)[n], code)

    def look_class(self, cls: type) -> None:
        """What the methods of a user's class read, and its other attributes."""
        for base in cls.__mro__:
            module = sys.modules.get(base.__module__)
            if base.__module__ == "builtins" or module is None or library(module):
                continue
            self.classes.append((base, attributes(base)))
            for n, value in list(vars(base).items()):
                if n in ("__init__", "__new__", "__repr__"):
                    continue
                value = getattr(value, "__func__", getattr(value, "fget", value))
                if isinstance(value, types.FunctionType):
                    self.look_function(n, value) if id(value) not in self.seen else None
                    self.seen.add(id(value))
                elif not n.startswith("__") and isinstance(value, (*PLAIN, list, tuple, dict, Tensor, np.ndarray)):
                    self.look(n, value, partial(getattr, base, n, MISSING))

    def look_object(self, path: str, value: Any) -> None:
        """An object's attributes, and the methods of its class."""
        attributes = getattr(value, "__dict__", None)
        if attributes is None or isinstance(value, types.GeneratorType):
            if type(value).__module__.partition(".")[0] == PACKAGE_NAME:
                return
            raise Refused(f"it can read {path}, a {type(value).__name__} whose contents cannot be watched")
        self.look_class(type(value))
        self.containers.append((attributes, dict(attributes)))
        self.guard(f"len(vars({path}))", partial(len, attributes), len(attributes), equal)
        for key, part in list(attributes.items()):
            self.look(f"{path}.{key}", part, partial(attributes.get, key, MISSING))


PACKAGE_NAME = __name__.partition(".")[0]


@cache
def foreign(file: str) -> bool:
    """Whether a file is minigrad's, Python's or of the libraries below, whose functions are taken not to change."""
    installed = re.search(r"(site|dist)-packages/(\w+)", file)
    if installed:
        return file.startswith(PACKAGE) or installed[2] in TRUSTED
    return file.startswith((PACKAGE, sys.base_prefix + "/lib", "<frozen"))


def library(module: Any) -> bool:
    """Whether a module is a library's."""
    file = getattr(module, "__file__", None)
    return file is None and module.__name__ != "__main__" or file is not None and foreign(file)


def codes(code: Any) -> list:
    """A code object and those inside it."""
    found = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += codes(constant)
    return found


@cache
def named(code: Any) -> tuple[list, list]:
    """The globals that a code object reads, and what it assigns to that outlives the call."""
    reads, writes = [], []
    for i in dis.get_instructions(code):
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            reads.append(i.argval)
        elif i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
            i.opname in ("STORE_DEREF", "DELETE_DEREF") and i.argval in code.co_freevars
        ):
            writes.append(i.argval)
        elif i.opname == "IMPORT_NAME" and i.argval.partition(".")[0] not in TRUSTED:
            raise Refused(f"it imports {i.argval} while it runs: import it outside")
    return list(dict.fromkeys(reads)), writes


def content(cell: Any) -> Any:
    """What a cell holds now."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def attributes(cls: type) -> dict:
    """Return the attributes of a class that are not for itself."""
    return {name: value for name, value in vars(cls).items() if not name.startswith("_")}


def holder(get: partial) -> tuple[int, Any] | None:
    """Return where a look-up finds what it gives, for comparison; None for a tuple, in which nothing can be replaced."""
    place = get.args[0] if get.func in (content, getattr) else get.func.__self__
    key = get.args[1] if get.func is getattr else get.args[0]
    return None if isinstance(place, tuple) else (id(place), None if get.func is content else key)


def put(get: partial, value: Any) -> None:
    """Replace what a look-up gives."""
    if get.func is content:
        get.args[0].cell_contents = value
    elif get.func is getattr:
        setattr(*get.args[:2], value)
    else:
        get.func.__self__[get.args[0]] = value


def ids(container: Any) -> list[int]:
    """Return the objects that a list or dict holds, in order."""
    held = container if isinstance(container, list) else itertools.chain.from_iterable(container.items())
    return [id(a) for a in held]


def is_same(a: Any, b: Any) -> bool:
    """The same object."""
    return a is b


def equal(a: Any, b: Any) -> bool:
    """The same value of the same type; NaN is no other NaN, and the signs of zeros count."""
    return a is b or type(a) is type(b) and a == b and (a != 0 or repr(a) == repr(b))


def equal_arrays(a: Any, b: np.ndarray) -> bool:
    """The same elements."""
    return isinstance(a, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
