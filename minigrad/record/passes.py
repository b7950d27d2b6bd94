"""record: run a program once and note its forward, backward and jvp pass; record_of: what can be told from a tensor alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .. import autograd
from ..core.engine import behind
from ..core.function import Function
from ..core.graph import Leaf, history
from ..core.saved import Freed
from ..core.tensor import Tensor, is_float
from ..diagnose.user_methods import argument_names
from ..errors import error
from ..places import user_frame
from ..tensors.nested import tensors_in
from .from_graph import FREED
from .recent import remember
from .recorder import Record
from .values import NOWHERE

PASSES = ("forward", "backward", "jvp")


def record(
    fn: Callable | None = None, *args: Any, passes: Any = PASSES, name: str | None = None, inside: bool = False
) -> Record:
    """Note what a program does: `record(f, *args)` runs f and its passes; `with record() as rec:` notes the block.

    A pass that f does not run itself is run for it, seeded with ones: backward from its results (no `.grad` is touched),
    jvp from all leaves that require grad.  With `inside`, what the methods of custom Functions do is noted as well, at several
    times their cost; the commands and `viz.draw` ask for it.  If nothing requires grad, the float tensors among `args` are
    differentiated.

    >>> import minigrad
    >>> rec = minigrad.record(lambda x: x * x, minigrad.tensor(3.))
    >>> document = rec.to_dict()
    >>> [(op["phase"], op["name"]) for op in document["ops"]]
    [('forward', 'mul'), ('backward', 'mul'), ('jvp', 'mul')]
    """
    wanted = (passes,) if isinstance(passes, str) else tuple(passes)
    if unknown := [p for p in wanted if p not in PASSES]:
        raise error(ValueError, "record", f"{unknown[0]!r} is not a pass", f"use some of {', '.join(PASSES)}")
    frame = user_frame(2)
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
    here = None if frame is None else rec._places(frame.f_code, frame.f_lasti)
    for group in rec.groups:
        if group.where is here:  # fn is an operation itself: no line of the program has called it, only that of record
            group.where = NOWHERE
    return rec


def applied(fn: Any) -> type[Function] | None:
    """The custom Function whose `apply` this is, if it is one: that has the name and the parameters."""
    owner = getattr(fn, "__self__", None)
    return owner if isinstance(owner, type) and issubclass(owner, Function) and fn == owner.apply else None


def tracks(fn: Callable, args: tuple) -> bool:
    """Whether anything that f can see requires grad: its arguments, what it closes over, a module's parameters."""
    owner = getattr(fn, "__self__", fn)
    if hasattr(owner, "parameters") and callable(owner.parameters):
        return any(p.requires_grad for p in owner.parameters()) or any(t.requires_grad for t in tensors_in(args))
    seen = [*args, *closed_over(fn).values()]
    modules = [v for v in seen if hasattr(v, "parameters") and hasattr(v, "state_dict")]
    return bool(modules) or any(t.requires_grad for t in tensors_in(seen))


def closed_over(fn: Callable) -> dict[str, Any]:
    """The variables that a function reads and has not made itself."""
    found = inspect.getclosurevars(fn) if inspect.isfunction(fn) else None
    return {} if found is None else {**found.globals, **found.nonlocals}


def run_backward(rec: Record, outs: list) -> None:
    """Backward from all results that require grad, seeded with ones, without touching anybody's `.grad`."""
    roots = [o for o in outs if o.requires_grad]
    if any(type(node._saved) is Freed for node in behind([history(o) for o in roots])[0]):
        rec.notes.append(FREED)
        return
    leaves = {id(v.tensor): v.tensor for v in rec.values if v.kind == "parameter" and type(v.tensor._edge) is Leaf}
    if roots and leaves:
        seeds = [o.new_ones(o.shape) for o in roots]
        autograd.grad(roots, list(leaves.values()), seeds, retain_graph=False, allow_unused=True)


def parameter_names(fn: Callable, count: int) -> list[str]:
    """What a function calls its first arguments; arg0 and so on, as far as it does not tell."""
    if (function := applied(fn)) is not None:
        return argument_names(function, count)
    try:
        parameters = inspect.signature(fn).parameters.values()
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    return [*names, *[f"arg{i}" for i in range(len(names), count)]][:count]


def names_around(fn: Any) -> dict[int, str]:
    """What f calls tensors, by id: a module its parameters, a function the variables that it closes over."""
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
