"""Check that data is a record as described in docs/record.md; errors give the location: `ops[3].inputs[0]: 99 is not a value`.

Records come from files, which other programs write and accidents damage. Code that draws or compares records relies on their
types, on valid ids, and on chains that end. The types of the fields in schema.py say all that concerns one field; from them
`rule_of` makes rules, and `walk` compares data with them. What concerns several fields follows below. A field may be missing
unless its type is `Needed`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from types import UnionType
from typing import Annotated, Any, NamedTuple, NoReturn, TypedDict, Union, get_args, get_origin, get_type_hints

from . import schema
from .contents import fault
from .grid import CODES, letters_of
from .schema import SCHEMA

LARGEST = 2**63  # sizes, bytes and lines are smaller
DEEPEST = 50  # of lists in a constant, and of records in a record; Python itself handles a few hundred
WORDS = ("nan", "inf", "-inf")  # for the numbers that JSON lacks


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
    if isinstance(record, dict) and (version := record.get("schema", SCHEMA)) != SCHEMA:
        refuse(f"{shown_data(version)} is not {SCHEMA!r}, the supported schema", ".schema")
    document(record, OUTSIDE)


def document(record: Any, around: Ids) -> None:
    """Check a whole record or a nested one: first the ids, then what refers to them."""
    if around.depth == DEEPEST:
        refuse(f"more than {DEEPEST} records are nested")
    whole = fields_of(schema.Document)
    if around is not OUTSIDE:
        method = fields_of(schema.Method)
        whole = method._replace(of=whole.of | method.of)
    known = rule_of(list[Identified])
    first = {name: whole.of[name] for name in ("program", "lanes")} | {"values": known, "ops": known}
    walk(whole._replace(of=first), record, OUTSIDE)
    values, ops = by_id(record["values"], ".values"), by_id(record["ops"], ".ops")
    walk(whole, record, Ids(values, ops, around, around.depth + 1, len(record.get("lanes", ()))))
    check_makers(record["ops"])
    check_chains(record["ops"])


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
    if isinstance(x, int) and abs(x) >= LARGEST * 2:
        return "a huge number"  # Python may refuse to print it
    words = "null" if x is None else str(x).lower() if isinstance(x, bool) else ascii(x)
    return words if len(words) <= 40 else f"{words[:40]}..."


# ---------------------------------------------------------------------- types, and the walk through data by them
class Rule(NamedTuple):
    """A type of schema.py, as the walk reads it: plain data if `check` or `accepts` is given, else an object or a list."""

    check: Check | None = None
    accepts: Callable[[Any, Ids], bool] | None = None
    words: str = ""  # the fault of data that is not accepted
    null: bool = False  # True if null is valid, too
    form: type = dict
    of: Any = None  # the rule of the elements of a list or of the entries of an object; or a rule for each field
    needed: tuple = ()  # fields
    key: tuple | None = None  # what the keys must be
    lengths: Container[int] | None = None
    agree: Check | None = None  # a check of the fields together


@cache
def rule_of(kind: Any) -> Rule:
    """Return the rule for a type."""
    marks = getattr(kind, "__metadata__", ())
    if "one of" in marks:
        words = [mark for mark in marks if mark not in ("needed", "one of")]
        return Rule(accepts=lambda x, ids: x in words, words=f"is not one of {', '.join(words)}")
    for mark in marks:
        if mark in CHECKS:
            return CHECKS[mark]
        if isinstance(mark, type):
            return rule_of(mark)
    kind = kind.__origin__ if marks else kind
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return rule_of(parts[0])._replace(null=True)
    if origin is list:
        return Rule(form=list, of=rule_of(parts[0]), lengths=next((mark for mark in marks if mark != "needed"), None))
    if origin is dict:
        return Rule(of=rule_of(parts[1]), key=KEYS.get(parts[0]))
    return Rule(document) if kind is schema.Method else CHECKS[kind] if kind in CHECKS else fields_of(kind)


@cache
def fields_of(kind: type) -> Rule:
    """Return the rule for an object with the fields of a class."""
    types = get_type_hints(kind, include_extras=True)
    needed = tuple(name for name, of in types.items() if "needed" in getattr(of, "__metadata__", ()))
    of = {name: rule_of(one) for name, one in (types | schema.ADDED.get(kind, {})).items()}
    return Rule(of=of, needed=needed, agree=AGREE.get(kind))


def walk(rule: Rule, x: Any, ids: Ids) -> None:
    """Check data; an error gets its path on the way back."""
    if rule.null and x is None:
        return
    if rule.check is not None:
        return rule.check(x, ids)
    plain = rule if rule.accepts is not None else CHECKS[rule.form]
    if not plain.accepts(x, ids):  # type: ignore[misc]
        refuse(f"{shown_data(x)} {plain.words}")
    if plain is rule:
        return
    for name in rule.needed:
        if name not in x:
            refuse("the field is missing", f".{name}")
    if rule.lengths is not None and len(x) not in rule.lengths:
        refuse(f"the list has {len(x)} elements, which is not allowed here")
    for step, of, inner in parts(rule, x, ids):
        try:
            walk(of, inner, ids)
        except NotARecord as e:
            index = rule.form is list or not (isinstance(rule.of, dict) or rule.key or str(step).isidentifier())
            raise NotARecord(e.what, (f"[{shown_data(step)}]" if index else f".{step}") + e.path) from None
    if rule.agree is not None:
        rule.agree(x, ids)


def parts(rule: Rule, x: Any, ids: Ids) -> Iterable[tuple[Any, Rule, Any]]:
    """Return the parts of an object or a list, each with its index or key, and its rule."""
    if rule.form is list:
        return zip(itertools.count(), itertools.repeat(rule.of), x)
    if isinstance(rule.of, dict):
        return [(name, of, x[name]) for name, of in rule.of.items() if name in x]
    for word in x if rule.key else ():
        if not rule.key[0](word, ids):
            refuse(f"{shown_data(word)} is not {rule.key[1]}")
    return [(word, rule.of, inner) for word, inner in x.items()]


# ---------------------------------------------------------------------- plain data
def is_whole(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


def is_number(x: Any) -> bool:
    """Return True for a number that Python can print."""
    return isinstance(x, float) or isinstance(x, int) and abs(x) < LARGEST * 2


def is_key(key: Any, ids: Ids) -> bool:
    """Return True if a key is the id of a value."""
    try:
        return str(int(key)) == key and int(key) in ids.values
    except ValueError:
        return False


def constant(x: Any, ids: Ids, depth: int = 0) -> None:
    """Accept any JSON data."""
    if depth == DEEPEST:
        refuse(f"more than {DEEPEST} lists or objects are nested")
    if isinstance(x, dict):
        walk(rule_of(list[str]), list(x), ids)
    for inner in x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ():
        constant(inner, ids, depth + 1)
    if isinstance(x, int) and abs(x) >= LARGEST * 2:
        refuse("the number is too large for an argument of an operation")
    if not isinstance(x, (dict, list, tuple, str, int, float, type(None))):
        refuse(f"JSON has no {type(x).__name__}")


# ---------------------------------------------------------------------- checks across fields
def argument(x: Any, ids: Ids) -> None:
    """Accept an operation's input: the id of a value, or a constant."""
    walk(rule_of(Constant) if isinstance(x, dict) else CHECKS["value"], x, ids)


def contents(x: Any, ids: Ids) -> None:
    """Accept an object whose keys are ids of values, and whose values are all of their elements in base64."""
    walk(rule_of(dict[schema.ValueId, str]), x, ids)
    for key, written in x.items():
        of = ids.values[int(key)]
        if why := fault(written, of["shape"], of["dtype"]):
            refuse(why, f".{key}")


def summary(x: Any, ids: Ids) -> None:
    """Check a value's content: few elements, or the statistics of many; {} if it is lost."""
    if x != {}:
        walk(rule_of(Few if isinstance(x, dict) and "values" in x else schema.Statistics), x, ids)


def elements(x: Any, ids: Ids, depth: int = 0) -> None:
    """Check nested lists of numbers."""
    if depth == DEEPEST:
        refuse(f"more than {DEEPEST} lists are nested")
    if isinstance(x, (list, tuple)):
        walk(Rule(form=list, of=Rule(lambda inner, ids: elements(inner, ids, depth + 1))), x, ids)
    else:
        walk(CHECKS["number"], x, ids)


def statistics(x: dict, ids: Ids) -> None:
    """Check that extremes and a histogram agree."""
    if (x["min"] is None) != (x["max"] is None):
        refuse("min and max must be both numbers or both null", ".max")
    if (histogram := x.get("histogram")) and len(histogram["edges"]) not in (0, len(histogram["counts"]) + 1):
        refuse("there must be one more edge than counts", ".histogram.edges")


def cells(x: Any, ids: Ids) -> None:
    """Check the cells of a large value: panels of the same length, in whole rows."""
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
    """Check that an in-place operation has a value to write to."""
    if x.get("inplace") and (not x["inputs"] or isinstance(x["inputs"][0], dict)):
        refuse("the first input of an in-place operation must be the value it writes to", ".inputs")


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
        needed, i = next(pair for pair in itertools.pairwise(cycle.args[1]) if pair[0] > pair[1])
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


class Identified(TypedDict):
    """A part of a record that has an id."""

    id: schema.Needed[int]


class Constant(TypedDict):
    """An argument that is no tensor."""

    const: schema.Needed[Annotated[Any, "constant"]]


class Few(TypedDict):
    """The summary of a small value."""

    values: Annotated[list, "elements"]


# the rules of plain types, and of those with a mark
CHECKS: dict[Any, Rule] = {
    dict: Rule(None, lambda x, ids: isinstance(x, dict), "is not an object"),
    list: Rule(None, lambda x, ids: isinstance(x, (list, tuple)), "is not a list"),
    str: Rule(None, lambda x, ids: isinstance(x, str), "is not a string"),
    bool: Rule(None, lambda x, ids: isinstance(x, bool), "is neither true nor false"),
    int: Rule(None, lambda x, ids: is_whole(x) and 0 <= x < LARGEST, "is not a whole number from 0 to 2**63 - 1"),
    float: Rule(None, lambda x, ids: is_number(x) and math.isfinite(x), "is not a finite number"),
    "number": Rule(None, lambda x, ids: is_number(x) or isinstance(x, str) and x in WORDS, "is not a number"),
    "value": Rule(None, lambda x, ids: is_whole(x) and x in ids.values, "is not a value"),
    "outer value": Rule(lambda x, ids: walk(CHECKS["value"], x, ids.around or OUTSIDE)),
    "operation": Rule(None, lambda x, ids: is_whole(x) and x in ids.ops, "is not an operation"),
    "lane": Rule(None, lambda x, ids: is_whole(x) and 0 <= x < ids.lanes, "is not a lane"),
    **{check.__name__: Rule(check) for check in (argument, constant, contents, elements, summary)},
}
KEYS = {
    schema.ValueId: (is_key, "a value"),
    schema.InnerOpId: (lambda word, ids: str(word).isdecimal(), "an operation"),
}
AGREE: dict[type, Check] = {schema.Statistics: statistics, schema.Cells: cells, schema.Op: operation}
