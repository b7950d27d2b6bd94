"""The methods of a custom Function: each runs under a separate recording, which becomes a part of the outer one.

The outer recording sees a custom Function as one operation. Calls of forward, setup_context, backward and jvp are noted here,
and connected to the operation by their ctx (build.py). A recording tells values apart by their arrays, so a tensor that is two
arguments, such as the one gradient of both operands of an addition, is a separate view for the second.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.context import Ctx
from ..core.graph import Node
from ..core.saved import Version
from ..core.tensor import Box, Tensor, wrap
from ..tensors.nested import tensors_in
from . import schema
from .event_log import EventLog
from .numpy_box import Crossings
from .values import bottom

if TYPE_CHECKING:
    from .recorder import Record
    from .values import OpEntry


KINDS = {"backward": "gradient", "vjp": "gradient", "jvp": "tangent"}  # of the tensors that a method receives


@dataclass
class Inside:
    """One call of a method."""

    name: str  # forward | setup_context | backward | jvp | vmap
    ctx: Any  # None for a forward without ctx
    record: Record
    group: OpEntry | None = None  # the operation that was running
    inputs: list[int | None] = field(default_factory=list)  # its arguments without ctx, None for what is no tensor
    run: int = 0  # the backward pass in which it ran
    same: dict[int, int] = field(default_factory=dict)  # its values that are values outside as well


def watched(outer: Record, record: Record, name: str, method: Any, args: tuple) -> Any:
    """Run a method under `record`, and add that to the outer recording."""
    ran = Inside(name, args[0] if args and isinstance(args[0], Node) else None, record)
    outer.insides.append(ran)
    outer.log.append([EventLog.method_ran, ran])
    given = told_apart(args, history=name != "forward")
    instead = {id(new): (new, old) for new, old in zip(given, args) if new is not old}
    for new, old in instead.values():
        for rec in outer.nest:
            rec.log.append([EventLog.also_seen, old, new, KINDS.get(name, "")])
    crossings, record.in_method = Crossings(record, inspect.unwrap(method)), True
    try:
        with record, crossings.heard():
            record.name_arguments(parameters(method), given)
            ran.inputs = [record.ref(a) if isinstance(a, Tensor) else None for a in given if not isinstance(a, Node)]
            result = method(*given)
            if instead and name == "forward":
                result = with_originals(args[0], result, instead)
            record.settle()  # else results would be known before the operations that made them
            record.outputs = [record.ref(o, "computed") for o in tensors_in(result)]
    finally:
        ran.same = outer.keep_values_of(record)
    return result


def told_apart(args: tuple, history: bool) -> tuple:
    """Return the arguments of a method, with a view for each tensor on the array of an earlier one.

    Views of forward's arguments have no history: it runs without gradients, and only its own arguments may require them.
    """
    seen: set[int] = set()
    found = []
    for a in args:
        if isinstance(a, Tensor) and id(bottom(a)) in seen and type(bottom(a)) is np.ndarray:
            a = view(a, history)
        if isinstance(a, Tensor):
            seen.add(id(bottom(a)))
        found.append(a)
    return tuple(found)


def view(t: Tensor, history: bool) -> Tensor:
    """Return another tensor on the same memory, on another array."""
    if type(t) is Box:
        new: Tensor = Box(t._layer, view(t._value, history), t._extra)
    else:
        new = wrap(t._a.view())
        t._ver = t._ver or Version()
    new._ver = t._ver
    if history:
        new._edge, new._view, new._tan = t._edge, t._view, t._tan
    return new


def with_originals(ctx: Any, result: Any, instead: dict[int, tuple[Tensor, Tensor]]) -> Any:
    """Return forward's result with the original tensors instead of views, which are replaced on the ctx as well."""
    original = lambda t: instead[id(t)][1] if id(t) in instead else t
    if isinstance(ctx, Ctx):
        for kept in ("_saved", "_forward", "_dirty", "_nondiff"):
            if found := getattr(ctx, kept):
                setattr(ctx, kept, tuple(map(original, found)))
        vars(ctx).update({name: original(value) for name, value in vars(ctx).items()})
    if type(result) in (tuple, list):
        return type(result)(map(original, result))
    return original(result)


def parameters(method: Any) -> tuple[str, ...]:
    """Return the names of a plain function's positional parameters; nothing for other callables."""
    code = getattr(inspect.unwrap(method), "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount]


# ---------------------------------------------------------------------- the author's names of saved tensors
def named_by_author(forward: Any, setup_context: Any, saved: Sequence[schema.SavedValue]) -> dict[int, str]:
    """Return the names that the author of a custom Function's methods gives to the tensors that it saves: value -> name."""
    names = saved_names(forward, setup_context)
    pairs = zip(saved, names) if len(saved) == len(names) else ()
    return {one.value: name for one, name in pairs if name.isidentifier()}


@cache
def saved_names(*methods: Any) -> tuple[str, ...]:
    """Return the arguments of the one call of save_for_backward in a Function's methods, nothing if there are several calls."""
    nodes = [node for method in methods for node in nodes_of(method)]
    calls = [node for node in nodes if isinstance(node, ast.Call) and is_attribute(node.func, "save_for_backward")]
    return tuple([ast.unparse(a) for a in calls[0].args]) if len(calls) == 1 else ()


def nodes_of(method: Any) -> list[ast.AST]:
    """Return the nodes in the source of a method, nothing if that is lost."""
    try:
        return [*ast.walk(ast.parse(textwrap.dedent(inspect.getsource(method))))]
    except (OSError, TypeError, SyntaxError):
        return []


def is_attribute(node: ast.expr, name: str) -> bool:
    """Return True for an attribute with this name, such as `ctx.saved_tensors`."""
    return isinstance(node, ast.Attribute) and node.attr == name
