"""Check that data is a record as described in docs/record.md; errors give the location: `ops[3].inputs[0]: 99 is not a value`.

Records come from files, which other programs write and accidents damage. Code that draws or compares records relies on their
types, on valid ids, and on chains that end. A table for each kind of object describes its fields; a field may be missing unless
it is essential.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

from .contents import fault
from .grid import CODES, letters_of
from .schema import SCHEMA

LARGEST = 2**63  # sizes, bytes and lines are smaller
DEEPEST = 50  # of lists in a constant, and of records in a record; Python itself handles a few hundred
KINDS = ("input", "parameter", "constant", "computed", "gradient", "tangent")
PHASES = ("forward", "backward", "jvp", "update")
WORDS = ("nan", "inf", "-inf")  # for the numbers that JSON lacks
CELLS = ("element", "largest", "mean")  # the content of a cell of a grid


class NotARecord(ValueError):
    """An error in the data of a record; `path` leads to it."""

    def __init__(self, what: str, path: str = ""):
        super().__init__(f"{path.removeprefix('.')}: {what}" if path else what)
        self.what, self.path = what, path


class Ids(NamedTuple):
    """The valid ids of values, operations and lanes; `around` has those of the enclosing record."""

    values: dict[int, dict]
    ops: dict[int, dict]
    around: Ids | None = None
    depth: int = 0
    lanes: int = 0


Check = Callable[[Any, Ids], None]  # raises NotARecord
OUTSIDE = Ids({}, {})


def validate(record: Any) -> None:
    """Raise NotARecord unless data is a record.

    >>> validate({"program": {"passes": []}, "values": [], "ops": [], "outputs": [99]})
    Traceback (most recent call last):
    minigrad.record.validate.NotARecord: outputs[0]: 99 is not a value
    """
    if isinstance(record, dict) and (schema := record.get("schema", SCHEMA)) != SCHEMA:
        refuse(f"{shown_data(schema)} is not {SCHEMA!r}, the supported schema", ".schema")
    fields({"program": PROGRAM}, "program")(record, OUTSIDE)
    document(record, OUTSIDE)


def document(record: Any, around: Ids) -> None:
    """Check values, operations and outputs, of a whole record or of a nested one."""
    if around.depth == DEEPEST:
        refuse(f"more than {DEEPEST} records are nested")
    fields({"values": each(IDENTIFIED), "ops": each(IDENTIFIED), "lanes": each(LANE)}, "values", "ops")(record, OUTSIDE)
    values, ops = by_id(record["values"], ".values"), by_id(record["ops"], ".ops")
    ids = Ids(values, ops, around, around.depth + 1, len(record.get("lanes", ())))
    DOCUMENT(record, ids)
    check_makers(record["ops"])
    check_chains(record["ops"])


# ---------------------------------------------------------------------- scalars and ids
def refuse(what: str, path: str = "") -> NoReturn:
    """Raise the error for invalid data."""
    raise NotARecord(what, path)


def shown_data(x: object) -> str:
    """Return data in the form that an error shows.

    >>> shown_data(None), shown_data("net.py"), shown_data([1, 2])
    ('null', "'net.py'", 'a list')
    """
    if isinstance(x, (dict, list)):
        return "an object" if isinstance(x, dict) else "a list"
    words = "null" if x is None else str(x).lower() if isinstance(x, bool) else ascii(x)
    return words if len(words) <= 40 else f"{words[:40]}..."


def text(x: Any, ids: Ids = OUTSIDE) -> None:
    """Accept a string."""
    if not isinstance(x, str):
        refuse(f"{shown_data(x)} is not a string")


def flag(x: Any, ids: Ids) -> None:
    """Accept true or false."""
    if not isinstance(x, bool):
        refuse(f"{shown_data(x)} is neither true nor false")


def count(x: Any, ids: Ids = OUTSIDE) -> None:
    """Accept an integer that can count something."""
    if isinstance(x, bool) or not isinstance(x, int) or not 0 <= x < LARGEST:
        refuse(f"{shown_number(x)} is not a whole number from 0 to 2**63 - 1")


def shown_number(x: object) -> str:
    """Return data in the form that an error shows; a number may be too large for Python to print."""
    return "a huge number" if isinstance(x, int) and abs(x) >= LARGEST * 2 else shown_data(x)


def finite(x: Any, ids: Ids = OUTSIDE) -> None:
    """Accept a number that is neither NaN nor infinite."""
    whole = isinstance(x, int) and abs(x) < LARGEST * 2
    if not whole and not (isinstance(x, float) and math.isfinite(x)):
        refuse(f"{shown_number(x)} is not a finite number")


def number(x: Any, ids: Ids = OUTSIDE) -> None:
    """Accept a number, or one of the words for NaN and infinities."""
    whole = isinstance(x, int) and abs(x) < LARGEST * 2
    if not whole and not isinstance(x, float) and not (isinstance(x, str) and x in WORDS):
        refuse(f"{shown_number(x)} is not a number")


def constant(x: Any, ids: Ids, depth: int = 0) -> None:
    """Accept any JSON data."""
    if depth == DEEPEST:
        refuse(f"more than {DEEPEST} lists or objects are nested")
    if isinstance(x, dict):
        each(text)(list(x), ids)
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
    for part in parts:
        constant(part, ids, depth + 1)
    if isinstance(x, int) and abs(x) >= LARGEST * 2:
        refuse("the number is too large for an argument of an operation")
    if not isinstance(x, (dict, list, tuple, str, int, float, type(None))):
        refuse(f"JSON has no {type(x).__name__}")


def value(x: Any, ids: Ids) -> None:
    """Accept the id of a value."""
    if isinstance(x, bool) or not isinstance(x, int) or x not in ids.values:
        refuse(f"{shown_number(x)} is not a value")


def op(x: Any, ids: Ids) -> None:
    """Accept the id of an operation."""
    if isinstance(x, bool) or not isinstance(x, int) or x not in ids.ops:
        refuse(f"{shown_number(x)} is not an operation")


def lane(x: Any, ids: Ids) -> None:
    """Accept the number of a lane."""
    count(x)
    if x >= ids.lanes:
        refuse(f"{x} is not a lane")


def argument(x: Any, ids: Ids) -> None:
    """Accept an operation's input: the id of a value, or a constant."""
    if isinstance(x, dict):
        fields({"const": constant}, "const")(x, ids)
    else:
        value(x, ids)


# ---------------------------------------------------------------------- objects and lists
def part(step: str, check: Check, x: Any, ids: Ids) -> None:
    """Check a part, and add its name to the path of an error."""
    try:
        check(x, ids)
    except NotARecord as e:
        raise NotARecord(e.what, step + e.path) from None


def fields(table: dict[str, Check], *needed: str) -> Check:
    """Return a check of an object by its fields, some of which are required."""

    def check(x: Any, ids: Ids) -> None:
        if not isinstance(x, dict):
            refuse(f"{shown_data(x)} is not an object")
        for name in needed:
            if name not in x:
                refuse("the field is missing", f".{name}")
        for name, of in table.items():
            if name in x:
                part(f".{name}", of, x[name], ids)

    return check


def each_value(of: Check) -> Check:
    """Return a check of an object by its values; its keys are free."""

    def check(x: Any, ids: Ids) -> None:
        if not isinstance(x, dict):
            refuse(f"{shown_data(x)} is not an object")
        for name, value in x.items():
            part(f"[{name!r}]", of, value, ids)

    return check


def each(of: Check, *, lengths: Container[int] | None = None) -> Check:
    """Return a check of a list by its elements, and by its length if `lengths` is given."""

    def check(x: Any, ids: Ids) -> None:
        if not isinstance(x, (list, tuple)):
            refuse(f"{shown_data(x)} is not a list")
        if lengths is not None and len(x) not in lengths:
            refuse(f"the list has {len(x)} elements, which is not allowed here")
        for i, element in enumerate(x):
            part(f"[{i}]", of, element, ids)

    return check


def pairs(of: Check) -> Check:
    """Return a check of an object whose keys are ids of values, as strings."""

    def check(x: Any, ids: Ids) -> None:
        if not isinstance(x, dict):
            refuse(f"{shown_data(x)} is not an object")
        for key, other in x.items():
            if not is_key(key, ids):
                refuse(f"{shown_data(key)} is not a value")
            part(f".{key}", of, other, ids)

    return check


def is_key(key: Any, ids: Ids) -> bool:
    """Return True if a key is the id of a value."""
    try:
        return str(int(key)) == key and int(key) in ids.values
    except ValueError:
        return False


def times(x: Any, ids: Ids) -> None:
    """Accept an object whose keys are ids of operations, also of those inside of boxes, and whose values are seconds."""
    if not isinstance(x, dict):
        refuse(f"{shown_data(x)} is not an object")
    for key, time in x.items():
        if not str(key).isdecimal():
            refuse(f"{shown_data(key)} is not an operation")
        part(f".{key}", finite, time, ids)


def contents(x: Any, ids: Ids) -> None:
    """Accept an object whose keys are ids of values, and whose values are all of their elements in base64."""
    pairs(text)(x, ids)
    for key, written in x.items():
        of = ids.values[int(key)]
        if why := fault(written, of["shape"], of["dtype"]):
            refuse(why, f".{key}")


def counts(x: Any, ids: Ids) -> None:
    """Accept an object that maps kinds to counts."""
    if not isinstance(x, dict):
        refuse(f"{shown_data(x)} is not an object")
    for name, many in x.items():
        part(f".{name}" if str(name).isidentifier() else f"[{shown_data(name)}]", count, many, ids)


def same(x: Any, ids: Ids) -> None:
    """Accept an object that maps values of a nested record to values of the enclosing one."""
    pairs(lambda other, _: value(other, ids.around or OUTSIDE))(x, ids)


def named(x: Any, ids: Ids) -> None:
    """Accept an object that maps names in a formula to values."""
    if not isinstance(x, dict):
        refuse(f"{shown_data(x)} is not an object")
    for word, of in x.items():
        part(f".{word}", value, of, ids)


def optional(of: Check) -> Check:
    """Return a check that also accepts null."""
    return lambda x, ids: None if x is None else of(x, ids)


def one_of(words: tuple[str, ...]) -> Check:
    """Return a check that accepts one of a few words."""

    def check(x: Any, ids: Ids) -> None:
        if x not in words:
            refuse(f"{shown_data(x)} is not one of {', '.join(words)}")

    return check


# ---------------------------------------------------------------------- checks across parts
def described(x: Any, ids: Ids) -> None:
    """Check a value of the record and its content."""
    VALUE(x, ids)
    summary = x.get("summary") or {}
    if "values" in summary:
        part(".summary.values", elements, summary["values"], ids)
    elif summary:
        part(".summary", statistics, summary, ids)


def elements(x: Any, ids: Ids, depth: int = 0) -> None:
    """Check nested lists of numbers."""
    if depth == DEEPEST:
        refuse(f"more than {DEEPEST} lists are nested")
    if isinstance(x, (list, tuple)):
        each(lambda of, ids: elements(of, ids, depth + 1))(x, ids)
    else:
        number(x)


def statistics(x: dict, ids: Ids) -> None:
    """Check the summary of a large value."""
    STATISTICS(x, ids)
    if (x["min"] is None) != (x["max"] is None):
        refuse("min and max must be both numbers or both null", ".max")
    if (histogram := x.get("histogram")) and len(histogram["edges"]) not in (0, len(histogram["counts"]) + 1):
        refuse("there must be one more edge than counts", ".histogram.edges")
    if "grid" in x:
        part(".grid", grid, x["grid"], ids)


def grid(x: Any, ids: Ids) -> None:
    """Check the cells of a large value: panels of the same length, in whole rows."""
    GRID(x, ids)
    if not x["cells"]:
        refuse("there is no panel", ".cells")
    for i, panel in enumerate(x["cells"]):
        if len(panel) != len(x["cells"][0]):
            refuse(f"the panel has {len(panel)} letters, but the first has {len(x['cells'][0])}", f".cells[{i}]")
        if not panel or not x["rows"] or len(panel) % (x["rows"] * letters_of(x["cell"])):
            refuse(f"{len(panel)} letters do not make {x['rows']} rows", f".cells[{i}]")
        if odd := set(panel) - CODES.keys():
            refuse(f"{shown_data(min(odd))} is not a letter of a cell", f".cells[{i}]")


def operation(x: Any, ids: Ids) -> None:
    """Check an operation of the record; an in-place one needs a value to write to."""
    OP(x, ids)
    if x.get("inplace") and (not x["inputs"] or isinstance(x["inputs"][0], dict)):
        refuse("the first input of an in-place operation must be the value it writes to", ".inputs")
    for i, method in enumerate(x.get("inside", ())):
        part(f".inside[{i}]", document, method, ids)


def by_id(entries: list, path: str) -> dict[int, dict]:
    """Return entries by their ids, which must be unique."""
    found: dict[int, dict] = {}
    for i, entry in enumerate(entries):
        if found.setdefault(entry["id"], entry) is not entry:
            refuse(f"{entry['id']} is the id of another entry", f"{path}[{i}].id")
    return found


def check_makers(ops: list) -> None:
    """Check that each value has a single maker, which does not depend on it."""
    makes: dict[int, int] = {}
    reads: dict[int, list[int]] = {}
    for i, x in enumerate(ops):
        if x["phase"] in ("forward", "update"):
            for k, made in enumerate(x["outputs"]):
                if makes.setdefault(made, i) != i:
                    refuse(f"{made} is already an output of ops[{makes[made]}]", f".ops[{i}].outputs[{k}]")
            for k, read in enumerate(x["inputs"]):
                if not isinstance(read, dict) and makes.get(read) == i:
                    refuse(f"{read} is an output of the same operation", f".ops[{i}].inputs[{k}]")
            reads[i] = [read for read in x["inputs"] if not isinstance(read, dict)]
    try:
        TopologicalSorter({i: [makes[v] for v in read if v in makes] for i, read in reads.items()}).prepare()
    except CycleError as cycle:
        needed, i = next(pair for pair in pairwise(cycle.args[1]) if pair[0] > pair[1])
        refuse(f"an input is a result of ops[{needed}], which depends on this operation", f".ops[{i}].inputs")


def check_chains(ops: list) -> None:
    """Check that chains of `of`, and of updates of a parameter, come to an end."""
    of = {x["id"]: (x.get("of"), f".ops[{i}].of") for i, x in enumerate(ops)}
    updates = [(i, x) for i, x in enumerate(ops) if x["phase"] == "update" and x.get("inplace") and x["outputs"]]
    was = {x["outputs"][0]: (x["inputs"][0], f".ops[{i}].inputs[0]") for i, x in updates}
    for chain in (of, was):
        known: set[int] = set()
        for start in chain:
            way, at = {start}, start
            while at in chain and (following := chain[at][0]) is not None and following not in known:
                if following in way:
                    refuse(f"{following} leads back to itself", chain[at][1])
                at = following
                way.add(at)
            known |= way


# ---------------------------------------------------------------------- the objects of docs/record.md
shape = each(count)
CLASSES = each_value(each_value(text))
PROGRAM = fields(
    {"file": text, "name": text, "passes": each(one_of(PHASES[:3])), "classes": CLASSES, "iteration": text}, "passes"
)
IDENTIFIED = fields({"id": count}, "id")
VALUE = fields(
    {
        "name": text,
        "label": text,
        "shown": text,
        "kind": one_of(KINDS),
        "shape": shape,
        "dtype": text,
        "device": text,
        "bytes": count,
    }
    | {"summary": fields({}), "note": text, "lanes": each(lane)},
    *("kind", "shape", "dtype", "bytes"),
)
STATISTICS = fields(
    {"min": optional(finite), "max": optional(finite), "mean": optional(number), "std": optional(number)}
    | {
        "nan": count,
        "inf": count,
        "histogram": fields({"edges": each(finite), "counts": each(count)}, "edges", "counts"),
        "grid": fields({}),
    },
    *("min", "max"),
)
GRID = fields(
    {"rows": count, "panels": count, "image": flag, "cell": one_of(CELLS), "unit": finite, "cells": each(text)},
    *("rows", "panels", "image", "cell", "unit", "cells"),
)
WHERE = fields({"file": text, "line": count, "code": text, "function": text, "columns": each(count)}, "line", "code")
SAVED = fields({"value": value, "bytes": count, "freed_by": optional(count)}, "value", "bytes")
EDGE = fields(
    {"input": value, "partial": text, "upstream": optional(value), "gives": optional(value), "equations": each(text)}
    | {"run": count, "formula": text, "latex": text, "upstreams": each(optional(value)), "names": optional(named)},
    *("input", "partial", "upstream", "gives"),
)
PUSH = fields({"output": value, "formula": text, "latex": text, "names": optional(named)}, "output", "formula")
VIEW = fields({"layer": text, "inputs": each(shape)}, "layer", "inputs")
METHOD = fields({"method": text, "run": count}, "method", "same")
TRANSFER = fields(
    {"name": text, "words": text, "group": count, "ranks": each(count), "number": optional(count), "label": text}
    | {"peer": optional(count), "tag": count, "bytes": count, "rank": count, "divisor": count}
    | {"began": finite, "waited": optional(finite), "done": finite},
    *("name", "words", "group", "ranks", "number", "peer", "bytes", "label", "rank", "began", "waited", "done"),
)
TIMES = fields(
    {"host": text, "began": finite, "ended": finite, "backward": each(each(finite, lengths=(2,)))}
    | {"transfers": each(TRANSFER)},
    *("host", "began", "ended", "backward", "transfers"),
)
LANE = fields({"ranks": each(count, lengths=range(1, LARGEST))}, "ranks")
FOLDED = fields(
    {"kind": text, "ops": each(count, lengths=range(1, LARGEST)), "lines": each(count, lengths=(0, 2)), "names": counts}
    | {"parameters": count, "elements": count, "each": each(text), "cuts": each(text)},
    *("kind", "ops", "lines", "names", "parameters", "elements"),
)
BACKWARD = fields(
    {"run": count, "roots": each(value), "seeds": each(value), "where": WHERE, "keep": flag, "create_graph": flag}
    | {"within": count, "differentiated": flag, "shown": flag, "gradients": pairs(value)},
    *("run", "roots", "shown", "gradients"),
)
ACCUMULATION = fields(
    {"value": value, "run": count, "gives": value, "before": optional(value), "after": value},
    *("value", "run", "gives", "after"),
)
READ = fields({"value": value, "how": text, "where": WHERE, "cut": flag}, "value", "how", "where")
OP = fields(
    {
        "phase": one_of(PHASES),
        "name": text,
        "formula": text,
        "call": text,
        "pushes": each(PUSH),
        "layer": each(text),
        "inputs": each(argument),
    }
    | {
        "outputs": each(value),
        "of": optional(op),
        "inplace": flag,
        "again": flag,
        "run": count,
        "where": WHERE,
        "function": optional(text),
    }
    | {"saved": each(SAVED), "edges": each(EDGE), "tangents": pairs(value), "views": each(VIEW), "inside": each(METHOD)}
    | {
        "module": each(text),
        "folded": FOLDED,
        "note": text,
        "transfers": each(TRANSFER),
        "lanes": each(lane),
        "cut": text,
    },
    *("phase", "name", "inputs", "outputs"),
)
DOCUMENT = fields(
    {"values": each(described), "ops": each(operation), "outputs": each(value), "gradients": pairs(value), "same": same}
    | {"inputs": each(optional(value)), "times": times, "lanes": each(LANE), "timeline": each(TIMES)}
    | {"contents": contents, "reads": each(READ), "backwards": each(BACKWARD), "grads": each(ACCUMULATION)}
)
