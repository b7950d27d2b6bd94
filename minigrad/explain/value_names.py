"""What values are called: by the record, by the variables of the asking program, by the line that computes them."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
from collections import Counter
from functools import lru_cache
from itertools import groupby
from types import FrameType
from typing import Any

from ..core.graph import history
from ..core.tensor import Tensor
from ..kernels.folding import folded
from ..record.recorder import Record

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def name_after(rec: Record, frame: FrameType | None) -> None:
    """Give recorded values that have no name yet those of the variables and modules that a frame sees."""
    known: dict[int, str] = {}
    for name, value in variables(frame).items():
        if isinstance(value, Tensor):
            known[id(value)] = name
            made = rec.value_of(history(value))
            if made is not None and rec.values[made].tensor is None and not rec.values[made].name:
                rec.values[made].name = name
        elif hasattr(value, "named_parameters") and not isinstance(value, type):
            known = {id(p): f"{name}.{path}" for path, p in value.named_parameters()} | known
    rec.name_values(known)


def variables(frame: FrameType | None) -> dict[str, Any]:
    """What a frame sees under names that are meant for others."""
    if frame is None:
        return {}
    seen = {**frame.f_globals, **frame.f_locals}
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        frame.f_locals.clear()  # a copy that the frame keeps, and with it what its program deletes
    return {name: value for name, value in seen.items() if not name.startswith("_")}


def names(document: dict) -> dict[int, str]:
    """What values of a record are called: their own name, else that of the variable which their line assigns.

    A name that comes again gets a number.
    """
    found: dict[int, str] = {}
    seen: Counter[str] = Counter()

    def give(value: int, name: str) -> None:
        seen[name] += 1
        found[value] = name + (str(seen[name]).translate(SUBSCRIPTS) if seen[name] > 1 else "")

    for value in document["values"]:
        if value["name"]:
            give(value["id"], value["name"])
    ops = [op for op in document["ops"] if op["phase"] == "forward"]
    for _, of_line in groupby(ops, key=lambda op: (op["where"]["file"], op["where"]["line"])):
        *_, last = of_line
        name = assigned(last["where"]["code"]) if len(last["outputs"]) == 1 else ""
        if name and last["outputs"][0] not in found:
            give(last["outputs"][0], name)
    return found


def expression(where: dict) -> str:
    """What of its line an operation is; where that is not known, what the line computes."""
    if where["columns"]:
        first, last = where["columns"]
        return linecache.getline(where["file"], where["line"])[first - 1 : last] or where["code"]
    tree = parsed(where["code"])
    if isinstance(tree, ast.Assign | ast.AugAssign):
        return ast.get_source_segment(where["code"].strip(), tree.value) or where["code"]
    return where["code"]


def worded(formula: str, words: dict[str, str]) -> str:
    """A formula with other names for what it reads, without what numbers among these decide.

    >>> worded("y * x.mT + exp(x)", {"x": "w", "y": "h"}), worded("where(y == 0, 0.0, y * x ** (y - 1))", {"y": "3"})
    ('h * w.mT + exp(w)', '3 * x ** 2')
    """
    named = re.sub(r"(?<![\w.])[A-Za-z_]\w*(?![\w(])(?!\s*=[^=])", lambda m: words.get(m[0], m[0]), formula)
    return folded(named) if named != formula else named


@lru_cache(maxsize=4096)
def assigned(code: str) -> str:
    """The variable that a line assigns its whole result to, or "".

    >>> assigned("h = (w * x).tanh()"), assigned("return h")
    ('h', '')
    """
    match parsed(code):
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            return name
    return ""


def parsed(code: str) -> ast.stmt | None:
    """The one statement of a line; None where it is no whole one."""
    try:
        (statement,) = ast.parse(code.strip()).body
    except (SyntaxError, ValueError):
        return None
    return statement
