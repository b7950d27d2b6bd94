"""The way users write a call: its keyword arguments, and whether it is an operator or a method call."""

from __future__ import annotations

import ast
import linecache
import re
from functools import cache, lru_cache
from inspect import Parameter, signature

from ..autograd.forward_ad import make_dual, unpack_dual
from ..core.tensor import Tensor
from ..formulas.spelling import equals_default
from ..kernels import formula
from ..ops.base.registry import TABLE
from . import schema

FUNCTIONS = {f.__name__: f for f in (make_dual, unpack_dual)}  # not in the table of operations


@cache
def gives_one_tensor(name: str) -> bool:
    """Return True if a function of the table always returns a single tensor."""
    entry = TABLE.get(name)
    return entry is not None and signature(entry.function).return_annotation in ("Tensor", Parameter.empty)


@cache
def as_operator(name: str) -> bool:
    """Return True if users may write this operation as an operator, as x[i], or as x.T."""
    cls = getattr(TABLE.get(name), "cls", None)
    return name in ("matmul", "getitem", "permute", "abs") or (
        cls is not None and cls.name == name and not cls.call and formula.is_operator(cls.default_call(), cls.names)
    )


def given_as_written(given: dict, known: dict[str, Parameter]) -> tuple[list, dict]:
    """Return the positional and the keyword arguments: those without a default first, then those that differ from it."""
    args, keywords = [], {}
    limits = [k for k in ("low", "high") if k in given and k in known]
    while limits and equals_default(given[limits[-1]], known[limits[-1]].default):
        limits.pop()
    for name, a in given.items():
        parameter = known.get(name)
        if name in limits:  # PyTorch calls them `from` and `to`, and `from` cannot be written as a keyword
            args.append(a)
        elif name == "**":
            keywords |= {k: v for k, v in a.items() if v is not None}
        elif name == "*" or (parameter is not None and parameter.kind is Parameter.VAR_POSITIONAL):
            args += a
        elif (
            parameter is not None and parameter.kind is Parameter.KEYWORD_ONLY and parameter.default is Parameter.empty
        ):
            keywords[name] = a
        elif parameter is None or parameter.default is Parameter.empty:
            args.append(a)
        elif not equals_default(a, parameter.default):
            keywords[name] = a
    return args, keywords


@cache
def parameters(name: str) -> dict[str, Parameter]:
    """Return the parameters of a function of the table, by name."""
    function = TABLE[name].function if name in TABLE else FUNCTIONS.get(name) or getattr(Tensor, f"{name}_", None)
    return {} if function is None else dict(signature(function).parameters)


def by_method(where: schema.Where, name: str) -> bool:
    """Return True if the user's line is known to call a tensor's method of this name, not a function like `torch.sum(x)`."""
    return len(where.columns) == 2 and calls_method(where.file, where.line, *where.columns, name)


@lru_cache(maxsize=4096)
def calls_method(file: str, line: int, first: int, last: int, name: str) -> bool:
    """Return True if an expression in a file calls an object's method of this name, rather than a module's function."""
    tree = expression(file, line, first, last)
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Attribute) or tree.func.attr.rstrip("_") != name:
        return False
    root = tree.func.value
    while isinstance(root, ast.Attribute):
        root = root.value
    return not (isinstance(root, ast.Name) and root.id in imported(file))


def as_ordered(call: str, where: schema.Where) -> str:
    """Return a sum or product of a tensor and a number with the number first, if the user's line has that order.

    Python evaluates `2 * x` as x.__rmul__(2), and the operation receives the tensor first.
    """
    tree, ours = binary(where.code, *where.columns) if len(where.columns) == 2 else None, parsed(call)
    if not isinstance(tree, ast.BinOp) or not isinstance(ours, ast.BinOp) or type(tree.op) is not type(ours.op):
        return call
    if not isinstance(ours.op, COMMUTATIVE) or not is_number(ours.right):
        return call
    if is_number(tree.left) or ast.unparse(tree.right) == ast.unparse(ours.left):
        return ast.unparse(ast.BinOp(ours.right, ours.op, ours.left))
    return call


@lru_cache(maxsize=4096)
def binary(code: str, first: int, last: int) -> ast.BinOp | None:
    """Return the operator expression in a line whose length matches these columns, or None."""
    try:
        nodes = ast.walk(ast.parse(code + " pass" if code.endswith(":") else code))
    except (SyntaxError, ValueError):
        return None
    found = (n for n in nodes if isinstance(n, ast.BinOp))
    return next((n for n in found if n.end_col_offset == n.col_offset + last - first + 1), None)


COMMUTATIVE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def is_number(tree: ast.expr) -> bool:
    """Return True if an expression is a number, possibly with a sign."""
    return isinstance(tree.operand if isinstance(tree, ast.UnaryOp) else tree, ast.Constant)


@lru_cache(maxsize=4096)
def expression(file: str, line: int, first: int, last: int) -> ast.expr | None:
    """Return the expression at these columns of a file, or None."""
    return parsed(linecache.getline(file, line).encode()[first - 1 : last].decode(errors="replace").strip())


def parsed(text: str) -> ast.expr | None:
    """Return the syntax tree of an expression, or None if it is not one."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


@cache
def imported(file: str) -> frozenset[str]:
    """Return the names that a file binds by importing."""
    found: set[str] = set()
    for line in linecache.getlines(file):
        if m := re.match(r"\s*(?:from\s+[\w.]+\s+)?import\s+(.+)", line):
            for part in m[1].split("#")[0].strip("() \n").split(","):
                found.add(part.split()[-1].partition(".")[0] if part.split() else "")
    return frozenset(found)
