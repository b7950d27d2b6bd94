"""Rows on the form of a Function: its methods, what forward returns, what backward and jvp return, what they capture."""

from __future__ import annotations

import difflib
import dis
import inspect
from typing import Any

import numpy as np

from ...arrays.dtypes import FLOATS
from ...core.function import as_tuple
from .case import Case
from .forward_mode import pushed
from .outcome import Absent, Fault
from .probe import Call, probed

KNOWN = ("forward", "setup_context", "backward", "vjp", "jvp", "vmap", "generate_vmap_rule", "is_traceable")


def methods(case: Case) -> None:
    """The methods are static, their names are spelt right, and no two of them exclude each other."""
    function, library = case.function, case.library
    for name in vars(function):
        meant = difflib.get_close_matches(name, KNOWN, 1, 0.84)
        if name not in KNOWN and meant and not name.startswith("_"):
            raise Fault(
                f"{name} is no method of a Function, so it is never called: {meant[0]} may be meant",
                f"def {meant[0]}(...):  # instead of {name}",
                name,
                f"{name}",
            )
    for name in KNOWN[:6]:
        if library.owns(function, name) and inspect.isfunction(inspect.getattr_static(function, name)):
            raise Fault(f"{name} is not static", f"@staticmethod\ndef {name}(...):", name, "def ")
    if function.generate_vmap_rule and library.owns(function, "vmap"):
        raise Fault(
            "there are two rules for vmap: generate_vmap_rule = True and a vmap staticmethod",
            "generate_vmap_rule = False  # or delete the vmap staticmethod",
            "vmap",
            "def ",
        )
    first = next(iter(inspect.signature(function.forward).parameters), "")
    if case.separate and first == "ctx":
        raise Fault(
            "forward takes ctx although there is a setup_context, so ctx would be the first argument of apply",
            "@staticmethod\ndef forward(x, ...):  # without ctx",
            "forward",
            "def ",
        )


def forward(case: Case) -> str:
    """forward runs, and returns tensors: one, or several in a flat tuple."""
    outs = case.apply(case.inputs(()))
    for k, o in enumerate(outs):
        if not isinstance(o, case.library.Tensor) and case.library.tensors_in(o):
            raise Fault(
                f"output {k} is a {type(o).__name__} that contains tensors, which are not tracked there",
                "return (*tensors,)  # flat, and put them together again outside",
                "forward",
            )
    found = case.library.tensors_in(outs)
    if not found:
        raise Fault(
            f"forward returns {type(outs[0]).__name__}, no tensor",
            "return result  # a tensor, or a tuple of tensors",
            "forward",
        )
    return ", ".join(f"{tuple(o.shape)} {o.dtype}".replace(f"{case.library.name}.", "") for o in found)


def gradients_returned(case: Case) -> str:
    """backward returns one gradient, or None, for each argument of forward, of its shape."""
    need_backward(case)
    function, calls = probed(case)
    try:
        case.gradients(function=function)
    except Exception:  # what the engine says of a wrong result is said better here, if it is about that
        for call in backwards(calls):
            check_gradients(case, call)
            if isinstance(call.returned, list):
                raise Fault(
                    "backward returns a list", "return (...)  # a tuple, or one tensor", case.backward
                ) from None
        raise
    return "; ".join(note for call in backwards(calls) for note in check_gradients(case, call))


def backwards(calls: list[Call]) -> list[Call]:
    """The calls of backward that came to an end."""
    return [c for c in calls if c.method in ("backward", "vjp") and c.returned is not None]


def check_gradients(case: Case, call: Call) -> list[str]:
    """Fault for what one call of backward returned; else what is worth a note."""
    found, n = as_tuple(call.returned), len(case.args)
    name, notes = case.backward, []
    listed = ", ".join(case.names)
    if len(found) < n or any(g is not None for g in found[n:]):
        raise Fault(
            f"backward returns {len(found)} gradient{'s' * (len(found) != 1)}, but forward takes {n}: {listed}",
            "return " + ", ".join(f"grad_{m}" if i in case.arrays else "None" for i, m in enumerate(case.names)),
            name,
        )
    for i, g in [(i, g) for i, g in enumerate(found[:n]) if g is not None]:
        if not isinstance(g, case.library.Tensor):
            raise Fault(
                f"the gradient of {case.names[i]} is a {type(g).__name__}, no tensor",
                f"{case.library.name}.as_tensor(...)  # a tensor, or None",
                name,
            )
        if i not in case.arrays:
            raise Fault(
                f"backward returns a gradient for {case.names[i]}, which is no tensor but {case.args[i]!r}",
                f"return ..., None  # in place {i}, for {case.names[i]}",
                name,
            )
        notes += check_shape(case, i, g) if case.arrays[i].dtype in FLOATS else []
    return notes


def check_shape(case: Case, i: int, g: Any) -> list[str]:
    """Whether a gradient has its input's shape; that it can be summed to it is worth a note."""
    shape, own, name = tuple(g.shape), case.arrays[i].shape, case.names[i]
    if shape == own:
        return []
    if not expands(own, shape):
        raise Fault(
            f"the gradient of {name} has shape {shape}, but {name} has shape {own}",
            f"grad_{name} = ...  # of the shape {own} of {name}",
            case.backward,
        )
    return [f"the gradient of {name} has shape {shape} and is summed to {own}"]


def expands(small: tuple, large: tuple) -> bool:
    """Whether a gradient of shape `large` is that of an input of shape `small` that was broadcast.

    >>> expands((3,), (2, 3)), expands((2,), (2, 3))
    (True, False)
    """
    try:
        return np.broadcast_shapes(small, large) == large
    except ValueError:
        return False


def need_backward(case: Case) -> None:
    """Absent where there is no backward, or nothing to differentiate by."""
    if not case.backward:
        raise Absent("no backward", "@staticmethod\ndef backward(ctx, *grad_outputs):\n    return ...")
    need_gradient(case)


def need_gradient(case: Case) -> None:
    """Absent where no input or no output can have a gradient."""
    if not case.wanted:
        raise Absent("no floating-point input")
    if not case.tracked:
        raise Absent("no output has a gradient")


def tangents_returned(case: Case) -> None:
    """jvp returns one tangent, or None, for each output of forward, of its shape and dtype."""
    need_jvp(case)
    function, calls = probed(case)
    try:
        pushed(case, function=function)
    finally:  # what the library says of a wrong result is said better here
        for call in [c for c in calls if c.method == "jvp"]:
            check_tangents(case, call)


def need_jvp(case: Case) -> None:
    """Absent where there is no jvp."""
    if not case.jvp:
        raise Absent("no jvp", "@staticmethod\ndef jvp(ctx, *tangents):\n    return ...  # one for each output")
    if not case.wanted:
        raise Absent("no floating-point input")


def check_tangents(case: Case, call: Call) -> None:
    """Fault for what a call of jvp returned."""
    found, outs, n = as_tuple(call.returned), case.outputs(), len(case.apply(case.inputs(())))
    if len(found) != n:
        raise Fault(
            f"jvp returns {len(found)} tangent{'s' * (len(found) != 1)}, but forward has {n} output{'s' * (n != 1)}",
            "return " + ", ".join(f"tangent_{k}" for k in range(n)),
            "jvp",
        )
    for k, t in [(k, t) for k, t in enumerate(found) if t is not None]:
        if not isinstance(t, case.library.Tensor):
            raise Fault(f"tangent {k} is a {type(t).__name__}, no tensor", "return a tensor, or None", "jvp")
        o, dtype = outs.get(k), str(t.dtype).rpartition(".")[2]
        if o is not None and o.dtype in FLOATS and (tuple(t.shape) != o.shape or dtype != str(o.dtype)):
            raise Fault(
                f"tangent {k} has shape {tuple(t.shape)} and {dtype}, but output {k} has {o.shape} and {o.dtype}",
                f"return a tangent of the shape {o.shape} and dtype {o.dtype} of output {k}",
                "jvp",
            )


def captured_tensors(case: Case) -> None:
    """The methods use no tensor from outside that requires grad: its gradient would be lost."""
    for method in ("forward", "setup_context", "backward", "vjp", "jvp", "vmap"):
        code = inspect.unwrap(getattr(case.function, method) or len)
        if not case.library.owns(case.function, method) or not inspect.isfunction(code):
            continue
        used = inspect.getclosurevars(code)  # which takes the names of attributes for globals, too
        loaded = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
        outside = {name: value for name, value in used.globals.items() if name in loaded}
        attributes = {f"{case.name}.{k}": v for k, v in vars(case.function).items()}
        for name, value in [*used.nonlocals.items(), *outside.items(), *attributes.items()]:
            tensors = parameters(case, value)
            if any(getattr(t, "requires_grad", False) for t in tensors):
                raise Fault(
                    f"{method} uses {name}, which requires grad and is not one of the arguments: its gradient is lost",
                    f"{case.name}.apply(..., {name})  # pass it as an argument, and save it with ctx.save_for_backward",
                    method,
                    rf"\b{name.rpartition('.')[2]}\b(?!.*def )",
                )


def parameters(case: Case, value: Any) -> list:
    """The tensors that a captured value brings with it."""
    if isinstance(value, case.library.Tensor):
        return [value]
    if isinstance(value, case.library.module.nn.Module):
        return list(value.parameters())
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for t in parts if isinstance(t, case.library.Tensor) and t.is_leaf]
