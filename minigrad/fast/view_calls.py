"""Public functions of views, for plain tensors: one NumPy call and one tensor, all in the function that a user calls.

The function in ops/ is the definition: it takes every call that is not plain, and the ones that fail, to explain them.  In
front of it goes generated code: NumPy's call, which checks the arguments, then the tensor and its history as in `apply`.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from functools import cache, partial
from types import NoneType
from typing import Any

from ..core.tensor import Tensor
from ..ops.base import registry
from . import formula_text
from .text_plan import Plan

CALL = """\
if type({x}) in PLAIN and type(a := {x}._a) is ndarray and (frame := current()).eager_ok:
    try:
        {given}result = ({array}) if {plain} else None{checked}
    except Exception:  # the function explains it
        result = None
    if result is not None:
        {names} = {x}, {kept}
        {recorded}
        return out
"""

METHOD = """\
def {name}(self{others}):
    {call}
    return definition_of_{name}(self{others})
"""


@dataclass
class Call:
    """One public function of a view.  Its texts name the tensor's array `a` and the function's parameters."""

    array: str  # the view, by NumPy, which raises an error for impossible arguments
    kept: str  # the arguments of the operation as its history keeps them
    plain: str = "True"  # the condition for calls that NumPy understands as PyTorch does
    given: str = ""  # an assignment before
    checked: str = ""  # a statement after


ONE_OR_MANY = "{1} = {0} if type({0}[0]) is int else {0}[0]".format
# NumPy takes any negative size for -1
CHECKED = "if (shape_of := result.shape) != sizes and -1 not in sizes:\n    result = None"
SIZES = partial(Call, array="a.reshape(sizes)", kept="shape_of", checked=CHECKED)
ROWS = "a.flags.c_contiguous"


# operation -> name of the function -> its call
CALLS = {
    "Reshape": {
        "reshape": SIZES(plain=ROWS, given=ONE_OR_MANY("shape", "sizes")),
        "view": SIZES(plain=f"dtype is None and {ROWS}", given=ONE_OR_MANY("size", "sizes")),
        "flatten": Call(
            "a.reshape((*a.shape[:start_dim], -1))",
            "result.shape",
            f"end_dim == -1 and 0 <= start_dim < a.ndim - 1 and {ROWS}",
        ),
    },
    "Unsqueeze": {
        "unsqueeze": Call("a[new_axis(d)]", "result.shape", "d >= 0", "d = dim if dim >= 0 else dim + a.ndim + 1")
    },
    "SqueezeDims": {"squeeze": Call("a.squeeze(dim)", "result.shape", "type(dim) is int")},
    "Permute": {
        "permute": Call("a.transpose(order)", "tuple(order)", "min(order) >= 0", ONE_OR_MANY("dims", "order")),
        "T": Call("a.T", "swapped(a.ndim)"),
    },
    "Transpose": {
        "transpose": Call(
            "a.swapaxes(dim0, dim1)", "swapped(a.ndim, dim0, dim1)", "type(dim0) is int and type(dim1) is int"
        ),
        "mT": Call("a.swapaxes(-1, -2)", "swapped(a.ndim, -1, -2)"),
    },
    "Index": {
        "__getitem__": Call(
            "a[(*index, ...)] if type(index) is tuple else a[index, ...]",
            "index if type(index) is tuple else (index,)",
            "type(index) is int or are_plain(index)",
        )
    },
}


@cache
def new_axis(d: int) -> tuple:
    """Return the index that adds a dimension at position d."""
    return (slice(None),) * d + (None,)


@cache
def swapped(n: int, *dims: int) -> tuple:
    """Return the order of n dimensions after two of them are swapped; without these, the reverse order."""
    order = list(range(n))
    for i, j in [dims] if dims else zip(range(n // 2), range(n - 1, 0, -1)):
        order[i], order[j] = order[j], order[i]
    return tuple(order)


BOUNDS = {int, NoneType}  # the types of plain bounds of slices


def are_plain(index: Any) -> bool:
    """Return True for integers, None and slices without steps, which NumPy takes as PyTorch does."""
    for i in index if type(index) is tuple else (index,):
        kind = type(i)
        if kind is slice:
            if type(i.start) not in BOUNDS or type(i.stop) not in BOUNDS or i.step is not None:
                return False
        elif kind is not int and i is not None:
            return False
    return True


def install(cls: Any, plan: Plan, scope: dict) -> None:
    """Put the operation's generated code in front of its public functions."""
    scope |= {"new_axis": new_axis, "swapped": swapped, "are_plain": are_plain}
    for name, call in CALLS.get(cls.__name__, {}).items():
        entry = registry.TABLE.get(name)
        if entry is not None:
            registry.begin_with(entry.function, text(call, plan, "input"), scope)
        else:
            install_method(name, text(call, plan, "self"), scope)


def text(call: Call, plan: Plan, x: str) -> str:
    """Return the generated code of a function whose first parameter is x."""
    return CALL.format(
        x=x,
        given=call.given + "\n        " if call.given else "",
        array=call.array,
        checked=formula_text.indented("\n" + call.checked, 8) if call.checked else "",
        plain=call.plain,
        names=", ".join(plan.names),
        kept=call.kept,
        recorded=formula_text.indented(f"{formula_text.NEW}\n{formula_text.recorded(plan)}", 8),
    )


def install_method(name: str, call: str, scope: dict) -> None:
    """Give Tensor a method, or a property, that begins with these lines."""
    known = getattr(Tensor, name)
    definition = known.fget if isinstance(known, property) else known
    others = "".join([f", {p}" for p in list(inspect.signature(definition).parameters)[1:]])
    scope[f"definition_of_{name}"] = definition
    exec(registry.compiled(METHOD.format(name=name, others=others, call=formula_text.indented(call, 4))), scope)
    f = registry.rename_code(functools.wraps(definition)(scope[name]), definition.__name__)
    setattr(Tensor, name, property(f, doc=known.__doc__) if isinstance(known, property) else f)
