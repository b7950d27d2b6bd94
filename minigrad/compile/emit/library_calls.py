"""The text of what is not fused: products of matrices, reshapes, classes picked or added to by index, calls of operations.

These need whole arrays, where a loop reads elements: a view is given as `x.T` or copied first (`whole`).  STATEMENTS has the
function for each kind of group; the loops themselves are written in cpu_loops.py.
"""

from __future__ import annotations

from ..fuse import loop_index, operand_index
from ..ir import Op, V
from ..symbols import is_symbolic
from .cpu_loops import nested
from .names import Spelling


def dot(s: Spelling, op: Op) -> list[str]:
    """A product of matrices or vectors, by BLAS (kernels/cpu/gemm.py)."""
    (x, y), out = op.ins, op.outs[0]
    name = s.name(out, "dot")
    if min(len(x.shape), len(y.shape)) > 1 and not (len(y.shape) == 2 and x.shape[:-1] == out.shape[:-1]):
        return each_matrix(s, op, name)
    (first, left), (more, right) = [factor(s, v, len(out.shape) == 2) for v in op.ins]
    if len(out.shape) < 2:
        return [*first, *more, f"{name} = np.dot({left}, {right})"]
    made = name
    if len(x.shape) > 2:  # all rows of the batch are those of one matrix
        rows = " * ".join([n for n in s.sizes(x)[:-1] if n != "1"]) or "1"
        left, made = f"{left}.reshape(({rows}, {s.sizes(x)[-1]}))", f"{name}.reshape(({rows}, {s.sizes(y)[1]}))"
    return [*first, *more, f"{name} = {s.empty(out)}", f"product({left}, {right}, {made})"]


def factor(s: Spelling, v: V, may_be_apart: bool) -> tuple[list, str]:
    """A factor of a product: lines to run before, and its text."""
    text = as_matrix(s, v, []) if may_be_apart and len(v.shape) == 2 else ""
    return ([], text) if text else contiguous(s, v)


def each_matrix(s: Spelling, op: Op, name: str) -> list[str]:
    """The products of batches of matrices, one after the other."""
    out, lines, texts = op.outs[0], [], []
    index = loop_index(out.shape)[:-2]
    for v in op.ins:
        more, text = matrix(s, v, operand_index(v, [*index, "row", "column"])[:-2])
        lines += more
        texts.append(text)
    counters = [(i, n) for i, n in s.loops(out) if i in index]
    line = f"product({', '.join(texts)}, {name}[{', '.join(index)}])"
    return [*lines, f"{name} = {s.empty(out)}", *nested(counters, [line])]


def matrix(s: Spelling, v: V, index: list) -> tuple[list, str]:
    """The matrix of a batch that lies at an index: lines to run before all, and its text."""
    if found := as_matrix(s, v, index):
        return [], found
    lines, text = contiguous(s, v)
    if not text.isidentifier():
        name = s.name(s.low.new(v.shape, v.dtype), "matrices")
        lines, text = [*lines, f"{name} = {text}"], name
    return lines, text + part([*index, "row", "column"])


def as_matrix(s: Spelling, v: V, index: list) -> str:
    """A matrix whose rows, or columns, may lie apart from each other in memory, as text; nothing for others."""
    base, at = s.low.resolve(v, [*index, "row", "column"])
    if base.kind != "uniform" and base.layout == "C" and at[-1:] in (["row"], ["column"]) and min(v.shape[-2:]) > 1:
        other = "column" if at[-1] == "row" else "row"
        sizes = [base.shape[at.index(i)] for i in ("row", "column")] if at.count(other) == at.count(at[-1]) == 1 else []
        if sizes == [*v.shape[-2:]]:
            return f"{s.name(base)}{part(at)}{'.T' if at[-1] == 'row' else ''}"
    return ""


def part(at: list) -> str:
    """An index that leaves rows and columns as they are; nothing, if that is all there is."""
    texts = [":" if i in ("row", "column") else i for i in at]
    while texts and texts[-1] == ":":
        texts.pop()
    return f"[{', '.join(texts)}]" if texts else ""


def reshape(s: Spelling, op: Op) -> list[str]:
    """The elements in order under another shape."""
    x = op.ins[0]
    lines, text = whole(s, x)
    if not lines and x.kind != "uniform" and (s.low.base(x).layout != "C" or text.endswith(".T")):
        text = f"np.ascontiguousarray({text})"
    return [*lines, f"{s.name(op.outs[0], 'reshape')} = {text}.reshape({s.shape(op.outs[0])})"]


def at_class(op: Op, index: list) -> list:
    """The place of class k in the line that belongs to an index without the lines' dimension."""
    return [*index[: op.data["dim"]], "k", *index[op.data["dim"] :]]


def picked(s: Spelling, op: Op, target: str, element: str, before: tuple = ()) -> list[str]:
    """Lines that put the loss of a line into a variable; `element` is what it has at class k, once lines `before` have run."""
    out = op.outs[0]
    found = followed(s, op, [*before, f"{s.name(out)}_i = -{element}"])
    start = [f"k = {target}", f"{s.name(out)}_i = np.{out.dtype.name}(0)", f"if k != {op.data['ignore']}:"]
    return [*start, *["    " + line for line in found]]


def followed(s: Spelling, op: Op, lines: list) -> list[str]:
    """Lines that are run where there is a place k in a line, and what is done where there is none."""
    missing = ["else:", *["    " + line for line in s.outside(op)]]
    there = [f"if 0 <= k and k < {s.sizes(op.ins[0])[op.data['dim']]}:", *["    " + line for line in lines]]
    return there + missing * (len(missing) > 1)


def fill(s: Spelling, op: Op) -> list[str]:
    """Zeros with parts of them filled in, or arrays that fill all of it."""
    out = op.outs[0]
    name = s.name(out, op.name)
    zeros = f"np.zeros({s.shape(out)}, np.{out.dtype.name})"
    lines = [f"{name} = {zeros if op.name == 'unindex' else s.empty(out)}"]
    for x, place in zip(op.ins, op.data["places"]):
        index = loop_index(x.shape)
        _, at = s.low.resolve(place, index)
        lines += nested(s.loops(x), [f"{name}[{', '.join(at)}] = {s.at(x, index)}"])
    return lines


def call(s: Spelling, op: Op) -> list[str]:
    """A call of the operation itself."""
    texts = [s.number(a) if is_symbolic(a) else s.view(a) if isinstance(a, V) else s.static(a)
             for a in op.data["args"]]  # fmt: skip
    outs = [s.name(o, op.name) for o in op.outs]
    cls = s.static((op.data["cls"], op.data["dtype"]))
    return [f"{', '.join(outs)}{',' if len(outs) == 1 else ''} = call({cls}, {', '.join(texts)})  # {op.name}"]


STATEMENTS = {"dot": dot, "reshape": reshape, "fill": fill, "call": call}


# ---------------------------------------------------------------------- whole arrays
def whole(s: Spelling, v: V) -> tuple[list, str]:
    """v as an array in memory: lines to run before, and its text."""
    if not v.shape:
        return [], s.at(v, [])
    if s.low.base(v) is v or v.kind == "uniform":
        return [], s.array(v)
    if text := as_it_lies(s, v):
        return [], text
    name = s.name(s.low.new(v.shape, v.dtype), "copy")
    index = loop_index(v.shape)
    body = [f"{name}[{', '.join(index)}] = {s.at(v, index)}"]
    return [f"{name} = {s.empty(v)}", *nested(s.loops(v), body)], name


def as_it_lies(s: Spelling, v: V) -> str:
    """A view that needs no copy, as text: a matrix transposed, sizes of 1 put in or taken out; nothing for others.

    What has no dimensions is a number in the text, which has no views.
    """
    index = loop_index(v.shape)
    base, at = s.low.resolve(v, index)
    sizes = {**dict(zip(index, v.shape)), "0": 1}
    if base.kind == "uniform" or not base.shape or base.shape != tuple([sizes.get(i) for i in at]):
        return ""
    name, order = s.name(base), [i for i in at if i != "0"]
    if order == [i for i in index if i != "0"]:
        return name if base.shape == v.shape else f"{name}.reshape({s.shape(v)})" if base.layout == "C" else ""
    if order == index[::-1] and len(order) == 2:
        rows, columns = s.sizes(v)
        return f"{name}.T" if len(at) == 2 else f"{name}.reshape(({columns}, {rows})).T" if base.layout == "C" else ""
    return ""


def contiguous(s: Spelling, v: V) -> tuple[list, str]:
    """v as an array that lies in memory in rows, or, where it is a matrix, in columns."""
    lines, text = whole(s, v)
    fine = lines or s.low.base(v).layout == "C" or s.low.base(v).layout == "F" and len(v.shape) == 2
    return lines, text if fine else f"np.ascontiguousarray({text})"
