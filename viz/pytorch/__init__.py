"""`viz.from_torch(f, *args)`: record a PyTorch program, so that viz can draw it.

PyTorch is imported only here, and only when this is called.  One run of the program yields all three passes: a
TorchFunctionMode sees each call as the user wrote it (torch_calls.py, torch_recorder.py), hooks on the graph's nodes see the
gradient along each edge (torch_graph.py), and a second run of each call on dual tensors computes tangents
(torch_tangents.py).  torch_recording.py combines them.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .torch_recording import TorchRecord

PASSES = ("forward", "backward", "jvp")


def from_torch(
    fn: Callable,
    *args: Any,
    passes: str | Sequence[str] = PASSES,
    name: str | None = None,
    tangent: Any = None,
    grad: Any = None,
) -> TorchRecord:
    """Run a PyTorch function or module once and record its forward, backward and jvp passes.

    Passes that the program does not run are added, seeded with ones, as `minigrad.record` does: backward from
    its results (without touching `.grad`), jvp from all leaves that require grad.  If nothing requires grad, the float tensors
    among `args` are differentiated.  For the jvp pass each operation runs a second time, on dual tensors; an operation
    without a forward-mode derivative stops the tangents, and `notes` names it.

    Args:
        fn: a function, a module, or any other callable.
        args: its arguments.
        passes: any of "forward", "backward", "jvp".
        name: a title; the default is the function's name.
        tangent, grad: the direction of the jvp pass and the gradient of the result, as in `minigrad.record`.

    Returns:
        The record: `viz.draw` draws it, `to_json()` returns it as text (docs/record.md).

    Raises:
        ModuleNotFoundError: PyTorch is not installed.
        ValueError: `passes` names an unknown pass.
        TypeError: the result contains no tensor.

    >>> import torch
    >>> from viz import draw, from_torch
    >>> record = from_torch(lambda x: (x * x).sum(), torch.tensor([1.0, 2.0]))
    >>> [(op.phase, op.name) for op in record.ops if op.phase != "jvp"]
    [('forward', 'mul'), ('forward', 'sum'), ('backward', 'sum'), ('backward', 'mul')]
    >>> draw(record)
    <Drawing <lambda>: 2 operations, forward>
    """
    from minigrad.errors import error

    wanted = (passes,) if isinstance(passes, str) else tuple(passes)
    if unknown := [one for one in wanted if one not in PASSES]:
        raise error(ValueError, "from_torch", f"{unknown[0]!r} is not a pass", f"choose from {', '.join(PASSES)}")
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError as e:
        raise error(ModuleNotFoundError, "from_torch", "PyTorch is not installed", "pip install torch") from e
    from .torch_recording import recording_of

    return recording_of(fn, args, wanted, name, tangent, grad).document()
