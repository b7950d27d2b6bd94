"""Reads a PyTorch program without running it, and lists the names it needs that minigrad does not have.

Names are followed through imports (`import torch.nn as nn`) and looked up in the modules that replace PyTorch's under
`as_torch`; keyword arguments are compared with the callee's signature. Layers with literal arguments are created on the
device `meta`, where they take no memory: errors that they raise are listed, too.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import MinigradError, Tensor, device
from ..diagnose.missing_names import NEED_TORCH, ROWS, replacement
from ..errors import suppressed_warnings
from ..nn import Module
from .torch_modules import NOTHING, module_called

LARGEST = 1_000_000  # number in a call that is tried
COMMON = {"values", "indices"}  # methods of tensors whose names other objects have as well


class Need(NamedTuple):
    """A name that a program uses and minigrad does not have."""

    line: int
    name: str
    what: str
    instead: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}. Instead: {self.instead}"


def needs(tree: ast.Module) -> list[Need]:
    """Return the missing names of a program by line, each once per line.

    >>> for need in needs(ast.parse("import torch\\nx = torch.fft.rfft(torch.ones(4))")):
    ...     print(need.line, need.name)
    2 torch.fft.rfft
    """
    names = names_of_modules(tree)
    found = [need for line, name in used(tree, names) if (need := missing(line, name)) is not None]
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (name := dotted(call.func, names)).startswith("torch."):
            found += [*unknown_arguments(call, name)] or [*refused_arguments(call, name)]
    return sorted(dict.fromkeys(found))


def names_of_modules(tree: ast.Module) -> dict[str, str]:
    """Return a program's names for PyTorch's modules and for names imported from them: {"nn": "torch.nn"}."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return {name: path for name, path in names.items() if path.partition(".")[0] in {"torch", *NEED_TORCH}}


def used(tree: ast.Module, names: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the line and full name of each import and attribute in a program."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from [(node.lineno, f"{node.module}.{alias.name}".removesuffix(".*")) for alias in node.names]
        elif isinstance(node, ast.Attribute) and id(node) not in inner:
            yield node.lineno, dotted(node, names) or f"torch.Tensor.{node.attr}"


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    """Return the full name of an attribute of a PyTorch module; "" for other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    root = names.get(node.id, "") if isinstance(node, ast.Name) else ""
    return ".".join([root, *reversed(parts)]) if root else ""


def missing(line: int, name: str) -> Need | None:
    """Return a missing full name as a need; None if it exists or is not PyTorch's."""
    root, *parts = name.split(".")
    if root in NEED_TORCH:
        return Need(line, name, *replacement(name))
    if root != "torch":
        return None
    if parts[:1] == ["Tensor"] and len(parts) > 1:
        method = f"Tensor.{parts[1]}"
        gone = method in ROWS and parts[1] not in COMMON and not hasattr(Tensor, parts[1])
        return Need(line, method, *replacement(f"torch.{method}")) if gone else None
    return None if looked_up(name) is not NOTHING else Need(line, name, *replacement(name))


def looked_up(name: str) -> Any:
    """Return the object of a full name, as far as modules and classes go; NOTHING if it does not exist."""
    found: Any = module_called("torch")
    for part in name.split(".")[1:]:
        if not inspect.ismodule(found) and not inspect.isclass(found):
            break  # an attribute of a value: known only at run time
        found = getattr(found, part, NOTHING)
    return found


def unknown_arguments(call: ast.Call, name: str) -> Iterator[Need]:
    """Yield the keyword arguments of a call that the callee does not take."""
    function = looked_up(name)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    accepted = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
    for word in call.keywords:
        if word.arg is not None and word.arg not in accepted:
            what = f"it has no argument {word.arg}"
            yield Need(call.lineno, name, what, f"use some of {', '.join(sorted(accepted)) or 'none'}")


def refused_arguments(call: ast.Call, name: str) -> Iterator[Need]:
    """Yield the error that a layer raises for its arguments, if all of them are literals."""
    layer = looked_up(name)
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
