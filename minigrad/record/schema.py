"""The record as data: the dataclasses of the schema `minigrad.record/1`, described field by field in docs/record.md.

All data is plain: ids are integers in program order, every field is always present, and `to_dict` returns what JSON can hold.
A field's type says all that a reader may rely on, and validate.py checks records from files by these types.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, TypedDict, TypeVar

import numpy as np

from ..events import intercept
from .constants import brief

SCHEMA = "minigrad.record/1"
LEAVES = ("input", "parameter", "constant")
WHOLE = 16  # up to this many elements, a value's summary holds all of them
# the calls that take a tensor out of its history
CALLS = {name: f"{{}}.{name}()" for name in ("detach", "detach_")} | {"data": "{}.data"}
CALLS |= {"requires_grad_": "{}.requires_grad_(False)"}


# ---------------------------------------------------------------------- the types of fields, which validate.py checks
T = TypeVar("T")
Needed = Annotated[T, "needed"]  # a record without the field is none
ValueId = Annotated[int, "value"]
OuterId = Annotated[int, "outer value"]  # of a value in the enclosing record
OpId = Annotated[int, "operation"]
InnerOpId = Annotated[int, "inner operation"]  # of any operation, also of one inside of a box
LaneId = Annotated[int, "lane"]
Number = Annotated[float, "number"]  # may be NaN or infinite, which JSON writes as a word
Argument = Annotated[Any, "argument"]  # the id of a value, or {"const": ...}
Summary = Annotated[dict, "summary"]  # of few elements, or Statistics
Contents = Annotated[dict, "contents"]  # the elements of values, in base64
Filled = Annotated[list[T], range(1, 2**63)]  # a list with these lengths
Pair = Annotated[list[T], (2,)]
Kind = Annotated[str, "one of", "input", "parameter", "constant", "computed", "gradient", "tangent"]
Phase = Annotated[str, "one of", "forward", "backward", "jvp", "update"]
Pass = Annotated[str, "one of", "forward", "backward", "jvp"]
Cell = Annotated[str, "one of", "element", "largest", "mean"]


@dataclass
class Value:
    """The content of one tensor at one moment."""

    id: Needed[int]
    name: str
    label: str  # its name in formulas, an identifier
    shown: str  # the same as people write it: net[0].weight, h[2], grad of x
    kind: Needed[Kind]
    shape: Needed[list[int]]
    dtype: Needed[str]
    device: str
    bytes: Needed[int]
    summary: Summary


@dataclass
class Where:
    """The user's line."""

    file: str = ""
    line: Needed[int] = 0
    code: Needed[str] = ""
    function: str = ""  # the qualified name of the function that contains the line
    columns: list[int] = field(default_factory=list)


@dataclass
class Edge:
    """The passage of a gradient through one input of an operation."""

    input: Needed[ValueId]
    partial: Needed[str]
    upstream: Needed[ValueId | None]
    gives: Needed[ValueId | None]
    formula: str = ""  # the gradient it passes on, an expression in labels and g
    latex: str = ""
    upstreams: list[ValueId | None] = field(default_factory=list)  # of all results
    names: dict[str, ValueId] | None = None  # of a custom Function: the value of each name in the formula
    run: int = 0  # the number of the backward pass in which the gradient passed


class Push(TypedDict, total=False):
    """The rule for the tangent of one output of an operation."""

    output: Needed[ValueId]
    formula: Needed[str]
    latex: str
    names: dict[str, ValueId] | None


@dataclass
class SavedValue:
    """A value that an operation saves for its backward, and the operation that frees it."""

    value: Needed[ValueId]
    bytes: Needed[int]
    freed_by: int | None


@dataclass
class View:
    """An operation as one of the transforms around it sees it."""

    layer: Needed[str]
    inputs: Needed[list[list[int]]]


@dataclass
class Method:
    """A call of a custom Function's method: a record inside the record, with separate ids."""

    method: Needed[str]  # forward | setup_context | backward | jvp
    values: Needed[list[Annotated[Any, Value]]]  # as dictionaries
    ops: Needed[list[Annotated[Any, Op]]]
    outputs: list[ValueId]
    same: Needed[dict[ValueId, OuterId]]
    inputs: list[ValueId | None] = field(default_factory=list)  # without ctx; None: unused, or a number
    reads: list[Annotated[Any, Read]] = field(default_factory=list)  # of its values by Python
    run: int = 0  # the number of the backward pass in which it ran
    error: Annotated[dict, Error] | None = None  # if it raised


@dataclass
class Transfer:
    """A collective or a message between processes; times are seconds of this process's clock."""

    name: Needed[str]
    words: Needed[str]  # the call, with shapes and dtypes
    group: Needed[int]  # the number of the process group, the same on all of its ranks
    ranks: Needed[list[int]]  # the ranks in it
    number: Needed[int | None]  # among the collectives of the group; None for a message
    peer: Needed[int | None]  # of a message: the other rank; None if any rank may have sent it
    tag: int
    bytes: Needed[int]
    label: Needed[str]  # its content, such as the gradients of a bucket
    divisor: int  # the number by which each rank has divided its tensors before
    rank: Needed[int]  # the rank that makes the call
    began: Needed[float]
    waited: Needed[float | None]  # when the program began to wait for it
    done: Needed[float]


@dataclass
class Op:
    """One operation as the user wrote it."""

    id: Needed[int]
    phase: Needed[Phase]
    name: Needed[str]
    formula: str
    call: str  # as the user would write it, an expression in labels
    layer: list[str]
    inputs: Needed[list[Argument]]
    outputs: Needed[list[ValueId]]
    of: OpId | None  # backward and jvp: the operation whose rule ran; can be one of a backward that is differentiated
    inplace: bool
    where: Where
    function: str | None
    saved: list[SavedValue] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    tangents: dict[ValueId, ValueId] = field(default_factory=dict)
    pushes: list[Annotated[dict, Push]] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    inside: list[Method] = field(default_factory=list)
    module: list[str] = field(default_factory=list)
    again: bool = False  # backward: a checkpoint repeats the operation `of`
    run: int = 0  # backward: the number of its backward pass
    transfers: list[Transfer] = field(default_factory=list)
    cut: str = ""  # why no gradient passes through it

    def to_dict(self, where: dict) -> dict:
        """Return the operation as a JSON object, with its line."""
        made = vars(self).copy()  # shares its keys with all other operations, unlike a new dictionary
        made["where"] = where
        for name in ("saved", "edges", "views", "transfers"):
            if made[name]:
                made[name] = [vars(part) for part in made[name]]
        if self.tangents:
            made["tangents"] = with_names(self.tangents)
        if self.inside:
            made["inside"] = [dict(vars(ran), same=with_names(ran.same)) for ran in self.inside]
        return made


@dataclass
class Backward:
    """One backward pass of the program."""

    run: Needed[int]  # its number, from 1
    roots: Needed[list[ValueId]]  # the values where it begins
    seeds: list[ValueId]  # the gradient with which it begins at each root
    where: Where  # the line that runs it; empty if the recording added it
    keep: bool  # True if it keeps the saved tensors
    create_graph: bool
    within: int  # the number of the pass in which it runs, or 0
    differentiated: bool  # True if a later pass differentiates it, so that it is a part of the program
    shown: Needed[bool]  # True if a picture of the outputs shows it
    gradients: Needed[dict[ValueId, ValueId]]  # value -> its complete gradient in this pass


@dataclass
class Accumulation:
    """A backward pass adds a gradient to the `.grad` of a leaf."""

    value: Needed[ValueId]
    run: Needed[int]
    gives: Needed[ValueId]  # the gradient that it adds
    before: ValueId | None  # the content of `.grad` before; None if it was empty
    after: Needed[ValueId]


@dataclass
class Read:
    """A use of a value's elements that no operation is: by Python, or for the shape of a result."""

    value: Needed[ValueId]
    how: Needed[str]  # the function that reads: bool, item, numpy, nonzero
    where: Needed[Where]
    cut: bool = False  # True if no gradient passes there


@dataclass
class Shape:
    """The sizes of an operand of the call that raised, below those of the others."""

    name: Needed[str]  # the function's, as the message has it
    value: ValueId | None
    sizes: Needed[list[str]]  # "" for a dimension that it lacks
    marked: Needed[list[int]]  # the places of the sizes that do not fit


@dataclass
class Line:
    """Another line of the program that an error names, and the operations that ran there."""

    words: Needed[str]
    where: Needed[Where]
    ops: Needed[list[OpId]]


@dataclass
class Error:
    """The exception with which the program ended."""

    op: Needed[OpId]  # the operation that raised, or whose backward did
    phase: Needed[Phase]  # forward, backward or jvp
    kind: Needed[str]  # the exception's class
    title: Needed[str]  # the operation or method that raised
    message: Needed[str]
    remedy: Needed[str]
    notes: Needed[list[str]]
    shapes: Needed[list[Shape]]
    where: Needed[Where]  # the line that raised
    lines: Needed[list[Line]]


class Program(TypedDict, total=False):
    """The recorded program."""

    file: str
    name: str
    passes: Needed[list[Pass]]
    classes: dict[str, dict[str, str]]  # by the class of the outermost module: paths inside of it and their classes
    iteration: str  # the part of the program that the record shows


@dataclass
class Document:
    """A whole record."""

    program: Needed[Annotated[dict, Program]]
    values: Needed[list[Value]]
    ops: Needed[list[Op]]
    outputs: list[ValueId]
    gradients: dict[ValueId, ValueId]
    times: dict[InnerOpId, float] = field(default_factory=dict)  # seconds, if they are recorded
    contents: Contents = field(default_factory=dict)  # value -> its elements, if they are recorded
    reads: list[Read] = field(default_factory=list)  # of values by Python
    backwards: list[Backward] = field(default_factory=list)  # the backward passes
    grads: list[Accumulation] = field(default_factory=list)  # what they add to the `.grad` of leaves
    error: Error | None = None  # if the program ended with an exception

    def to_dict(self) -> dict:
        """Return the record as a JSON object: keys are strings, and operations on one line share its description."""
        placed = lambda one: vars(one) | {"where": vars(one.where).copy()}
        lines = {id(op.where): vars(op.where).copy() for op in self.ops}
        return {
            "schema": SCHEMA,
            "program": self.program,
            "values": [vars(value) for value in self.values],
            "ops": [op.to_dict(lines[id(op.where)]) for op in self.ops],
            "outputs": self.outputs,
            "gradients": with_names(self.gradients),
            "times": with_names(self.times),
            "contents": with_names(self.contents),
            "reads": [placed(read) for read in self.reads],
            "backwards": [placed(one) | {"gradients": with_names(one.gradients)} for one in self.backwards],
            "grads": [vars(one).copy() for one in self.grads],
            "error": None if self.error is None else asdict(self.error),
        }

    def to_json(self, indent: int | None = 1) -> str:
        """Return the record as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)


def mimebundle(what: Any, include: Any = None, exclude: Any = None) -> dict:
    """Return the representations for IPython: text, and a picture if the drawing package is there (minigrad/display.py)."""
    return intercept.shown(what) or {"text/plain": repr(what)}


def with_names(numbers: dict) -> dict:
    """Return a JSON object: keys become strings."""
    return {str(k): v for k, v in numbers.items()}


def jsonable(x: Any) -> Any:
    """Return JSON-compatible data: dictionary keys as strings; NaN and infinities, which JSON lacks, as strings too."""
    if isinstance(x, float):  # first, because it is the most common case
        return x if math.isfinite(x) else repr(x)
    if isinstance(x, (list, tuple)):
        return [jsonable(v) for v in x]
    if isinstance(x, dict):
        return {str(k): jsonable(v) for k, v in x.items()}
    if isinstance(x, np.generic):
        return jsonable(x.item())
    if isinstance(x, np.dtype):
        return x.name
    return x if x is None or isinstance(x, (str, int, float, bool)) else brief(x)


# ---------------------------------------------------------------------- the summary of a large value
class Histogram(TypedDict):
    edges: Needed[list[float]]
    counts: Needed[list[int]]


Statistics = TypedDict(
    "Statistics",
    {"min": Needed[float | None], "max": Needed[float | None], "mean": "Number | None", "std": "Number | None",
     "nan": int, "inf": int, "-inf": int, "histogram": Histogram, "grid": "Cells"},
    total=False,
)  # fmt: skip


class Cells(TypedDict):
    """The elements of a value in their places (grid.py)."""

    rows: Needed[int]
    panels: Needed[int]
    image: Needed[bool]
    cell: Needed[Cell]
    unit: Needed[float]
    cells: Needed[list[str]]


# ---------------------------------------------------------------------- what drawings and records of several processes add
class Lane(TypedDict):
    """The processes of a lane."""

    ranks: Needed[Filled[int]]


class Timeline(TypedDict):
    """When one process ran backward, and communicated."""

    host: Needed[str]
    began: Needed[float]
    ended: Needed[float]
    backward: Needed[list[Pair[float]]]
    transfers: Needed[list[Transfer]]


class Folded(TypedDict, total=False):
    """The operations in a box."""

    kind: Needed[str]
    ops: Needed[Filled[int]]
    lines: Needed[Annotated[list[int], (0, 2)]]
    names: Needed[dict[str, int]]  # how many there are of each
    parameters: Needed[int]
    elements: Needed[int]
    each: list[str]
    cuts: list[str]


ADDED: dict[type, dict[str, Any]] = {
    Value: {"note": str, "lanes": list[LaneId]},
    Edge: {"equations": list[str]},
    Op: {"folded": Folded, "note": str, "lanes": list[LaneId]},
    Document: {"lanes": list[Lane], "timeline": list[Timeline]},
}
