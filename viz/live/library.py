"""The library for pages: a script that evaluates the labels of records, without Python and without a server.

The files of this folder and the generated tables are joined into one script. It defines `live`: `live.evaluate(text, names)`
for an expression; for a record that record.py has prepared, `live.heldOf(record)`, its numbers, and
`live.computeAgain(record, held, options)`; `live.fromNested` and `live.toNested` between tensors and the nested lists of
records. A page gets only what its expressions need (parts.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from .kernels import tables
from .parts import Part, in_javascript, in_python, needed, parts

FOLDER = Path(__file__).parent
BEFORE = ("budget", "tensor", "scalars")
AFTER = tuple("parser calls shapes indexing reductions products matrices composed record".split())
EXPORTS = (
    "Real, Tensor, LiveError, evaluate, fromNested, toNested, functions, computeAgain, heldOf, recordedTensor,"
    " limits, OF_A_LINK, spent, within"
)

Tables = dict[str, dict[str, Any]]


def script(texts: Iterable[str] | None = None) -> str:
    """Return a script that defines the constant `live`, with what these expressions need; without them, with everything."""
    before, made, after = whole()
    if texts is not None:
        names = mentioned(texts)
        before, after = [[p for p in side if not p.names or p.names & names] for side in (before, after)]
        made = {table: {n: v for n, v in held.items() if key(table, n) in names} for table, held in made.items()}
    text = "\n".join([*(p.text for p in before), written(made), *(p.text for p in after)])
    return f"const live = (() => {{\n{text}\nreturn {{ {EXPORTS} }};\n}})();\n"


@cache
def whole() -> tuple[list[Part], Tables, list[Part]]:
    """Return the parts before the generated tables, the tables, and the parts after them."""
    before, after = [[p for name in side for p in parts(text(name))] for side in (BEFORE, AFTER)]
    return before, tables(), after


def mentioned(texts: Iterable[str]) -> set[str]:
    """Return the names that expressions need."""
    first = {name for text in texts for name in in_python(text)} | in_javascript(EXPORTS)
    before, _, after = whole()
    always = [part for part in [*before, *after] if not part.names]
    return needed(mentions(), first.union(*(in_javascript(part.text) for part in always)))


@cache
def mentions() -> dict[str, list[set[str]]]:
    """Return what each name of the library mentions."""
    before, made, after = whole()
    found: dict[str, list[set[str]]] = {}
    for part in [*before, *after]:
        for name in part.names:
            found.setdefault(name, []).append(in_javascript(part.text))
    for kernel, text in made["kernels"].items():
        found[key("kernels", kernel)] = [in_javascript(text)]
    for name, kernel in made["pointwiseFunctions"].items():
        found.setdefault(f"call {name}", []).append({key("kernels", kernel)})
    for name, other in made["aliases"].items():
        found.setdefault(f"call {name}", []).append({f"call {other}"})
    for name, definition in made["definitions"].items():
        found.setdefault(f"call {name}", []).append(in_python(definition["text"]))
    return found


def key(table: str, name: str) -> str:
    """Return the name by which others mention an entry of a table."""
    return f"kernel {name}" if table == "kernels" else f"call {name}"


def written(made: Tables) -> str:
    """Return the tables in JavaScript."""
    kernels = "\n".join(f"  {name}: {text}," for name, text in made["kernels"].items())
    rest = [f"const {name} = {json.dumps(held)};" for name, held in made.items() if name != "kernels"]
    return "\n".join([f"const kernels = {{\n{kernels}\n}};", *rest])


def text(name: str) -> str:
    """Return the text of one file."""
    return (FOLDER / f"{name}.js").read_text(encoding="utf-8")
