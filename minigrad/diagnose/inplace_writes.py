"""Mistakes about in-place operations: leaves, views that cannot be written, memory that several elements share."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from ..core.graph import history, name_of
from ..core.tensor import Tensor
from ..errors import error, warn
from ..places import noted, user_frame
from .made_lines import made_at
from .report import explains
from .retained_graphs import spent

ANEW = {  # in-place operation -> code that makes a new tensor instead
    **{"add_": "x = x + ...", "sub_": "x = x - ...", "mul_": "x = x * ...", "div_": "x = x / ..."},
    **dict.fromkeys("masked_fill_ index_put_ copy_ fill_ zero_".split(), "x = minigrad.where(mask, value, x)"),
    **{"t_": "y = x.t()"},
    **{f"{n}_": f"y = x.{n}(...)" for n in "transpose swapaxes swapdims squeeze unsqueeze as_strided".split()},
}


def name_of_write(fn: Any) -> str:
    """Return the name of the in-place method that the user calls, or else of the in-place form of an operation."""
    frame, user = sys._getframe(), user_frame()
    while frame.f_back is not None and frame.f_back is not user:
        frame = frame.f_back
    if re.fullmatch(r"[a-z]\w*[a-z\d]_", called := frame.f_code.co_name):  # index_add_ puts, uniform_ copies
        return called
    return fn if isinstance(fn, str) else fn.function_name() + "_"


@explains("inference tensors cannot be modified outside of inference_mode")
def inference_tensor_written(fn: Any, x: Tensor) -> Exception:
    """Return the error for a write outside inference_mode."""
    what = f"an in-place update of an inference tensor of shape {tuple(x.shape)} outside inference_mode is not allowed"
    return error(RuntimeError, name_of_write(fn), what, "clone() it first")


@explains("a leaf that requires grad is modified in place")
def leaf_written(fn: Any, x: Tensor, root: Tensor) -> Exception:
    """Return the error for a write to a leaf that requires grad, or to a view of one."""
    name = name_of_write(fn)
    update = "update it inside `with minigrad.no_grad():`"
    if name in ANEW:
        update += f"; in a calculation make a new tensor, {ANEW[name]}"
    elif is_pointwise_in_one_operand(fn):
        update = (
            f"make a new tensor, y = x.{name[:-1]}(), without the underscore or inplace=True"  # no update has this form
        )
    what = f"{of_leaf(x, root)}, is being used in an in-place operation"
    return error(RuntimeError, name, what, update, notes=made_at(root))


def is_pointwise_in_one_operand(fn: Any) -> bool:
    """Report whether an operation computes each number from the old one alone, as relu_ does."""
    kernel = getattr(fn, "kernel", None)
    return hasattr(kernel, "__code__") and kernel.__code__.co_argcount == 1


def of_leaf(x: Tensor, root: Tensor) -> str:
    """Return a phrase for a leaf, or for a view of one."""
    if root is x:
        return f"a leaf Variable that requires grad, of shape {tuple(x.shape)}"
    return f"a view of a leaf Variable that requires grad, of shape {tuple(x.shape)} of {tuple(root.shape)}"


@explains("this view cannot be modified in place")
def fixed_view_written(fn: Any, x: Any) -> Exception:
    """Return the error for a write to a view whose base cannot get a new history."""
    return error(
        RuntimeError,
        name_of_write(fn),
        f"a view of shape {tuple(x.shape)} is being modified in place, but {x._view.fixed}, so gradients of its base "
        "would miss the change",
        "make the view outside, or clone() it first",
        notes=made_at(x, "the view is made"),
    )


@explains("an output's memory was modified")
def memory_of_output_written(shape: tuple, reason: str, memory: Any) -> Exception:
    """Return the error for a derivative of an output whose memory was modified through another tensor."""
    return error(
        RuntimeError,
        memory.writer,
        f"a view of shape {shape} has new values, because its memory was modified in place through another tensor, but "
        f"{reason}, so its gradient would miss the change",
        "clone() it before the write"
        + (f", or make a new tensor instead of the write, {ANEW[memory.writer]}" if memory.writer in ANEW else ""),
        notes=noted("modified", memory.place),
    )


@explains("the memory is read-only")
def read_only_written(fn: Any, x: Tensor) -> Exception:
    """Return the error for a write to the memory of a read-only array."""
    what = f"a tensor of shape {tuple(x.shape)} shares the memory of an array that is not writable"
    return error(RuntimeError, name_of_write(fn), what, "clone() it first, or pass array.copy() to from_numpy")


@explains("several elements share one place in memory")
def expanded_tensor_written(fn: Any, x: Tensor) -> Exception:
    """Return the error for a write to an expanded tensor."""
    return error(
        RuntimeError,
        name_of_write(fn),
        f"unsupported operation: several elements of the expanded tensor of shape {tuple(x.shape)} refer "
        "to a single memory location",
        "clone() the tensor before writing to it",
        notes=made_at(x),
    )


@explains("the result does not fit into the tensor")
def result_does_not_fit(fn: Any, x: Tensor, result: np.ndarray) -> Exception:
    """Return the error for a result of another shape, or of a dtype that the tensor cannot hold."""
    if result.shape != x._a.shape:
        what = f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(result.shape)}"
        fix = "write x = x + ... instead of x += ...; its result may be larger"
        return error(RuntimeError, name_of_write(fn), what, fix, notes=made_at(x))
    what = f"result type {result.dtype} can't be cast to the desired output type {x._a.dtype}"
    fix = "convert the tensor first, x = x.float(), or write x = x + ... instead of x += ..."
    return error(RuntimeError, name_of_write(fn), what, fix, notes=made_at(x))


@explains("tracked write")
def warn_if_kept(fn: Any, before: Tensor, others: tuple) -> None:
    """Warn if a running total of tracked losses holds graphs that backward has already freed."""
    loss = others[0] if len(others) == 1 else None
    if before._layer is not None or before._a.size != 1 or not isinstance(loss, Tensor) or history(loss) is None:
        return
    node = spent(before._edge) or spent(loss._edge)
    if node is not None:
        warn(
            "kept-graph",
            name_of_write(fn),
            f"adds a result of shape {tuple(loss.shape)} that requires grad to a running total. The total keeps the graphs of "
            f"all rounds but cannot be differentiated: the saved tensors of {name_of(node)} are freed",
            "add the number: total += loss.item(), or total += loss.detach()",
            notes=noted("freed by backward", node._saved.place),
        )
