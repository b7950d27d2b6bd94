"""Finds the value of each name in a program by reading it: Python's scopes, imports, and types that are certain.

A value is written as text: `torch.nn.Linear` is the object with this full name, `torch.nn.Linear()` an instance of it or what
a call returns.  A name counts only if everything that binds it in its scope agrees, so a parameter `data` is not the module
`torch.utils.data` that another scope imports.  port.py looks the full names up.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
TAKE_CTX = ("forward", "setup_context", "backward", "vjp", "jvp")  # methods of a Function whose first argument is ctx
TENSOR = "torch.Tensor()"
CTX = "torch.autograd.function.FunctionCtx()"
IMPORT_FAILS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", ""}


@dataclass(eq=False)
class Scope:
    """A module, class, function or comprehension, and what binds its names."""

    parent: Scope | None = None
    node: ast.AST | None = None
    bound: dict[str, list[Binding]] = field(default_factory=dict)
    outer: dict[str, Scope] = field(default_factory=dict)  # names declared global or nonlocal
    stars: list[str] = field(default_factory=list)  # modules of `from ... import *`

    def bind(self, name: str, value: str | ast.expr | None, scope: Scope | None = None) -> None:
        """Note one binding: a full name, an expression (of `scope`), or None if it may be anything."""
        self.outer.get(name, self).bound.setdefault(name, []).append(Binding(value, scope or self))

    def home(self, name: str) -> Scope | None:
        """Return the scope that a name belongs to; None for a builtin. Functions do not see the names of their class."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.outer:
                return scope.outer[name]
            if name in scope.bound and (scope is self or not isinstance(scope.node, ast.ClassDef)):
                return scope
            scope = scope.parent
        return None


@dataclass(eq=False)
class Binding:
    """A value that a name or attribute is bound to: a full name, an expression of a scope, or None for anything."""

    value: str | ast.expr | None
    scope: Scope


class StaticNames:
    """A program's nodes with their scopes; `value_of` says what an expression stands for.

    `result_of` returns the value of a call from that of its function, such as `torch.nn.Linear()` from `torch.nn.Linear`.

    >>> names = StaticNames(ast.parse("import torch.nn as nn\\nx = nn.Linear\\ndef f(nn): return nn.ReLU"), str)
    >>> [names.value_of(node, scope) for node, scope in names.nodes if isinstance(node, ast.Attribute)]
    ['torch.nn.Linear', '']
    """

    def __init__(self, tree: ast.Module, result_of: Callable[[str], str], exists: Callable[[str], bool] = bool):
        self.nodes: list[tuple[ast.AST, Scope]] = []
        self.stored: dict[str, list[Binding]] = {}  # attributes that the program assigns, of any object
        self.result_of, self.exists = result_of, exists
        self._optional: set[int] = set()  # nodes in a `try` that expects them to fail, and in `if TYPE_CHECKING:`
        self._bound: set[int] = set()  # targets of assignments
        self._values: dict[int, str] = {}  # by the id of an expression
        self.module = Scope(None, tree)
        pending = [(node, self.module) for node in reversed(tree.body)]
        while pending:  # without recursion, because expressions may be deep
            pending += reversed([*self._inside(*pending.pop())])

    def is_optional(self, node: ast.AST) -> bool:
        """Return True if the program expects that this node may fail, or never runs it."""
        return id(node) in self._optional

    # ---------------------------------------------------------------------- reading
    def _inside(self, node: ast.AST, scope: Scope) -> Iterator[tuple[Any, Scope]]:
        """Note a node and what it binds, and yield the nodes inside it with their scopes."""
        self.nodes.append((node, scope))
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield from self._define(node, scope)
            return
        if isinstance(node, COMPREHENSIONS):
            scope = Scope(scope, node)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            for name in node.names:
                scope.outer[name] = self.module if isinstance(node, ast.Global) else self._enclosing(name, scope)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._bind_imports(node, scope)
        elif isinstance(node, (ast.Try, ast.If)):
            self._optional |= {id(part) for part in parts_that_may_fail(node)}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            self._assign(node, scope)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and id(node) not in self._bound:
            self.stored.setdefault(node.attr, []).append(Binding(None, scope))
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in self._bound:
            scope.bind(node.id, None)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            scope.bind(node.name, None)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            scope.bind(node.rest, None)
        yield from [(child, scope) for child in ast.iter_child_nodes(node)]

    def _define(self, node: Any, scope: Scope) -> Iterator[tuple[Any, Scope]]:
        """Yield the parts of a definition: its body is in a new scope, the rest in that of the definition."""
        inside = Scope(scope, node)
        if not isinstance(node, ast.Lambda):
            scope.bind(node.name, None)
        if not isinstance(node, ast.ClassDef):
            self._bind_parameters(node, inside, scope)
        body = node.body if isinstance(node.body, list) else [node.body]
        outside = [child for child in ast.iter_child_nodes(node) if child not in body]
        yield from [*[(child, scope) for child in outside], *[(child, inside) for child in body]]

    def _bind_parameters(self, node: Any, inside: Scope, scope: Scope) -> None:
        """Bind the parameters of a function: only ctx is certain, since an annotation names a base class as well."""
        args = node.args
        given = [*args.posonlyargs, *args.args]
        for arg in (*given, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))):
            inside.bind(arg.arg, None)
        bases = scope.node.bases if isinstance(scope.node, ast.ClassDef) else []
        of_function = any(ast.unparse(base).rpartition(".")[2] == "Function" for base in bases)
        if of_function and given and getattr(node, "name", "") in TAKE_CTX and node.decorator_list:
            inside.bound[given[0].arg] = [Binding(CTX, inside)]

    def _enclosing(self, name: str, scope: Scope) -> Scope:
        return (scope.parent.home(name) if scope.parent else None) or self.module

    def _bind_imports(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            name, path = alias.asname or alias.name, alias.name
            if isinstance(node, ast.Import):
                name, path = (name, path) if alias.asname else (path.partition(".")[0],) * 2
            elif alias.name == "*":
                scope.stars += [node.module] if node.module and not node.level else []
                continue
            else:
                path = f"{node.module}.{path}" if node.module and not node.level else ""
            fails = self.is_optional(node) and path and not self.exists(path)
            scope.bind(name, None if fails else path)

    def _assign(self, node: ast.Assign | ast.AnnAssign, scope: Scope) -> None:
        """Bind each single target to the value; inside of a tuple it may be anything."""
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if node.value is not None and isinstance(target, (ast.Name, ast.Attribute)):
                self._bound.add(id(target))
                if isinstance(target, ast.Name):
                    scope.bind(target.id, node.value)
                else:
                    self.stored.setdefault(target.attr, []).append(Binding(node.value, scope))

    # ---------------------------------------------------------------------- values
    def value_of(self, node: ast.AST | None, scope: Scope) -> str:
        """Return what an expression stands for; "" if that is not certain."""
        if node is None:
            return ""
        if id(node) not in self._values:
            self._values[id(node)] = ""  # for x = x.t()
            with suppress(RecursionError):  # an expression of a thousand terms
                self._values[id(node)] = self._value(node, scope)
        return self._values[id(node)]

    def _value(self, node: ast.AST, scope: Scope) -> str:
        if isinstance(node, ast.Name):
            home = scope.home(node.id)
            return self.agreed(home.bound.get(node.id, [])) if home else self._from_star(node.id, scope)
        if isinstance(node, ast.Attribute):
            of = self.value_of(node.value, scope)
            if not of and isinstance(node.value, ast.Name) and node.value.id == "self":
                return self.agreed(self.stored.get(node.attr, []))
            return f"{of}.{node.attr}" if of else ""
        if isinstance(node, ast.Call):
            of = self.value_of(node.func, scope)
            return self.result_of(of) if of else ""
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Subscript)):  # x @ w + b, -x, x[0]
            parts = [getattr(node, part) for part in ("left", "right", "operand", "value") if hasattr(node, part)]
            return TENSOR if TENSOR in [self.value_of(part, scope) for part in parts] else ""
        return ""

    def agreed(self, bindings: list[Binding]) -> str:
        """Return the value of a name, if all its bindings have the same one; None as a constant does not count."""
        values = set()
        for one in bindings:
            if isinstance(one.value, ast.Constant) and one.value.value is None:
                continue
            values.add(one.value if isinstance(one.value, str) else self.value_of(one.value, one.scope))
        return values.pop() if len(values) == 1 else ""

    def _from_star(self, name: str, scope: Scope | None) -> str:
        while scope is not None:
            for module in scope.stars:
                if self.exists(f"{module}.{name}"):
                    return f"{module}.{name}"
            scope = scope.parent
        return ""


def parts_that_may_fail(node: ast.Try | ast.If) -> Iterator[ast.AST]:
    """Yield the nodes of a `try` that expects a missing name, and those below `if TYPE_CHECKING:`, which never run.

    >>> [type(part) for part in parts_that_may_fail(ast.parse("try: import torch.fx\\nexcept ImportError: pass").body[0])]
    [<class 'ast.Import'>]
    """
    if isinstance(node, ast.If):
        lines, caught = node.body if ast.unparse(node.test).endswith("TYPE_CHECKING") else [], None
    else:
        kinds = [part for h in node.handlers for part in (getattr(h.type, "elts", None) or [h.type])]
        lines, caught = node.body, {"" if k is None else ast.unparse(k).rpartition(".")[2] for k in kinds}
    for part in [part for line in lines for part in ast.walk(line)]:
        failures = IMPORT_FAILS if isinstance(part, (ast.Import, ast.ImportFrom)) else {"AttributeError"}
        if caught is None or caught & failures:
            yield part
