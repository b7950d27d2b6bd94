"""record: run a program once and note its forward, backward and jvp pass."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from .. import autograd
from ..core.engine import reachable
from ..core.function import Function
from ..core.graph import Leaf, history
from ..core.saved import Freed
from ..core.tensor import Tensor, is_float
from ..diagnose.wording import argument_names
from ..errors import error
from ..places import user_frame
from ..tensors.nested import tensors_in
from .live_recordings import remember
from .recorder import Record
from .unseen import FREED
from .values import NOWHERE

PASSES = ("forward", "backward", "jvp")


def record(
    fn: Callable | None = None, *args: Any, passes: Any = PASSES, name: str | None = None, inside: bool = False
) -> Record:
    """Record a program: `record(f, *args)` runs f and its passes, `with record() as rec:` records the block.

    Passes that f does not run itself are added, seeded with ones: backward from its results (no `.grad` is touched), jvp from
    all leaves that require grad. If nothing requires grad, the float tensors among `args` are differentiated. With `inside`,
    the methods of custom Functions are recorded, too, several times slower; the commands and `viz.draw` do this.

    >>> import minigrad
    >>> rec = minigrad.record(lambda x: x * x, minigrad.tensor(3.))
    >>> document = rec.to_dict()
    >>> [(op["phase"], op["name"]) for op in document["ops"]]
    [('forward', 'mul'), ('backward', 'mul'), ('jvp', 'mul')]
    """
    wanted = (passes,) if isinstance(passes, str) else tuple(passes)
    if unknown := [p for p in wanted if p not in PASSES]:
        raise error(ValueError, "record", f"{unknown[0]!r} is not a pass", f"use some of {', '.join(PASSES)}")
    frame, caller = user_frame(2), sys._getframe(1)
    name = name or getattr(applied(fn) or fn, "__name__", "")
    rec = Record("jvp" in wanted, name, "" if frame is None else frame.f_code.co_filename, inside)
    remember(rec)
    if fn is None:
        return rec
    if not tracks(fn, args):
        args = tuple([a.detach().requires_grad_() if is_float(a) else a for a in args])
    with rec:
        rec.name_arguments(parameter_names(fn, len(args)), args)
        result = fn(*args)
        rec.settle()
        outs = list(tensors_in(result))
        rec.outputs = [rec.ref(o, "computed") for o in outs]
        if "backward" in wanted and not any(o in rec.gradients for o in rec.outputs):
            run_backward(rec, outs)
    rec.settle()
    rec.name_values(names_around(fn))
    here = rec._places(caller.f_code, caller.f_lasti)
    for group in rec.groups:
        if group.where is here:  # fn itself is an operation: only the line with `record` calls it
            group.where = NOWHERE
    return rec


def applied(fn: Any) -> type[Function] | None:
    """Return the custom Function whose `apply` this is, or None; it has the name and the parameters."""
    owner = getattr(fn, "__self__", None)
    return owner if isinstance(owner, type) and issubclass(owner, Function) and fn == owner.apply else None


def tracks(fn: Callable, args: tuple) -> bool:
    """Return True if a tensor that f can see requires grad: an argument, an outside variable, a module's parameter."""
    owner = getattr(fn, "__self__", fn)
    if hasattr(owner, "parameters") and callable(owner.parameters):
        return any(p.requires_grad for p in owner.parameters()) or any(t.requires_grad for t in tensors_in(args))
    seen = [*args, *closed_over(fn).values()]
    modules = [v for v in seen if hasattr(v, "parameters") and hasattr(v, "state_dict")]
    return bool(modules) or any(t.requires_grad for t in tensors_in(seen))


def closed_over(fn: Callable) -> dict[str, Any]:
    """Return the outside variables that a function reads; a module of Python is none, and slow to ask for attributes."""
    if not inspect.isfunction(fn):
        return {}
    found = inspect.getclosurevars(fn)
    return {name: value for name, value in {**found.globals, **found.nonlocals}.items() if not inspect.ismodule(value)}


def run_backward(rec: Record, outs: list) -> None:
    """Run backward from all results that require grad, seeded with ones, without touching any `.grad`."""
    roots = [o for o in outs if o.requires_grad]
    if any(type(node._saved) is Freed for node in reachable([history(o) for o in roots])[0]):
        rec.notes.append(FREED)
        return
    leaves = {id(v.tensor): v.tensor for v in rec.values if v.kind == "parameter" and type(v.tensor._edge) is Leaf}
    if roots and leaves:
        seeds = [o.new_ones(o.shape) for o in roots]
        autograd.grad(roots, list(leaves.values()), seeds, retain_graph=False, allow_unused=True)


def parameter_names(fn: Callable, count: int) -> list[str]:
    """Return the names of a function's first parameters, with arg0 and so on where it has none."""
    if (function := applied(fn)) is not None:
        return argument_names(function, count)
    try:
        parameters = inspect.signature(fn).parameters.values()
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    return [*names, *[f"arg{i}" for i in range(len(names), count)]][:count]


def names_around(fn: Any) -> dict[int, str]:
    """Return f's names for tensors, by id: a module's parameters, or the variables that a function closes over."""
    owner = getattr(fn, "__self__", fn)
    if hasattr(owner, "named_parameters"):
        return {id(p): n for n, p in owner.named_parameters()}
    known: dict[int, str] = {}
    for n, v in closed_over(fn).items():
        if isinstance(v, Tensor):
            known.setdefault(id(v), n)
        elif hasattr(v, "named_parameters"):
            known.update({id(p): f"{n}.{k}" for k, p in v.named_parameters()})
    return known
