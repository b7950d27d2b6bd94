"""A record for a page that computes: what its operations compute as steps, and the numbers that no step gives.

`live_record` returns plain data beside the record's own ids: values, operations, and `steps` in an order in which each finds
its operands (steps.py). record.js runs the steps; a page's library needs only what their texts mention (`texts_of`).
"""

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np

from minigrad.record.schema import jsonable

from ..text import each
from .scopes import elements, flat, leaf_contents
from .steps import Plan

MOST = 400  # operations of a program that a page computes again
VALUE = ("id", "label", "kind", "shape", "dtype")
OP = ("id", "phase", "name", "call", "function", "inputs", "outputs", "tangents")
MEMORY = {"int64": "<f8", "bfloat16": "<f4", "float16": "<f4"}
SHORT = ("float32", "bfloat16", "float16")
STATISTICS = ("values", "min", "max", "mean", "std", "nan", "inf", "-inf")


# what a record may lack, as after `minigrad render --show`
WITHOUT: dict[str, Any] = {"call": "", "function": None, "of": None, "inplace": False, "run": 0, "tangents": {}, "edges": [],
                           "pushes": [], "saved": [], "inside": [], "layer": [], "views": [], "transfers": []}  # fmt: skip


def why_not(record: dict) -> str:
    """Return the reason for which a page cannot compute a record; nothing if it can."""
    program = [op for op in record["ops"] if op["phase"] == "forward"]
    if record.get("lanes"):
        return "the record is one of several processes"
    if not program or any(op.get("folded") or not op.get("call") and not op.get("inside") for op in program):
        return "the record has only a part of the program"
    if len(program) > MOST:
        return f"the program has {len(program)} operations; a page computes at most {MOST}"
    if not leaf_contents(record):
        return "the record has no content of its leaves: record it with contents=True"
    return ""


def live_record(record: dict) -> dict | str:
    """Return what a page needs to compute a record again; or as a text the reason for which it cannot.

    `steps` are in the order of the computation. A step computes the values `outputs` by the expression `text`, in which
    `names` says what each name means; or it has the `reason` for which a page cannot compute them. The ids from `size` on are
    those of values that the record does not have, such as what a Function's methods compute. Further fields of a step: `op`,
    its operation; `edge`, the number of the edge that it is, and `named`, the names for another formula of it; `is`, the
    recorded value that it is a copy of; `back` and `moves`, for a part of a gradient or a tangent; `reads`, saved values that
    the text does not name; `each`, the dimensions of examples under vmap; `noise`, the numbers that an operation has drawn.
    `of`, the operation whose backward it is a part of, if the program differentiates that.
    `reads` has what Python reads, with `op` and `method` if a method of that operation does.
    `inside` has the ids of what Functions compute: by "operation:call of a method", and by the value's id in that call.
    """
    try:
        return why_not(record) or computed(record)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as wrong:  # a record may come from anywhere
        return f"the record is faulty: {type(wrong).__name__} {wrong}"


def computed(record: dict) -> dict:
    """Return what a page needs to compute a record that has everything for that."""
    record = {**record, "ops": [{**WITHOUT, **op} for op in record["ops"]]}
    plan = Plan(record)
    steps = plan.ordered()
    values = [{name: value[name] for name in VALUE} for value in record["values"]]
    used = plan.mentioned | {i for step in steps for i in flat(step.get("names", {}).values())}
    for value in record["values"]:
        if value["id"] in used:  # of a larger program, the record may have only a part
            values[value["id"]] |= content(record, value)
    found = {
        "values": values + plan.constants,
        "ops": [trimmed(op) for op in record["ops"]],
        "outputs": record["outputs"],
        "size": len(record["values"]),
        "gradients": record["gradients"],
        "totals": plan.totals,
        "seeds": plan.seeds,
        "tangents": {str(i): t for i, t in plan.tangents.items()},
        "reads": plan.reads,
        "steps": steps,
        "inside": {call: {str(i): made for i, made in ids.items()} for call, ids in plan.inside.items()},
    }
    return jsonable(found)  # a damaged record may have NaN anywhere


def texts_of(live: dict) -> Iterator[str]:
    """Yield the expressions of a live record, for `library.script`."""
    yield from (step["text"] for step in live["steps"] if "text" in step)
    yield from (edge["formula"] for op in live["ops"] for edge in op["edges"])


def content(record: dict, value: dict) -> dict:
    """Return the elements of a value, or else the statistics by which they are checked.

    Elements are the bytes in base64 that a page has in memory: int64 as float64, half precision as float32.
    """
    exact = elements(record, value["id"])
    if exact is None:
        summary = {name: value["summary"][name] for name in STATISTICS if name in value["summary"]}
        if "values" in summary and value["dtype"] in SHORT:
            summary["values"] = each(shortest, summary["values"])
        return {"summary": summary}
    kept = np.ascontiguousarray(exact, MEMORY.get(value["dtype"], exact.dtype.newbyteorder("<")))
    return {"content": base64.b64encode(kept.tobytes()).decode()}


def shortest(number: Any) -> Any:
    """Return a float32 number with the fewest digits that it needs; one beyond float32 (a damaged record) stays.

    >>> [*map(shortest, (0.3641519248485565, 1, "nan", 1e300))]
    [0.36415192, 1, 'nan', 1e+300]
    """
    fits = isinstance(number, float) and abs(number) <= float(np.finfo(np.float32).max)
    return float(str(np.float32(number))) if fits else number


def trimmed(op: dict) -> dict:
    """Return what pages use of an operation."""
    edges = [{name: edge[name] for name in ("input", "formula", "gives", "upstreams", "names")} for edge in op["edges"]]
    saved = [one["value"] for one in op["saved"]]
    return {name: op[name] for name in OP} | {
        "inputs": [one if isinstance(one, int) else {} for one in op["inputs"]],
        "edges": edges,
        "pushes": [{name: push[name] for name in ("output", "formula", "names")} for push in op["pushes"]],
        "saved": saved,
        "line": op["where"]["line"],
    }
