"""Rows on other kinds of inputs: other memory layouts, no elements, no dimensions, float32."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.function import as_tuple
from .case import Case, close, short
from .derivatives import gradients
from .form import need_backward
from .outcome import Absent, Fault
from .probe import probed
from .source_lines import first_line


def layouts(case: Case) -> str:
    """Check that transposed, strided and expanded inputs give the same as contiguous ones."""
    tried = []
    for name, change in LAYOUTS.items():
        if name == "expanded" and "in place" in case.traits:  # both libraries forbid writing to expanded tensors
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
    """Return the same tensor with its dimensions reversed in memory."""
    back = tuple(reversed(range(x.ndim)))
    return x.permute(back).contiguous().permute(back)


def strided(x: Any, library: Any) -> Any:
    """Return the same tensor with a gap after each element."""
    return library.module.stack([x, x], -1)[..., 0]


def expanded(x: Any, library: Any) -> Any:
    """Return the first element along the last dimension, expanded over it in one place of memory."""
    return x[..., :1].expand(x.shape)


LAYOUTS: dict[str, Callable] = {"transposed": transposed, "strided": strided, "expanded": expanded}


def laid_out(case: Case, change: Callable, copy: bool = False) -> Any:
    """Return values and gradients for tensors in this layout, or for contiguous copies; None if forward rejects the copies."""
    leaves = case.inputs()
    args = [change(a, case.library) if i in case.tensors else a for i, a in enumerate(leaves)]
    args = [a.contiguous().clone() if copy and i in case.tensors else a for i, a in enumerate(args)]
    try:
        outs = case.apply(args)
    except Exception:
        if copy:  # expanded inputs have other numbers, which forward may reject
            return None
        raise
    differentiable = case.backward and case.tracked and case.wanted
    grads = case.pulled(case.total(outs), leaves, case.wanted) if differentiable else {}
    return [case.library.array(o) for o in case.library.tensors_in(outs)], list(grads.values())


def compare_layouts(case: Case, name: str, plain_ones: Any, found: Any) -> None:
    """Raise Fault if a layout makes a difference."""
    for what, plain, odd in zip(("output", "gradient"), plain_ones, found):
        for k, (a, b) in enumerate(zip(plain, odd)):
            if not close(a, b):
                method = "forward" if what == "output" else case.backward
                label = f"output {k}" if what == "output" else f"the gradient of {case.names[case.wanted[k]]}"
                raise Fault(
                    f"for {name} inputs {label} is {short(b)}, but for contiguous ones it is {short(a)}",
                    "x = x.contiguous()  # before reading the memory; or x.reshape(...) instead of x.view(...)",
                    method,
                    r"numpy|stride|data_ptr|view|ravel|flat",
                )


def no_elements(case: Case) -> str:
    """Check that an empty batch, with a first dimension of size 0, gets empty gradients if forward accepts it."""
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
            refused = first_line(e)
            continue
        if case.backward and empty.wanted and empty.tracked:
            empty.gradients()
        return ", ".join(f"{case.names[i]} of shape {empty.arrays[i].shape}" for i in places)
    raise Absent(f"forward rejects an empty batch: {refused}")


def no_dimensions(case: Case) -> str:
    """Check that inputs without dimensions, if forward accepts them, get correct gradients."""
    scalars = case.changed(lambda a: a.reshape(-1)[0] if a.size else a, floats=False)
    if not any(case.arrays[i].ndim for i in case.tensors):
        raise Absent("the inputs already have no dimensions")
    if len({case.arrays[i].shape for i in case.tensors}) > 1:
        raise Absent("the inputs have different shapes")
    try:
        scalars.outputs()
    except Exception as e:
        raise Absent(f"forward rejects inputs without dimensions: {first_line(e)}") from None
    if (
        not case.backward
        or not scalars.wanted
        or not scalars.tracked
        or "without gradients" in case.traits
        or case.surrogate
    ):
        return "forward only"
    try:
        return gradients(scalars)
    except Fault as fault:
        fault.message = f"inputs without dimensions: {fault.message}"
        raise
    except Exception as e:  # not silently wrong
        raise Absent(f"backward rejects inputs without dimensions: {first_line(e)}") from None


def dtypes(case: Case) -> str:
    """Check that gradients have their inputs' dtype, that float32 inputs give float32 outputs, and that float64 agrees."""
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
    """Return the gradients.  Raises Fault if backward returns one whose dtype is not its input's."""
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
    """Raise Fault unless float32 numbers agree with those of float64, within float32's precision."""
    scale = float(np.abs(b).max(initial=1.0))
    if not close(a, b, 1e-3, 1e-4 * scale):
        raise Fault(
            f"{what} is {short(a)} in float32, but {short(b)} in float64",
            "# subtract an offset, as x - x.max(), before exp, log or sums of squares; or compute this part in float64",
            method,
        )
