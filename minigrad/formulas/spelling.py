"""Spelling: how built-in operations are written with public names.

An operation declares its call as an expression in the names of its arguments (`call`, see ops/base/primitive.py); most need
not, because they are the call of the public function of the same name. One that is internal to the library has a
`definition` in public operations. Where a person would write something shorter than the call, it declares a `spelling`, a rule
of this folder.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from inspect import Parameter, signature
from typing import Any

from ..kernels import formula
from ..ops.base.registry import TABLE
from . import expression as e
from .expression import Tree

NONE = Parameter("none", Parameter.KEYWORD_ONLY, default=None)  # for a parameter that a function does not have
# an operation's `spelling` -> (layer, class, output or outputs, *arguments) -> the output's expression or term, or one for each
SPELLINGS: dict[str, Callable] = {}


def spelling(name: str) -> Callable:
    """Register a rule that operations may declare as their `spelling`."""

    def enter(f: Callable) -> Callable:
        SPELLINGS[name] = f
        return f

    return enter


# ---------------------------------------------------------------------- declared calls
def declared_call(cls: Any, args: tuple, trees: list) -> Tree | list[Tree]:
    """Return the declared call of an operation, or one for each result, with expressions for its arguments."""
    names, n = cls.names, cls.variadic
    fixed = len(names) if n is None else n
    values = dict(zip(names, args[:fixed])) | ({} if n is None else {names[n]: args[n:]})
    given = dict(zip(names, trees[:fixed])) | ({} if n is None else {names[n]: trees[n:]})
    found = cls.call or cls.default_call()
    if callable(found):
        found = found(*[values[p] for p in formula.parameters(found)])
    made = [Fill(given).visit(e.parsed(text.replace("{name}", cls.name))) for text in in_tuple(found)]
    return made if isinstance(found, tuple) else made[0]


def in_tuple(found: str | tuple) -> tuple:
    """Return the texts of the results."""
    return found if isinstance(found, tuple) else (found,)


class Fill(ast.NodeTransformer):
    """Replaces names by expressions; leaves out arguments that equal the defaults of the public function."""

    def __init__(self, given: dict[str, Any]):
        self.given = given

    def visit_Name(self, node: ast.Name) -> Tree:
        found = self.given.get(node.id, node)
        return e.literal(found) if isinstance(found, list) else found

    def visit_Call(self, node: ast.Call) -> Tree:
        method = isinstance(node.func, ast.Attribute) and not is_path(node.func, self.given)
        path = e.text(node.func)
        known = parameters(node.func.attr, True) if method else parameters(path, False)
        args = []
        for a in node.args:
            args += self.given[a.value.id] if isinstance(a, ast.Starred) else [self.visit(a)]
        while args and len(args) <= len(known) and is_default(args[-1], known[len(args) - 1]):
            args.pop()
        by_name = {p.name: p for p in known}
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        keywords = [k for k in keywords if not is_default(k.value, by_name.get(k.arg, NONE))]
        return ast.Call(self.visit(node.func) if method else node.func, args, keywords)


def is_path(tree: ast.Attribute, given: dict) -> bool:
    """Return True for `linalg.inv`, a function in a module, and False for `x.sum`, a method of an argument."""
    return isinstance(tree.value, ast.Name) and tree.value.id not in given


@cache
def parameters(path: str, method: bool) -> list[Parameter]:
    """Return the parameters of a public function, or of a method without its tensor; none if it is unknown."""
    for name in [path] if method else [f"nn.functional.{path}", path]:
        entry = next((x for x in TABLE.values() if name == (x.torch or x.name)), None) or TABLE.get(name)
        if entry is not None:
            return list(signature(entry.function).parameters.values())[method:]
    return []


def is_default(tree: Tree, parameter: Parameter) -> bool:
    """Return True if an argument equals its parameter's default; (1, 1) equals a default of 1 for each dimension."""
    try:
        value, default = ast.literal_eval(tree), parameter.default
    except ValueError:  # a tensor
        return False
    numbers = isinstance(value, int | float) and isinstance(default, float)  # expressions have whole floats as integers
    return value == default if numbers else equals_default(value, default)


def equals_default(a: object, default: object) -> bool:
    """Return True if a plain value equals a default; (1, 1) equals a default of 1 for each dimension."""
    if isinstance(a, tuple) and type(default) is int:
        return all(type(n) is int and n == default for n in a)
    return a is default or type(a) is type(default) and a == default
