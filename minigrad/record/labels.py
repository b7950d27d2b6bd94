"""Labels of values in formulas, and names in pictures and explanations.

Labels are unique identifiers, and formulas use them. If a label is just a number, people see a better name: the path of a
module's parameter, or h, h₂, h₃ for the values of a variable in a loop.
"""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Collection, Iterable

from ..ops.base.registry import TABLE
from . import schema

LONGEST = 24  # characters of a path in formulas
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
ALONE = re.compile(r"_r\d+(_\d+)?$")  # marks the label of a value among those of other processes
WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


RESERVED = frozenset(keyword.kwlist) | {"g", "linalg", "pi", "inf", "nan", "tensor", "float64", "int64", "bool"}
# functions that formulas call by bare names, which values must not have
BARE = frozenset(entry.name.rpartition(".")[2] for entry in TABLE.values() if entry.cls is not None) | set(
    "where cat stack pad einsum softmax log_softmax one_hot zeros ones full zeros_like ones_like arange eye conv1d conv2d "
    "conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split()
)


def is_free(name: str) -> bool:
    """Return True if a name is an identifier without a meaning in formulas."""
    return name.isidentifier() and name not in RESERVED and name not in BARE


def is_tangent(name: str, others: Counter) -> bool:
    """Return True if a name would be the tangent of another value in formulas: dx, if there is an x."""
    return len(name) > 1 and name[0] == "d" and bool(others[name[1:]] or re.fullmatch(r"dv\d+_*", name))


def labels(values: Iterable[schema.Value], without: Collection[int] = ()) -> dict[int, str]:
    """Return the labels of values: their name if it is usable and unique, else v and the number.

    Values in `without` give up their name.
    """
    names = {v.id: "" if v.id in without else v.name for v in values}
    count = Counter(names.values())
    found = {i: n for i, n in names.items() if is_free(n) and count[n] == 1 and not is_tangent(n, count)}
    taken = set(found.values())
    for i in names.keys() - found.keys():
        label = f"v{i}"
        while label in taken:
            label += "_"
        found[i] = label
    return found


class ShownNames:
    """The names of a record's values for people, by id, and formulas with these names.

    >>> shown = ShownNames([{"id": 3, "name": "net.0.weight", "label": "v3"}, {"id": 4, "name": "x", "label": "x"}])
    >>> shown.names, shown.words("g @ v3.mT + dv3")
    ({3: 'net[0].weight', 4: 'x'}, 'g @ net[0].weight.mT + d(net[0].weight)')
    """

    def __init__(self, values: list[dict]):
        count, seen = Counter(v.get("name") or "" for v in values), Counter[tuple]()
        lane_of = lambda v: tuple(v.get("lanes", ()))
        among = Counter((v.get("name") or "", *lane_of(v)) for v in values)  # processes may share a name
        self.names: dict[int, str] = {}
        for v in values:
            name = v.get("name") or ""
            key = (name, *lane_of(v))
            seen[key] += 1
            plain = is_free(name) and not is_tangent(name, count)
            if among[key] > 1 and plain:
                self.names[v["id"]] = name + (str(seen[key]).translate(SUBSCRIPTS) if seen[key] > 1 else "")
            else:  # a part of a record may contain only one of several values with the same name
                label = ALONE.sub("", called(v)) if lane_of(v) else called(v)
                self.names[v["id"]] = as_expression(name) or (name if plain else label)
        self.instead: dict[str, str] = {}  # label -> name
        for v in values:
            if (label := v.get("label")) and (name := self.names[v["id"]]) != label:
                self.instead |= {label: name, f"d{label}": f"d({name})" if "." in name else f"d{name}"}

    def words(self, formula: str) -> str:
        """Return a formula with names instead of labels."""
        return WORD.sub(lambda m: self.instead.get(m[0], m[0]), formula) if self.instead else formula


def called(value: dict) -> str:
    """Return the label of a value, or its name in a record without labels."""
    return value.get("label") or value.get("name") or f"v{value['id']}"


def as_expression(path: str) -> str:
    """Return the path of a parameter as a Python expression, or "" if that is impossible or too long.

    >>> as_expression("net.0.weight"), as_expression("0.weight"), as_expression("w")
    ('net[0].weight', '', '')
    """
    first, *rest = path.split(".")
    if not rest or not first.isidentifier() or len(path) > LONGEST:
        return ""
    return first + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in rest)
