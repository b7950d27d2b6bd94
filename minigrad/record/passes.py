"""record: run a program once and note its forward, backward and jvp pass."""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any

from .. import autograd
from ..core.engine import reachable
from ..core.function import Function
from ..core.graph import Leaf, history
from ..core.saved import Freed
from ..core.tensor import Tensor, is_float
from ..diagnose.report import argument_names
from ..errors import error
from ..places import user_frame, variables
from ..scopes import undoing
from ..tensors.nested import tensors_in
from . import unseen
from .live_recordings import remember
from .recorder import Record
from .seeds import Seeds, names_of, refuse_gradient
from .tensor_names import is_module, names_of_tensors
from .values import NOWHERE

PASSES = ("forward", "backward", "jvp")


def record(
    fn: Callable | None = None,
    *args: Any,
    passes: Any = PASSES,
    name: str | None = None,
    inside: bool = False,
    times: bool = False,
    contents: bool = False,
    tangent: Mapping[str, Any] | str | None = None,
    grad: Any = None,
) -> Record:
    """Record a program: `record(f, *args)` runs f and its passes, `with record() as rec:` records the block.

    Passes that f does not run itself are added, seeded with ones: backward from its results (no `.grad` is touched), jvp from
    all leaves that require grad. If nothing requires grad, the float tensors among `args` are differentiated; with `passes=()`
    nothing is, and only what f runs itself is recorded. With `inside`,
    the methods of custom Functions are recorded, too, several times slower; the commands and `viz.draw` do this. With `times`,
    the record has the time of each operation, in each pass. With `contents`, it has all elements, up to 4,096, of values that
    no operation gives, as the commands and `viz.draw` need them for pages that compute.

    `tangent={"x": [1., 0.]}` chooses the direction of the jvp pass: the named leaves move, the others do not; "first" is the
    first basis vector of the first leaf. `grad=[0., 1.]` is the gradient of the result, `grad={"y": ...}` that of the result
    `y`, and "first" the first basis vector of the first result. "random" stands for random numbers, the same in each run.
    Names are the program's or a picture's: `net.fc.weight`, `net[0].weight`, `batch["left"]`. Raise ValueError for unknown
    names and wrong shapes.

    >>> import minigrad
    >>> rec = minigrad.record(lambda x: x * x, minigrad.tensor(3.))
    >>> document = rec.to_dict()
    >>> [(op["phase"], op["name"]) for op in document["ops"]]
    [('forward', 'mul'), ('backward', 'mul'), ('jvp', 'mul')]
    """
    check_kinds(fn, passes, tangent)
    wanted = (passes,) if isinstance(passes, str) else tuple(passes)
    if unknown := [p for p in wanted if p not in PASSES]:
        raise error(ValueError, "record", f"{unknown[0]!r} is not a pass", f"use some of {', '.join(PASSES)}")
    frame, caller = user_frame(2), sys._getframe(1)
    owner = name or variable_of(fn, frame)
    name = name or getattr(applied(fn) or fn, "__name__", "")
    rec = Record("jvp" in wanted, name, "" if frame is None else frame.f_code.co_filename, inside, times, contents)
    if not (tangent is None and grad is None):
        rec.seeds = Seeds(tangent, grad, {} if fn is None else names_of_tensors(surroundings(fn), module=owner))
    remember(rec)
    if fn is None:
        return rec
    if wanted and not tracks(fn, args):
        args = tuple([a.detach().requires_grad_() if is_float(a) else a for a in args])
    run_passes(rec, fn, args, "backward" in wanted)
    rec.name_values(names_of_tensors(surroundings(fn), module=owner))
    here = rec._places(caller.f_code, caller.f_lasti)
    for group in rec.groups:
        if group.where is here:  # fn itself is an operation: only the line with `record` calls it
            group.where = NOWHERE
    return rec


def run_passes(rec: Record, fn: Callable, args: tuple, backward: bool) -> None:
    """Run a function under a recording, and then `backward` from its results, unless it has done so itself."""
    with undoing(rec.leave), rec:
        rec.name_arguments(parameter_names(fn, len(args)), args)
        result = fn(*args)
        rec.settle()
        outs = list(tensors_in(result))
        rec.outputs = [rec.ref(o, "computed") for o in outs]
        if rec.adds_unseen is not None:
            rec.adds_unseen(rec, [history(o) for o in outs])
        if rec.seeds is not None:
            rec.seeds.check()
        lacks = backward and not began_backward(rec)
        lost = any(v.kind == "parameter" and v.tensor is None for v in rec.values)  # of unseen operations
        if lacks and not lost:
            run_backward(rec, outs)
    if lacks and lost:
        unseen.run_backward(rec, [history(o) for o in outs if o.requires_grad], asked=True)
    rec.settle()


def check_kinds(fn: Any, passes: Any, tangent: Any) -> None:
    """Raise TypeError for an argument of the wrong kind."""
    what, fix = "", ""
    if fn is not None and not callable(fn):
        what, fix = f"argument 'fn' must be a function, not {type(fn).__name__}", "write minigrad.record(f, *args)"
    elif not isinstance(passes, (str, Iterable)):
        what, fix = (
            f"argument 'passes' must be a tuple of names, not {type(passes).__name__}",
            f"use some of {', '.join(PASSES)}",
        )
    elif tangent is not None and not isinstance(tangent, (str, Mapping)):
        what = f"argument 'tangent' must be a dictionary or a name, not {type(tangent).__name__}"
        fix = "write tangent={'x': [1., 0.]}"
    if what:
        raise error(TypeError, "record", what, fix)


def began_backward(rec: Record) -> bool:
    """Return True if the program has run backward from its results; then their gradients cannot be chosen."""
    ran = any(o in run.gradients for run in rec.runs for o in rec.outputs)
    if ran:
        refuse_gradient(rec.seeds)
    return ran


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
    while isinstance(fn, partial):
        fn = fn.func
    if not inspect.isfunction(fn):
        return {}
    found = inspect.getclosurevars(fn)
    return {name: value for name, value in {**found.globals, **found.nonlocals}.items() if not inspect.ismodule(value)}


def run_backward(rec: Record, outs: list) -> None:
    """Run backward from all results that require grad, seeded with ones, without touching any `.grad`."""
    roots = [o for o in outs if o.requires_grad]
    if any(type(node._saved) is Freed for node in reachable([history(o) for o in roots])[0]):
        rec.notes.append(unseen.FREED)
        return
    leaves = {id(v.tensor): v.tensor for v in rec.values if v.kind == "parameter" and type(v.tensor._edge) is Leaf}
    if roots and leaves:
        rec.added_backward = True  # before it, so that it has no line
        with unseen.as_far_as_memory_goes(rec):
            autograd.grad(roots, list(leaves.values()), seeds_of(rec, roots), retain_graph=False, allow_unused=True)


def seeds_of(rec: Record, roots: Sequence[Tensor]) -> list[Tensor]:
    """Return the gradients with which backward begins at some results."""
    if rec.seeds is None or rec.seeds.grad is None:
        return [o.new_ones(o.shape) for o in roots]
    document = rec.to_dict()
    of = dict(zip(rec.outputs, document["outputs"]))
    found = [document["values"][of[rec.ref(o)]] for o in roots]
    alone = rec.program_name if len(roots) == 1 else ""
    names = [[*filter(None, (v["name"], alone, *names_of(o), v["shown"]))] for o, v in zip(roots, found)]
    arrays = rec.seeds.gradients([tuple(o.shape) for o in roots], [o._np_dtype for o in roots], names)
    return [o.new_tensor(a) for o, a in zip(roots, arrays)]


def parameter_names(fn: Callable, count: int) -> list[str]:
    """Return the names of a function's first parameters: xs.0, xs.1 of *xs, or arg0 and so on where it has none."""
    if (function := applied(fn)) is not None:
        return argument_names(function, count)
    fn = getattr(fn, "forward", fn)  # of a module
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    more = [f"{rest}.{i - len(names)}" if rest else f"arg{i}" for i in range(len(names), count)]
    return [*names, *more][:count]


def surroundings(fn: Any) -> dict[str, Any]:
    """Return the objects that a function accesses besides its arguments, by name: its module, or its globals and closure."""
    owner = getattr(fn, "__self__", fn)
    return {"": owner} if is_module(owner) else closed_over(inspect.unwrap(fn))


def variable_of(fn: Any, frame: FrameType | None) -> str:
    """Return the public variable of a frame that holds a module, or ""."""
    if not hasattr(fn, "named_parameters"):
        return ""
    return next((name for name, value in variables(frame).items() if value is fn and name[0] != "_"), "")
