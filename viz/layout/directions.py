"""The seeds of derivative passes: ones, unless these give 0, as for softmax and layer norm.

Then the jvp pass takes the first basis vector of the first leaf, and backward that of the first result, and a remark below the
picture mentions it.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from minigrad.record.labels import called
from minigrad.record.seeds import FIRST, unit

from .. import text
from .picture import MARGIN, Picture
from .shapes import Group, Text
from .style import TEXTS, measure

LEAVES = ("parameter", "input")
TANGENTS = (
    "Tangents of 1 at all leaves give 0 here. The tangents shown belong to the first basis vector of {}; "
    "choose others with --tangent {}=random"
)
GRADIENTS = (
    "Gradients of 1 at the {} give 0 here. The gradients shown belong to the first basis vector of {}; "
    "choose others with --grad {}random"
)


def instead_of_ones(made: Any, record: dict, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the seeds to use where ones give 0, by their names in `given`, and the remarks on them by pass.

    `made` is the recording.  A seed that is given stays, and so does the gradient with which a program begins backward itself.
    """
    none = vanishing(record)
    seeds: dict[str, Any] = {}
    remarks: dict[str, str] = {}
    if "jvp" in none and given.get("tangent") is None:
        seeds["tangent"], remarks["jvp"] = first_direction(made, record)
    if "backward" in none and given.get("grad") is None and made.added_backward:
        seeds["grad"], remarks["backward"] = first_gradient(record)
    return seeds, remarks


def vanishing(record: dict) -> set[str]:
    """Return the passes of a record that end with 0 up to rounding: at all outputs (jvp), or at all leaves (backward).

    A backward pass from a scalar does not count: a gradient of 1 is then all there is.

    >>> zero, one = ({"summary": {"values": number}, "id": i, "dtype": "float32"} for i, number in enumerate([0.0, 1.0]))
    >>> op = {"tangents": {"2": 0, "3": 1}}
    >>> [vanishing({"ops": [op], "values": [zero, one], "outputs": [end], "gradients": {}}) for end in (2, 3)]
    [{'jvp'}, set()]
    """
    values = {value["id"]: value for value in record["values"]}
    tangents = {int(value): t for op in record["ops"] for value, t in op["tangents"].items()}
    gradients = {int(value): g for value, g in record["gradients"].items()}
    ends = {
        "jvp": [tangents[output] for output in record["outputs"] if output in tangents],
        "backward": [g for value, g in gradients.items() if values[value]["kind"] in LEAVES],
    }
    began = [gradients[output] for output in record["outputs"] if output in gradients]
    if sum(math.prod(values[one]["shape"]) for one in began) <= 1:
        del ends["backward"]
    flows = {"jvp": tangents, "backward": gradients}
    return {each for each, last in ends.items() if are_zero(last, flows[each].values(), values)}


def are_zero(ends: Collection[int], all_of_them: Iterable[int], values: dict[int, dict]) -> bool:
    """Return True if the numbers at the ends of a pass are 0 beside the largest in the pass; False if there are no ends."""
    largest = max((magnitude(values[one]["summary"]) for one in all_of_them), default=0.0)
    is_small = lambda one: magnitude(one["summary"]) <= text.rounding(one["dtype"]) * largest
    return bool(ends) and 0 < largest < math.inf and all(is_small(values[one]) for one in ends)


def magnitude(summary: dict) -> float:
    """Return the largest absolute value of a tensor, infinity if it has a NaN or an infinity, 0 if nothing is known."""
    if summary.get("nan") or summary.get("inf"):
        return math.inf
    numbers = [*text.flat(summary["values"])] if "values" in summary else [summary.get("min"), summary.get("max")]
    known = [abs(one) if isinstance(one, (int, float)) else math.inf for one in numbers if one is not None]
    return max(known, default=0.0)


def first_direction(made: Any, record: dict) -> tuple[Any, str]:
    """Return the first basis vector of the first leaf of a record that moves, as `tangent`, and the remark about it."""
    moving = {int(value) for op in record["ops"] for value in op["tangents"]}
    leaf = next(value for value in record["values"] if value["id"] in moving and value["kind"] in LEAVES)
    remark = TANGENTS.format(called(leaf), called(leaf) if leaf["name"] else "NAME")
    return {made.number_of_leaf(leaf["id"]): unit(tuple(leaf["shape"]), float)}, remark


def first_gradient(record: dict) -> tuple[str, str]:
    """Return the first basis vector of the first result of a record, as `grad`, and the remark about it."""
    values = {value["id"]: value for value in record["values"]}
    several = len(record["outputs"]) > 1
    first = next((values[one] for one in record["outputs"] if str(one) in record["gradients"]), {"name": ""})
    name = called(first) if first["name"] else ""
    what = name or ("the first one" if several else "the result")
    return FIRST, GRADIENTS.format("results" if several else "result", what, f"{name}=" * bool(name))


def below(page: Picture, words: str) -> Picture:
    """Write words below a picture, in as many lines as they need."""
    lines: list[str] = []
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and measure(longer, "note") <= page.width - 2 * MARGIN:
            lines[-1] = longer
        else:
            lines.append(word)
    tall = TEXTS["note"].height
    texts = [Text(MARGIN, page.height + i * tall, line, "note") for i, line in enumerate(lines)]
    return replace(page, height=page.height + len(lines) * tall, items=[*page.items, Group("", "note", texts)])
