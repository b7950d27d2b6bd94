"""Rows on the form of a Function: its methods, the returned values of forward, backward and jvp, and captured tensors."""

import difflib
import dis
import inspect
from contextlib import suppress
from typing import Any

import numpy as np

from ...arrays.dtypes import FLOATS
from ...core.function import as_tuple
from ...record.constants import brief
from .case import Case
from .forward_mode import pushed
from .outcome import Absent, Fault
from .probe import MethodCall, probed
from .source_lines import first_line, place_of_error

KNOWN = ("forward", "setup_context", "backward", "vjp", "jvp", "vmap", "generate_vmap_rule", "is_traceable")


def methods(case: Case) -> None:
    """Check that the methods are static and spelled correctly, and that no two of them exclude each other."""
    function, library = case.function, case.library
    for name in vars(function):
        meant = difflib.get_close_matches(name, KNOWN, 1, 0.84)
        if name not in KNOWN and meant and not name.startswith("_"):
            raise Fault(
                f"{name} is not a method of Function, so it is never called; did you mean {meant[0]}?",
                f"def {meant[0]}(...):  # instead of {name}",
                name,
                f"{name}",
            )
    for name in KNOWN[:6]:
        if library.owns(function, name) and inspect.isfunction(inspect.getattr_static(function, name)):
            raise Fault(f"{name} is not a staticmethod", f"@staticmethod\ndef {name}(...):", name, "def ")
    if function.generate_vmap_rule and library.owns(function, "vmap"):
        raise Fault(
            "the Function has two vmap rules: generate_vmap_rule = True and a vmap staticmethod",
            "generate_vmap_rule = False  # or delete the vmap staticmethod",
            "vmap",
            "def ",
        )
    first = next(iter(inspect.signature(function.forward).parameters), "")
    if case.separate and first == "ctx":
        raise Fault(
            "forward takes ctx although setup_context is defined, so apply would expect ctx as its first argument",
            "@staticmethod\ndef forward(x, ...):  # without ctx",
            "forward",
            "def ",
        )


def forward(case: Case) -> str:
    """Check that forward runs and returns tensors: one, or several in a flat tuple."""
    try:
        outs = case.apply(case.inputs(()))
    except Exception as e:
        if runs_in_single(case):
            raise Fault(
                f"forward runs on float32, but not on float64, in which check compares numbers: {first_line(e)}",
                "w = w.to(x.dtype)  # for each tensor that forward does not get as an argument",
                "forward",
                place=place_of_error(e),
            ) from e
        raise
    for k, o in enumerate(outs):
        if not isinstance(o, case.library.Tensor) and case.library.tensors_in(o):
            raise Fault(
                f"output {k} is a {type(o).__name__} with tensors inside, which autograd does not track",
                "return (*tensors,)  # a flat tuple; restore the structure outside",
                "forward",
            )
    found = case.library.tensors_in(outs)
    if not found:
        raise Fault(
            f"forward returns {type(outs[0]).__name__}, not a tensor",
            "return result  # a tensor, or a tuple of tensors",
            "forward",
        )
    return ", ".join(f"{tuple(o.shape)} {o.dtype}".replace(f"{case.library.written}.", "") for o in found)


def runs_in_single(case: Case) -> bool:
    """Return True if forward runs on float32."""
    with suppress(Exception):
        case.cast(np.float32).outputs()
        return True
    return False


def gradients_returned(case: Case) -> str:
    """Check that backward returns a gradient or None for each argument of forward, with the argument's shape."""
    need_backward(case)
    function, calls = probed(case)
    try:
        case.gradients(function=function)
    except Exception:  # these checks explain a wrong result better than the engine does
        for call in backwards(calls):
            check_gradients(case, call)
            if isinstance(call.returned, list):
                raise Fault(
                    "backward returns a list", "return (...)  # a tuple, or one tensor", case.backward
                ) from None
        raise
    return "; ".join(note for call in backwards(calls) for note in check_gradients(case, call))


def backwards(calls: list[MethodCall]) -> list[MethodCall]:
    """Return the calls of backward that completed."""
    return [c for c in calls if c.method in ("backward", "vjp") and c.returned is not None]


def check_gradients(case: Case, call: MethodCall) -> list[str]:
    """Raise Fault for a wrong result of one call of backward; return notes about a correct one."""
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
                f"the gradient of {case.names[i]} has type {type(g).__name__}, not Tensor",
                f"{case.library.written}.as_tensor(...)  # a tensor, or None",
                name,
            )
        if i not in case.arrays:
            raise Fault(
                f"backward returns a gradient for {case.names[i]}, which is not a tensor but {brief(case.args[i])}",
                f"return ..., None  # at position {i}, for {case.names[i]}",
                name,
            )
        notes += check_shape(case, i, g) if case.arrays[i].dtype in FLOATS else []
    return notes


def check_shape(case: Case, i: int, g: Any) -> list[str]:
    """Raise Fault for a gradient of a wrong shape; return a note if the shape has to be reduced by a sum."""
    shape, own, name = tuple(g.shape), case.arrays[i].shape, case.names[i]
    if shape == own:
        return []
    if not broadcasts_to(own, shape):
        raise Fault(
            f"the gradient of {name} has shape {shape}, but {name} has shape {own}",
            f"grad_{name} = ...  # with the shape {own} of {name}",
            case.backward,
        )
    return [f"the gradient of {name} has shape {shape} and is summed to {own}"]


def broadcasts_to(small: tuple, large: tuple) -> bool:
    """Return True if an input of shape `small` broadcasts to a gradient of shape `large`.

    >>> broadcasts_to((3,), (2, 3)), broadcasts_to((2,), (2, 3))
    (True, False)
    """
    try:
        return np.broadcast_shapes(small, large) == large
    except ValueError:
        return False


def need_backward(case: Case) -> None:
    """Raise Absent if there is no backward, or nothing to differentiate."""
    if not case.backward:
        raise Absent("no backward", "@staticmethod\ndef backward(ctx, *grad_outputs):\n    return ...")
    need_gradient(case)


def need_gradient(case: Case) -> None:
    """Raise Absent if no input or no output can have a gradient."""
    if not case.wanted:
        raise Absent("no floating-point input")
    if not case.tracked:
        raise Absent("no output has a gradient")


def tangents_returned(case: Case) -> None:
    """Check that jvp returns a tangent or None for each output of forward, with the output's shape and dtype."""
    need_jvp(case)
    function, calls = probed(case)
    try:
        pushed(case, function=function)
    finally:  # these checks explain a wrong result better than the library does
        for call in [c for c in calls if c.method == "jvp"]:
            check_tangents(case, call)


def need_jvp(case: Case) -> None:
    """Raise Absent if there is no jvp."""
    if not case.jvp:
        raise Absent("no jvp", "@staticmethod\ndef jvp(ctx, *tangents):\n    return ...  # one for each output")
    if not case.wanted:
        raise Absent("no floating-point input")


def check_tangents(case: Case, call: MethodCall) -> None:
    """Raise Fault for a wrong result of a call of jvp."""
    found, outs, n = as_tuple(call.returned), case.outputs(), len(case.apply(case.inputs(())))
    if len(found) != n:
        raise Fault(
            f"jvp returns {len(found)} tangent{'s' * (len(found) != 1)}, but forward returns {n} output{'s' * (n != 1)}",
            "return " + ", ".join(f"tangent_{k}" for k in range(n)),
            "jvp",
        )
    for k, t in [(k, t) for k, t in enumerate(found) if t is not None]:
        if not isinstance(t, case.library.Tensor):
            raise Fault(f"tangent {k} has type {type(t).__name__}, not Tensor", "return a tensor, or None", "jvp")
        o, dtype = outs.get(k), str(t.dtype).rpartition(".")[2]
        if o is not None and o.dtype in FLOATS and (tuple(t.shape) != o.shape or dtype != str(o.dtype)):
            raise Fault(
                f"tangent {k} has shape {tuple(t.shape)} and {dtype}, but output {k} has {o.shape} and {o.dtype}",
                f"return ...  # a tangent with the shape {o.shape} and dtype {o.dtype} of output {k}",
                "jvp",
            )


def captured_tensors(case: Case) -> None:
    """Check that the methods use no outside tensor that requires grad: its gradient would be lost."""
    for method in ("forward", "setup_context", "backward", "vjp", "jvp", "vmap"):
        code = inspect.unwrap(getattr(case.function, method) or len)
        if not case.library.owns(case.function, method) or not inspect.isfunction(code):
            continue
        used = inspect.getclosurevars(code)  # which takes names of attributes for globals, too
        loaded = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
        outside = {name: value for name, value in used.globals.items() if name in loaded}
        attributes = {f"{case.name}.{k}": v for k, v in vars(case.function).items()}
        for name, value in [*used.nonlocals.items(), *outside.items(), *attributes.items()]:
            tensors = parameters(case, value)
            if any(getattr(t, "requires_grad", False) for t in tensors):
                raise Fault(
                    f"{method} uses {name}, which requires grad but is not an argument: its gradient is lost",
                    f"{case.name}.apply(..., {name})  # pass it as an argument, and save it with ctx.save_for_backward",
                    method,
                    rf"\b{name.rpartition('.')[2]}\b(?!.*def )",
                )


def parameters(case: Case, value: Any) -> list:
    """Return the tensors inside a captured value."""
    if isinstance(value, case.library.Tensor):
        return [value]
    if isinstance(value, case.library.module.nn.Module):
        return list(value.parameters())
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for t in parts if isinstance(t, case.library.Tensor) and t.is_leaf]
