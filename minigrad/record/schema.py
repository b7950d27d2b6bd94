"""The record as data: the dataclasses of the schema `minigrad.record/1`, described field by field in docs/record.md.

All data is plain: ids are integers in program order, every field is always present, and `to_dict` returns what JSON can hold.
"""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np

from ..arrays.dtypes import FLOATS
from ..arrays.kinds import distinct, host
from .constants import brief
from .grid import grid

SCHEMA = "minigrad.record/1"
LEAVES = ("input", "parameter", "constant")
WHOLE = 16  # up to this many elements, a value's summary holds all of them
BINS = 16
# the calls that take a tensor out of its history
CALLS = {name: f"{{}}.{name}()" for name in ("detach", "detach_")} | {"data": "{}.data"}
CALLS |= {"requires_grad_": "{}.requires_grad_(False)"}
SMALL = 1e-150  # its square is still a normal number


@dataclasses.dataclass
class Value:
    """The content of one tensor at one moment."""

    id: int
    name: str
    label: str  # its name in formulas, an identifier
    shown: str  # the same as people write it: net[0].weight, h[2], grad of x
    kind: str  # input | parameter | constant | computed | gradient | tangent
    shape: list
    dtype: str
    device: str
    bytes: int
    summary: dict


@dataclasses.dataclass
class Where:
    """The user's line."""

    file: str = ""
    line: int = 0
    code: str = ""
    function: str = ""  # the qualified name of the function that contains the line
    columns: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Edge:
    """The passage of a gradient through one input of an operation."""

    input: int
    partial: str
    upstream: int
    gives: int
    formula: str = ""  # the gradient it passes on, an expression in labels and g
    latex: str = ""
    upstreams: list = dataclasses.field(default_factory=list)  # of all results, None for those without one
    names: dict | None = None  # of a custom Function: the value of each name in the formula
    run: int = 0  # the number of the backward pass in which the gradient passed


@dataclasses.dataclass
class SavedValue:
    """A value that an operation saves for its backward, and the operation that frees it."""

    value: int
    bytes: int
    freed_by: int | None


@dataclasses.dataclass
class View:
    """An operation as one of the transforms around it sees it."""

    layer: str
    inputs: list


@dataclasses.dataclass
class Method:
    """A call of a custom Function's method: a record inside the record, with separate ids."""

    method: str  # forward | setup_context | backward | jvp
    values: list
    ops: list
    outputs: list
    same: dict
    inputs: list = dataclasses.field(
        default_factory=list
    )  # its arguments without ctx, None for unused ones and numbers
    reads: list = dataclasses.field(default_factory=list)  # of its values by Python
    run: int = 0  # the number of the backward pass in which it ran


@dataclasses.dataclass
class Transfer:
    """A collective or a message between processes; times are seconds of this process's clock."""

    name: str
    words: str  # the call, with shapes and dtypes
    group: int  # the number of the process group, the same on all of its ranks
    ranks: list  # the ranks in it
    number: int | None  # among the collectives of the group; None for a message
    peer: int | None  # of a message: the other rank; None if any rank may have sent it
    tag: int
    bytes: int
    label: str  # its content, such as the gradients of a bucket
    divisor: int  # the number by which each rank has divided its tensors before
    rank: int  # the rank that makes the call
    began: float
    waited: float | None  # when the program began to wait for it
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
    of: int | None  # backward and jvp: the operation whose rule ran; can be one of a backward that is differentiated
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
    again: bool = False  # backward: a checkpoint repeats the operation `of`
    run: int = 0  # backward: the number of its backward pass
    transfers: list = dataclasses.field(default_factory=list)
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


@dataclasses.dataclass
class Backward:
    """One backward pass of the program."""

    run: int  # its number, from 1
    roots: list  # the values where it begins
    seeds: list  # the gradient with which it begins at each root
    where: Where  # the line that runs it; empty if the recording added it
    keep: bool  # True if it keeps the saved tensors
    create_graph: bool
    within: int  # the number of the pass in which it runs, or 0
    differentiated: bool  # True if a later pass differentiates it, so that it is a part of the program
    shown: bool  # True if a picture of the outputs shows it
    gradients: dict  # value -> its complete gradient in this pass


@dataclasses.dataclass
class Accumulation:
    """A backward pass adds a gradient to the `.grad` of a leaf."""

    value: int
    run: int
    gives: int  # the gradient that it adds
    before: int | None  # the content of `.grad` before; None if it was empty
    after: int


@dataclasses.dataclass
class Read:
    """A use of a value's elements that no operation is: by Python, or for the shape of a result."""

    value: int
    how: str  # the function that reads: bool, item, numpy, nonzero
    where: Where
    cut: bool = False  # True if no gradient passes there


@dataclasses.dataclass
class Document:
    """A whole record."""

    program: dict
    values: list
    ops: list
    outputs: list
    gradients: dict
    times: dict = dataclasses.field(default_factory=dict)  # operation -> seconds, if they are recorded
    contents: dict = dataclasses.field(
        default_factory=dict
    )  # value -> its elements, if they are recorded (contents.py)
    reads: list = dataclasses.field(default_factory=list)  # of values by Python
    backwards: list = dataclasses.field(default_factory=list)  # the backward passes
    grads: list = dataclasses.field(default_factory=list)  # what they add to the `.grad` of leaves

    def to_dict(self) -> dict:
        """Return the record as a JSON object: keys are strings, and operations on one line share its description."""
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
            "reads": [vars(read) | {"where": vars(read.where).copy()} for read in self.reads],
            "backwards": [
                vars(one) | {"where": vars(one.where).copy(), "gradients": with_names(one.gradients)}
                for one in self.backwards
            ],
            "grads": [vars(one).copy() for one in self.grads],
        }

    def to_json(self, indent: int | None = 1) -> str:
        """Return the record as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)


def summary(a: np.ndarray, leaf: bool = False) -> dict:
    """Return all elements of a small array; else extremes, mean, spread, histogram, counts of NaN and infinities, and a grid.

    A leaf may be an image, whose grid has the values of pixels.
    """
    a = host(a)
    if a.size <= WHOLE:
        return {"values": jsonable(a.tolist())}
    return statistics(a) | {"grid": grid(a, leaf)}


def statistics(a: np.ndarray) -> dict:
    """Return what describes the elements of an array apart from their places."""
    elements, a = a.size, distinct(a)
    times = elements // a.size
    if a.dtype.kind == "b":
        a = a.astype(np.int8)
    finite = a.reshape(-1)
    counts: dict = {"nan": 0, "inf": 0, "-inf": 0}
    if a.dtype in FLOATS and not (known := np.isfinite(finite)).all():
        odd = np.isnan(finite), np.isinf(finite), np.isneginf(finite)
        counts = {word: int(found.sum()) * times for word, found in zip(counts, odd)}
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
            "histogram": {"edges": edges.tolist(), "counts": [n * times for n in found.tolist()]}}  # fmt: skip


def histogram(numbers: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of equal bins and the count in each, like np.histogram, which is three times slower on few numbers."""
    edges = np.arange(BINS + 1) * ((high - low) / BINS) + low
    edges[-1] = high
    bins = ((numbers - low) / (high - low) * BINS).astype(np.intp)
    bins[bins == BINS] -= 1
    bins[numbers < edges[bins]] -= 1  # a division may round across an edge
    bins[(numbers >= edges[bins + 1]) & (bins != BINS - 1)] += 1
    return edges, np.bincount(bins, minlength=BINS)


def extent(low: float, high: float) -> tuple[float, float]:
    """Return the range of a histogram, widened if the numbers are too close for bins between them."""
    bin = (high - low) / BINS
    if low < low + bin and high - bin < high:
        return low, high
    margin = max(abs(low), abs(high)) / 2 or 0.5
    return low - margin, high + margin


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
