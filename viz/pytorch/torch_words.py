"""From PyTorch's calls to the terms of minigrad's record: operation names, formulas, parameter names, the user's line."""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportPrivateImportUsage=false

from __future__ import annotations

import functools
import inspect
import os
from types import CodeType, FrameType
from typing import Any

import torch
from torch.autograd.function import _SingleLevelFunction
from torch.utils._pytree import tree_leaves

from minigrad.ops.base.primitive import Primitive
from minigrad.ops.base.registry import TABLE
from minigrad.places import PACKAGE, Place
from minigrad.record import schema
from minigrad.record.callers import columns

VIZ = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
COMMAND = os.path.join(VIZ, "programs", "libraries.py")  # the module that runs programs for the command line
OWN = (os.path.dirname(inspect.getfile(torch)) + os.sep, VIZ, PACKAGE)
OPERATORS = {"radd": "add", "rmul": "mul", "rsub": "sub", "truediv": "div", "rpow": "pow",
             "rmatmul": "matmul", "floordiv": "floor_divide", "rfloordiv": "floor_divide", "mod": "remainder",
             "rmod": "remainder", "invert": "bitwise_not",
             "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}  # fmt: skip
SWAPPED = ("__rsub__", "__rpow__", "__rmatmul__", "__rfloordiv__", "__rmod__")  # x.__rsub__(y) is y - x
INPLACE = {
    f"i{name}": OPERATORS.get(name, name) for name in "add sub mul truediv div pow and or xor floordiv mod".split()
}
PROPERTIES = {"T": "permute", "mT": "transpose", "H": "adjoint", "mH": "adjoint", "real": "real", "imag": "imag"}
SIZES = ("view", "reshape", "permute", "expand", "repeat", "tile", "flip")  # methods that take sizes one by one
CONVERSIONS = "float double half bfloat16 int long short char byte bool type type_as".split()
MODULE = torch.nn.Module._wrapped_call_impl.__code__  # the code that calls a module
MADE = ("tensor", "__deepcopy__")  # these make new tensors, as zeros does, from the contents of others
SAME = ("detach", "detach_", "data", "requires_grad_", "_make_dual", "_unpack_dual")  # these return the same value


def op_name(name: str) -> str:
    """Return minigrad's name for a PyTorch function: sub for `__rsub__`, add for `add_`, transpose for `swapaxes`."""
    plain = PROPERTIES.get(name, name.strip("_"))
    if name.startswith("__"):
        plain = INPLACE.get(plain, OPERATORS.get(plain, plain))
    plain = plain.replace("linalg_", "linalg.", 1) if plain.startswith("linalg_") else plain
    plain = "logsigmoid" if plain == "log_sigmoid" else plain
    return "to" if plain in CONVERSIONS else aliases().get(plain, plain)


@functools.cache
def aliases() -> dict[str, str]:
    """Map every name of an operation to the first name of its function."""
    first: dict[Any, str] = {}
    return {name: first.setdefault(entry.function, name) for name, entry in TABLE.items()}


def defaults(run: Any) -> dict[str, Any]:
    """Return the defaults of a function's parameters, which PyTorch's own functions pass explicitly."""
    try:
        return {name: p.default for name, p in inspect.signature(run).parameters.items()}
    except (TypeError, ValueError):  # a builtin
        return {}


def spread(arg: Any) -> list:
    """Return an argument as a list, or the elements of a list or tuple that contains tensors."""
    if isinstance(arg, (list, tuple)) and tensors_in(arg):
        return [one for part in arg for one in spread(part)]
    return [] if arg is None else [arg]


def forward_parameters(cls: Any) -> list[str]:
    """Return the parameters of a custom Function's forward, without ctx."""
    names = list(inspect.signature(cls.forward).parameters)
    return names[1:] if cls.setup_context is _SingleLevelFunction.setup_context else names


@functools.cache
def primitives() -> dict[str, list]:
    """Return minigrad's primitives by name."""
    found: dict[str, list] = {}
    pending: list[Any] = [Primitive]
    while pending:
        cls = pending.pop()
        pending += cls.__subclasses__()
        found.setdefault(cls.name, []).append(cls)
    return found


def primitive_of(name: str, keywords: dict) -> Any:
    """Return minigrad's class for an operation if it is one primitive with the same name and parameters, else None."""
    entry = TABLE.get(name)
    candidates = primitives().get(name, [])
    if entry is not None and entry.cls is not None:
        candidates = [entry.cls, *candidates]
    elif len(candidates) > 1:
        return None
    return next((cls for cls in candidates if set(keywords) <= set(cls.names)), None)


@functools.cache
def parameters_of(name: str) -> tuple[str, ...]:
    """Return the names of an operation's parameters."""
    if name in ("getitem", "setitem"):
        return "x", "index", "value"
    if name.endswith("_cell"):
        return "input", "hx", "w_ih", "w_hh", "b_ih", "b_hh"
    if name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        return "input", "hx", "weights", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first"
    return tuple(inspect.signature(TABLE[name].function).parameters) if name in TABLE else ()


def tensors_in(tree: Any) -> list[torch.Tensor]:
    """Return the tensors in a structure, in order."""
    return [one for one in tree_leaves(tree) if isinstance(one, torch.Tensor)]


def where(frame: FrameType | None) -> schema.Where:
    """Return the innermost line outside PyTorch, minigrad and viz; an empty place if the command called a PyTorch module."""
    while frame is not None and frame.f_code.co_filename.startswith(OWN) and frame.f_code.co_filename != COMMAND:
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename == COMMAND:
        return schema.Where("", 0, "")
    return line_at(frame.f_code, frame.f_lineno, frame.f_lasti)


def line_at(code: CodeType, line: int, instruction: int) -> schema.Where:
    """Return a line of the program."""
    at = Place(code.co_filename, line)
    name = "" if code.co_name == "<module>" else code.co_qualname
    return schema.Where(at.file, at.line, at.code, name, columns(code, instruction))


def modules_around(frame: FrameType | None) -> list:
    """Return the modules in whose call a frame runs, outermost first."""
    found = []
    while frame is not None:
        if frame.f_code is MODULE:
            found.append(frame.f_locals["self"])
        frame = frame.f_back
    return found[::-1]
