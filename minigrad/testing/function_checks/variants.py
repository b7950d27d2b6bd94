"""Rows on inputs of other kinds: how they lie in memory, with no elements, without dimensions, in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.function import as_tuple
from .case import Case, close, short
from .derivatives import gradients
from .form import need_backward
from .outcome import Absent, Fault
from .probe import probed


def layouts(case: Case) -> str:
    """Inputs that are transposed, every second element, or expanded give what contiguous ones give."""
    tried = []
    for name, change in LAYOUTS.items():
        if name == "expanded" and "in place" in case.traits:  # each library refuses to write there
            continue
        least = 2 if name == "transposed" else 1
        if case.tensors and all(case.arrays[i].ndim >= least for i in case.tensors):
            plain = laid_out(case, change, copy=True)
            if plain is not None:
                compare_layouts(case, name, plain, laid_out(case, change))
                tried.append(name)
    if not tried:
        raise Absent("the inputs have no dimensions")
    return ", ".join(tried)


def transposed(x: Any, library: Any) -> Any:
    """The same tensor, its dimensions in memory the other way round."""
    back = tuple(reversed(range(x.ndim)))
    return x.permute(back).contiguous().permute(back)


def strided(x: Any, library: Any) -> Any:
    """The same tensor, with a gap after each element."""
    return library.module.stack([x, x], -1)[..., 0]


def expanded(x: Any, library: Any) -> Any:
    """The first along the last dimension, for all of them, in one place of memory."""
    return x[..., :1].expand(x.shape)


LAYOUTS: dict[str, Callable] = {"transposed": transposed, "every second element": strided, "expanded": expanded}


def laid_out(case: Case, change: Callable, copy: bool = False) -> Any:
    """Values and gradients with each tensor laid out so; or with contiguous copies of those, None if forward refuses."""
    leaves = case.inputs()
    args = [change(a, case.library) if i in case.tensors else a for i, a in enumerate(leaves)]
    args = [a.contiguous().clone() if copy and i in case.tensors else a for i, a in enumerate(args)]
    try:
        outs = case.apply(args)
    except Exception:
        if copy:  # expanded inputs are other numbers, which forward may not take
            return None
        raise
    differentiable = case.backward and case.tracked and case.wanted
    grads = case.pulled(case.total(outs), leaves, case.wanted) if differentiable else {}
    return [case.library.array(o) for o in case.library.tensors_in(outs)], list(grads.values())


def compare_layouts(case: Case, name: str, plain_ones: Any, found: Any) -> None:
    """Fault where a layout makes a difference."""
    for what, plain, odd in zip(("output", "gradient"), plain_ones, found):
        for k, (a, b) in enumerate(zip(plain, odd)):
            if not close(a, b):
                method = "forward" if what == "output" else case.backward
                label = f"output {k}" if what == "output" else f"the gradient of {case.names[case.wanted[k]]}"
                raise Fault(
                    f"{name} inputs: {label} is {short(b)}, but {short(a)} for contiguous ones",
                    "x = x.contiguous()  # before the memory is read; or x.reshape(...) for x.view(...)",
                    method,
                    r"numpy|stride|data_ptr|view|ravel|flat",
                )


def no_elements(case: Case) -> str:
    """An empty batch, a first dimension of size 0, where forward takes it, gets empty gradients."""
    shapes = {i: case.arrays[i].shape for i in case.tensors}
    first = next((i for i in case.tensors if shapes[i]), None)
    if first is None:
        raise Absent("the inputs have no dimensions")
    together = [i for i in case.tensors if shapes[i] and shapes[i][0] == shapes[first][0]]
    for places in ([first], together):
        empty = case.replaced({i: case.arrays[i][:0] for i in places})
        try:
            empty.outputs()
        except Exception as e:
            refused = str(e).splitlines()[0]
            continue
        if case.backward and empty.wanted and empty.tracked:
            empty.gradients()
        return ", ".join(f"{case.names[i]} of shape {empty.arrays[i].shape}" for i in places)
    raise Absent(f"forward refuses an empty batch: {refused}")


def no_dimensions(case: Case) -> str:
    """Inputs of a single number, where forward takes them, get right gradients."""
    scalars = case.changed(lambda a: a.reshape(-1)[0] if a.size else a, floats=False)
    if not any(case.arrays[i].ndim for i in case.tensors):
        raise Absent("the inputs are such already")
    if len({case.arrays[i].shape for i in case.tensors}) > 1:
        raise Absent("the inputs have shapes that differ")
    try:
        scalars.outputs()
    except Exception as e:
        raise Absent(f"forward refuses inputs without dimensions: {str(e).splitlines()[0]}") from None
    if not case.backward or not scalars.wanted or not scalars.tracked or "without gradients" in case.traits:
        return "forward only"
    try:
        return gradients(scalars)
    except Fault as fault:
        fault.message = f"inputs without dimensions: {fault.message}"
        raise
    except Exception as e:  # not silently wrong
        raise Absent(f"backward refuses inputs without dimensions: {str(e).splitlines()[0]}") from None


def dtypes(case: Case) -> str:
    """Gradients have the dtype of their inputs; in float32 outputs are float32, and all is near what float64 gives."""
    need_backward(case)
    single = case.cast(np.float32)
    double_outs, outs = case.outputs(), single.outputs()
    for k in case.tracked:
        if outs[k].dtype != np.float32:
            raise Fault(
                f"output {k} is {outs[k].dtype} for float32 inputs",
                "return result.to(x.dtype)  # or compute in x.dtype from the start",
                "forward",
            )
        check_near(f"output {k}", outs[k], double_outs[k], "forward")
    found, double = gradients_of_dtype(single), gradients_of_dtype(case)
    for i, g in found.items():
        check_near(f"the gradient of {case.names[i]}", g, double[i], case.backward)
    return "float64 and float32"


def gradients_of_dtype(case: Case) -> dict[int, np.ndarray]:
    """The gradients; Fault where backward returns one of another dtype than its input has."""
    function, calls = probed(case)
    gradients = case.gradients(function=function)
    dtype = str(case.arrays[case.wanted[0]].dtype)
    for call in [c for c in calls if c.method == case.backward]:
        for i in case.wanted:
            g = as_tuple(call.returned)[i]
            if g is not None and str(g.dtype).rpartition(".")[2] != dtype:
                name, given = case.names[i], str(g.dtype).rpartition(".")[2]
                raise Fault(
                    f"the gradient of {name} is {given}, but {name} is {dtype}",
                    f"grad_{name} = grad_{name}.to({name}.dtype)  # or compute in that dtype from the start",
                    case.backward,
                )
    return gradients


def check_near(what: str, a: np.ndarray, b: Any, method: str) -> None:
    """Fault unless float32 numbers are those of float64, as far as float32 can hold them."""
    scale = float(np.abs(b).max(initial=1.0))
    if not close(a, b, 1e-3, 1e-4 * scale):
        raise Fault(
            f"in float32 {what} is {short(a)}, in float64 {short(b)}",
            "# subtract large numbers before exp, log or sums of squares; or compute that part in float64",
            method,
        )
