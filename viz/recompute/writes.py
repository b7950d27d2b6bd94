"""Writes in place as expressions: a page's tensors never change, so that a write is a new tensor."""

import ast
from typing import Any

from .scopes import Scope


def set_item(call: str) -> str:
    """Return `x[index] = value` as an expression.

    >>> set_item("x[1:, 0] = 2")
    'placed(x, positions(x)[1:, 0], 2, False)'
    """
    statement: Any = ast.parse(call).body[0]
    place, x = statement.targets[0], ast.unparse(statement.targets[0].value)
    place.value = ast.Call(ast.Name("positions"), [place.value], [])
    return f"placed({x}, {ast.unparse(place)}, {ast.unparse(statement.value)}, False)"


def views_between(scope: Scope, view: int, base: int) -> list[dict] | None:
    """Return the operations that make a view of a base, from the base on; None if others are between."""
    found: list[dict] = []
    while first(scope, view) != first(scope, base):
        op = scope.makers.get(view)
        inputs = [] if op is None else [i for i in op["inputs"] if isinstance(i, int)]
        if op is None or op["inplace"] or len(inputs) != 1 or len(op["outputs"]) != 1 or not op["call"]:
            return None
        found.insert(0, op)
        view = inputs[0]
    return found


def first(scope: Scope, value: int) -> int:
    """Return the tensor before all writes to it."""
    while (op := scope.makers.get(value)) and op["inplace"]:
        value = base_of(scope, op)
    return value


def base_of(scope: Scope, op: dict) -> int:
    """Return the tensor whose memory an operation in place writes: the base of the view, which is the last of its inputs."""
    tensors = [i for i in op["inputs"] if isinstance(i, int)]
    unnamed = scope.unnamed(op)
    size = scope.values[op["outputs"][0]]["shape"]
    return next((i for i in reversed(unnamed) if scope.values[i]["shape"] == size), tensors[0])
