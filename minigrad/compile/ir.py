"""The lowered program: a few kinds of simple operations (Op) on values (Value), simple enough to write loops for.

A map computes one formula for each element, a reduction a sum or maximum. A view is not an operation but index arithmetic
(an alias), and costs nothing. `Lowering` holds the program and has a method for each kind of operation. The rules (rules.py)
decide which methods to call for which operation.
"""

import ast
import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..arrays.dtypes import HALVES
from ..kernels.formula import CUDA, Target
from .captured_steps import HANDLED, CapturedValue
from .symbols import is_symbolic

F4, F8, I8, BOOL = HANDLED


class Value:
    """A value of the lowered program."""

    __slots__ = ("content", "dims", "dtype", "kind", "layout", "name", "shape")

    def __init__(self, kind: str, shape: tuple, dtype: Any, name: str = "", content: Any = None, layout: str = "C"):
        self.kind, self.shape, self.dtype, self.name = kind, tuple(shape), np.dtype(dtype), name
        self.content, self.layout = content, layout
        self.dims: list = []  # the source of each size


class Op:
    """One simple operation: `kind` is map, reduce, dot, reshape, pick, scatter, fill or call."""

    __slots__ = ("data", "ins", "kind", "name", "outs", "place")

    def __init__(self, kind: str, ins: list, outs: list, name: str, step: Any, **data: Any):
        self.kind, self.ins, self.outs, self.name, self.data = kind, ins, outs, name, data
        self.place = None if step is None else step.place

    @property
    def values(self) -> list[Value]:
        """The values that the operation reads; its other inputs are numbers."""
        return [a for a in self.ins if isinstance(a, Value)]


class Count(NamedTuple):
    """The number of elements of x over dims, written in terms of x's sizes."""

    x: Value
    dims: tuple


class Lowering:
    """The steps of a capture as simple operations.

    Halves (float16 and bfloat16) exist in memory only: loops read them as float32, compute in float32, and round results when
    they are stored. So the Value of a half CapturedValue is a half only if it is stored, or a view of a stored one.
    """

    def __init__(self, target: Target) -> None:
        self.target = target  # the backend that will run the program
        self.handled = {*HANDLED, *HALVES} if target is CUDA else {*HANDLED}  # the CPU compiler does not support halves
        self.wide: dict[Value, Value] = {}  # halves -> the same memory, read as float32
        self.rounded: dict[CapturedValue, Value] = {}  # halves computed as float32 -> their rounded, stored form
        self.ops: list[Op] = []
        self.values: dict[CapturedValue, Value] = {}
        self.constants: list[Value] = []
        self.aliases: dict[
            Value, tuple[Value, list]
        ] = {}  # views -> the owner of the memory, and the index there (`alias`)
        self.known: dict[tuple, Value] = {}  # meaning of an operation -> its value
        self.same: dict[Value, Value] = {}  # values that were computed before under another name
        self.notes: list[str] = []
        self.step: Any = None

    # ------------------------------------------------------------------ values
    def v(self, a: Any) -> Any:
        """Return an argument of a step as a value, or as the number that it holds."""
        if not isinstance(a, CapturedValue):
            return a
        if a not in self.values:
            if a.kind == "number":
                return a.content
            self.values[a] = self.constant(a.content, a.name)
        return self.values[a]

    def constant(self, content: np.ndarray, name: str) -> Value:
        """Return known content as a value: a single number if uniform, else an array passed to the program."""
        if content.size and (content == content.flat[0]).all() and content.dtype in self.handled:
            return Value("uniform", content.shape, content.dtype, name, content.flat[0].item())
        made = Value(
            "constant", content.shape, content.dtype, name, np.ascontiguousarray(content).reshape(content.shape)
        )
        self.constants.append(made)
        return made

    def new(self, shape: tuple, dtype: Any, name: str = "") -> Value:
        """Return a new value for an intermediate result."""
        return Value("computed", shape, dtype, name)

    def out(self, k: int = 0, dtype: Any = None) -> Value:
        """Return result k of the current step; halves are computed as float32 unless a dtype is given."""
        o = self.step.outs[k]
        dtype = dtype or (F4 if o.dtype in HALVES else o.dtype)
        self.values[o] = made = Value("computed", o.shape, dtype, o.name)
        return made

    def widened(self, v: Any) -> Any:
        """Return an argument as a loop reads it: halves as float32."""
        if not isinstance(v, Value) or v.dtype not in HALVES:
            return v
        if v not in self.wide:
            self.wide[v] = self.new(v.shape, F4)
            self.alias(v, self.wide[v], straight(v))
        return self.wide[v]

    def stored(self, a: Any) -> Any:
        """Return an argument as it is in memory, rounding halves that a loop computed as float32."""
        v = self.v(a)
        if not isinstance(v, Value) or a.dtype not in HALVES or v.dtype == a.dtype:
            return v
        if a not in self.rounded:
            out = self.new(v.shape, a.dtype)
            self.rounded[a] = made = self.map("x", {"x": v}, v.shape, F4, out, name="rounded")
            made.name, v.name = made.name or v.name, ""  # the user's name belongs to the value that the user gets
        return self.rounded[a]

    def resolve(self, v: Value, index: list) -> tuple[Value, list]:
        """Return the location of element `index` of v: the value that owns the memory, and the index there."""
        base, places = self.seen(v)
        return base, [moved("0" if d is None else index[d], start, step) for d, start, step in places]

    def seen(self, v: Value) -> tuple[Value, list]:
        """Return the value whose memory v uses, and for each of its dimensions the position that v reads (`alias`)."""
        return self.aliases.get(v) or (v, straight(v))

    def base(self, v: Value) -> Value:
        """Return the value that v is a view of, or v itself."""
        return self.aliases[v][0] if v in self.aliases else v

    def bases(self, ops: list[Op]) -> list[Value]:
        """Return the values that some operations read, once per read."""
        return [self.base(v) for op in ops for v in op.values]

    def readers(self, ops: Iterable[Op]) -> dict[Value, set[Op]]:
        """Return the readers of each value among some operations."""
        found: dict[Value, set[Op]] = {}
        for op in ops:
            for v in self.bases([op]):
                found.setdefault(v, set()).add(op)
        return found

    # ------------------------------------------------------------------ called by the rules
    def add(self, kind: str, ins: list, outs: list, name: str = "", **data: Any) -> Any:
        """Add an operation and return its first result. A computation that was added before is reused."""
        op = Op(kind, ins, outs, name or kind, self.step, **data)
        if kind in ("map", "reduce"):
            (out,) = outs
            known = self.known.setdefault(self.meaning(op), out)
            if known is not out:
                known.name = known.name or out.name
                self.same[out] = known
                self.alias(known, out, straight(out))
                return out
        self.ops.append(op)
        return outs[0]

    def alias_index(self, x: Value, out: Value, index: tuple) -> Value | None:
        """Alias x[index] for integers, slices and None; return None for positions from the end, since sizes may change."""
        for part, n in zip([p for p in index if p is not None], x.shape):
            if isinstance(part, slice) and (part.start or 0) >= 0 and (part.step or 1) > 0:
                if part.stop is None and (part.step or 1) > 1 or (part.stop or 0) < 0:
                    return None
            elif type(part) is not int or not 0 <= part < n:
                return None
        places: list = []
        of_out = itertools.count()
        for part in [*index, *[slice(None)] * (len(x.shape) - sum(p is not None for p in index))]:
            if isinstance(part, slice):
                places.append((next(of_out), part.start or 0, part.step or 1))
            elif part is None:
                next(of_out)
            else:
                places.append((None, part, 1))
        return self.alias(x, out, places)

    def forget(self, count: int) -> None:
        """Drop all but the first `count` operations: a rule has declined."""
        gone = {o for op in self.ops[count:] for o in op.outs}
        self.known = {k: v for k, v in self.known.items() if v not in gone} if gone else self.known
        del self.ops[count:]

    def meaning(self, op: Op) -> tuple:
        """Return a key for what a map or reduction computes, equal for equal results."""
        tree, options = op.data.get("tree"), [op.data.get(k) for k in ("kinds", "natural", "dims", "keepdim")]
        ins = [self.same.get(a, a) if isinstance(a, Value) else a if isinstance(a, Count) else
               (type(a), a.name if is_symbolic(a) else repr(a)) for a in op.ins]  # fmt: skip
        text = op.name
        if tree is not None:
            places: dict = {p: ast.Name(f"_{k}") for k, p in enumerate(op.data["params"])}
            text = ast.unparse(Names(places).visit(ast.parse(ast.unparse(tree), mode="eval").body))
        return op.kind, text, repr(options), *ins, op.outs[0].shape, op.outs[0].dtype

    def map(self, formula: str | ast.expr, ins: dict, shape: tuple, dtype: Any, out: Value | None = None, needs: Any = (),
            name: str = "map", kinds: Any = None) -> Value:  # fmt: skip
        """Add a map of a formula over its named inputs `ins`, which it reads in the dtypes `kinds` (default: their own)."""
        out = out or self.new(shape, dtype)
        kinds = kinds or [a.dtype if isinstance(a, Value) else np.dtype(dtype) for a in ins.values()]
        tree = ast.parse(formula, mode="eval").body if isinstance(formula, str) else formula
        return self.add("map", list(ins.values()), [out], name, tree=tree, params=tuple(ins), kinds=kinds,
                        needs=dict.fromkeys(needs), natural=np.dtype(dtype))  # fmt: skip

    def reduction(self, kind: str, x: Value, dims: tuple, keepdim: bool, out: Value | None = None) -> Value:
        """Add a sum or maximum over dimensions."""
        shape = tuple([1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims])
        out = out or self.new(shape, x.dtype)
        if all(x.shape[d] == 1 for d in dims):
            return self.map("x", {"x": self.reshape(x, shape)}, shape, x.dtype, out)
        return self.add("reduce", [x], [out], kind, dims=dims, keepdim=keepdim)

    def alias(self, x: Value, out: Value, places: list) -> Value:
        """Make `out` a view of x; `places` has (d, start, step) for each dimension of x.

        Index i of `out`'s dimension d reads start + i * step there. If d is None, the view is fixed at `start`.
        """
        if x.kind == "uniform":
            out.kind, out.content = x.kind, x.content
            return out
        base, of_x = self.seen(x)
        of_out = [(None, 0, 1) if d is None else places[d] for d, _, _ in of_x]
        chained = [(d, start + step * first, step * pace) for (_, start, step), (d, first, pace) in zip(of_x, of_out)]
        self.aliases[out] = base, chained
        return out

    def permuted(self, x: Value, order: tuple, out: Value | None = None) -> Value:
        """Return x with its dimensions in another order."""
        out = out or self.new(tuple([x.shape[d] for d in order]), x.dtype)
        return self.alias(x, out, [(order.index(d), 0, 1) for d in range(len(order))])

    def alias_expand(self, x: Value, out: Value) -> Value:
        """Alias x with sizes of 1 repeated and new dimensions in front."""
        lead = len(out.shape) - len(x.shape)
        return self.alias(x, out, [(None if n == 1 else lead + d, 0, 1) for d, n in enumerate(x.shape)])

    def alias_reshape(self, x: Value, out: Value) -> Value:
        """Alias x with sizes of 1 inserted or removed, which is pure index arithmetic."""
        of_out = iter([d for d, n in enumerate(out.shape) if n != 1])
        return self.alias(x, out, [(None if n == 1 else next(of_out), 0, 1) for n in x.shape])

    def reshape(self, x: Value, shape: tuple, out: Value | None = None) -> Value:
        """Return the elements in order under another shape: x itself if it has the shape and no `out` is given."""
        if out is None and x.shape == shape:
            return x
        out = out or self.new(shape, x.dtype)
        if [n for n in x.shape if n != 1] == [n for n in out.shape if n != 1]:
            return self.alias_reshape(x, out)
        return self.add("reshape", [x], [out], "reshape")

    def join_fills(self, wanted: list) -> None:
        """Replace sums of fills of separate places by one fill: gradients of the parts that indexing took from an array."""
        reads = Counter([*self.bases(self.ops), *map(self.base, wanted)])
        fills = {op.outs[0]: op for op in self.ops if op.kind == "fill"}
        for op in self.ops:
            if (
                op.kind != "map"
                or ast.unparse(op.data["tree"]) != "x + y"
                or not all([isinstance(a, Value) and a in fills for a in op.ins])
            ):
                continue
            out, (x, y) = op.outs[0], [fills[v] for v in op.ins]
            alike = all((v.shape, v.dtype, reads[v]) == (out.shape, out.dtype, 1) for v in op.ins)
            if alike and self.write_apart(x, y):
                op.kind, op.name, op.ins = "fill", "unindex", x.ins + y.ins
                op.data = {"places": x.data["places"] + y.data["places"]}
                fills[out] = op
        self.drop_unused(wanted)

    def is_product_or_sum(self, x: Any) -> bool:
        """Return True if a value is in memory as soon as it is computed."""
        return any(x in op.outs for op in self.ops if op.kind in ("dot", "reduce"))

    def write_apart(self, x: Op, y: Op) -> bool:
        """Return True if two fills write to different places: in some dimension their fixed indices differ."""
        pairs = itertools.product(*[[self.seen(p)[1] for p in op.data["places"]] for op in (x, y)])
        return all(any(d is e is None and i != j for (d, i, _), (e, j, _) in zip(*pair)) for pair in pairs)

    def drop_unused(self, wanted: list) -> None:
        """Drop operations without readers, except calls and those that can raise."""
        needed = {self.base(v) for v in wanted}
        kept = []
        for op in reversed(self.ops):
            if op.kind in ("call", "pick", "scatter") or any(o in needed for o in op.outs):
                needed.update(self.bases([op]))
                needed.update([self.base(a.x) for a in op.ins if isinstance(a, Count)])
                kept.append(op)
        self.ops = kept[::-1]


def straight(v: Value) -> list:
    """Return the places of a view that is all of v, unchanged."""
    return [(d, 0, 1) for d in range(len(v.shape))]


def moved(i: str, start: int, step: int) -> str:
    """Return start + i * step as source text."""
    if i == "0":
        return str(start)
    i = f"{i} * {step}" if step != 1 else i
    return f"{i} + {start}" if start else i


class Names(ast.NodeTransformer):
    """Replaces the names in a formula by expressions."""

    def __init__(self, given: dict):
        self.given = given

    def visit_Name(self, node: ast.Name) -> Any:
        return self.given.get(node.id, node)
