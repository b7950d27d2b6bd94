"""The origin of each dimension of a tensor, followed back through a recording or the tensor's graph."""

import dataclasses
from types import FrameType
from typing import Any

from ..core.graph import history
from ..core.saved import plain_tensor
from ..core.tensor import Tensor
from ..errors import error
from ..places import Place
from ..record.build import numbered
from ..record.from_graph import graph_of
from ..record.labels import ShownNames
from ..record.live_recordings import alive
from ..record.recorder import Record
from ..record.schema import Where
from ..record.values import Event, OpEntry
from .dim_origins import Applied, origins
from .value_names import name_after

MOST = 60  # maximum number of lines


@dataclasses.dataclass
class Hop:
    """An operation that a dimension went through, or the value and dimension where its history begins."""

    op: str  # the operation's name; empty for the value where the history begins
    where: str  # file and line
    why: str  # the operation's effect, with numbers; empty if the size is unchanged
    value: str  # the value that has this dimension
    dimension: int
    size: int
    deep: int  # number of branches before it
    branch: bool = False  # True if a branch begins here


@dataclasses.dataclass
class ShapeExplanation:
    """The history of a shape: the history of each dimension, and the dimensions that were removed on the way."""

    name: str
    shape: tuple
    dimensions: list[list[Hop]]
    gone: list[str]

    def to_dict(self) -> dict:
        """Return the history as plain data."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.name} has shape {self.shape}" + ("" if self.shape else ": a scalar")]
        for d, hops in enumerate(self.dimensions):
            lines.append(f"  dimension {d} ({self.shape[d]})")
            history = self.history(hops)
            lines += history[:MOST] + [f"      ... {len(history) - MOST} more"] * (len(history) > MOST)
        if self.gone:
            lines += ["  removed dimensions:", *[f"    {one}" for one in self.gone]]
        return "\n".join(lines)

    __repr__ = __str__

    def history(self, hops: list[Hop]) -> list[str]:
        """Return lines of text, with a dash at the start of each branch; operations that keep the size share a line."""
        lines: list[str] = []
        through: list[str] = []
        begins = False
        for hop in hops:
            begins = begins or hop.branch
            at = f" at {hop.where}" if hop.where else ""
            if hop.op and not hop.why:
                through.append(f"{hop.op}{at}")
                continue
            way = f", through {', '.join(dict.fromkeys(through[::-1]))}" if through else ""
            text = f"dimension {hop.dimension} of {hop.value} ({hop.size})"
            if hop.op:
                text = f"{hop.why}{'' if hop.op in hop.why else f', by {hop.op}'}{at}"
            lines.append(f"    {'  ' * hop.deep}{'- ' if begins else '  ' * bool(hop.deep)}{text}{way}")
            through, begins = [], False
        return lines


def shape_of(y: Tensor, frame: FrameType | None) -> ShapeExplanation:
    """Return the history of y's shape."""
    rec, value = recorded(y)
    name_after(rec, frame)
    document, number = numbered(rec)
    named = ShownNames(document.to_dict()["values"]).names
    trace = Trace(rec, {old: named[new] for old, new in number.new.items()})
    shape = tuple(rec.values[value].shape)
    dims = [trace.back(value, d) for d in range(len(shape))]
    return ShapeExplanation(trace.called.get(value, "y"), shape, dims, trace.removed(value))


def recorded(y: Tensor) -> tuple[Record, int]:
    """Return a recording that contains y's operation, or one made from its graph, and y's value there."""
    for rec in alive():
        rec.settle()
        value = rec._ids.get(id(plain_tensor(y)._a))
        if value is not None and any(value in e.outputs for g in rec.groups for e in g.events):
            return rec, value
    if y.grad_fn is not None:
        rec = graph_of([history(y)])
        return rec, rec.outputs[0]
    raise error(
        ValueError,
        "explain_shape",
        f"the history of the tensor of shape {tuple(y.shape)} is unknown: it has no graph, and no recording in memory "
        "contains the operation that made it",
        "record the program:\n    with minigrad.record(passes=('forward',)) as rec:\n        ...  # the program, unchanged\n"
        "    print(minigrad.explain_shape(y))",
    )


class Trace:
    """The history of the dimensions of one value."""

    def __init__(self, rec: Record, called: dict[int, str]):
        self.rec, self.called = rec, called
        self.made = {o: (g, e) for g in rec.groups for e in g.events for o in e.outputs}
        self.applied: dict[int, tuple[Applied, list]] = {}

    def back(self, value: int, d: int, deep: int = 0) -> list[Hop]:
        """Return the history of one dimension, as far as it is known."""
        hops: list[Hop] = []
        while True:
            size = self.rec.values[value].shape[d]
            if value not in self.made:
                return [*hops, Hop("", "", "", self.called.get(value, f"v{value}"), d, size, deep)]
            group, event = self.made[value]
            if group.inplace and self.rec.values[event.inputs[0]].shape == self.rec.values[value].shape:
                value = event.inputs[0]  # the write did not change the shape
                continue
            _, found = self.origins(value)
            origin = found[d]
            name = self.called.get(value, "")
            where = short(group.where)
            why = origin.why or ("" if origin.sources else f"{size}: set by {group.name}")
            hops.append(Hop(group.name, where, why, name, d, size, deep))
            sources = [(event.inputs[k], e) for k, e in origin.sources]
            if not sources:
                return hops
            if len(sources) > 1 and origin.why and "broadcast" not in origin.why:
                for source, e in sources:
                    way = self.back(source, e, deep + 1)
                    way[0].branch = True
                    hops += way
                return hops
            value, d = sources[0]

    def origins(self, value: int) -> tuple[Applied, list]:
        """Return the origins of a value's dimensions in the operation that made it."""
        if value not in self.applied:
            group, event = self.made[value]
            op = applied(self.rec, group, event, value)
            self.applied[value] = op, origins(op)
        return self.applied[value]

    def removed(self, value: int) -> list[str]:
        """Return the dimensions that were removed anywhere on the way to a value, with reasons."""
        stack, seen, found = [value], {value}, []
        while stack:
            if (v := stack.pop()) not in self.made:
                continue
            group, event = self.made[v]
            where = f" at {short(group.where)}" if group.where.line else ""
            for k, d, words in self.origins(v)[0].gone:
                source = event.inputs[k]
                size = self.rec.values[source].shape[d]
                found.append(f"dimension {d} of {self.called.get(source, f'v{source}')} ({size}): {words}{where}")
            new = [i for i in event.inputs if isinstance(i, int) and i not in seen]
            seen.update(new)
            stack += new
        return found


def short(where: Where) -> str:
    """Return file and line, without folders, or an empty string."""
    return Place(where.file, where.line).short if where.line else ""


def applied(rec: Record, group: OpEntry, event: Event, value: int) -> Applied:
    """Return an event with its shapes."""
    shapes = [tuple(rec.values[i].shape) if isinstance(i, int) else None for i in event.inputs]
    given: list[Any] = [i.get("const") if isinstance(i, dict) else None for i in event.inputs]
    return Applied(event.cls, group.name, shapes, given, tuple(rec.values[value].shape))
