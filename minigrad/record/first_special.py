"""The first NaN and the first infinity of each pass of a record, and the numbers that made them.

An operation makes a NaN if its result has one and its operands have none.  This is read off a record, so it works for any
program whose record is known.  Which numbers did it follows from the expression of the result (a call, the formula of an edge,
the formula of a push): its parts are computed one after another until one has a NaN, as 0 / 0 is in `g * x / x`.
"""

from __future__ import annotations

import ast
import base64
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..fast.text_plan import is_pointwise
from ..ops.base.registry import TABLE
from .contents import SIZES
from .grid import numbers_of
from .labels import tangent

WORDS = {"nan": "NaN", "inf": "inf"}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"}
COMPUTE = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "**": np.power, "@": np.matmul}
ARRANGING = {"reshape": np.reshape, "expand": np.broadcast_to, "unsqueeze": np.expand_dims, "transpose": np.swapaxes}
ADDING = {"sum": np.sum, "mean": lambda x, **how: (s := np.sum(x, **how)) / np.float64(x.size / max(1, s.size))}
MOST = 2**16  # elements of a part of an expression


def first_special(record: dict) -> dict[tuple[str, str, int], str]:
    """Return where a pass has its first NaN or infinity, (pass, "op" or "value", id), and the words for it.

    >>> import minigrad
    >>> rec = minigrad.record(lambda x: (x / x).log(), minigrad.tensor([0.0, 1.0]), passes=("forward",))
    >>> first_special(rec.to_dict())
    {('forward', 'op', 0): 'first NaN here: 0 / 0'}
    """
    made, found = Made(record), {}
    if not any(made.special.values()):
        return {}
    for name, steps in {"forward": made.forward, "backward": made.backward, "jvp": made.jvp}.items():
        waiting = list(WORDS)
        for where, result, operands, words in steps():
            for kind in [kind for kind in waiting if made.is_new(kind, result, operands)]:
                waiting.remove(kind)
                said = f"first {WORDS[kind]} here: {words(kind)}".removesuffix(": ")
                found[(name, *where)] = "; ".join(filter(None, (found.get((name, *where)), said)))
            if not waiting:
                break
    return found


class Made:
    """The results of a record in the order of its passes, each with its operands and a function for the numbers."""

    def __init__(self, record: dict):
        self.record = record
        self.values = {value["id"]: value for value in record["values"]}
        self.labels = {value.get("label"): value["id"] for value in record["values"] if value.get("label")}
        self.ops = [op for op in record["ops"] if op["phase"] in ("forward", "update")]
        self.contents = record.get("contents") or {}
        self.special = {kind: {value["id"] for value in record["values"] if holds(value, kind)} for kind in WORDS}
        self.tangents = {int(v): t for op in record["ops"] for v, t in (op.get("tangents") or {}).items()}

    def forward(self) -> Iterator[tuple]:
        """Yield the results of operations."""
        for op in self.ops:
            for out in op["outputs"]:
                yield ("op", op["id"]), out, op["inputs"], self.words(op.get("call"), self.labels, op)

    def jvp(self) -> Iterator[tuple]:
        """Yield the tangents of results."""
        for op in self.ops:
            for push in op.get("pushes") or ():
                moving = {tangent(name): self.tangents[v] for name, v in self.labels.items() if v in self.tangents}
                names = self.labels | moving
                operands = self.read(push["formula"], push.get("names") or names)
                operands += [
                    *op["inputs"],
                    *[self.tangents[i] for i in op["inputs"] if type(i) is int and i in self.tangents],
                ]
                words = self.words(push["formula"], push.get("names") or names)
                yield ("op", op["id"]), self.tangents.get(push["output"]), operands, words

    def backward(self) -> Iterator[tuple]:
        """Yield the contributions to gradients, and their sums."""
        gradients = {int(value): g for value, g in (self.record.get("gradients") or {}).items()}
        parts: dict[int, list] = {}
        for op in self.ops:
            for edge in op.get("edges") or ():
                parts.setdefault(edge["input"], []).append(edge["gives"])
        for op in reversed(self.ops):
            for out in op["outputs"]:
                yield from self.sums(("op", op["id"]), gradients.get(out), parts.pop(out, []))
            for edge in op.get("edges") or ():
                ups = [up for up in edge.get("upstreams") or [edge["upstream"]] if up is not None]
                names = edge.get("names") or self.labels | ({"g": ups[0]} if len(ups) == 1 else {})
                formula = edge.get("formula") or ""
                operands = [*ups, *(self.read(formula, names) or op["inputs"])]
                yield ("op", op["id"]), edge["gives"], operands, self.words(formula, names)
        for value, given in parts.items():
            yield from self.sums(("value", value), gradients.get(value), given)

    def sums(self, where: tuple, total: int | None, given: list[int]) -> Iterator[tuple]:
        """Yield a gradient that is the sum of several contributions."""
        if total is not None and len(given) > 1:
            names = {f"d{i}": g for i, g in enumerate(given)}
            yield where, total, given, self.words(" + ".join(names), names)

    def read(self, formula: str, names: dict) -> list[int]:
        """Return the values that a formula names, and its constants that are special numbers."""
        words = [word.id for word in ast.walk(parsed(formula)) if isinstance(word, ast.Name)]
        return [names.get(word, {"const": word}) for word in words if word in names or word in WORDS]

    # ------------------------------------------------------------------ numbers
    def is_new(self, kind: str, result: int | None, operands: Iterable) -> bool:
        """Return True if a result has a NaN that no operand has, or an infinity where they have neither."""
        kinds = ("nan",) if kind == "nan" else ("nan", "inf")
        return self.has(kind, result) and not any(self.has(k, operand) for k in kinds for operand in operands)

    def has(self, kind: str, operand: Any) -> bool:
        """Return True if a value or a constant has a NaN or an infinity, as far as the record tells."""
        if isinstance(operand, dict):
            return kind in str(operand.get("const"))
        return operand in self.special[kind]

    def array(self, value: int) -> np.ndarray | None:
        """Return the elements of a value, if the record has all of them."""
        known = self.values[value]
        summary, dtype = known.get("summary") or {}, known["dtype"].replace("bfloat16", "float32")
        if dtype not in SIZES:
            return None
        if "values" in summary:
            found = np.asarray(summary["values"], object).astype(dtype)
        elif str(value) in self.contents and known["dtype"] == dtype:
            found = np.frombuffer(base64.b64decode(self.contents[str(value)]), np.dtype(dtype).newbyteorder("<"))
        elif (summary.get("grid") or {}).get("cell") == "element" and len(known["shape"]) in (1, 2):
            found = (np.array(numbers_of(summary["grid"])[0]) * summary["grid"]["unit"]).astype(dtype)
        elif summary.get("min") == summary.get("max") is not None and not summary.get("nan") and not summary.get("inf"):
            return np.broadcast_to(np.asarray(summary["min"], dtype), known["shape"])
        else:
            return None
        return found.reshape(known["shape"])

    def words(self, expression: str | None, names: dict, op: dict | None = None) -> Callable[[str], str]:
        """Return a function that gives the numbers of the first NaN or infinity in an expression, "" if they are unknown."""

        def told(kind: str) -> str:
            tree = parsed(expression or "")
            used = {word.id for word in ast.walk(tree) if isinstance(word, ast.Name)} & names.keys()
            try:
                with np.errstate(all="ignore"):
                    evaluated(tree, {name: self.array(names[name]) for name in used}, kind)
            except Found as found:
                return str(found)
            except Exception:  # a record may come from anywhere
                pass
            return "" if op is None else self.about(op)

        return told

    def about(self, op: dict) -> str:
        """Describe the numbers of an operation that is no formula: softmax of -inf."""
        arrays = [a for i in op["inputs"] if type(i) is int and (a := self.array(i)) is not None]
        found = [word for word in ("inf", "-inf") if any((a == float(word)).any() for a in arrays)]
        if not found and arrays and arrays[0].size < 2:
            found = [text(arrays[0].item()) if arrays[0].size else "no numbers"]
        return f"{op['name']} of {' and '.join(found)}" if found else ""


def holds(value: dict, kind: str) -> bool:
    """Return True if a value has a NaN or an infinity."""
    summary = value.get("summary") or {}
    if "values" not in summary:
        return bool(summary.get(kind))
    return any(word in (kind, f"-{kind}") for word in np.ravel(np.asarray(summary["values"], object)).tolist())


class Found(Exception):
    """The numbers that made a NaN or an infinity."""


def parsed(expression: str) -> ast.AST:
    """Return the tree of an expression, empty for one that is none."""
    try:
        return ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Constant(None)


def evaluated(tree: ast.AST, names: dict, kind: str) -> Any:
    """Return the numbers of an expression, None if unknown; raise Found at the first part with a NaN or an infinity."""
    inner = lambda part: evaluated(part, names, kind)
    if isinstance(tree, ast.Constant):
        return tree.value
    if isinstance(tree, ast.Name):
        return names.get(tree.id, {"inf": np.inf, "nan": np.nan, "pi": np.pi}.get(tree.id))
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return None if (x := inner(tree.operand)) is None else -x
    if isinstance(tree, ast.BinOp) and type(tree.op) in SIGNS:
        sign = SIGNS[type(tree.op)]
        return checked(kind, COMPUTE[sign], [inner(tree.left), inner(tree.right)], sign)
    if isinstance(tree, ast.Tuple):
        return tuple(map(inner, tree.elts))
    if not isinstance(tree, ast.Call):
        return None
    named = isinstance(tree.func, ast.Attribute) and not isinstance(tree.func.value, ast.Name)
    method = isinstance(tree.func, ast.Attribute) and (named or tree.func.value.id in names)
    name = tree.func.attr if isinstance(tree.func, ast.Attribute) else getattr(tree.func, "id", "")
    args = [*([inner(tree.func.value)] if method else ()), *map(inner, tree.args)]
    return called(name, args, {word.arg: inner(word.value) for word in tree.keywords}, kind)


def called(name: str, args: list, keywords: dict, kind: str) -> Any:
    """Return the result of a function that is known here: of an elementwise one, of a sum, or of one that only arranges."""
    if None in [type(a) is not np.ndarray and a for a in args]:
        return None
    if name in ARRANGING:
        sizes = tuple(args[1:]) if type(args[1]) is int else args[1]
        if name in ("reshape", "expand") and abs(int(np.prod(sizes))) > MOST:
            return None
        return ARRANGING[name](args[0], *(args[1:] if name in ("unsqueeze", "transpose") else [sizes]))
    if name in ADDING:
        axis, keep = (keywords.get("dim", args[1] if len(args) > 1 else None)), bool(keywords.get("keepdim"))
        return checked(kind, lambda x: ADDING[name](x, axis=axis, keepdims=keep), args[:1], name)
    entry = TABLE.get(name)
    if entry is None or keywords or entry.cls is None or not is_pointwise(entry.cls):
        return None
    return checked(kind, entry.cls.compute, args, name)


def checked(kind: str, compute: Callable, args: list, name: str) -> Any:
    """Return a result; raise Found if it is the first part with a NaN or an infinity."""
    if any(a is None for a in args) or np.broadcast(*args).size > MOST and name != "@":
        return None
    result = np.asarray(compute(*[np.asarray(a) if isinstance(a, np.generic) else a for a in args]))
    odd = np.isnan if kind == "nan" else np.isinf
    if not odd(result).any() or any(odd(a).any() or np.isnan(a).any() for a in args):
        return result
    index = tuple(np.argwhere(odd(result))[0])
    if name in (*ADDING, "@"):
        raise Found(of_many(args, name))
    numbers = [text(np.broadcast_to(a, result.shape)[index].item()) for a in args]
    if name in COMPUTE:
        raise Found(f" {name} ".join([numbers[0], *[f"({n})" if n.startswith("-") else n for n in numbers[1:]]]))
    raise Found(f"{name}({', '.join(numbers)})")


def of_many(args: list, name: str) -> str:
    """Return the reason why a sum or a product of matrices is NaN or infinite."""
    high, low = ([(a == sign * np.inf).any() for a in args] for sign in (1, -1))
    if len(args) > 1 and any((h or m) and (b == 0).any() for h, m, b in zip(high, low, args[::-1])):
        return "0 * inf in a product"
    if any(high) and any(low):
        return "inf - inf in a sum"
    if not args[0].size:
        return "0 / 0, as there is no element"
    return f"{name} of numbers up to {text(max(float(np.abs(a).max()) for a in args))}"


def text(x: float) -> str:
    """Return a number with four significant digits; zero keeps its sign, as 1 / -0 is -inf."""
    return f"{x:.4g}"
