"""Writes in place as expressions: a page's tensors never change, so that a write is a new tensor."""

from __future__ import annotations

from .scopes import Scope


def set_item(call: str) -> str:
    """Return `x[index] = value`, which records write as `x.setitem(index, value)`, as an expression.

    >>> set_item("x.setitem((1:, 0), 2)")
    'placed(x, positions(x)[1:, 0], 2, False)'
    """
    name, _, rest = call.partition(".setitem(")
    index, value = split(rest.removesuffix(")"))
    if index.startswith("(") and index.endswith(")") and closes_at_the_end(index):
        index = index[1:-1]
    return f"placed({name}, positions({name})[{index}], {value}, False)"


def split(text: str) -> tuple[str, str]:
    """Return what is before and after the last comma outside brackets."""
    depth = 0
    for k in range(len(text) - 1, -1, -1):
        depth += (text[k] in ")]}") - (text[k] in "([{")
        if text[k] == "," and not depth:
            return text[:k].strip(), text[k + 1 :].strip()
    return text, ""


def closes_at_the_end(text: str) -> bool:
    """Return True if the bracket that opens a text closes at its end."""
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if not depth:
            return k == len(text) - 1
    return False


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
