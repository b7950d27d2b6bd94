"""Names in the source of a program: variables, sizes, numbers, elements of arrays.

A variable has the user's name. A size is the `.shape[d]` of an input, so that the source is the same for every batch size. A
number is written as the user wrote it, in the dtype in which it is used. cpu_loops.py and library_calls.py write the code
around these.
"""

import ast
import builtins
import keyword
import math
import re
from typing import Any

import numpy as np

from ...arrays.dtypes import BF2, HALVES
from ..fuse import loop_index
from ..ir import F4, F8, Count, Lowering, Op, Value
from ..symbols import SymbolicFloat, SymbolicInt, is_symbolic

LOOP = {"i", "k", "term", "start", "end", *[f"i{d}" for d in range(32)]}
HELPERS = {"plus", "row_sum", "higher", "peak", "empty", "flat", "zeros"}
SINGLE = ast.Attribute, ast.Call, ast.Constant, ast.Name, ast.Subscript  # expressions that need no parentheses
TAKEN = {"np", "njit", "statics", "call", *HELPERS, *LOOP, *dir(builtins), *keyword.kwlist, *keyword.softkwlist}


class Spelling:
    """The names of one program, and the expressions of its values."""

    def __init__(self, low: Lowering, inputs: list[Value], reserved: set):
        self.low, self.inputs = low, inputs
        self.used: set[str] = {*TAKEN, *reserved}
        self.names: dict[Value, str] = {}
        self.numbers: dict[str, str] = {}  # float arguments -> their variables
        self.taken: dict[Value, Value] = {}  # results in the memory of other arrays (buffers.py)
        # the size that threads share, and the two arguments that delimit a thread's part
        self.shared: int | None = None
        self.range: tuple = ()
        self.statics: list = []  # objects that source cannot express: operations that are called, and their arguments

    # ------------------------------------------------------------------ variables
    def share(self, size: int) -> None:
        """Make loops over a size run from `low` to `high`, two extra arguments."""
        self.shared, self.range = size, (self.free("low"), self.free("high"))

    def name(self, v: Value, wish: str = "") -> str:
        """Return the variable that holds v."""
        if v not in self.names:
            self.names[v] = self.free(wish if v.name else f"{wish}_1")
        return self.names[v]

    def free(self, wish: str) -> str:
        """Return an unused variable name, `wish` if possible."""
        wish = re.sub(r"\W", "_", wish)
        wish = wish if wish.isidentifier() and not wish.startswith("__") else "v_" + wish
        stem = wish.removesuffix("_1")
        found, k = wish, 2
        while found in self.used or found + "_i" in self.used:
            found, k = f"{stem}_{k}", k + 1
        self.used |= {found, *[f"{found}_{s}" for s in ("i", "was", "flat", "sum", "part", "row", "top")]}
        return found

    def static(self, a: Any) -> str:
        """Return an expression for an object that is passed to the program as it is."""
        self.statics.append(a)
        return f"statics[{len(self.statics) - 1}]"

    # ------------------------------------------------------------------ arrays and elements
    def array(self, v: Value) -> str:
        """Return the expression of all of v: an array, or a number if it is 0-d."""
        if v.kind != "uniform":
            return self.name(v)
        number = self.literal(v.content, v.dtype)
        return f"np.full({self.shape(v)}, {number})" if v.shape else number

    def view(self, v: Value, memory: str = "") -> str:
        """Return v as NumPy sees it, without a copy: a slice of memory, transposed, with new dimensions, and broadcast.

        `memory` is the variable of the array that v is a part of, if that is not its own base.
        """
        base, places = self.low.seen(v)
        if base.kind == "uniform":
            return self.repeated(v)
        if base is v:
            return self.name(v)
        order = [d for d, _, _ in places if d is not None]
        cuts = [
            str(start) if d is None else cut(start, step, v.shape[d], n)
            for (d, start, step), n in zip(places, base.shape)
        ]
        text = (memory or self.name(base)) + ("" if set(cuts) <= {":"} else f"[{', '.join(cuts)}]")
        if order != sorted(order):
            text = f"np.transpose({text}, {tuple([order.index(d) for d in sorted(order)])})"
        if len(order) < len(v.shape):
            text += f"[{', '.join([':' if d in order else 'None' for d in range(len(v.shape))])}]"
        repeated = any(n != 1 and d not in order for d, n in enumerate(v.shape))
        return f"np.broadcast_to({text}, {self.shape(v)})" if repeated else text

    def repeated(self, v: Value) -> str:
        """Return an array that repeats one number, in the memory of one."""
        return self.static(np.broadcast_to(np.full((), v.content, v.dtype), v.shape))

    def number(self, a: SymbolicFloat | SymbolicInt) -> str:
        """Return a float argument as a Python number."""
        return self.numbers[a.name]

    def memory(self, v: Value) -> str:
        """Return memory for a result: new, or reused from an array that is no longer needed."""
        return self.name(self.taken[v]) if v in self.taken else self.empty(v)

    def empty(self, v: Value) -> str:
        """Return new memory for v."""
        return f"empty({self.shape(v)}, np.{v.dtype.name})"

    def at(self, v: Value, index: list) -> str:
        """Return one element of any value."""
        return self.element(*self.low.resolve(v, index))

    def element(self, base: Value, at: list) -> str:
        """Return one element of a value in memory."""
        if base.kind == "uniform":
            return self.literal(base.content, base.dtype)
        return f"{self.name(base)}[{', '.join(at)}]" if base.shape else self.name(base)

    # ------------------------------------------------------------------ sizes
    def shape(self, v: Value) -> str:
        """Return the shape of v as source text."""
        return f"({', '.join(self.sizes(v))}{',' if len(v.shape) == 1 else ''})"

    def sizes(self, v: Value) -> list:
        """Return the source text of each size."""
        if len(v.dims) != len(v.shape):
            base, places = self.low.seen(v)
            same = {d: f"({self.sizes(base)[k]} - {start})" if start else self.sizes(base)[k]
                    for k, (d, start, step) in enumerate(places)
                    if base is not v and d is not None and step == 1 and v.shape[d] == base.shape[k] - start}  # fmt: skip
            v.dims = [same.get(d) or self.size(n) for d, n in enumerate(v.shape)]
        return ["1" if n == 1 else d for n, d in zip(v.shape, v.dims)]

    def extent(self, v: Value) -> list:
        """Return the source text of the sizes that a loop over v iterates."""
        return [text for n, text in zip(v.shape, self.sizes(v)) if n != 1]

    def counters(self, v: Value) -> list:
        """Return the source text of the bounds of the loops over v."""
        sizes = zip([n for n in v.shape if n != 1], self.extent(v))
        return [", ".join(self.range) if n == self.shared else text for n, text in sizes]

    def loops(self, v: Value) -> list[tuple[str, str]]:
        """Return the variables of the loops over all of v, each with its bound."""
        return [(i, n) for i, n in zip(loop_index(v.shape), self.sizes(v)) if i != "0"]

    def size(self, n: int) -> str:
        """Return a size as an expression of the inputs' sizes if there is one, else as a number."""
        if n <= 1:
            return str(n)
        named = [(v.shape, self.names[v]) for v in self.inputs]
        sizes = [(m, f"{x}.shape[{d}]") for shape, x in named for d, m in enumerate(shape)]
        wholes = [(math.prod(shape), f"{x}.size") for shape, x in named if len(shape) > 1]
        pairs = [(shape[d] * shape[d + 1], f"{x}.shape[{d}] * {x}.shape[{d + 1}]")
                 for shape, x in named for d in range(len(shape) - 1)]  # fmt: skip
        multiples = [(n, f"{text} * {n // m}") for m, text in sizes if m > 1 and n % m == 0]
        return next((text for m, text in [*sizes, *wholes, *pairs, *multiples] if m == n), str(n))

    def measure(self, op: Op) -> None:
        """Choose the expressions of the sizes of an operation's results; `sizes` handles a reshape and a fill."""
        out, ins = op.outs[0], op.values
        if op.kind == "map":
            out.dims = [self.size_among(ins, n, d - len(out.shape)) for d, n in enumerate(out.shape)]
        elif op.kind == "reduce":
            own = self.sizes(ins[0])
            out.dims = [own[d] for d in range(len(own)) if op.data["keepdim"] or d not in op.data["dims"]]
        elif op.kind == "dot":
            x, y = ins
            rows, columns = self.sizes(x)[-2:-1], self.sizes(y)[-1:] if len(y.shape) > 1 else []
            lead = len(out.shape) - len(rows) - len(columns)
            out.dims = [self.size_among(ins, n, d - len(out.shape)) for d, n in enumerate(out.shape[:lead])]
            out.dims += [*rows, *columns]
        elif op.kind in ("pick", "scatter"):
            out.dims = [n for d, n in enumerate(self.sizes(ins[0])) if op.kind == "scatter" or d != op.data["dim"]]
        elif op.kind == "call":
            for o in op.outs:
                o.dims = [f"{self.name(o, op.name)}.shape[{d}]" for d in range(len(o.shape))]

    def outside(self, op: Op) -> list[str]:
        """Return the lines that handle an invalid index k."""
        return [f'raise IndexError("{"class" if op.kind == "pick" else "index"} out of bounds")']

    def size_among(self, ins: list, n: int, d: int) -> str:
        """Return the size of dimension d, counted from the end, from the broadcast operand that has it."""
        for v in ins:
            if v.kind != "uniform" and len(v.shape) >= -d and v.shape[d] == n:
                return self.sizes(v)[d]
        return self.size(n)

    # ------------------------------------------------------------------ numbers
    def literal(self, a: Any, dtype: np.dtype, op: Op | None = None) -> str:
        """Return a number as a literal of a dtype; for halves, one of float32, which is rounded when stored."""
        dtype = F4 if dtype in HALVES else dtype
        if is_symbolic(a):
            return cast(self.numbers[a.name], F8, dtype)
        if isinstance(a, Count):
            return f"np.{dtype.name}({' * '.join([self.sizes(a.x)[d] for d in a.dims]) or '1'})"
        if dtype.kind == "b":
            return str(bool(a))
        if dtype.kind == "i":
            return str(int(a))
        a = float(a)
        if (
            op is not None
            and op.name in ("div", "mul")
            and 1 < a <= max([math.prod(v.shape) for v in self.inputs], default=0)
            and a == int(a)
            and not in_users_line(op, a)
        ):
            text = self.size(int(a))  # not the user's number, but that of some elements, as in a mean
            if ".s" in text:
                return f"np.{dtype.name}({text})"
        text = repr(a) if math.isfinite(a) else "np.nan" if a != a else "np.inf" if a > 0 else "-np.inf"
        return text if dtype == F8 else f"np.{dtype.name}({text})"


def cast(text: str, own: np.dtype, dtype: np.dtype) -> str:
    """Return an expression converted from one dtype to another; conversions of halves go through float32."""
    if own == dtype:
        return text
    if {own, dtype} & HALVES and F4 not in (own, dtype):
        return cast(cast(text, own, F4), F4, dtype)
    if own == BF2:
        return f"of_bfloat16({text})"
    if dtype == BF2:
        return f"to_bfloat16({text})"
    return f"np.{'bool_' if dtype.kind == 'b' else dtype.name}({text})"


def cut(start: int, step: int, count: int, size: int) -> str:
    """Return the slice of `count` elements out of `size`."""
    if (start, step, count) == (0, 1, size):
        return ":"
    return f"{start}:{start + step * count}" + (f":{step}" if step != 1 else "")


def dtype_text(dtype: np.dtype) -> str:
    """Return the expression of a dtype."""
    return "bfloat16" if dtype == BF2 else f"np.{dtype.name}"


def grouped(text: str) -> str:
    """Return an expression in parentheses, unless it needs none."""
    return text if isinstance(ast.parse(text, mode="eval").body, SINGLE) else f"({text})"


def in_users_line(op: Op, a: float) -> bool:
    """Return True if the number appears in the user's line."""
    if op.place is None or not op.place.code:
        return True
    return re.search(rf"(?<![\w.]){int(a)}(\.0*)?(?![\w.])", op.place.code) is not None
