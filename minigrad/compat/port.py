"""Reads a PyTorch program without running it, and lists the names it needs that minigrad does not have.

static_names.py says what each name of the program stands for; here the full names are looked up in the modules that replace
PyTorch's under `as_torch`.  Keyword arguments are compared with those that the callee takes, attributes of an object with those
of its class.  Layers with literal arguments are created on the device `meta`, where they take no memory: errors that they raise
are listed, too.
"""

import ast
import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from .. import MinigradError, Tensor, device
from ..diagnose.arguments import keywords_of
from ..diagnose.missing_names import NEED_TORCH, ROWS, replacement, similar
from ..errors import suppressed_warnings
from ..nn import Module
from .as_torch import Finder
from .static_names import TENSOR, Scope, StaticNames
from .torch_modules import NOTHING, AbsentModule, AbsentName, module_called, only_named

LARGEST = 1_000_000  # number in a call that is tried
COMMON = {"values", "indices"}  # methods of tensors whose names other objects have as well
PACKAGES = {"torch", *NEED_TORCH}
ANYTHING = object()  # a value that only running the program shows


class Need(NamedTuple):
    """A name that a program uses and minigrad does not have."""

    line: int
    name: str
    what: str
    instead: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}. Instead: {self.instead}"


class Instance(NamedTuple):
    """An instance of a class, as far as it is known without making it."""

    of: type


def needs(tree: ast.Module, others: Iterable[ast.Module] = ()) -> list[Need]:
    """Return the missing names of a program by line, each once per line; `others` are further modules of it.

    >>> for need in needs(ast.parse("import torch\\nx = torch.fft.rfft(torch.ones(4))")):
    ...     print(need.line, need.name)
    2 torch.fft.rfft
    """
    return sorted(dict.fromkeys(Reader(tree, others).found()))


class Reader:
    """One module of a program, its names, and the attributes that the whole program gives to objects."""

    def __init__(self, tree: ast.Module, others: Iterable[ast.Module] = ()):
        self.names = StaticNames(tree, result_of, exists)
        self.made = set().union(*map(attributes_made, (tree, *others)))
        self.has_tensors = any(imports_torch(one) for one in (tree, *others))
        nodes = [node for node, _ in self.names.nodes]
        self.inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        self.guarded = set(self._guarded())
        self.only_named = set(map(id, only_named(tree)))

    def _guarded(self) -> Iterator[str]:
        """Yield the names that the program asks for first: `hasattr(torch, "compile")`."""
        for node, scope in self.names.nodes:
            match node:
                case ast.Call(func=ast.Name(id="hasattr" | "getattr"), args=[of, ast.Constant(value=name), *_]):
                    yield f"{self.names.value_of(of, scope)}.{name}"

    def found(self) -> Iterator[Need]:
        """Yield each need."""
        for node, scope in self.names.nodes:
            if self.names.is_optional(node):
                continue
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                yield from missing_imports(node)
            elif isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Load):
                if id(node) not in self.inner:
                    yield from self.of_name(node, scope)
            elif isinstance(node, ast.Call):
                yield from of_call(node, self.names.value_of(node.func, scope))

    def of_name(self, node: ast.Attribute | ast.Name, scope: Scope) -> Iterator[Need]:
        """Yield the need of an attribute or name, if its value does not exist."""
        name = self.names.value_of(node, scope)
        if not name:
            if isinstance(node, ast.Attribute) and self.has_tensors and node.attr not in self.made:
                yield from [need(node.lineno, f"torch.Tensor.{node.attr}")] if only_of_tensors(node.attr) else []
            return
        _, missing, owner = looked_up(name)
        if not missing or any(f"{missing}.".startswith(f"{known}.") for known in self.guarded):
            return
        if isinstance(owner, Instance):
            attribute = missing.rpartition(".")[2]
            named_by_user = issubclass(owner.of, Module) and not attribute.startswith("_")  # a part of the layer
            if attribute not in self.made and not named_by_user:
                found = need(node.lineno, missing)
                near = similar(attribute, sorted(attributes(owner.of)))
                yield found._replace(instead=f"use .{near[0]}") if near else found
        elif id(node) not in self.only_named and not (isinstance(node, ast.Name) and import_fails(name)):
            yield need(node.lineno, missing)  # a name whose import fails is listed there


def imports_torch(tree: ast.Module) -> bool:
    """Return True if a module imports PyTorch, so that its unknown objects may be tensors."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    paths = [path for node in nodes for path in (getattr(node, "module", ""), *[alias.name for alias in node.names])]
    return any(path and path.partition(".")[0] == "torch" for path in paths)


def attributes_made(tree: ast.Module) -> set[str]:
    """Return the names that a program may give to attributes, also as text: `setattr(x, "a", 1)`.

    >>> sorted(attributes_made(ast.parse("x.a = 1\\ndef f(): pass\\nx.register_hook('b')")))
    ['a', 'b', 'f']
    """
    made: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            made.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            made.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            made.add(node.value)
    return made


# ---------------------------------------------------------------------- names
def need(line: int, name: str) -> Need:
    """Return the need of a missing full name."""
    return Need(line, shown(name), *replacement(name.replace("()", "")))


def shown(name: str) -> str:
    """Write a full name as people do: `Tensor.sum` for `torch.Tensor().sum`."""
    return name.replace("()", "").replace("torch.Tensor.", "Tensor.")


def only_of_tensors(name: str) -> bool:
    """Return True for a missing method of tensors that no other usual object has."""
    known = name in COMMON or hasattr(Tensor, name) or hasattr(np.ndarray, name)
    return f"Tensor.{name}" in ROWS and not known


def missing_imports(node: ast.Import | ast.ImportFrom) -> Iterator[Need]:
    """Yield the names of an import that fails."""
    if isinstance(node, ast.Import):
        paths = [alias.name for alias in node.names]
    else:
        paths = [f"{node.module}.{alias.name}".removesuffix(".*") for alias in node.names] if not node.level else []
    yield from [need(node.lineno, path) for path in paths if import_fails(path)]


def import_fails(name: str) -> bool:
    """Return True if importing a full name raises: minigrad lacks it, and gives no placeholder for it."""
    try:
        return not exists(name) and Finder().find_spec(name, None) is None
    except ImportError:
        return True


class Found(NamedTuple):
    """The object of a full name; `missing` is the name if it does not exist, up to the attribute that an object lacks."""

    value: Any
    missing: str = ""
    owner: Any = None


@cache
def looked_up(name: str) -> Found:
    """Look a full name up in the modules that replace PyTorch's.

    >>> looked_up("torch.fft.rfft").missing, looked_up("torch.nn.Linear().foo.bar").missing, looked_up("torch.ones").missing
    ('torch.fft.rfft', 'torch.nn.Linear().foo', '')
    """
    path, *parts = name.split(".")
    found: Any = ANYTHING  # not PyTorch's
    if path in PACKAGES:
        found = module_called(path) or AbsentModule(path)
    for part in parts:
        owner, path = found, f"{path}.{part}"
        found = attribute_of(owner, part.removesuffix("()"))
        if found is NOTHING:
            return Found(found, path if "()" in path else name, owner)
        if part.endswith("()"):
            found = Instance(found) if inspect.isclass(found) else ANYTHING
    return Found(found, name, found) if isinstance(found, AbsentName) else Found(found)


def exists(name: str) -> bool:
    """Return True unless a full name is PyTorch's and minigrad lacks it."""
    return looked_up(name).value is not NOTHING


def attribute_of(owner: Any, name: str) -> Any:
    """Return an attribute of a module or class; NOTHING if there is none, ANYTHING if only running the program shows it."""
    if isinstance(owner, Instance):
        value = getattr(owner.of, name, ANYTHING if name in attributes(owner.of) else NOTHING)
        return value if callable(value) or value is NOTHING else ANYTHING
    if inspect.ismodule(owner) or inspect.isclass(owner) or isinstance(owner, AbsentName):
        return getattr(owner, name, NOTHING)
    return ANYTHING


@cache
def attributes(cls: type) -> frozenset[str]:
    """Return the names of a class's attributes, and those that its methods use or mention as text.

    >>> {"in_features", "weight", "forward"} <= attributes(module_called("torch.nn").Linear)
    True
    """
    found = set(dir(cls))
    for base in cls.__mro__:
        found |= {*getattr(base, "__annotations__", ())}
        methods = [inspect.unwrap(getattr(value, "fget", None) or getattr(value, "__func__", value))
                   for value in vars(base).values() if callable(value) or hasattr(value, "fget")]  # fmt: skip
        codes = [code for method in methods if isinstance(code := getattr(method, "__code__", None), CodeType)]
        for code in codes:
            codes += [one for one in code.co_consts if isinstance(one, CodeType)]
            found |= {*code.co_names, *[text for text in code.co_consts if isinstance(text, str)]}
    return frozenset(found)


@cache
def result_of(name: str) -> str:
    """Return what a call of a function or class returns, as a value; "" if that is not certain.

    >>> result_of("torch.nn.Linear"), result_of("torch.ones"), result_of("torch.load")
    ('torch.nn.Linear()', 'torch.Tensor()', '')
    """
    value = looked_up(name).value
    if inspect.isclass(value) and not name.endswith(")") and type(value).__call__ is type.__call__:
        return f"{name}()"
    returns = inspect.signature(value).return_annotation if inspect.isfunction(value) else None
    return TENSOR if returns in (Tensor, "Tensor") else ""


# ---------------------------------------------------------------------- calls
def of_call(call: ast.Call, name: str) -> Iterator[Need]:
    """Yield the arguments of a call that the callee does not take, or the error that a layer raises for literals."""
    callee = looked_up(name).value if name and not name.endswith(")") else ANYTHING
    if callable(callee) and not isinstance(callee, AbsentName):
        yield from [*unknown_arguments(call, name, callee)] or [*refused_arguments(call, name, callee)]


def unknown_arguments(call: ast.Call, name: str, callee: Any) -> Iterator[Need]:
    """Yield the keyword arguments of a call that the callee does not take."""
    if (accepted := keywords_of(callee)) is None:
        return
    for word in call.keywords:
        if word.arg is not None and word.arg not in accepted:
            near = similar(word.arg, known := sorted(accepted))
            fix = f"write {near[0]}=" if near else f"use some of {', '.join(known)}" if known else "leave it out"
            yield Need(call.lineno, shown(name), f"it has no argument {word.arg}", fix)


def refused_arguments(call: ast.Call, name: str, layer: Any) -> Iterator[Need]:
    """Yield the error that a layer raises for its arguments, if all of them are literals."""
    if not (inspect.isclass(layer) and issubclass(layer, Module)):
        return
    try:
        args = [ast.literal_eval(arg) for arg in call.args]
        options = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):  # a variable or a call, or too deep
        return
    numbers = [given for given in (*args, *options.values()) if isinstance(given, int)]
    if max(numbers, default=0) > LARGEST and any("layers" in name for name in inspect.signature(layer).parameters):
        return  # it may be the number of layers
    try:
        with device("meta"), suppressed_warnings():
            layer(*args, **options)
    except MinigradError as e:
        yield Need(call.lineno, name, e.problem, e.remedy)
    except Exception as e:  # from Python: too many or too few arguments
        yield Need(call.lineno, name, str(e), f"call it as {layer.__name__}{inspect.signature(layer)}")
