"""Mistakes about tensors that require grad, their `.grad`, and the tensors of transforms."""

from threading import current_thread, main_thread
from typing import Any

from ..core.frames import current
from ..core.graph import operation_of
from ..core.tensor import Box, Tensor, levels
from ..errors import MinigradRuntimeError, error, warn
from ..events import events
from ..places import callee, noted, user_frame
from .report import EXPLAINED, explains
from .users_program import made_at

READABLE = "use minigrad's operations instead, or compute it outside of the transform"
ESCAPED = (
    "return it from the transformed function (with has_aux=True beside the result) instead of storing it elsewhere"
)

IN_THREAD = "take the running transforms along into the thread: pool.submit(contextvars.copy_context().run, f, x)"


class Foreign(MinigradRuntimeError):
    """Error for reading the array of a box, which has none; `runs` is True if the box's transform runs here."""

    box: Any
    runs: bool


Foreign.__name__ = Foreign.__qualname__ = "RuntimeError"  # as users see it in a traceback
Foreign.__module__ = MinigradRuntimeError.__module__


@explains("a tensor inside a transform has no memory")
def foreign(box: Any) -> Exception:
    """Return the error for reading the memory of a transform's tensor."""
    events.read(box, "numpy")
    runs = current().has(box._layer)
    name, what = box._layer.name, f"this tensor of shape {tuple(box.shape)}"
    if runs:
        what += " belongs to a running transform and has no memory for numpy() and the like"
    else:
        what += " has escaped from its transform, which does not run here"
    fix = READABLE if runs else ESCAPED if current_thread() is main_thread() else IN_THREAD
    e: Any = error(Foreign, name, what, fix)
    e.box, e.runs = box, runs
    return e


@explains("number of a tensor inside a transform")
def number_of_box(box: Any) -> None:
    """Warn if a differentiable function of Python's math reads the number of a tensor that a transform differentiates."""
    frame = user_frame()
    called = None if frame is None else callee(frame)
    layer = next((t._layer for t in levels(box) if type(t) is Box and t._layer.follows(t)), None)
    module, name = getattr(called, "__module__", ""), getattr(called, "__name__", "")
    if layer is not None and module in ("math", "cmath") and not name.startswith(("is", "floor", "ceil", "trunc")):
        warn(
            "math-of-tensor",
            f"{module}.{name}",
            f"reads a tensor of shape {tuple(box.shape)}, which `{layer.name}` differentiates, as a plain number: derivatives "
            "end here",
            f"use minigrad's operation, as minigrad.{name}; if you need only the number, write x.detach()",
        )


EXPLAINED |= {
    "requires_grad is True or False": lambda t, flag: error(
        RuntimeError, "requires_grad", f"must be a bool, not {type(flag).__name__}"
    ),
    "only leaves can change requires_grad": lambda t, flag: error(
        RuntimeError,
        "requires_grad",
        f"you can only change requires_grad flags of leaf variables, and this is the result of {t.grad_fn}",
        "call .retain_grad() to get its .grad, or start a new graph with y.detach().requires_grad_()",
        notes=made_at(t),
    ),
    "the result of an operation cannot stop requiring grad": lambda t: error(
        RuntimeError,
        "requires_grad_",
        f"you can only change requires_grad flags of leaf variables; this is the result of {operation_of(t.grad_fn)}",
        "use .detach() to get a tensor that is not tracked",
        notes=made_at(t),
    ),
    "inference tensors have no gradients": lambda t: error(
        RuntimeError,
        "requires_grad_",
        "setting requires_grad=True on an inference tensor outside inference_mode is not allowed",
        "clone() it first",
        notes=made_at(t),
    ),
    "only floating-point tensors have gradients": lambda t: error(
        RuntimeError,
        "requires_grad_",
        f"only floating-point tensors can require gradients, not {t.dtype}",
        "convert first: x.float().requires_grad_()",
    ),
    "a transform decides which tensors require grad": lambda t: error(
        RuntimeError,
        "requires_grad_",
        f"is called inside a `{t._layer.name}` transform, which decides itself what to track",
        "pass the tensor as an argument of the transformed function",
    ),
    "inference tensors do not track versions": lambda t: error(
        RuntimeError, "_version", "inference tensors do not track version counters"
    ),
    "a view cannot be detached in place": lambda t: error(
        RuntimeError,
        "detach_",
        f"cannot detach a view of shape {tuple(t.shape)} in place",
        "use x.detach(), which makes a new tensor",
    ),
    "grad of a non-leaf": lambda t: warn(
        "grad-of-non-leaf",
        "grad",
        f"this tensor is not a leaf but the result of {operation_of(t.grad_fn)}, and backward does not fill its .grad",
        "read the .grad of the leaf, or call .retain_grad() on the result before backward. Update a parameter with "
        "`with minigrad.no_grad(): w -= lr * w.grad`, and make one from other tensors with (a / b).requires_grad_()",
        notes=noted("the operation was", t.grad_fn._trace) or made_at(t),
    ),
}


@explains("a gradient has its tensor's shape, dtype and device")
def grad_assigned(t: Tensor, g: Any) -> Exception:
    """Return the error for a value that cannot be a tensor's gradient."""
    if not isinstance(g, Tensor):
        what = f"expected a tensor or None, got {type(g).__name__}"
        return error(TypeError, "grad", what, "write x.grad = None to clear it")
    if g is t:
        return error(RuntimeError, "grad", "a tensor cannot be its own gradient")
    if (g.shape, g.dtype) != (t.shape, t.dtype):
        what = (
            f"cannot assign a gradient of shape {tuple(g.shape)} and {g.dtype} to a tensor of "
            f"shape {tuple(t.shape)} and {t.dtype}"
        )
        return error(RuntimeError, "grad", what, "assign one of the same shape and dtype")
    what = f"cannot assign a gradient of shape {tuple(g.shape)} on {g.device} to a tensor on {t.device}"
    return error(RuntimeError, "grad", what, f"assign g.to('{t.device}')")


@explains("data is a tensor, and floating-point if it requires grad")
def data_assigned(t: Tensor, other: Any) -> Exception:
    """Return the error for a value that cannot be a tensor's data."""
    if not isinstance(other, Tensor):
        return error(TypeError, "data", f"expected a tensor, got {type(other).__name__}")
    what = f"only floating-point tensors can require gradients, not {other.dtype}"
    return error(RuntimeError, "data", what, "assign x.float(), or call requires_grad_(False) first")
