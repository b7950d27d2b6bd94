"""The source of unfused operations: matrix products, reshapes, picks and additions at indices, fills, calls of operations.

These need whole arrays, where a loop reads elements: a view is passed as `x.T` or copied first (`whole`). STATEMENTS has a
function for each kind of group; cpu_loops.py writes the loops.
"""

from ..fuse import loop_index, operand_index
from ..ir import Op, Value
from ..symbols import is_symbolic
from .cpu_loops import nested
from .names import Spelling


def dot(s: Spelling, op: Op) -> list[str]:
    """Write a product of matrices or vectors by BLAS (kernels/cpu/gemm.py)."""
    (x, y), out = op.ins, op.outs[0]
    name = s.name(out, "dot")
    if min(len(x.shape), len(y.shape)) > 1 and not (len(y.shape) == 2 and x.shape[:-1] == out.shape[:-1]):
        return each_matrix(s, op, name)
    (first, left), (more, right) = [factor(s, v, len(out.shape) == 2) for v in op.ins]
    if len(out.shape) < 2:
        return [*first, *more, f"{name} = np.dot({left}, {right})"]
    made = name
    if len(x.shape) > 2:  # the rows of the whole batch form one matrix
        rows = " * ".join([n for n in s.sizes(x)[:-1] if n != "1"]) or "1"
        left, made = f"{left}.reshape(({rows}, {s.sizes(x)[-1]}))", f"{name}.reshape(({rows}, {s.sizes(y)[1]}))"
    return [*first, *more, f"{name} = {s.empty(out)}", f"product({left}, {right}, {made})"]


def factor(s: Spelling, v: Value, may_be_apart: bool) -> tuple[list, str]:
    """Return a factor of a product: lines to run before, and its expression."""
    text = as_matrix(s, v, []) if may_be_apart and len(v.shape) == 2 else ""
    return ([], text) if text else contiguous(s, v)


def each_matrix(s: Spelling, op: Op, name: str) -> list[str]:
    """Write the products of batches of matrices, one after the other."""
    out, lines, texts = op.outs[0], [], []
    index = loop_index(out.shape)[:-2]
    for v in op.ins:
        more, text = matrix(s, v, operand_index(v, [*index, "row", "column"])[:-2])
        lines += more
        texts.append(text)
    counters = [(i, n) for i, n in s.loops(out) if i in index]
    line = f"product({', '.join(texts)}, {name}[{', '.join(index)}])"
    return [*lines, f"{name} = {s.empty(out)}", *nested(counters, [line])]


def matrix(s: Spelling, v: Value, index: list) -> tuple[list, str]:
    """Return the matrix at an index of a batch: lines to run before all products, and its expression."""
    if found := as_matrix(s, v, index):
        return [], found
    lines, text = contiguous(s, v)
    if not text.isidentifier():
        name = s.name(s.low.new(v.shape, v.dtype), "matrices")
        lines, text = [*lines, f"{name} = {text}"], name
    return lines, text + part([*index, "row", "column"])


def as_matrix(s: Spelling, v: Value, index: list) -> str:
    """Return the expression of a matrix whose rows or columns may be strided; an empty string for other matrices."""
    base, at = s.low.resolve(v, [*index, "row", "column"])
    if base.kind != "uniform" and base.layout == "C" and at[-1:] in (["row"], ["column"]) and min(v.shape[-2:]) > 1:
        other = "column" if at[-1] == "row" else "row"
        sizes = [base.shape[at.index(i)] for i in ("row", "column")] if at.count(other) == at.count(at[-1]) == 1 else []
        if sizes == [*v.shape[-2:]]:
            return f"{s.name(base)}{part(at)}{'.T' if at[-1] == 'row' else ''}"
    return ""


def part(at: list) -> str:
    """Return an index that keeps rows and columns whole; an empty string if nothing else is left."""
    texts = [":" if i in ("row", "column") else i for i in at]
    while texts and texts[-1] == ":":
        texts.pop()
    return f"[{', '.join(texts)}]" if texts else ""


def reshape(s: Spelling, op: Op) -> list[str]:
    """Write a reshape, with the elements in order."""
    x = op.ins[0]
    lines, text = whole(s, x)
    if not lines and x.kind != "uniform" and (s.low.base(x).layout != "C" or text.endswith(".T")):
        text = f"np.ascontiguousarray({text})"
    return [*lines, f"{s.name(op.outs[0], 'reshape')} = {text}.reshape({s.shape(op.outs[0])})"]


def at_class(op: Op, index: list) -> list:
    """Return the position of class k in a line, from an index without the class dimension."""
    return [*index[: op.data["dim"]], "k", *index[op.data["dim"] :]]


def picked(s: Spelling, op: Op, target: str, element: str, before: tuple = ()) -> list[str]:
    """Return lines that compute a line's loss; `element` is its value at class k, available after the lines `before`."""
    out = op.outs[0]
    found = followed(s, op, [*before, f"{s.name(out)}_i = -{element}"])
    start = [f"k = {target}", f"{s.name(out)}_i = np.{out.dtype.name}(0)", f"if k != {op.data['ignore']}:"]
    return [*start, *["    " + line for line in found]]


def followed(s: Spelling, op: Op, lines: list) -> list[str]:
    """Return code that runs `lines` if index k is valid, and reports it otherwise."""
    missing = ["else:", *["    " + line for line in s.outside(op)]]
    there = [f"if 0 <= k and k < {s.sizes(op.ins[0])[op.data['dim']]}:", *["    " + line for line in lines]]
    return there + missing * (len(missing) > 1)


def fill(s: Spelling, op: Op) -> list[str]:
    """Write zeros with parts filled in, or arrays that together fill everything."""
    out = op.outs[0]
    name = s.name(out, op.name)
    zeros = f"zeros({s.shape(out)}, np.{out.dtype.name})"
    lines = [f"{name} = {zeros if op.name == 'unindex' else s.empty(out)}"]
    for x, place in zip(op.ins, op.data["places"]):
        index = loop_index(x.shape)
        _, at = s.low.resolve(place, index)
        lines += nested(s.loops(x), [f"{name}[{', '.join(at)}] = {s.at(x, index)}"])
    return lines


def call(s: Spelling, op: Op) -> list[str]:
    """Write a call of the operation itself."""
    texts = [s.number(a) if is_symbolic(a) else s.view(a) if isinstance(a, Value) else s.static(a)
             for a in op.data["args"]]  # fmt: skip
    outs = [s.name(o, op.name) for o in op.outs]
    cls = s.static((op.data["cls"], op.data["dtype"]))
    return [f"{', '.join(outs)}{',' if len(outs) == 1 else ''} = call({cls}, {', '.join(texts)})  # {op.name}"]


STATEMENTS = {"dot": dot, "reshape": reshape, "fill": fill, "call": call}


# ---------------------------------------------------------------------- whole arrays
def whole(s: Spelling, v: Value) -> tuple[list, str]:
    """Return v as an array in memory: lines to run before, and its expression."""
    if not v.shape:
        return [], s.at(v, [])
    if s.low.base(v) is v or v.kind == "uniform":
        return [], s.array(v)
    if text := view_expression(s, v):
        return [], text
    name = s.name(s.low.new(v.shape, v.dtype), "copy")
    index = loop_index(v.shape)
    body = [f"{name}[{', '.join(index)}] = {s.at(v, index)}"]
    return [f"{name} = {s.empty(v)}", *nested(s.loops(v), body)], name


def view_expression(s: Spelling, v: Value) -> str:
    """Return the expression of a view that needs no copy, by transposing or changing sizes of 1; an empty string for others.

    A 0-d value is a number in the source, and numbers have no views.
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


def contiguous(s: Spelling, v: Value) -> tuple[list, str]:
    """Return v as an array that is contiguous by rows or, for a matrix, by columns."""
    lines, text = whole(s, v)
    fine = lines or s.low.base(v).layout == "C" or s.low.base(v).layout == "F" and len(v.shape) == 2
    return lines, text if fine else f"np.ascontiguousarray({text})"
