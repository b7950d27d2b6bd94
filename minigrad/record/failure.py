"""The exception with which a recorded program ends, as an operation of the record: the call that raised, with its operands, or
the operation whose backward raised.

Nothing watches a program for it.  The traceback of the exception has all of it: the arguments of the function that raised, the
node of backward that ran, the modules around; minigrad's exceptions have the parts of their message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..autograd import gradients
from ..core.engine import backward_loop
from ..core.function import Function
from ..core.graph import Node
from ..places import Note, chain, is_library_frame
from ..tensors.nested import tensors_in
from . import schema
from .callers import OURS, arguments_of, is_library_code, module_names
from .event_log import bound
from .inner_calls import Inside, watched
from .values import NOWHERE, Event, OpEntry, refs_in

if TYPE_CHECKING:
    from .recorder import Record

BACKWARDS = {f.__code__: f.__name__ for f in (gradients.backward, gradients.grad)} | {
    gradients.tensor_backward.__code__: "backward"
}


class Failed:
    """Stands in a record for an operation that raised."""

    primitive, differentiable, elementwise, name, names, n_internal = True, False, False, "failed", (), 0


@dataclass
class Failure:
    """The exception as a recording knows it: values have its numbers."""

    group: OpEntry
    phase: str
    kind: str
    title: str
    where: schema.Where  # the innermost of the user's lines
    message: str
    remedy: str = ""
    notes: list[str] = field(default_factory=list)
    shapes: Any = None  # arrays.shapes.Sketch
    lines: list[tuple[str, schema.Where, list[OpEntry]]] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)  # values where a backward that raised began

    @property
    def knows(self) -> bool:
        """True if the operation that raised is known, and not only the line."""
        return bool(self.group.events and self.group.events[0].inputs)

    def entry(self, ids: Mapping[OpEntry, int], values: Mapping[int, int]) -> schema.Error:
        """Return the entry of the document, in which operations and values have these ids."""
        lines = [schema.Line(words, at, [ids[g] for g in ran if g in ids]) for words, at, ran in self.lines]
        rows, marked = ([], []) if self.shapes is None else (self.shapes.rows, self.shapes.marked)
        inputs = [i for i in self.group.events[0].inputs if isinstance(i, int)] if self.phase == "forward" else []
        by_row = zip([name for name, _ in rows], inputs if len(inputs) == len(rows) else ())
        named = {**dict(by_row), **self.group.arguments}
        shapes = [schema.Shape(name, values.get(named.get(name, -1)), list(sizes), marked) for name, sizes in rows]
        parts = self.title, self.message, self.remedy, self.notes, shapes, self.where, lines
        return schema.Error(ids[self.group], self.phase, self.kind, *parts)


def note_failure(rec: Record, e: BaseException) -> None:
    """Note in a recording that its program has ended with an exception, unless that is noted."""
    if rec.failure is not None:
        return
    rec.settle()
    steps = [*chain(e.__traceback__)]
    users = [tb for tb in steps if not is_library_frame(tb.tb_frame)]
    where = line_of(rec, users[-1]) if users else NOWHERE
    codes = [tb.tb_frame.f_code for tb in steps]
    phase = "backward" if backward_loop.__code__ in codes else "forward"
    for i in range(1, len(steps)):
        before = [tb for tb in steps[:i] if tb in users]
        if before and steps[i] not in users and (group := entry_at(rec, steps, i, users, phase)) is not None:
            break
    else:
        group, before, phase = own_entry(type(e).__name__, ()), [*users], "forward"
    if phase == "forward" and (last := method_in(rec, steps)) is not None:
        for ran in [ran for ran in rec.insides if ran is last or last.ctx is not None and ran.ctx is last.ctx]:
            ran.group = group
        phase = "jvp" if last.name == "jvp" else phase
    if group.where is NOWHERE and before:
        group.where = line_of(rec, before[-1])
    if group not in rec.groups:
        group.modules = module_names(modules_in(steps), rec.module_paths)
        rec.groups.append(group)
    rec.failure = described(rec, e, group, phase, where)
    if phase == "backward" and (runs := [run for run in rec.runs if not run.within]):
        rec.failure.roots = [root for root in runs[-1].roots if root is not None]
    rec.outputs = rec.failure.roots


def entry_at(rec: Record, steps: Sequence[TracebackType], i: int, users: Sequence, phase: str) -> OpEntry | None:
    """Return the entry of what a frame of minigrad runs, if that is an operation: of backward the known one, else a new one."""
    frame = steps[i].tb_frame
    code, seen = frame.f_code, frame.f_locals
    if phase == "backward" and backward_loop.__code__ in [tb.tb_frame.f_code for tb in steps[: i + 1]]:
        node = seen.get("node")
        if not isinstance(node, Node):
            return None
        event = rec._made_by.get(node)
        return own_entry(node.name(), ()) if event is None else event.group
    if code is Function.apply.__func__.__code__ and not seen["cls"].primitive:
        made = own_entry(seen["cls"].__name__, [rec.ref(a) for a in seen["args"]], seen["cls"])
        made.function = made.name
        return made
    if phase == "backward" or any(tb in users for tb in steps[i:]):  # it called a function of the user
        return None
    if code in BACKWARDS:
        given = next(seen[name] for name in ("self", "tensors", "outputs") if name in seen)
        return own_entry(BACKWARDS[code], [rec.ref(t) for t in tensors_in(given)])
    if id(code) not in OURS and not is_library_code(code) or OURS[id(code)].name is None:
        return None
    made = own_entry(OURS[id(code)].name or "", ())
    rec.note_arguments(made, bound(made.name, arguments_of(frame)))
    made.events[0].inputs = list(refs_in(list((made.given or {}).values())))
    if rec._outer is frame and rec.groups:  # the parts of it that ran
        rec.groups.pop()
    return made


def method_in(rec: Record, steps: Sequence[TracebackType]) -> Inside | None:
    """Return the call of a custom Function's method that an exception passed through."""
    seen = [tb.tb_frame.f_locals for tb in steps if tb.tb_frame.f_code is watched.__code__]
    return next((one["ran"] for one in seen if one["outer"] is rec), None)


def own_entry(name: str, inputs: Any, cls: Any = Failed) -> OpEntry:
    """Return an entry without results."""
    group = OpEntry("forward", name, NOWHERE, [])
    group.cut, group.events = "", (Event(cls, group, list(inputs)),)
    return group


def line_of(rec: Record, tb: TracebackType) -> schema.Where:
    """Return the line of a frame that an exception passed through."""
    return rec._places(tb.tb_frame.f_code, tb.tb_lasti)


def modules_in(steps: list[TracebackType]) -> list:
    """Return the modules whose calls an exception passed through, the outermost first."""
    called = [tb.tb_frame.f_locals.get("self") for tb in steps if tb.tb_frame.f_code.co_name == "__call__"]
    return [one for one in called if hasattr(type(one), "named_modules")]


def described(rec: Any, e: BaseException, group: OpEntry, phase: str, where: schema.Where) -> Failure:
    """Return the description of an exception: minigrad's in its parts, any other with its text."""
    notes = list(getattr(e, "notes", ()) if hasattr(e, "problem") else ())
    own = group.name == type(e).__name__  # no operation raised
    title = (not own and getattr(e, "operation", "")) or group.name
    if phase == "backward" and title in (group.name, *[node.name() for node in group.nodes]):
        title = f"{group.name}.backward" if group.function else f"{group.name} backward"
    made = Failure(group, phase, type(e).__name__, title, where, getattr(e, "problem", "") or str(e))
    made.remedy = getattr(e, "remedy", "")
    for note in notes:
        if hasattr(note, "rows"):
            made.shapes = note
        elif isinstance(note, Note):
            at = schema.Where(note.place.file, note.place.line, note.place.code)
            if (at.file, at.line) != (group.where.file, group.where.line) and "made" not in note.words:
                made.lines.append((note.words, at, [*at_line(rec, at, note.words.startswith("last written"))]))
        elif ": made " not in note:
            made.notes.append(note)
    made.notes += [f"inside {' > '.join(around)}"] if (around := getattr(e, "transforms", ())) else []
    return made


def at_line(rec: Any, at: schema.Where, writes: bool) -> Iterator[OpEntry]:
    """Yield the last operation of a line; of a line that writes, the last write."""
    ran = [g for g in rec.groups if (g.where.file, g.where.line) == (at.file, at.line) and (g.inplace or not writes)]
    yield from [g for g in ran if g.phase != "backward"][-1:]
