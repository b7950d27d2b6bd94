"""A PyTorch program as a record, so that all our pictures can be made of it: `viz.from_torch(f, *args)`.

PyTorch is needed for nothing else here and is imported only when this is called.  One run of the program gives all three
passes: a TorchFunctionMode sees each call as the user wrote it (torch_calls.py, torch_recorder.py), hooks on the nodes of
the graph see what backward sends along each edge (drawn_graph.py), and each call made once more on dual tensors carries
tangents along (torch_tangents.py).
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .torch_document import TorchRecord

PASSES = ("forward", "backward", "jvp")


def from_torch(fn: Callable, *args: Any, passes: str | Sequence[str] = PASSES, name: str | None = None) -> TorchRecord:
    """Run a PyTorch function or module once and record its forward, backward and jvp pass.

    A pass that the program does not run itself is run for it, seeded with ones, as `minigrad.record` does: backward from
    its results (no `.grad` is touched), jvp from all leaves that require grad.  If nothing requires grad, the float tensors
    among `args` are differentiated.  For the jvp pass each operation is computed a second time, on dual tensors; one that
    has no derivative in forward mode stops the tangents that reach it, and `notes` says so.

    Args:
        fn: a function, a module, or anything else that can be called.
        args: what it is called with.
        passes: of "forward", "backward", "jvp".
        name: a title; by default the function's name.

    Returns:
        The record: `viz.draw` draws it, `to_json()` gives its text (docs/record.md).

    Raises:
        ModuleNotFoundError: PyTorch is not installed.
        ValueError: `passes` names one that there is not.
        TypeError: the result holds no tensor.

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
        raise error(ValueError, "from_torch", f"{unknown[0]!r} is not a pass", f"use some of {', '.join(PASSES)}")
    try:
        import torch
    except ModuleNotFoundError as e:
        raise error(ModuleNotFoundError, "from_torch", "PyTorch is not installed", "pip install torch") from e
    from torch.utils._pytree import tree_map_only

    from .torch_calls import watching
    from .torch_document import Builder, TorchRecord
    from .torch_recorder import Recorder
    from .torch_words import tensors_in

    if not tracks(fn, args):
        args = tree_map_only(torch.Tensor, lambda t: t.detach().requires_grad_() if t.is_floating_point() else t, args)
    recorder = Recorder("jvp" in wanted)
    try:
        with watching(recorder):
            name_arguments(recorder, fn, args)
            outs = tensors_in(fn(*args))
        if not outs:
            fix = "let the function return a tensor, or a structure with tensors in it"
            raise error(TypeError, "from_torch", f"the result of {title(fn)} holds no tensor", fix)
        with recorder.aside():
            outputs = recorder.returned(outs)
            if "backward" in wanted:
                recorder.run_backward(outs)
    finally:
        recorder.backward.close()
    name_values(recorder, fn)
    code = getattr(inspect.unwrap(fn), "__code__", None)
    program = {"file": code.co_filename if code else "", "name": name or title(fn)}
    fields = Builder(recorder.calls, outputs, recorder.backward.differentiated).document(
        recorder.backward.gradients(), program
    )
    return TorchRecord(**fields, notes=recorder.notes)


def title(fn: Any) -> str:
    """The name of a function, or of a module's class."""
    return getattr(fn, "__name__", type(fn).__name__)


def surroundings(fn: Any) -> dict[str, Any]:
    """What a function sees besides its arguments, by name: the module it belongs to, or the variables it closes over."""
    owner = getattr(fn, "__self__", fn)
    if hasattr(owner, "named_parameters"):
        return {"": owner}
    if not inspect.isfunction(fn := inspect.unwrap(fn)):
        return {}
    found = inspect.getclosurevars(fn)
    return {**found.globals, **found.nonlocals}


def tracks(fn: Any, args: tuple) -> bool:
    """Whether anything that fn can see requires grad."""
    from .torch_words import tensors_in

    seen = surroundings(fn)
    modules = [one for one in (*seen.values(), *args) if hasattr(one, "named_parameters")]
    return any(t.requires_grad for t in tensors_in((args, seen))) or any(
        p.requires_grad for module in modules for p in module.parameters()
    )


def name_arguments(recorder: Any, fn: Any, args: tuple) -> None:
    """Note the arguments first, under the names of fn's parameters."""
    import torch

    from minigrad.record.passes import parameter_names

    with recorder.aside():
        for name, a in zip(parameter_names(getattr(fn, "forward", fn), len(args)), args):
            if isinstance(a, torch.Tensor):
                recorder.ref(a).name = name


def name_values(recorder: Any, fn: Any) -> None:
    """Names for what has none yet: a module's parameters, and the variables that fn closes over."""
    known: dict[int, str] = {}
    for name, one in surroundings(fn).items():
        known.setdefault(id(one), name)
        for members in ("named_parameters", "named_buffers"):
            for path, t in getattr(one, members, dict)():
                known[id(t)] = f"{name}.{path}" if name else path
    for value, t in recorder.tensors.items():
        value.name = value.name or known.get(id(t), "")
