"""Mistakes about tensors that require grad, their `.grad`, and the tensors of transforms."""

from __future__ import annotations

from typing import Any

from ..core.events import slots
from ..core.frames import current
from ..core.graph import operation_of
from ..core.tensor import Box, Tensor, levels
from ..errors import MinigradRuntimeError, error, warn
from ..places import callee, noted, user_frame
from .report import explains

READABLE = "use minigrad's operations instead, or compute it outside of the transform"
ESCAPED = (
    "return it from the transformed function (with has_aux=True beside the result) instead of storing it elsewhere"
)


class Foreign(MinigradRuntimeError):
    """The array of a box was asked for, which has none; `box` is the one, `runs` whether its transform goes on here."""

    box: Any
    runs: bool


@explains("a tensor inside a transform has no memory")
def foreign(box: Any) -> Exception:
    """Return the error for reading the memory of a transform's tensor."""
    slots.reading(box, "numpy")
    runs = current().has(box._layer)
    name, what = box._layer.name, f"this tensor of shape {tuple(box.shape)} belongs to"
    if runs:
        what += " a running transform and has no memory for numpy() and the like"
    else:
        what += " a transform that does not run here, from which it has escaped"
    e: Any = error(Foreign, name, what, READABLE if runs else ESCAPED)
    e.box, e.runs = box, runs
    return e


@explains("number of box")
def number_of_box(box: Any) -> None:
    """Warn where a function of Python's math that has a derivative asks for a number that is differentiated."""
    frame = user_frame()
    called = None if frame is None else callee(frame)
    layer = next((t._layer for t in levels(box) if type(t) is Box and t._layer.follows(t)), None)
    module, name = getattr(called, "__module__", ""), getattr(called, "__name__", "")
    if layer is not None and module in ("math", "cmath") and not name.startswith(("is", "floor", "ceil", "trunc")):
        warn(
            "math-of-tensor",
            f"{module}.{name}",
            f"takes a tensor of shape {tuple(box.shape)}, by which `{layer.name}` differentiates, for a plain number: "
            "derivatives end here",
            f"use minigrad's operation, as minigrad.{name}; where the number alone is wanted, say so: x.detach()",
        )


@explains("requires_grad is True or False")
def not_bool(t: Tensor, flag: Any) -> Exception:
    """Return the error for another value than True and False."""
    return error(RuntimeError, "requires_grad", f"must be a bool, not {type(flag).__name__}")


@explains("only leaves can change requires_grad")
def of_result(t: Tensor, flag: bool) -> Exception:
    """Return the error for setting the flag of a result."""
    return error(
        RuntimeError,
        "requires_grad",
        f"you can only change requires_grad flags of leaf variables, and this is the result of {t.grad_fn}",
        "call .retain_grad() for its .grad, or set it on y.detach(), where a new graph is to begin",
    )


@explains("the result of an operation cannot stop requiring grad")
def off(t: Tensor) -> Exception:
    """Return the error for switching it off on a result."""
    return error(
        RuntimeError,
        "requires_grad_",
        f"you can only change requires_grad flags of leaf variables; this is the result of {operation_of(t.grad_fn)}",
        "use .detach() for a tensor that is not tracked",
    )


@explains("inference tensors have no gradients")
def of_inference_tensor(t: Tensor) -> Exception:
    """Return the error for a tensor made under inference_mode."""
    return error(
        RuntimeError,
        "requires_grad_",
        "setting requires_grad=True on an inference tensor outside inference_mode is not allowed",
        "clone() it first",
    )


@explains("only floating-point tensors have gradients")
def of_integers(t: Tensor) -> Exception:
    """Return the error for a dtype without gradients."""
    return error(
        RuntimeError,
        "requires_grad_",
        f"only floating-point tensors can require gradients, not {t.dtype}",
        "convert first: x.float().requires_grad_()",
    )


@explains("a transform decides what is tracked")
def in_transform(t: Any) -> Exception:
    """Return the error inside a transform."""
    return error(
        RuntimeError,
        "requires_grad_",
        f"called inside a `{t._layer.name}` transform, which decides itself what is tracked",
        "pass the tensor as an argument of the transformed function",
    )


@explains("inference tensors do not track versions")
def version_of_inference_tensor(t: Tensor) -> Exception:
    """Return the error for asking how often it was written."""
    return error(RuntimeError, "_version", "inference tensors do not track version counters")


@explains("a gradient has its tensor's shape, dtype and device")
def grad_assigned(t: Tensor, g: Any) -> Exception:
    """Return the error for what cannot be a tensor's gradient."""
    if not isinstance(g, Tensor):
        return error(TypeError, "grad", f"expected a tensor or None, got {type(g).__name__}", "x.grad = None clears it")
    if g is t:
        return error(RuntimeError, "grad", "a tensor cannot be its own gradient")
    if (g.shape, g.dtype) != (t.shape, t.dtype):
        what = (
            f"assigned a gradient of shape {tuple(g.shape)} and {g.dtype} to a tensor of "
            f"shape {tuple(t.shape)} and {t.dtype}"
        )
        return error(RuntimeError, "grad", what, "assign one of the same shape and dtype")
    what = f"assigned a gradient of shape {tuple(g.shape)} on {g.device} to a tensor on {t.device}"
    return error(RuntimeError, "grad", what, f"assign g.to('{t.device}')")


@explains("data is a tensor, of floats where it requires grad")
def data_assigned(t: Tensor, other: Any) -> Exception:
    """Return the error for what cannot be a tensor's data."""
    if not isinstance(other, Tensor):
        return error(TypeError, "data", f"expected a tensor, got {type(other).__name__}")
    return error(
        RuntimeError,
        "data",
        f"only floating-point tensors can require gradients, not {other.dtype}",
        "assign x.float(), or call requires_grad_(False) first",
    )


@explains("a view cannot be detached in place")
def view_detached(t: Tensor) -> Exception:
    """Return the error for detach_ of a view."""
    return error(
        RuntimeError,
        "detach_",
        f"cannot detach a view, of shape {tuple(t.shape)}, in place",
        "use x.detach(), which makes a new tensor",
    )


@explains("grad of non-leaf")
def grad_of_non_leaf(t: Any) -> None:
    """Warn of reading .grad of a result: it is never filled, which is seldom what was meant."""
    warn(
        "grad-of-non-leaf",
        "grad",
        f"the .grad of a tensor that is not a leaf is being read (it is the result of {operation_of(t.grad_fn)}); "
        "backward does not fill it",
        "read the .grad of the leaf, or call .retain_grad() on the result before backward. A parameter is updated by "
        "`with minigrad.no_grad(): w -= lr * w.grad`, and made from other tensors by (a / b).requires_grad_()",
        notes=noted("the operation was", t.grad_fn._trace),
    )
