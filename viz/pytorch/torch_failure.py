"""The exception with which a PyTorch program ends, for its picture (minigrad/record/failure.py).

The traceback has the call that the recording passed on, or the call of the engine.  The engine does not tell which node
raised; it is the youngest whose saved tensors cannot be read, or the one that the message names.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch

import minigrad
from minigrad.core.frames import ON, use
from minigrad.core.tensor import wrap
from minigrad.errors import MinigradError, suppressed_warnings
from minigrad.places import chain, expression_at, is_library_frame, operands
from minigrad.record.callers import module_names
from minigrad.record.failure import Failed, described
from minigrad.record.schema import Where
from minigrad.record.values import Event

from .torch_calls import run_engine
from .torch_replay import function_of, instead
from .torch_values import Call
from .torch_words import MODULE, line_at, tensors_in

if TYPE_CHECKING:
    from .torch_recorder import Recorder

RETURNED = re.compile(r"unction '?(\w+)'? returned")


def note_failure(rec: Recorder, e: BaseException, call: Any) -> None:
    """Note in a recording that its program has ended with an exception; `call` is the code that passes on its calls."""
    steps = [*chain(e.__traceback__)]
    users = [tb for tb in steps if is_users(tb)]
    line = line_of(users[-1]) if users else Where()
    codes = [tb.tb_frame.f_code for tb in steps]
    engine = steps[codes.index(run_engine.__code__)] if run_engine.__code__ in codes else None
    group, phase, roots = None, "forward", []
    if engine is not None:
        roots = [t for t in tensors_in(engine.tb_frame.f_locals["roots"]) if t.grad_fn is not None]
        if (group := of_backward(rec, roots, steps, str(e))) is not None:
            phase = "backward"
    elif call in codes:
        at = codes.index(call)
        seen = steps[at].tb_frame.f_locals
        group = rec.begin(*[seen[name] for name in ("run", "name", "cls", "args", "kwargs", "given")])
        around = [tb for tb in steps[:at] if tb in users]
        group.where = line_of(around[-1]) if around else Where()
        group.given = {str(i): a for i, a in enumerate(group.args)} | group.kwargs
        called = [tb.tb_frame.f_locals["self"] for tb in steps if tb.tb_frame.f_code is MODULE]
        group.modules = module_names(called, rec.module_paths)
    if group is None:
        group = Call("forward", type(e).__name__, line, [])
        group.events = (Event(Failed, group, [], []),)
        rec.groups.append(group)
    rec.failure = described(rec, e, group, phase, line)
    if phase == "backward":
        rec.failure.roots = [rec.ref(t) for t in roots]
        rec.failure.lines += lines_of_backward(rec, group)
    elif group.event.inputs and group.cls is None:
        add_sizes(rec, group, users[-1])
    rec.outputs = rec.failure.roots


def line_of(tb: TracebackType) -> Where:
    """Return the line of a frame that an exception passed through."""
    return line_at(tb.tb_frame.f_code, tb.tb_lineno, tb.tb_lasti)


def is_users(tb: TracebackType) -> bool:
    """Return True if a frame belongs to the user's program."""
    root = str(tb.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
    return root != "torch" and not is_library_frame(tb.tb_frame)


def of_backward(rec: Recorder, roots: list[torch.Tensor], steps: list[TracebackType], message: str) -> Call | None:
    """Return the operation whose backward raised."""
    seen = [value for tb in steps for value in tb.tb_frame.f_locals.values()]
    contexts = [ctx for ctx in seen if isinstance(ctx, torch.autograd.graph.Node)]
    nodes = [*contexts, *below(roots)]
    named = RETURNED.search(message)
    found = [node for node in nodes if (named and node.name() == named[1]) or (not named and is_spoilt(node))]
    return next((rec.owner[node] for node in [*contexts, *found] if node in rec.owner), None)


def below(roots: list[torch.Tensor]) -> list[Any]:
    """Return the nodes of a graph, the youngest first."""
    pending, seen = [t.grad_fn for t in roots], set()
    while pending:
        node = pending.pop()
        if node is not None and node not in seen:
            seen.add(node)
            pending += [following for following, _ in node.next_functions]
    return sorted(seen, key=lambda node: -node._sequence_nr())


def is_spoilt(node: Any) -> bool:
    """Return True if a saved tensor of a node cannot be read: it was freed, or written since."""
    try:
        for name in dir(type(node)):
            if name.startswith("_saved_") or name == "saved_tensors":
                getattr(node, name)
    except RuntimeError:
        return True
    return False


def lines_of_backward(rec: Recorder, group: Call) -> Iterator[tuple[str, Where, list]]:
    """Yield the lines behind an error of backward: the write to a saved tensor, or the backward that freed them."""
    kept = {value for value, _, _ in group.kept}
    writes = [g for g in rec.groups if g.inplace and g is not group and kept.intersection(g.events[0].inputs)]
    for one in writes[-1:]:
        yield f"last written by {getattr(one, 'word', one.name)}", one.where, [one]
    freed = "second time" in rec.failure.message
    for run in [run for run in rec.runs if run.number in group.upstream and not run.keep][: int(freed)]:
        yield "its saved tensors were freed by the first backward", run.where, []


def add_sizes(rec: Recorder, group: Call, tb: TracebackType) -> None:
    """Let minigrad refuse the same call: it tells which sizes do not fit, and the fix, here in the words of the user's line."""
    try:
        with suppressed_warnings(), minigrad.random.fork_rng(), use(ON):
            args, kwargs = instead(lambda value: wrap(rec.values[value].numbers().copy()), group)
            function_of(group.word)(*args, **kwargs)
    except MinigradError as e:
        rec.failure.shapes = next((note for note in e.notes if hasattr(note, "rows")), None)
        names = [name for name, _ in rec.failure.shapes.rows] if rec.failure.shapes else []
        users = operands(group.word, expression_at(tb.tb_frame.f_code, tb.tb_lasti, ast.BinOp, ast.Call) or ast.Pass())
        words = dict(zip(names, users)) if len(names) == len(users) else {}
        remedy = re.sub(r"[a-z]\w*", lambda found: words.get(found[0], found[0]), e.remedy)
        rec.failure.remedy = remedy.replace("minigrad.", "torch.")
