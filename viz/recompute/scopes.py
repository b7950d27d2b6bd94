"""The names in which expressions are written: those of the document, or those inside one call of a Function's method."""

from __future__ import annotations

import ast
import base64
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

LEAVES = ("input", "parameter", "constant")
WORD = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*")


class Scope:
    """Values and operations with the ids of a plan; `name` is the method: `Sort.forward`."""

    def __init__(
        self, values: dict[int, dict], ops: list[dict], ids: dict[int, int], name: str = "", outputs: Any = ()
    ):
        self.values, self.ops, self.ids, self.name, self.outputs = values, ops, ids, name, outputs
        self.by_label = {value["label"]: i for i, value in values.items()}
        self.makers = {o: op for op in ops for o in op["outputs"]}

    @classmethod
    def of_method(cls, op: dict, ran: dict) -> Scope:
        """Return the scope of one call of a method, whose values have no ids yet."""
        return cls({v["id"]: v for v in ran["values"]}, ran["ops"], {}, f"{op['function']}.{ran['method']}")

    @cached_property
    def names(self) -> dict[str, int]:
        """The ids by label, once all values have one."""
        return {label: self.ids[i] for label, i in self.by_label.items() if i in self.ids}

    def positions(self, op: dict) -> list[int | None]:
        """Return the values that are arguments of a Function's call, by position; None for other arguments."""
        try:
            tree: Any = ast.parse(op["call"], mode="eval").body
        except SyntaxError:
            return [i if isinstance(i, int) else None for i in op["inputs"]]
        return [self.by_label.get(a.id) if isinstance(a, ast.Name) else None for a in tree.args]

    def arguments(self, op: dict) -> list[int | None]:
        """Return the ids of a Function's arguments."""
        return [None if i is None else self.ids[i] for i in self.positions(op)]

    def like(self, value: dict) -> list[int]:
        """Return the computed values that have the numbers of another value."""
        facts = lambda v: (v["shape"], v["dtype"], v["summary"])
        return [i for i in self.makers if facts(self.values[i]) == facts(value)] if value["summary"] else []

    def attributes(self, label: str) -> list[int]:
        """Return the computed values with the label of an attribute of ctx."""
        return [i for i in self.makers if label.startswith("ctx_") and self.values[i]["label"] == label]

    def unnamed(self, op: dict) -> list[int]:
        """Return the tensors that an operation reads and its call does not name: the base of a view, noise."""
        named = words(op["call"])
        return [i for i in op["inputs"] if isinstance(i, int) and self.values[i]["label"] not in named]

    def examples(self, op: dict, moving: dict[str, int] | None = None) -> list[dict[str, int]]:
        """Return the dimension of examples of each name in an operation's call under vmap, for each vmap, outermost first.

        The results of an operation under vmap have it in front. `moving` are the names of tangents, with the values to which
        they belong.
        """
        named = {**self.by_label, **(moving or {})}
        dims = self.seen_by_examples(op) if op["views"] else self.seen_by_backward(op)
        return [{word: d[i] for word, i in named.items() if i in d} for d in dims]

    def seen_by_examples(self, op: dict) -> list[dict[int, int]]:
        """Return the dimension of examples of each value, for each vmap around an operation."""
        tensors = [i for i in op["inputs"] if isinstance(i, int)]
        shapes = {i: list(self.values[i]["shape"]) for i in tensors}
        found = []
        for view in op["views"]:
            dims = {}
            for i, seen in zip(tensors, view["inputs"] if view["layer"] == "vmap" else ()):
                before = shapes[i]
                options = [d for d in range(len(before)) if before[:d] + before[d + 1 :] == seen]
                if options:
                    dims[i] = 0 if "vmap" in self.makers.get(i, {}).get("layer", ()) and 0 in options else options[0]
                    shapes[i] = seen
            if dims:
                found.append(dims | dict.fromkeys(op["outputs"], 0))
        return found

    def seen_by_backward(self, op: dict) -> list[dict[int, int]]:
        """Return the same for an operation of a backward inside one vmap, of which the record has no views."""
        if op["layer"].count("vmap") != 1:
            return []
        known = {i: d for one in self.ops for dims in self.seen_by_examples(one)[:1] for i, d in dims.items()}
        tensors = [i for i in op["inputs"] if isinstance(i, int)]
        inside = [i for i in tensors if "vmap" in self.makers.get(i, {}).get("layer", ())]
        inside += [i for i in tensors if self.values[i]["kind"] == "gradient" and i not in self.makers]
        return [{i: d for i, d in known.items() if i in tensors} | dict.fromkeys([*inside, *op["outputs"]], 0)]


def words(text: str) -> set[str]:
    """Return the words of an expression that may be names of values."""
    return set(WORD.findall(text))


def elements(record: dict, i: int) -> np.ndarray | None:
    """Return what the contents of a record hold of a value."""
    value, contents = record["values"][i], record.get("contents", {})
    exact = contents.get(str(i), contents.get(i))
    if exact is None:
        return None
    return np.frombuffer(base64.b64decode(exact), np.dtype(value["dtype"])).reshape(value["shape"])


def numbers(record: dict, i: int) -> np.ndarray | None:
    """Return the elements of a value in double precision, if the record holds them."""
    exact, shown = elements(record, i), record["values"][i]["summary"].get("values")
    if exact is not None:
        return exact.astype(np.float64)
    return None if shown is None else np.array(shown, np.float64).reshape(record["values"][i]["shape"])


def leaf_contents(record: dict) -> bool:
    """Return True if the record has the numbers of a leaf at least."""
    leaves = [v["id"] for v in record["values"] if v["kind"] in LEAVES]
    return any(numbers(record, i) is not None for i in leaves)


def flat(ids: Iterable[Any]) -> Iterator[int]:
    """Yield ids, also those in lists."""
    for i in ids:
        yield from i if isinstance(i, list) else [i]
