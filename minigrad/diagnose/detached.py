"""Where histories end: notes of debug mode, and notes on tensors of which nothing requires grad.

Debug mode knows why a result is not tracked.  Without it the user's program is read once an error is certain (cut_lines.py).
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from typing import Any
from weakref import ref

from ..core.frames import current
from ..core.graph import Leaf, operation_of, producer
from ..core.tensor import Tensor, is_float
from ..errors import error
from ..events import Observer
from ..places import PACKAGE, Place, noted, parsed, user_frame, user_place
from .cut_lines import cut_line
from .function_text import inside_forward, marked, whole
from .histories import COMPARED, METHODS, OFF, WHOLE
from .modules import is_module, parameters_of
from .report import Notes, explains, searches
from .user_methods import name_of_running_method
from .users_program import (
    End,
    Scope,
    assigned,
    called_name,
    calls_in,
    cells_before,
    differentiated,
    names_in,
    parts,
    position,
    running_line,
    with_line,
)

_ends, _sources = Notes(), Notes()
COMPARISONS = ("gt", "lt", "ge", "le", "eq", "ne")


def note(name: str, args: tuple, outs: tuple, grad: bool, node: Any = None) -> None:
    """Remember why results are not tracked: their history ends here, ended earlier, or never began."""
    untracked = [t for t in outs if getattr(t, "_edge", t) is None and t._layer is None]
    if not untracked:
        return
    place, given = user_place(), [a for a in args if hasattr(a, "_edge")]
    tracked = next((t for t in given if t._edge is not None), None)
    end = next((e for t in given if (e := _ends.get(t))), None)
    if tracked is not None:
        known = COMPARED if name in COMPARISONS else METHODS.get(name, WHOLE)
        fix = known[1]
        floats = untracked[0].is_floating_point()
        why = known[0] if floats and known is not WHOLE else f"returns {untracked[0].dtype}, which has no derivative"
        if node is not None and (found := (marked if floats else whole)(node._fn)) is not None:
            place, why, fix = found
        why, fix = (why, fix) if grad else OFF
        end = End(name, place, f"{why}; its input of shape {tuple(tracked.shape)} requires grad", fix)
    for t in untracked:
        if end is not None:
            _ends[t] = end
        else:
            _sources[t] = [s for a in given for s in _sources.get(a) or [(ref(a), name, place)]]


def note_cut(name: str, t: Any, out: Any) -> None:
    """Remember that the user detached t as `out`; calls inside minigrad do not count."""
    method: Any = sys._getframe(2)
    while method.f_globals.get("__name__") == Observer.__module__:  # others hear of it, too
        method = method.f_back
    if not method.f_back.f_code.co_filename.startswith(PACKAGE):
        what = f"returns a tensor of shape {tuple(t.shape)} without its history"
        fix = with_line(METHODS[name][1], 0 if (place := user_place()) is None else place.line)
        _ends[out] = End(name, place, what, fix)


def end_of(t: Any) -> End | None:
    """Return the end of a tensor's history, or None if it was not noted."""
    if end := _ends.get(t):
        return end
    for source, name, place in _sources.get(t) or ():
        s = source()
        if s is not None and s._edge is not None:
            why = f"ran before its input of shape {tuple(s.shape)} required grad"
            return End(name, place, why, "set requires_grad before computing with it")
    return None


@explains("only tensors can be differentiated")
def not_differentiable(what: str, t: Any, i: int) -> Exception:
    """Return the error for a value that is neither a tensor nor a GradientEdge."""
    problem = f"all inputs and outputs have to be tensors or GradientEdges, but got {type(t).__name__} at position {i}"
    return error(RuntimeError, what, problem, "pass the tensors themselves")


@explains("an input is not used")
def not_used(i: int, edge: Any) -> Exception:
    """Return the error for an input that no output depends on."""
    shape = f"input {i}, of shape {edge._shape}"
    problem = f"one of the differentiated tensors appears to not have been used in the graph: {shape}"
    fix = "set allow_unused=True if this is intended; its gradient is then None"
    if (cut := cut_line(edge)) is None:
        if type(edge) is not Leaf:
            made = operation_of(producer(edge))
            problem += (
                f". It is a new result of {made}; the outputs depend on the tensor that it was computed from, not on it"
            )
            fix = f"differentiate with respect to that tensor, or compute the outputs from the result of {made}; else {fix}"
        return error(RuntimeError, "grad", problem, fix)
    notes = noted("grad was called", user_place())
    return error(
        RuntimeError, "grad", f"{problem}: {cut.name} {cut.why}", f"{cut.fix}; else {fix}", cut.place, notes=notes
    )


@explains("the tensor does not require grad")
def not_tracked(what: str, t: Tensor, i: int) -> Exception:
    """Return the error for differentiating a tensor without history."""
    problem = f"element {i} of tensors does not require grad and does not have a grad_fn"
    end = end_of(t)
    if end is not None and end.fix == OFF[1] and inside_forward(end.place):  # the fault is what backward makes of it
        end = cut_line() or end
    if (end := end or cut_line()) is not None:
        notes = noted(f"{what} was called", user_place())
        return error(RuntimeError, what, f"{problem}: {end.name} {end.why}", end.fix, end.place, notes=notes)
    fix = (
        "set requires_grad=True on an input before computing, and do not compute under no_grad(); for a gradient, or a "
        "result of one, pass create_graph=True to the call that computes the gradient"
    )
    if (method := name_of_running_method()) and not current().grad:
        problem += f"; gradients are off inside {method}"
        fix = "compute it inside `with minigrad.enable_grad():`, from x = x.detach().requires_grad_()"
        return error(RuntimeError, what, problem, fix)
    if not current().grad:
        notes, place = noted(f"{what} was called", user_place()), switch_line()
        problem += "; set_grad_enabled(False) has switched gradients off" if place else "; gradients are switched off"
        block = (
            "replace set_grad_enabled(False) with a block, `with minigrad.no_grad():`; gradients are on again after it"
        )
        fix = block if place else fix
        return error(RuntimeError, what, problem, fix, place, notes=notes if place else [])
    modules, tensors = sources()
    if modules:
        fix = "train the parameters: module.requires_grad_(True); or set requires_grad=True on an input"
    elif not tensors and not is_float(t):
        problem += f"; it has dtype {t.dtype}, which has no derivative"
        fix = "compute a floating-point result, without comparisons and conversions to integers, from inputs that require grad"
    return error(RuntimeError, what, problem, fix, notes=modules or tensors)


MOST = 4  # notes


@searches(([], []))
def sources() -> tuple[list[str], list[str]]:
    """Return notes on the frozen modules, and on the tensors, that the differentiated tensor is computed from."""
    if (begun := running_line()) is None:
        return [], []
    call, scope = begun
    modules, tensors, waiting, done = [], [], [(differentiated(call, scope), scope, position(call))], set()
    while waiting:
        node, scope, before = waiting.pop()
        for name in dict.fromkeys(names_in(parts(node))):
            if name in done:
                continue
            done.add(name)
            lines, value = assigned(name, scope, before), scope.values.get(name)
            waiting += [(made, of, position(s)) for s, made, of in lines]
            place = Place(lines[-1][2].file, lines[-1][0].lineno) if lines else None
            if is_module(value) and any(True for _ in parameters_of(value)):
                modules += noted(f"no parameter of {name} requires grad; it is made", place)
            elif is_source(value, lines, scope):
                tensors += noted(f"{name} does not require grad; it is made", place)
    return [*modules, *(switched_off() if modules else ())][:MOST], tensors[:MOST]


@searches(())
def switched_off() -> list[str]:
    """Return notes on the lines that switch requires_grad off, in the user's running file or the notebook's cells before it."""
    file = "" if (frame := user_frame()) is None else frame.f_code.co_filename
    places = [Place(f, line) for f in (file, *cells_before(file)) for line in freezing(f)]
    return [f"requires_grad is switched off at {place}" for place in places][:MOST]


def is_source(value: Any, lines: list, scope: Scope) -> bool:
    """Return True for a floating-point tensor, or a list of them, that is made of no other tensors and not tracked."""
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    if not isinstance(first, Tensor) or not first.is_floating_point() or first.requires_grad:
        return False
    of = [scope.values.get(name) for _, made, _ in lines for name in names_in(parts(made))]
    return not any(isinstance(v, (Tensor, list, tuple)) or is_module(v) or inspect.isfunction(v) for v in of)


def freezing(file: str) -> Iterator[int]:
    """Yield the lines of a file that switch requires_grad off."""
    for node in ast.walk(parsed(file) or ast.Module([], [])):
        if isinstance(node, ast.Assign) and is_false(node.value):
            if any(isinstance(t, ast.Attribute) and t.attr == "requires_grad" for t in node.targets):
                yield node.lineno
        elif isinstance(node, ast.Call) and called_name(node) == "requires_grad_" and any(map(is_false, node.args)):
            yield node.lineno


@searches()
def switch_line() -> Place | None:
    """Return the line in the user's running file that switches gradients off for the rest of the program."""
    if (frame := user_frame()) is None:
        return None
    file = frame.f_code.co_filename
    calls = calls_in(parsed(file) or [], "set_grad_enabled")
    lines = [n.lineno for n in calls if any(map(is_false, n.args))]
    return Place(file, lines[0]) if lines else None


def is_false(node: ast.expr) -> bool:
    """Return True for the constant False."""
    return isinstance(node, ast.Constant) and node.value is False
