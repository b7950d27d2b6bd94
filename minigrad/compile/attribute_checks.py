"""The checks of a capture for attributes: of the user's objects and classes, of modules, tensors and `super()`.

An attribute from outside becomes a guard (guards.py), where its object is one that the capture knows by a variable. One that
runs code on its way is called with checks, or ends the capture. checks.py has the checks of all other syntax.
"""

import collections
import enum
import math
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from ..core.context import Ctx
from ..core.tensor import Box, Tensor
from ..places import Place, home
from . import allowed
from .allowed import (
    CONTAINERS,
    MISSING,
    MUTABLE,
    PLAIN,
    attribute_of,
    is_library,
    is_module,
    is_user_function,
    is_users,
    runs_python,
)
from .captured_steps import OUTSIDE, Refused
from .symbols import SYMBOLIC, is_symbolic

STORES = ("_parameters", "_buffers", "_modules")
LOOKUP = ("__getattribute__", "__getattr__")
# what a class defines that has no state besides: functions in C and minigrad's, fields of named tuples
HARMLESS = (*allowed.SLOTS[:-1], type(collections.namedtuple("One", "x").x))
# what depends on how a tensor was made
OF_MEMORY = {*"_base _is_view is_view retains_grad output_nr storage_offset untyped_storage _version".split()}


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
        for kind, read in ((super, self.of_super), (types.ModuleType, self.of_module), (type, self.of_class)):
            if isinstance(a, kind):
                return read(a, name)
        if type(a) is types.MethodType and name not in ("__self__", "__func__") and hasattr(a.__func__, name):
            return self.get(a.__func__, name)
        return self.type_of(a) if name == "__class__" else self.of_object(a, name)

    def of_object(self, a: Any, name: str) -> Any:
        """Return an attribute of an object: its own, or one of its class."""
        if isinstance(a, enum.Enum) and name in ("name", "value") and home(attribute_of(type(a), name)) == "enum":
            name = f"_{name}_"
        self.look_at_lookup(a, name)
        cls, held = self.trace.type_of(a), self.held(a)
        raw = attribute_of(cls, name)
        if name in held and not is_data(raw):
            if raw is not MISSING and is_users(cls):  # a property would take precedence
                self.guards.same(cls, name)
            return self.entry(a, held, name, f"{self.path(a)}.{name}")
        for store in STORES if is_module(a) and raw is MISSING else ():
            if name in held.get(store, ()):
                return self.entry(a, held[store], name, f"{self.path(a)}.{name}")
        if function_in(raw) is None:
            if isinstance(a, Tensor):
                return self.of_tensor(a, name, raw)
            if isinstance(a, (*SYMBOLIC, Ctx)) or isinstance(a, (*PLAIN, *CONTAINERS)) and not cls.__flags__ & MUTABLE:
                return getattr(a, name)
            if raw is MISSING:
                return self.missing(a, name)
            if type(raw) is types.MemberDescriptorType and not is_library(cls):
                return self.guards.read(f"{self.path(a)}.{name}", f"{self.known(a)}.{name}", getattr(a, name))
        return self.inherited(a, name, raw, cls)

    def inherited(self, a: Any, name: str, raw: Any, cls: type) -> Any:
        """Return an attribute that an object, a class or a `super()` has from a class, where it is `raw`."""
        owner = a.__self__ if isinstance(a, super) else a
        path, text = f"{cls.__name__}.{name}", f"{self.guards.constant(cls)}.{name}"
        f, kind, is_class = function_in(raw), type(raw), isinstance(owner, type)
        if owner is a and not is_class:
            self.from_class(a, name)
        if f is not None and not (is_class and kind is property):
            f = self.guards.read(path, text + {property: ".fget", classmethod: ".__func__"}.get(kind, ""), f)
            if kind is property:
                return self.call(f, owner)
            if kind is classmethod:
                return types.MethodType(f, owner if is_class else self.type_of(owner))
            return f if is_class or kind is staticmethod else types.MethodType(f, owner)
        if is_library(cls) or harmless(raw) or kind is types.GetSetDescriptorType and isinstance(owner, PLAIN):
            if cls.__flags__ & MUTABLE:
                self.guards.same(cls, name)
            return getattr(a, name)
        if hasattr(kind, "__get__"):
            raise self.refuse(f"it reads {name} of a {cls.__name__}, which cannot be watched", OUTSIDE)
        return self.guards.read(path, text, getattr(a, name))

    def look_at_lookup(self, a: Any, name: str) -> None:
        """Refuse an object whose class decides itself what its attributes are."""
        cls = type(a)
        decides = runs_python(cls, ("__getattribute__",)) or isinstance(a, threading.local)
        if not decides and runs_python(cls, ("__getattr__",)):
            decides = attribute_of(cls, name) is MISSING and name not in getattr(a, "__dict__", ())
        if decides:
            raise self.refuse(f"it reads {name} of a {cls.__name__}, whose class decides what that is", OUTSIDE)

    def held(self, a: Any) -> dict:
        """Return the attributes that an object has itself; a box has those of its tensor."""
        return getattr(self.trace.original(a), "__dict__", {})

    def of_tensor(self, a: Tensor, name: str, raw: Any) -> Any:
        """Return an attribute of a tensor: its class must keep it, and the tensor must not hide it."""
        cls, source = self.trace.type_of(a), self.trace.source_of(a)
        if source is not None:
            held = self.held(a)
            self.guards.guard(f"len(vars({self.path(a)}))", len(held), f"len({source}.__dict__) == {len(held)}")
            if name in OF_MEMORY:
                raise self.refuse(f"it reads {name} of a tensor, which can change from call to call")
            if name in ("stride", "strides"):
                strides = (original := self.trace.original(a))._a.strides
                self.guards.guard(f"{self.path(a)}.stride()", strides, f"{source}._a.strides == {strides}")
                return getattr(original, name)
        if raw is MISSING:
            self.guards.guard(f"{cls.__name__}.{name}", None, f"not hasattr({self.guards.constant(cls)}, {name!r})")
        elif is_users(cls) and attribute_of(cls, name) is not attribute_of(Tensor, name):
            raise self.refuse(f"it reads {name} of a {cls.__name__}, which is not a plain tensor", OUTSIDE)
        else:
            self.guards.same(cls, name)
        return getattr(a, name)

    def missing(self, a: Any, name: str) -> Any:
        """Guard that an object has no such attribute, and raise the AttributeError."""
        if id(a) in self.guards.names:
            self.guards.guard(f"{self.path(a)}.{name}", None, f"not hasattr({self.known(a)}, {name!r})")
        elif is_users(type(a)):
            raise self.refuse(f"it reads {name} of a {type(a).__name__}, which cannot be watched", OUTSIDE)
        return getattr(a, name)

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

    def from_class(self, a: Any, name: str) -> None:
        """Guard that an object has no attribute that hides the one of its class."""
        held = getattr(a, "__dict__", None)
        if id(a) in self.guards.names:
            if held is not None:
                self.guards.guard(f"{self.path(a)}.{name}", None, f"{name!r} not in {self.guards.constant(held)}")
        elif held is not None and not isinstance(a, Tensor) and is_users(type(a)):
            raise self.refuse(f"it uses a {type(a).__name__} that this call has made", OUTSIDE)

    def of_class(self, cls: Any, name: str) -> Any:
        """Return an attribute of a class."""
        raw, meta = attribute_of(cls, name), type(cls)
        self.guards.shape(cls)
        path, above, decides = f"{cls.__name__}.{name}", attribute_of(meta, name), runs_python(meta, LOOKUP)
        if decides or above is not MISSING and (raw is MISSING or is_data(above)):
            if decides or vars(type).get(name) is not above:
                raise self.refuse(f"it reads {path}, which {meta.__name__} computes", OUTSIDE)
            value = getattr(cls, name)  # such as its name
            return value if callable(value) else self.guards.read(path, f"{self.guards.constant(cls)}.{name}", value)
        if raw is MISSING:
            self.guards.guard(path, None, f"not hasattr({self.guards.constant(cls)}, {name!r})")
            return getattr(cls, name)  # raises
        return self.inherited(cls, name, raw, cls)

    def of_module(self, module: types.ModuleType, name: str) -> Any:
        """Return an attribute of a module."""
        kind, text = type(module), self.guards.constant(module)
        computes = kind is not types.ModuleType and not is_own(module)
        if computes and (attribute_of(kind, name) is not MISSING or runs_python(kind, LOOKUP)):
            raise self.refuse(f"it reads {module.__name__}.{name}, which a {kind.__name__} computes", OUTSIDE)
        value = getattr(module, name)
        if (module is math or is_own(module)) and not is_user_function(value):
            self.guards.same(module, name)
            return value
        if name not in vars(module):
            raise self.refuse(f"it reads {module.__name__}.{name}, which cannot be watched", OUTSIDE)
        self.guards.guard(f"type({module.__name__})", None, f"type({text}) is {self.guards.constant(kind)}")
        return self.guards.read(f"{module.__name__}.{name}", f"{self.guards.constant(vars(module))}[{name!r}]", value)

    def of_super(self, a: Any, name: str) -> Any:
        """Return an attribute of `super()`."""
        kind = a.__self__ if isinstance(a.__self__, type) else type(a.__self__)
        above = kind.__mro__[kind.__mro__.index(a.__thisclass__) + 1 :]
        cls = next((base for base in above if name in vars(base)), None)
        if cls is None:
            return getattr(a, name)  # raises
        self.guards.same(kind, "__mro__")
        for base in above[: above.index(cls)]:
            self.guards.guard(f"{base.__name__}.{name}", None, f"{name!r} not in {self.guards.constant(vars(base))}")
        return self.inherited(a, name, vars(cls)[name], cls)

    def known(self, a: Any) -> str:
        """Return the variable of an object from outside."""
        if id(a) not in self.guards.names:
            raise self.refuse(f"it uses a {type(a).__name__} that this call has made", OUTSIDE)
        return self.guards.names[id(a)]

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
        return a.__class__ if is_symbolic(a) else self.trace.type_of(a)

    def isinstance(self, a: Any, kinds: Any) -> bool:
        """Stand for `isinstance`."""
        if attribute_of(type(a), "__class__") is not vars(object)["__class__"] and is_users(type(a)):
            raise self.refuse(f"it asks for the class of a {type(a).__name__}, which computes it", OUTSIDE)
        self.look_at_kinds(kinds)
        if type(a) is Box or is_symbolic(a) or id(a) not in self.guards.names:
            return self.guards.decision(issubclass, self.type_of(a), kinds)
        return self.guards.decision(isinstance, a, kinds)

    def issubclass(self, cls: Any, kinds: Any) -> bool:
        """Stand for `issubclass`."""
        self.look_at_kinds(kinds)
        return self.guards.decision(issubclass, cls, kinds)

    def look_at_kinds(self, kinds: Any) -> None:
        """Refuse classes whose own code decides what their instances and subclasses are."""
        for one in kinds if isinstance(kinds, tuple) else getattr(kinds, "__args__", None) or (kinds,):
            if isinstance(one, (tuple, types.UnionType)):
                self.look_at_kinds(one)
                continue
            found = [attribute_of(type(one), name) for name in ("__instancecheck__", "__subclasscheck__")]
            if isinstance(one, type):
                self.guards.shape(one)
                found.append(attribute_of(one, "__subclasshook__"))
            for f in [getattr(raw, "__func__", raw) for raw in found]:
                if is_user_function(f) and home(f).partition(".")[0] not in sys.stdlib_module_names:
                    raise self.refuse(f"it calls isinstance() with {one!r}, whose {f.__name__} decides", OUTSIDE)


def function_in(raw: Any) -> Any:
    """Return the user's function in an attribute of a class: a function, property, class method or static method; or None."""
    kind = type(raw)
    f = raw.fget if kind is property else raw.__func__ if kind in (classmethod, staticmethod) else raw
    return f if is_user_function(f) else None


def is_data(raw: Any) -> bool:
    """Return True if an attribute of a class takes precedence over those of its objects."""
    return hasattr(type(raw), "__set__") or hasattr(type(raw), "__delete__")


def harmless(raw: Any) -> bool:
    """Return True if a class attribute only binds a function, or names a part of a named tuple."""
    return isinstance(raw, (*HARMLESS, types.FunctionType)) or type(raw) in (staticmethod, classmethod)


def is_own(module: types.ModuleType) -> bool:
    """Return True for a module of minigrad's."""
    return module.__name__.partition(".")[0] == allowed.PACKAGE
