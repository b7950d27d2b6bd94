"""The checks that a user's function runs with during its capture.

The rewritten function (user_code.py) asks here for every attribute, entry, call and store. A read from outside is recorded
as a guard (guards.py). A call has to be one of minigrad's, of the table in allowed.py, or of another user function, which is
rewritten as well. A store has to go to an object that the call itself has made, or to the state of a tensor, module or
optimizer. Anything else ends the capture before it happens, so the function can still run eagerly, once.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import math
import sys
import types
from collections.abc import Iterator
from typing import Any

from ..core.context import Ctx
from ..core.function import Function
from ..core.tensor import Tensor
from ..diagnose.boundary import bare
from ..places import PACKAGE
from . import allowed
from .allowed import (
    CONTAINERS,
    MISSING,
    MUTABLE,
    attribute_of,
    is_library,
    is_module,
    is_user_function,
    runs_python,
)
from .attribute_checks import STORES, AttributeChecks, is_own
from .captured_steps import OUTSIDE, RETURN, Refused
from .symbols import MATH
from .user_code import CHECKS, checked_code

METHODS = ("forward", "setup_context", "backward", "vjp", "jvp", "vmap")  # of a custom Function
UNBOUND = types.CellType()  # equal to a cell that is empty, and to no other


class Globals(dict):
    """The globals of a rewritten function: each name is looked up, and guarded, at its first read."""

    def __init__(self, checks: Checks, f: types.FunctionType):
        super().__init__({CHECKS: checks, "__name__": f.__module__})
        self.f, self.cells = f, dict(zip(f.__code__.co_freevars, f.__closure__ or ()))

    def __missing__(self, name: str) -> Any:
        guards, scope = self[CHECKS].guards, self.f.__globals__
        if (cell := self.cells.get(name)) is not None:
            text = f"{guards.constant(cell)}.cell_contents"
            if cell == UNBOUND:
                raise self[CHECKS].refuse(f"the variable {name} is not set yet")
            return guards.read(name, text, cell.cell_contents)
        namespace = guards.constant(scope)
        if name in scope:
            return guards.read(name, f"{namespace}[{name!r}]", scope[name])
        guards.guard(name, None, f"{name!r} not in {namespace}")
        known = self.f.__builtins__
        if known is vars(builtins) and isinstance(known.get(name), (type, types.BuiltinFunctionType)):
            guards.same(builtins, name)
            return known[name]
        return guards.read(name, f"{guards.constant(known)}[{name!r}]", known[name])


class Checks(AttributeChecks):
    """The checks of one capture; each method stands for one kind of syntax."""

    slice = slice

    def __init__(self, guards: Any, trace: Any):
        super().__init__(guards, trace)
        guards.replacement = self.given
        self.functions: dict[int, tuple[Any, Any]] = {}  # by id: a user's function or Function, and the one with checks
        self.special = {getattr: self.getattr, hasattr: self.hasattr, type: self.type_of,
                        isinstance: self.isinstance, issubclass: self.issubclass,
                        setattr: lambda a, *given: setattr(Target(self, a), *given),
                        delattr: lambda a, name: delattr(Target(self, a), name)}  # fmt: skip

    # ------------------------------------------------------------------ comparisons, entries, contexts
    def operand(self, a: Any) -> Any:
        """Return a value that is compared, hashed or written as text."""
        for one in contents(a, set()):
            if runs_python(type(one), allowed.COMPARED):
                raise self.refuse(f"it compares a {type(one).__name__}, whose methods are not watched", OUTSIDE)
        return a

    def over(self, a: Any) -> Any:
        """Return an object whose elements a loop or an entry asks for; minigrad's classes decide which these are."""
        cls = type(a)
        if cls.__flags__ & MUTABLE and not isinstance(a, (Tensor, *CONTAINERS)):
            for name in ("__iter__", "__len__", "__getitem__", "__next__", "__contains__"):
                if hasattr(cls, name):
                    self.guards.same(cls, name)
        return a

    def item(self, a: Any, index: Any) -> Any:
        """Return an entry."""
        if isinstance(a, dict) and index not in a and hasattr(a, "__missing__") and not self.may_change(a):
            raise self.refuse(f"it adds an entry to {self.path(a)}, which outlives the call", RETURN)
        return self.over(a)[index if isinstance(a, (Tensor, list, tuple)) else self.operand(index)]

    def context(self, a: Any) -> Any:
        """Return the context of a `with` statement, if it is one of minigrad's."""
        own = isinstance(a, contextlib._GeneratorContextManager) and is_library(getattr(a, "func", None))
        if own or is_library(type(a)) or type(a) in (contextlib.nullcontext, contextlib.suppress):
            return a
        raise self.refuse(f"it enters a {type(a).__name__}, which is not one of minigrad's contexts", OUTSIDE)

    def imports(self, names: tuple, attributes: tuple) -> None:
        """Look at an import inside the function, of modules, or of attributes of one module."""
        for name in names:
            module = sys.modules.get(name.partition(".")[0])
            if module is None or module is not math and not is_own(module):
                raise self.refuse(f"it imports {name} while it runs", "move the import out of the function")
            modules = self.guards.constant(sys.modules)
            for one in {name.partition(".")[0], name} & {*sys.modules}:
                self.guards.guard(one, None, f"{modules}[{one!r}] is {self.guards.constant(sys.modules[one])}")
                for attribute in attributes if one == name else ():
                    self.getattr(sys.modules[one], attribute, None)

    # ------------------------------------------------------------------ stores
    def target(self, a: Any) -> Target:
        """Return a stand-in for an object in a statement that stores or deletes a part of it."""
        return Target(self, a)

    def may_change(self, a: Any) -> bool:
        """Return True if a list, dict or set was made by this call, or belongs to an optimizer."""
        return isinstance(a, CONTAINERS) and (id(a) not in self.guards.names or id(a) in self.guards.states)

    def updated(self, a: Any) -> Any:
        """Return a value that an assignment like `a += value` may change."""
        if isinstance(a, (list, dict, set)) and not self.may_change(a):
            raise self.refuse(f"it changes {self.path(a)}, which outlives the call", RETURN)
        return a

    # ------------------------------------------------------------------ calls
    def call(self, f: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function, if that is allowed."""
        kind = type(f)
        if kind is types.FunctionType:  # the source of a function that is not listed decides
            return (
                self.library(f, args, kwargs)
                if is_library(f) and type(f.__globals__) is not Globals
                else self.function(f)(*args, **kwargs)
            )
        if kind is types.MethodType:
            if is_library(f.__func__):
                return self.library(f, args, kwargs)
            return self.call(f.__func__, f.__self__, *args, **kwargs)
        if kind is functools.partial:
            return self.call(f.func, *f.args, *args, **{**f.keywords, **kwargs})
        if attribute_of(kind, "__wrapped_by_compile__") is not MISSING:
            return self.call(f.function, *args, **kwargs)
        if isinstance(f, type):
            return self.make(f, args, kwargs)
        if kind in (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType):
            return self.builtin(f, args, kwargs)
        if is_module(f) or is_library(kind):
            return self.library(f, args, kwargs)
        if is_user_function(raw := attribute_of(kind, "__call__")):
            return self.call(self.inherited(f, "__call__", raw, kind), *args, **kwargs)
        raise self.not_allowed(f)

    def not_allowed(self, f: Any) -> Refused:
        """Return the exception for a call that is not allowed."""
        receiver, name = getattr(f, "__self__", None), getattr(f, "__qualname__", type(f).__name__)
        if isinstance(receiver, CONTAINERS) and not self.may_change(receiver):
            return self.refuse(f"it calls {f.__name__}() of {self.path(receiver)}, which outlives the call", RETURN)
        module = getattr(f, "__module__", None)
        shown = f"{module}.{name}" if module not in (None, "builtins") and "." not in name else name
        return self.refuse(f"it calls {shown}(), which is not known to be free of side effects", OUTSIDE)

    def function(self, f: Any) -> Any:
        """Return a user's function with checks."""
        if type(f.__globals__) is Globals:
            return f
        if id(f) not in self.functions:
            name, guards = self.guards.constant(f), self.guards
            try:
                code, operators = checked_code((inner := bare(f)).__code__, f.__qualname__)
            except Refused as e:
                raise self.refuse(e.why, e.fix, e.place) from None
            guards.guard(f.__name__, None, f"{name}.__code__ is {guards.constant(f.__code__)}")
            self.trace.operators |= operators
            made = types.FunctionType(code, Globals(self, f), f.__name__)
            for defaults in ("__defaults__", "__kwdefaults__"):
                if (value := getattr(inner, defaults)) is not None and inner is not f:
                    setattr(made, defaults, value)  # of the library
                elif value is None:
                    guards.guard(f"{f.__name__}.{defaults}", None, f"{name}.{defaults} is None")
                else:
                    value = guards.read(f"{f.__name__}.{defaults}", f"{name}.{defaults}", value)
                    setattr(made, defaults, value)
            made.__qualname__, made.__module__ = f.__qualname__, f.__module__
            made.__dict__.update(vars(f))
            self.functions[id(f)] = f, made
        return self.functions[id(f)][1]

    def given(self, a: Any) -> Any:
        """Return a value as code other than the user's gets it: functions with checks, contents guarded."""
        kind, known = type(a), id(a) in self.guards.names
        if kind is types.FunctionType:
            if is_user_function(a) or type(a.__globals__) is Globals:
                return self.function(a)
            return self.with_checked_cells(a) if known and closes_over_users(a) else a
        if kind is types.MethodType:
            if isinstance(a.__self__, type) and issubclass(a.__self__, Function):
                return getattr(self.custom(a.__self__), a.__name__)
            return types.MethodType(self.given(a.__func__), self.given(a.__self__))
        if kind is functools.partial:
            return functools.partial(
                self.given(a.func), *map(self.given, a.args), **{k: self.given(v) for k, v in a.keywords.items()}
            )
        if attribute_of(kind, "__wrapped_by_compile__") is not MISSING:
            return self.given(a.function)
        if isinstance(a, CONTAINERS) and not known:
            if any(is_user_function(one) for one in (a.values() if isinstance(a, dict) else a)):
                raise self.refuse("it passes a list of functions to a function", "pass them one by one")
            for one in a.values() if isinstance(a, dict) else a:
                self.given(one)
            return a
        if not is_module(a) and is_user_function(raw := attribute_of(kind, "__call__")):
            return self.given(self.inherited(a, "__call__", raw, kind))
        return a

    def with_checked_cells(self, f: types.FunctionType) -> types.FunctionType:
        """Return a function of minigrad's, such as `vmap(f)`, around user functions with checks."""
        if id(f) not in self.functions:
            cells = []
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
                value = self.guards.read(name, f"{self.guards.constant(cell)}.cell_contents", cell.cell_contents)
                cells.append(types.CellType(self.given(value)))
            made = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
            made.__kwdefaults__ = f.__kwdefaults__
            self.functions[id(f)] = f, made
        return self.functions[id(f)][1]

    def custom(self, cls: Any) -> Any:
        """Return a custom Function whose methods run with checks."""
        found = {name: attribute_of(cls, name) for name in METHODS}
        own = {name: raw.__func__ for name, raw in found.items()
               if isinstance(raw, staticmethod) and is_user_function(raw.__func__)}  # fmt: skip
        if "backward" in own:  # vjp is another name of it
            own.pop("vjp", None)
        if not own or id(cls) in self.functions:
            return self.functions.get(id(cls), (cls, cls))[1]
        text = self.guards.constant(cls)
        for name, f in own.items():
            self.guards.read(f"{cls.__name__}.{name}", f"{text}.{name}", f)
        made = {name: staticmethod(self.function(undiagnosed(f))) for name, f in own.items()}
        made |= {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
        self.functions[id(cls)] = cls, type(cls)(cls.__name__, (cls,), made)
        return self.functions[id(cls)][1]

    def library(self, f: Any, args: tuple, kwargs: dict) -> Any:
        """Call a function, method, module or object of minigrad's."""
        if is_module(f) and is_user_function(attribute_of(type(f), "__call__")):
            raise self.refuse(f"the class {type(f).__name__} defines __call__", "define forward instead")
        return self.plainly(self.given(f), args, kwargs)

    def make(self, cls: type, args: tuple, kwargs: dict) -> Any:
        """Call a class."""
        if cls is type:
            return self.type_of(*args)
        if cls in allowed.FUNCTIONS:
            return self.builtin(cls, args, kwargs)
        if cls is functools.partial:
            return cls(*args, **kwargs)
        if is_library(cls) or issubclass(cls, BaseException) and cls.__module__ == "builtins":
            return self.plainly(cls, args, kwargs)
        if issubclass(cls, tuple) and hasattr(cls, "_fields") and not is_user_function(vars(cls).get("__init__")):
            self.guards.same(cls, "__new__")
            self.guards.shape(cls)
            return cls(*args, **kwargs)
        raise self.refuse(f"it creates a {cls.__name__}", "create it outside of the compiled function")

    def builtin(self, f: Any, args: tuple, kwargs: dict) -> Any:
        """Call a function written in C, if it is one of the table, of `math`, or a method without side effects."""
        if f in self.special:
            return self.special[f](*args, **kwargs)
        look = self.over if f.__name__ in allowed.BLIND else self.operand
        for one in (getattr(f, "__self__", None), *args, *kwargs.values()):
            look(one)
        if allowed.is_math(f):
            return getattr(MATH, f.__name__)(*map(self.operand, args), **kwargs)
        if f in allowed.FUNCTIONS:
            return self.plainly(f, args, kwargs)
        receiver = f.__self__ if type(f) is types.BuiltinFunctionType else args[0] if args else None
        if (
            receiver is None
            or isinstance(receiver, types.ModuleType)
            or not allowed.is_pure_method(receiver, f.__name__, self.may_change(receiver))
        ):
            raise self.not_allowed(f)
        return self.plainly(f, args, kwargs)

    def plainly(self, f: Any, args: tuple, kwargs: dict) -> Any:
        """Call a function of minigrad's, or one of the table, with user's functions that run with checks."""
        return f(*map(self.given, args), **{k: self.given(v) for k, v in kwargs.items()})

    def decorated(self, decorator: Any) -> Any:
        """Return a decorator that is called with checks."""
        return lambda f: self.call(decorator, f)


class Target:
    """Stands for an object in `a.name = value`, `del a[index]`, `a.name += value` (which reads first) and the like.

    What may be stored: attributes of tensors and nodes, a module's buffers and parameters, entries of what the call has made.
    """

    __slots__ = ("__checks__", "__object__")

    def __init__(self, checks: Checks, a: Any):
        object.__setattr__(self, "__checks__", checks)
        object.__setattr__(self, "__object__", a)

    def __getattr__(self, name: str) -> Any:
        return self.__checks__.updated(self.__checks__.get(self.__object__, name))

    def __setattr__(self, name: str, value: Any) -> None:
        a = self.__object__
        own = isinstance(a, Tensor) and hasattr(attribute_of(type(a), name), "__set__")
        held = is_module(a) and any(name in vars(a).get(store, ()) for store in STORES[:2])
        setattr(self.__may__(own or held or isinstance(a, Ctx), "sets {}." + name), name, value)

    def __delattr__(self, name: str) -> None:
        a = self.__object__
        own = isinstance(a, (Tensor, Ctx)) and hasattr(attribute_of(type(a), name), "__delete__")
        delattr(self.__may__(own, "deletes {}." + name), name)

    def __getitem__(self, index: Any) -> Any:
        return self.__checks__.updated(self.__checks__.item(self.__object__, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        own = isinstance(self.__object__, Tensor) or self.__checks__.may_change(self.__object__)
        self.__may__(own, "stores an entry in {}")[index] = value

    def __delitem__(self, index: Any) -> None:
        del self.__may__(self.__checks__.may_change(self.__object__), "deletes an entry of {}")[index]

    def __may__(self, allowed: bool, what: str) -> Any:
        if not allowed:
            path = self.__checks__.path(self.__object__)
            raise self.__checks__.refuse(f"it {what.format(path)}, which outlives the call", RETURN)
        return self.__object__


def contents(a: Any, seen: set[int]) -> Iterator[Any]:
    """Yield a value, and everything in it."""
    if id(a) not in seen:
        seen.add(id(a))
        yield a
        for one in (*a, *a.values()) if isinstance(a, dict) else a if isinstance(a, CONTAINERS) else ():
            yield from contents(one, seen)


def undiagnosed(f: Any) -> Any:
    """Return the user's method inside the wrapper that minigrad puts around it for diagnosis."""
    while f.__code__.co_filename.startswith(PACKAGE) and hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    return f


def closes_over_users(f: Any, depth: int = 6) -> bool:
    """Return True if a function of minigrad's was made for a user's function, module or tensor."""
    if not isinstance(f, types.FunctionType):
        f = getattr(f, "__func__", f)
    if is_user_function(f):
        return True
    if not isinstance(f, types.FunctionType):
        return isinstance(f, (Tensor, functools.partial)) or is_module(f)
    cells = [cell.cell_contents for cell in f.__closure__ or () if cell != UNBOUND]
    return depth > 0 and any(closes_over_users(one, depth - 1) for one in cells)
