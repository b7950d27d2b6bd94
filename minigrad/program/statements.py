"""The text of what is not fused: products of matrices, reshapes, classes picked or added to by index, calls of operations.

These need whole arrays, where a loop reads elements: a view is given as `x.T` or copied first (`whole`).  STATEMENTS has the
function for each kind of group; the loops themselves are written in loops.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .fuse import loop_index
from .loops import nested
from .lowered import Op, V
from .reading import Number
from .spelling import Spelling


def dot(s: Spelling, op: Op) -> list[str]:
    """A product of matrices or vectors, by BLAS (kernels/products.py)."""
    lines, texts = [], []
    for v in op.ins:
        more, text = whole(s, v)
        lines += more
        texts.append(text if s.low.base(v).layout in ("C", "F") or more else f"np.ascontiguousarray({text})")
    name = s.name(op.outs[0], "dot")
    if all(len(v.shape) == 2 for v in op.ins):
        return [*lines, f"{name} = {s.empty(op.outs[0])}", f"product({', '.join(texts)}, {name})"]
    return [*lines, f"{name} = np.dot({', '.join(texts)})"]


def reshape(s: Spelling, op: Op) -> list[str]:
    """The elements in order under another shape."""
    x = op.ins[0]
    lines, text = whole(s, x)
    if not lines and (s.low.base(x).layout != "C" or text.endswith(".T")) and x.kind != "uniform":
        text = f"{text}.copy()" if not text.endswith(".T") else f"np.ascontiguousarray({text})"
        if s.low.base(x).layout != "C" and not text.startswith("np."):
            text = f"np.ascontiguousarray({s.array(x)})"
    return [*lines, f"{s.name(op.outs[0], 'reshape')} = {text}.reshape({s.shape(op.outs[0])})"]


def pick(s: Spelling, op: Op) -> list[str]:
    """The negative of each row's element at its class."""
    x, target = op.ins
    lines, text = whole(s, x)
    name = s.name(op.outs[0], "loss")
    return [
        *lines,
        f"{name} = {s.empty(op.outs[0])}",
        f"for i0 in range({name}.size):",
        f"    k = {s.at(target, ['0' if target.shape[0] == 1 else 'i0'])}",
        f"    if k == {op.data['ignore']}:",
        f"        {name}[i0] = 0",
        f"    elif k < 0 or k >= {text}.shape[1]:",
        '        raise IndexError("class out of bounds")',
        "    else:",
        f"        {name}[i0] = -{text}[i0, k]",
    ]


def scatter(s: Spelling, op: Op) -> list[str]:
    """x with numbers added at places of each row."""
    x, places, src = op.ins
    lines, text = whole(s, x)
    name, index = s.name(op.outs[0], "scatter"), loop_index(places.shape)
    body = [
        f"k = {s.at(places, index)}",
        f"if k < 0 or k >= {name}.shape[1]:",
        '    raise IndexError("index out of bounds")',
        f"{name}[{index[0]}, k] += {s.at(src, index)}",
    ]
    start = f"{name} = {text}" if x.kind == "uniform" else f"{name} = {text}.copy()"
    return [*lines, *([] if op.data["inside"] else [start]), *around(s, places, body)]


def call(s: Spelling, op: Op) -> list[str]:
    """A call of the operation itself."""
    texts = []
    for a in op.data["args"]:
        if isinstance(a, Number):
            texts.append(s.numbers[a.name])
        elif not isinstance(a, V):
            texts.append(s.static(a))
        elif a.kind == "uniform":
            texts.append(s.static(np.full(a.shape, a.content, a.dtype)))
        else:
            texts.append(viewed(s, a))
    outs = [s.name(o, op.name) for o in op.outs]
    cls = s.static((op.data["cls"], op.data["dtype"]))
    return [f"{', '.join(outs)}{',' if len(outs) == 1 else ''} = call({cls}, {', '.join(texts)})  # {op.name}"]


STATEMENTS = {"dot": dot, "reshape": reshape, "pick": pick, "scatter": scatter, "call": call}


# ---------------------------------------------------------------------- whole arrays
def whole(s: Spelling, v: V) -> tuple[list, str]:
    """v as an array in memory: lines to run before, and its text."""
    base = s.low.base(v)
    if not v.shape:
        return [], s.at(v, [])
    if base is v or v.kind == "uniform":
        return [], s.array(v)
    if is_flipped(s, v):
        return [], f"{s.name(base)}.T"
    name = s.name(s.low.new(v.shape, v.dtype), "copy")
    index = loop_index(v.shape)
    body = [f"{name}[{', '.join(index)}] = {s.at(v, index)}"]
    return [f"{name} = {s.empty(v)}", *around(s, v, body)], name


def is_flipped(s: Spelling, v: V) -> bool:
    """Whether v is a matrix transposed."""
    base = s.low.base(v)
    if len(v.shape) != 2:
        return False
    known = v.layout in ("C", "F") and v.shape == base.shape[::-1] != base.shape
    return known or s.low.resolve(v, ["a", "b"])[1] == ["b", "a"]


def around(s: Spelling, v: V, body: list) -> list[str]:
    """Loops over v around some lines."""
    return nested([(i, n) for i, n in zip(loop_index(v.shape), s.sizes(v)) if i != "0"], body)


def viewed(s: Spelling, a: V) -> str:
    """A view for a call: the index arithmetic of views by NumPy."""
    chain, v = [], a
    while v in s.low.aliases:
        chain.append(v)
        v = s.low.aliases[v][0]
    text = s.name(v)
    for w in reversed(chain):
        text = view_of(s, text, w)
    return text


def cut(part: Any) -> str:
    """One entry of an index as text."""
    if not isinstance(part, slice):
        return str(part)
    ends = ["" if p is None else str(p) for p in (part.start, part.stop, part.step)]
    return ":".join(ends if ends[2] else ends[:2])


def view_of(s: Spelling, text: str, w: V) -> str:
    """One step of a chain of views, as NumPy's call."""
    x, f = s.low.aliases[w]
    if w in s.low.cuts:
        return f"{text}[{', '.join([cut(p) for p in s.low.cuts[w]] or ['...'])}]"
    index = [f"i{d}" for d in range(len(w.shape))]
    at = f(index)
    named = [i for i in at if i != "0"]
    if len(at) == len(index) and sorted(at) == sorted(index):
        return f"np.transpose({text}, {tuple(at.index(i) for i in index)!r})"
    if math.prod(x.shape) == math.prod(w.shape) and named == sorted(named):
        return f"np.reshape({text}, {s.shape(w)})"
    return f"np.broadcast_to({text}, {s.shape(w)})"
