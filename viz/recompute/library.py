"""The library for pages: a script that evaluates the labels of records, without Python and without a server.

The files of this folder and the generated tables are joined into one script. It defines `live`: `live.evaluate(text, names)`
for an expression; for a record that record.py has prepared, `live.heldOf(record)`, its numbers, and
`live.computeAgain(record, held, options)`; `live.fromNested` and `live.toNested` between tensors and the nested lists of
records. A page gets the generated functions that its expressions need, and all of these files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from .kernels import operations, tables
from .translated import Functions

FOLDER = Path(__file__).parent
BEFORE = ("budget", "tensor", "scalars")
AFTER = tuple("parser calls shapes indexing reductions products matrices composed record".split())
EXPORTS = (
    "Real, Tensor, LiveError, evaluate, fromNested, toNested, functions, computeAgain, heldOf, recordedTensor,"
    " limits, OF_A_LINK, spent, within"
)
OPERATORS = {"+": "add", "-": "sub neg", "*": "mul", "/": "div", "//": "floor_divide", "%": "remainder", "**": "pow",
             "@": "matmul", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor", "~": "bitwise_not", "==": "eq",
             "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "[": "select"}  # fmt: skip


def script(texts: Iterable[str] | None = None) -> str:
    """Return a script that defines the constant `live`, with what these expressions need; without them, with everything."""
    library = Library.of(operations())
    names = library.needed(texts)
    kernels = "\n".join(f"  {name}: {body}," for name, body in library.made["kernels"].items() if name in names)
    made = {table: {n: v for n, v in held.items() if n in names} for table, held in library.made.items()}
    rest = [f"const {table} = {json.dumps(held)};" for table, held in made.items() if table != "kernels"]
    parts = [javascript(BEFORE), f"const kernels = {{\n{kernels}\n}};", *rest, javascript(AFTER)]
    return "\n".join(["const live = (() => {", *parts, f"return {{ {EXPORTS} }};\n}})();\n"])


class Library:
    """The generated tables while these operations are declared; functions join them when a page needs them."""

    @classmethod
    @lru_cache(2)
    def of(cls, declared: Hashable) -> Library:
        """Return the library for what `operations` gives."""
        return cls()

    def __init__(self) -> None:
        self.made: dict[str, dict[str, Any]] = tables()
        defined = "\n".join(re.findall(r"define\(\{\n(.*?)\n\}\);", javascript(AFTER), re.DOTALL))
        written = re.findall(r'^  "?([\w.]+)"?(?=\(|:|,$)', defined, re.MULTILINE)
        by_hand = {*written}.union(*(self.made[table] for table in ("definitions", "pointwiseFunctions", "aliases")))
        self.functions = Functions(self.made, by_hand)

    def needed(self, texts: Iterable[str] | None) -> set[str]:
        """Return the names that expressions need, or all of them."""
        calls = re.findall(r'run\(\s*"([\w.]+)"|kernels\.(\w+)', javascript(AFTER))
        waiting = {name for call in calls for name in call}
        waiting |= set().union(*self.made.values()) if texts is None else set().union(*map(mentioned, texts))
        found: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting |= self.mentioned(name)
        return found

    def mentioned(self, name: str) -> set[str]:
        """Return the names that the entries of a name mention."""
        definition = self.functions.translated(name)
        words = mentioned(definition["text"]) if definition else set()
        others = {self.made[table][name] for table in ("pointwiseFunctions", "aliases") if name in self.made[table]}
        return words | others | set(re.findall(r"\w+", self.made["kernels"].get(name, "")))


def mentioned(text: str) -> set[str]:
    """Return the functions, methods, operators and kernels that an expression may mention."""
    words = set(re.findall(r"\w+", text)) | set(re.findall(r"\w+\.\w+", text))
    words |= {word.rstrip("_") for word in words} | {f"Tensor.{word}" for word in words}
    return words | {name for operator, names in OPERATORS.items() if operator in text for name in names.split()}


def javascript(names: Iterable[str]) -> str:
    """Return the texts of files, without comments."""
    lines = [line for name in names for line in (FOLDER / f"{name}.js").read_text(encoding="utf-8").splitlines()]
    return "\n".join([line for line in lines if line.strip() and not line.lstrip().startswith("//")])
