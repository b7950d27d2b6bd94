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
    of: int | None
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

    def to_dict(self) -> dict:
        """The operation as JSON has it."""
        made = dict(vars(self), where=dict(vars(self.where)), tangents=with_names(self.tangents))
        made["saved"], made["edges"] = [vars(s) for s in self.saved], [vars(e) for e in self.edges]
        made["views"] = [vars(view) for view in self.views]
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
        """The record as JSON has it: the keys of objects are strings."""
        return {
            "schema": SCHEMA,
            "program": self.program,
            "values": [vars(value) for value in self.values],
            "ops": [op.to_dict() for op in self.ops],
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
    finite = a[np.isfinite(a)] if a.dtype in FLOATS else a.reshape(-1)
    counts: dict = {"nan": int(np.isnan(a).sum()), "inf": int(np.isinf(a).sum())}
    if not finite.size:
        return {"min": None, "max": None, "mean": None, "std": None, **counts, "histogram": {"edges": [], "counts": []}}
    wide = finite.astype(np.float64)
    low, high = float(wide.min()), float(wide.max())
    largest = max(abs(low), abs(high))
    unit = 1.0 if SMALL < largest < 1 / SMALL else largest or 1.0  # so that no sum, square or difference leaves float64
    wide /= unit
    found, edges = np.histogram(wide, BINS, extent(low / unit, high / unit))
    with np.errstate(over="ignore"):
        edges = np.nan_to_num(edges * unit)
    return {"min": low, "max": high, "mean": float(wide.mean()) * unit, "std": float(wide.std()) * unit, **counts,
            "histogram": {"edges": edges.tolist(), "counts": found.tolist()}}  # fmt: skip


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
    if isinstance(x, dict):
        return {str(k): jsonable(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [jsonable(v) for v in x]
    if isinstance(x, float) and not math.isfinite(x):
        return repr(x)
    if isinstance(x, np.generic):
        return jsonable(x.item())
    if isinstance(x, np.dtype):
        return x.name
    return x if x is None or isinstance(x, (str, int, float, bool)) else repr(x)
