"""The checks of a capture for attributes: of the user's objects and classes, of modules, tensors and `super()`.

An attribute from outside becomes a guard (guards.py), where its object is one that the capture knows by a variable. One that
runs code on its way is called with checks, or ends the capture. checks.py has the checks of all other syntax.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ..core.context import Ctx
from ..core.tensor import Box, Tensor
from ..places import Place
from . import allowed
from .allowed import CONTAINERS, MISSING, PLAIN, attribute_of, is_library, is_module, is_user_function
from .captured_steps import OUTSIDE, Refused
from .symbols import SYMBOLIC, is_symbolic

STORES = ("_parameters", "_buffers", "_modules")


class AttributeChecks:
    """Reads attributes for one capture."""

    call: Callable[..., Any]  # in checks.py

    def __init__(self, guards: Any, trace: Any):
        self.guards, self.trace = guards, trace

    def refuse(self, why: str, fix: str = "", place: Place | None = None) -> Refused:
        """Return the exception that ends the capture."""
        return self.trace.refuse(why, fix=fix, place=place)

    def get(self, a: Any, name: str) -> Any:
        """Return an attribute, and guard it if it can change between calls."""
        cls = type(a)
        if cls is types.MethodType and name not in ("__self__", "__func__"):
            return self.get(a.__func__, name) if hasattr(a.__func__, name) else getattr(a, name)
        if cls is super:
            return self.of_super(a, name)
        if isinstance(a, types.ModuleType):
            return self.of_module(a, name)
        if isinstance(a, type):
            return self.of_class(a, name)
        raw, held = attribute_of(cls, name), getattr(a, "__dict__", {})
        if isinstance(raw, property) and is_user_function(raw.fget):
            return self.call(self.of_own_class(a, name, raw.fget, ".fget"), a)
        if name in held and not hasattr(type(raw), "__set__"):
            return self.entry(a, held, name, f"{self.path(a)}.{name}")
        for store in STORES if is_module(a) else ():
            if name in held.get(store, ()):
                return self.entry(a, held[store], name, f"{self.path(a)}.{name}")
        if is_user_function(raw):
            return types.MethodType(self.of_own_class(a, name, raw), a)
        if isinstance(raw, (classmethod, staticmethod)) and is_user_function(raw.__func__):
            f = self.of_own_class(a, name, raw.__func__, ".__func__" if isinstance(raw, classmethod) else "")
            return types.MethodType(f, cls) if isinstance(raw, classmethod) else f
        return self.of_builtin(a, name, raw, held)

    def of_builtin(self, a: Any, name: str, raw: Any, held: dict) -> Any:
        """Return an attribute that is none of the user's functions."""
        cls, known = type(a), id(a) in self.guards.names
        if isinstance(a, (Tensor, *PLAIN, *CONTAINERS, *SYMBOLIC, Ctx)) or is_library(cls):
            if isinstance(a, Tensor) and is_user_function(attribute_of(cls, "__getattr__")):
                raise self.refuse(f"it reads {name} of a {cls.__name__}, whose __getattr__ decides what that is")
            return getattr(a, name)
        if (
            raw is MISSING
            or hasattr(type(raw), "__get__")
            and not callable(raw)
            and type(raw) is not types.MemberDescriptorType
        ):
            if hasattr(cls, "__getattr__") or raw is not MISSING or not known:
                raise self.refuse(f"it reads {name} of a {cls.__name__}, which cannot be watched", OUTSIDE)
            self.guards.guard(f"{self.path(a)}.{name}", None, f"not hasattr({self.known(a)}, {name!r})")
            return getattr(a, name)  # raises
        value = getattr(a, name)
        if callable(value) and not isinstance(value, type):  # a method, to be judged when it is called
            return value
        if type(raw) is types.MemberDescriptorType:
            return self.guards.read(f"{self.path(a)}.{name}", f"{self.known(a)}.{name}", value)
        return self.of_own_class(a, name, value)

    def entry(self, a: Any, held: dict, name: str, path: str) -> Any:
        """Return an attribute that an object holds itself."""
        if isinstance(a, Tensor):
            source = self.trace.source_of(a)
            return held[name] if source is None else self.guards.read(path, f"{source}.{name}", held[name])
        if id(a) not in self.guards.names:
            if is_library(type(a)) or isinstance(a, Ctx):  # made by this call
                return held[name]
            raise self.refuse(f"it reads {name} of a {type(a).__name__} that this call has made")
        self.known(a)
        holder = self.guards.names.get(id(held)) or self.guards.constant(held)
        return self.guards.read(path, f"{holder}[{name!r}]", held[name])

    def of_own_class(self, a: Any, name: str, value: Any, suffix: str = "") -> Any:
        """Return an attribute that an object has from its class."""
        cls, held = self.guards.constant(type(a)), getattr(a, "__dict__", None)
        if not isinstance(a, Tensor):
            self.known(a)
        if held is not None and id(a) in self.guards.names:
            self.guards.guard(f"{self.path(a)}.{name}", None, f"{name!r} not in {self.guards.constant(held)}")
        return self.guards.read(f"{type(a).__name__}.{name}", f"{cls}.{name}{suffix}", value)

    def of_class(self, cls: Any, name: str) -> Any:
        """Return an attribute of a class."""
        raw = attribute_of(cls, name)
        if raw is MISSING or is_library(cls) and not is_user_function(raw) or cls.__module__ in ("builtins", "typing"):
            return getattr(cls, name)
        text, path = f"{self.guards.constant(cls)}.{name}", f"{cls.__name__}.{name}"
        if isinstance(raw, classmethod):
            if not is_user_function(raw.__func__):
                return getattr(cls, name)
            return types.MethodType(self.guards.read(path, f"{text}.__func__", raw.__func__), cls)
        if isinstance(raw, property) or hasattr(type(raw), "__get__") and not callable(raw):
            raise self.refuse(f"it reads {path}, which cannot be watched")
        return self.guards.read(path, text, getattr(cls, name))

    def of_module(self, module: types.ModuleType, name: str) -> Any:
        """Return an attribute of a module; those of minigrad and `math` do not change."""
        value = getattr(module, name)
        if module is math or is_own(module) and not is_user_function(value):
            return value
        if name not in vars(module):
            raise self.refuse(f"it reads {module.__name__}.{name}, which cannot be watched", OUTSIDE)
        return self.guards.read(f"{module.__name__}.{name}", f"{self.guards.constant(vars(module))}[{name!r}]", value)

    def of_super(self, a: Any, name: str) -> Any:
        """Return an attribute of `super()`."""
        value = getattr(a, name)
        if not isinstance(value, types.MethodType) or not is_user_function(value.__func__):
            return value
        made = f"super({self.guards.constant(a.__thisclass__)}, {self.known(a.__self__)})"
        f = self.guards.read(f"super().{name}", f"{made}.{name}.__func__", value.__func__)
        return types.MethodType(f, value.__self__)

    def known(self, a: Any) -> str:
        """Return the variable of an object from outside, whose class is guarded."""
        if id(a) not in self.guards.names:
            raise self.refuse(f"it uses a {type(a).__name__} that this call has made", OUTSIDE)
        name = self.guards.names[id(a)]
        self.guards.guard(f"type({self.path(a)})", None, f"type({name}) is {self.guards.constant(type(a))}")
        return name

    def path(self, a: Any) -> str:
        """Return the path of an object, for messages."""
        return self.guards.paths.get(id(a)) or (self.trace.path_of(a) if isinstance(a, Tensor) else type(a).__name__)

    def getattr(self, a: Any, name: str, *default: Any) -> Any:
        """Stand for `getattr`."""
        try:
            return self.get(a, name)
        except AttributeError:
            if not default:
                raise
            return default[0]

    def hasattr(self, a: Any, name: str) -> bool:
        """Stand for `hasattr`."""
        return self.getattr(a, name, MISSING) is not MISSING

    def type_of(self, a: Any, *more: Any) -> type:
        """Stand for `type` with one argument."""
        if more:
            raise self.refuse("it creates a class", "define the class outside of the function")
        return a.__class__ if is_symbolic(a) else self.trace.type_of(a) if type(a) is Box else type(a)


def is_own(module: types.ModuleType) -> bool:
    """Return True for a module of minigrad's."""
    return module.__name__.partition(".")[0] == allowed.PACKAGE or getattr(module, "__minigrad__", False)
