"""The record as data: the dataclasses of the schema `minigrad.record/1`, which docs/record.md describes field by field.

Everything is plain: ids are integers in program order, every field is always there, and `to_dict` gives what JSON can hold.
"""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.kinds import host

SCHEMA = "minigrad.record/1"
WHOLE = 16  # up to so many elements a value's summary holds all of them
BINS = 16
SMALL = 1e-150  # its square is a number still


@dataclasses.dataclass
class Value:
    """What one tensor held at one moment."""

    id: int
    name: str
    label: str  # what formulas call it
    kind: str  # input | parameter | constant | computed | gradient | tangent
    shape: list
    dtype: str
    device: str
    bytes: int
    summary: dict


@dataclasses.dataclass
class Where:
    """The user's line, whole."""

    file: str = ""
    line: int = 0
    code: str = ""
    function: str = ""  # the qualified name of the function that the line stands in
    columns: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Edge:
    """How a gradient passed through one input of an operation."""

    input: int
    partial: str
    upstream: int
    gives: int
    formula: str = ""  # what it gives, an expression in labels and g
    latex: str = ""
    upstreams: list = dataclasses.field(default_factory=list)  # the gradients of all results, None where none arrived


@dataclasses.dataclass
class SavedValue:
    """What an operation keeps for its backward, and the operation that let it go."""

    value: int
    bytes: int
    freed_by: int | None


@dataclasses.dataclass
class View:
    """An operation as one of the transforms around it saw it."""

    layer: str
    inputs: list


@dataclasses.dataclass
class Method:
    """What a method of a custom Function did: a record inside the record, with ids of its own."""

    method: str  # forward | setup_context | backward | jvp
    values: list
    ops: list
    outputs: list
    same: dict


@dataclasses.dataclass
class Transfer:
    """A collective or a message between processes; times are seconds of one clock of this process."""

    name: str
    words: str  # the call, with shapes and dtypes
    group: int  # the number of the group of processes, which is the same on all of them
    ranks: list  # the processes in it
    number: int | None  # among the collectives of the group; None for a message
    peer: int | None  # of a message: the other process, None where any may have sent it
    tag: int
    bytes: int
    label: str  # what is in it, such as the gradients of a bucket
    rank: int  # whose call it is
    began: float
    waited: float | None  # since when the program has waited for it
    done: float


@dataclasses.dataclass
class Op:
    """One operation as the user wrote it."""

    id: int
    phase: str  # forward | backward | jvp | update
    name: str
    formula: str
    call: str  # as the user would write it, an expression in labels
    layer: list
    inputs: list
    outputs: list
    of: (
        int | None
    )  # of backward and jvp: the operation whose rule ran it, also one of a backward that is differentiated
    inplace: bool
    where: Where
    function: str | None
    saved: list = dataclasses.field(default_factory=list)
    edges: list = dataclasses.field(default_factory=list)
    tangents: dict = dataclasses.field(default_factory=dict)
    pushes: list = dataclasses.field(default_factory=list)
    views: list = dataclasses.field(default_factory=list)
    inside: list = dataclasses.field(default_factory=list)
    module: list = dataclasses.field(default_factory=list)
    again: bool = False  # of backward: a checkpoint computes the operation `of` again
    transfers: list = dataclasses.field(default_factory=list)

    def to_dict(self, where: dict) -> dict:
        """The operation as JSON has it, which has its line, too."""
        made = vars(self).copy()  # shares its keys with those of all operations, which a new dictionary does not
        made["where"] = where
        for name in ("saved", "edges", "views", "transfers"):
            if made[name]:
                made[name] = [vars(part) for part in made[name]]
        if self.tangents:
            made["tangents"] = with_names(self.tangents)
        if self.inside:
            made["inside"] = [dict(vars(ran), same=with_names(ran.same)) for ran in self.inside]
        return made


@dataclasses.dataclass
class Document:
    """A whole record."""

    program: dict
    values: list
    ops: list
    outputs: list
    gradients: dict

    def to_dict(self) -> dict:
        """The record as JSON has it: the keys of objects are strings.  Operations on one line share what is told of it."""
        lines = {id(op.where): vars(op.where).copy() for op in self.ops}
        return {
            "schema": SCHEMA,
            "program": self.program,
            "values": [vars(value) for value in self.values],
            "ops": [op.to_dict(lines[id(op.where)]) for op in self.ops],
            "outputs": self.outputs,
            "gradients": with_names(self.gradients),
        }

    def to_json(self, indent: int | None = 1) -> str:
        """The record as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)


def summary(a: np.ndarray) -> dict:
    """All elements of a small array; of a large one extremes, mean, spread and a histogram, with NaN and infinities counted."""
    a = host(a)
    if a.size <= WHOLE:
        return {"values": jsonable(a.tolist())}
    if a.dtype.kind == "b":
        a = a.astype(np.int8)
    finite = a.reshape(-1)
    counts: dict = {"nan": 0, "inf": 0}
    if a.dtype in FLOATS and not (known := np.isfinite(finite)).all():
        counts = {"nan": int(np.isnan(finite).sum()), "inf": int(np.isinf(finite).sum())}
        finite = finite[known]
    if not finite.size:
        return {"min": None, "max": None, "mean": None, "std": None, **counts, "histogram": {"edges": [], "counts": []}}
    wide = finite.astype(np.float64)
    low, high = float(np.minimum.reduce(wide)), float(np.maximum.reduce(wide))
    largest = max(abs(low), abs(high))
    unit = 1.0 if SMALL < largest < 1 / SMALL else largest or 1.0  # so that no sum, square or difference leaves float64
    if unit != 1.0:
        wide /= unit
    edges, found = histogram(wide, *extent(low / unit, high / unit))
    if unit != 1.0:
        with np.errstate(over="ignore"):
            edges = np.nan_to_num(edges * unit)
    mean = np.add.reduce(wide) / wide.size
    wide -= mean
    std = math.sqrt(np.add.reduce(wide * wide) / wide.size)
    return {"min": low, "max": high, "mean": float(mean) * unit, "std": std * unit, **counts,
            "histogram": {"edges": edges.tolist(), "counts": found.tolist()}}  # fmt: skip


def histogram(numbers: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """The edges of equal bins and how many numbers each has: np.histogram, which takes three times as long for few."""
    edges = np.arange(BINS + 1) * ((high - low) / BINS) + low
    edges[-1] = high
    bins = ((numbers - low) / (high - low) * BINS).astype(np.intp)
    bins[bins == BINS] -= 1
    bins[numbers < edges[bins]] -= 1  # a division may round over an edge
    bins[(numbers >= edges[bins + 1]) & (bins != BINS - 1)] += 1
    return edges, np.bincount(bins, minlength=BINS)


def extent(low: float, high: float) -> tuple[float, float]:
    """Where a histogram begins and ends: a little further apart where numbers are too close for bins between them."""
    bin = (high - low) / BINS
    if low < low + bin and high - bin < high:
        return low, high
    margin = max(abs(low), abs(high)) / 2 or 0.5
    return low - margin, high + margin


def with_names(numbers: dict) -> dict:
    """An object of JSON: its keys are strings."""
    return {str(k): v for k, v in numbers.items()}


def jsonable(x: Any) -> Any:
    """Dictionary keys as strings; NaN and infinities, which JSON has not, as strings too."""
    if isinstance(x, float):  # first, for there are most of them
        return x if math.isfinite(x) else repr(x)
    if isinstance(x, (list, tuple)):
        return [jsonable(v) for v in x]
    if isinstance(x, dict):
        return {str(k): jsonable(v) for k, v in x.items()}
    if isinstance(x, np.generic):
        return jsonable(x.item())
    if isinstance(x, np.dtype):
        return x.name
    return x if x is None or isinstance(x, (str, int, float, bool)) else repr(x)
