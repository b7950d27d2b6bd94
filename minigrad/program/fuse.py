"""From captured steps to groups: what becomes one loop, what a product of matrices, what stays a call of the operation.

`lower` writes each primitive as a few simple operations (Op): maps of one formula over elements, sums and maxima, products,
views as index arithmetic.  What has no rule stays a call.  `schedule` puts maps and reductions of one shape into one loop,
as long as none needs the finished result of a reduction in it.  Only what is read outside its loop gets memory.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..kernels import formula
from ..ops.families import Pointwise
from .reading import plain
from .steps import Step, Value

F4, F8, I8, BOOL = np.dtype("f4"), np.dtype("f8"), np.dtype("i8"), np.dtype("?")
HANDLED = (F4, F8, I8, BOOL)
EXACT = {"eq", "ne", "lt", "le", "gt", "ge", "where", "add", "sub", "mul", "logical_and", "logical_or", "logical_not",
         "logical_xor", "bitwise_and", "bitwise_or"}  # fmt: skip
LOGICAL = EXACT - {"add", "sub", "mul", "lt", "le", "gt", "ge"}
# NumPy's functions for these do what the formulas do not: they round half to even, know of integers, ...
NO_RULE = {"round", "floor_divide", "trunc_divide", "remainder", "fmod", "digamma", "polygamma", "lgamma", "sinc"}


class V:
    """A value of the lowered program."""

    __slots__ = ("content", "dims", "dtype", "kind", "layout", "name", "shape")

    def __init__(self, kind: str, shape: tuple, dtype: Any, name: str = "", content: Any = None, layout: str = "C"):
        self.kind, self.shape, self.dtype, self.name = kind, tuple(shape), np.dtype(dtype), name
        self.content, self.layout = content, layout
        self.dims: list = []  # the text of each size


class Op:
    """One simple operation: `kind` is map, reduce, dot, alias, reshape, pick, scatter, gather or call."""

    __slots__ = ("data", "ins", "kind", "name", "outs", "phase", "place")

    def __init__(self, kind: str, ins: list, outs: list, name: str, step: Any, **data: Any):
        self.kind, self.ins, self.outs, self.name, self.data = kind, ins, outs, name, data
        self.place, self.phase = (step.place, step.phase) if step is not None else (None, "forward")


class Group:
    """What is emitted together: a loop over `shape`, or one operation of another kind."""

    __slots__ = ("kind", "ops", "shape")

    def __init__(self, kind: str, shape: tuple, ops: list):
        self.kind, self.shape, self.ops = kind, shape, ops


class Lowering:
    """The steps of a capture as simple operations."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.values: dict[Value, V] = {}
        self.constants: list[V] = []
        self.aliases: dict[V, tuple[V, Callable]] = {}
        self.notes: list[str] = []
        self.step: Any = None

    # ------------------------------------------------------------------ values
    def v(self, a: Any) -> Any:
        """An argument of a step: a value, or the number that it is."""
        if not isinstance(a, Value):
            return a
        if a not in self.values:
            if a.kind == "number":
                return a.content
            content = a.content
            if (
                a.kind == "constant"
                and content.size
                and (content == content.flat[0]).all()
                and content.dtype in HANDLED
            ):
                made = V("uniform", a.shape, a.dtype, a.name, content.flat[0].item())
            else:
                layout = "C" if a.array.flags.c_contiguous else "F" if a.array.flags.f_contiguous else "A"
                made = V(a.kind, a.shape, a.dtype, a.name, content, layout)
                if a.kind == "constant":
                    self.constants.append(made)
            self.values[a] = made
        return self.values[a]

    def new(self, shape: tuple, dtype: Any, name: str = "") -> V:
        """A value that lowering makes."""
        return V("computed", shape, dtype, name)

    def out(self, k: int = 0) -> V:
        """Result k of the step that is being lowered."""
        o = self.step.outs[k]
        self.values[o] = made = V("computed", o.shape, o.dtype, o.name)
        return made

    def add(self, kind: str, ins: list, outs: list, name: str = "", **data: Any) -> Any:
        """Note an operation; its first result."""
        self.ops.append(Op(kind, ins, outs, name or kind, self.step, **data))
        return outs[0]

    def resolve(self, v: V, index: list) -> tuple[V, list]:
        """Where element `index` of v lies: a value with memory of its own, and the index there."""
        while v in self.aliases:
            v, f = self.aliases[v]
            index = f(index)
        return v, index

    def base(self, v: V) -> V:
        """The value that v is a view of."""
        while v in self.aliases:
            v = self.aliases[v][0]
        return v

    def drop_unused(self, wanted: list) -> None:
        """Leave out what nothing reads; calls and what can raise an error stay."""
        needed = set(wanted)
        kept = []
        for op in reversed(self.ops):
            if op.kind in ("call", "pick", "scatter") or any(o in needed for o in op.outs):
                needed.update([v for v in op.ins if isinstance(v, V)])
                needed.update([a.x for a in op.ins if isinstance(a, Count)])
                kept.append(op)
        self.ops = kept[::-1]

    # ------------------------------------------------------------------ rules
    def lower(self, steps: list[Step]) -> None:
        """All steps, in order."""
        for step in steps:
            self.step = step
            count = len(self.ops)
            rule = RULES.get(step.cls.__name__) or (pointwise if issubclass(step.cls, Pointwise) else None)
            arrays = [a for a in [*step.args, *step.outs] if isinstance(a, Value)]
            if (
                rule is not None
                and all(a.dtype in HANDLED for a in arrays)
                and rule(self, step, *map(self.v, step.args))
            ):
                continue
            del self.ops[count:]
            self.notes.append(f"{step.cls.name} has no rule here and runs as a call of the operation")
            dtype = step.outs[0].dtype if step.written is not None else None
            args = [self.v(a) for a in step.args]
            self.add("call", [a for a in args if isinstance(a, V)], [self.out(k) for k in range(len(step.outs))],
                     step.cls.name, cls=step.cls, args=args, dtype=dtype)  # fmt: skip


def pointwise(low: Lowering, step: Step, *args: Any) -> bool:
    """One formula over the elements."""
    cls = step.cls
    n = len(args) - cls.statics
    if cls.name in NO_RULE or len(args) != len(cls.names) or any(not simple(a) for a in args):
        return False
    raw = [np.empty((1,) * len(a.shape), a.dtype) if isinstance(a, V) else a for a in args[:n]]
    target = dtypes.common([plain(a) for a in raw[cls.masks :]])
    if cls.kind == "float" and target.kind != "f":
        target = dtypes.default()
    if target.kind != "f" and (cls.name not in EXACT or target == BOOL and cls.name not in LOGICAL):
        return False
    if target not in HANDLED or any(isinstance(a, V) and a.dtype != BOOL for a in args[: cls.masks]):
        return False
    if any(isinstance(a, float) and target.kind != "f" for a in args):
        return False
    needs = formula.needs([cls.kernel], target)
    if needs is None:
        return False
    if cls.name == "mul" and any(one(a, target) for a in args):
        low.add("map", [a for a in args if not one(a, target)][:1] or [args[0]], [low.out()], cls.name,
                tree=ast.parse("x", mode="eval").body, params=("x",), kinds=[target], needs={}, natural=target)  # fmt: skip
        return True
    made = expression(cls, args, target)
    kinds = [BOOL] * cls.masks + [target] * (len(args) - cls.masks)
    natural = BOOL if cls.kind == "bool" else target
    low.add(
        "map", list(args), [low.out()], cls.name, tree=made, params=cls.names, kinds=kinds, needs=needs, natural=natural
    )
    return True


def expression(cls: Any, args: tuple, target: np.dtype) -> ast.expr:
    """The formula for single numbers; a whole exponent stays one, so that powers are products."""
    text = formula.text(cls.kernel)
    assert text is not None
    tree = ast.parse(text.strip(), mode="eval").body
    if cls.name == "pow" and type(args[1]) in (int, float) and args[1] == int(args[1]) and 0 < args[1] <= 4:
        tree = Names({"y": ast.Constant(int(args[1]))}).visit(tree)
    return formula.Scalar(target).visit(tree)


class Names(ast.NodeTransformer):
    """Other expressions in place of names."""

    def __init__(self, given: dict):
        self.given = given

    def visit_Name(self, node: ast.Name) -> Any:
        return self.given.get(node.id, node)


def one(a: Any, target: np.dtype) -> bool:
    """Whether an operand is 1 throughout: gradients begin with that."""
    return isinstance(a, V) and a.kind == "uniform" and a.content == 1 and a.dtype == target


def simple(a: Any) -> bool:
    """Whether a map can take it."""
    return isinstance(a, (V, bool, int, float))


def formula_map(
    low: Lowering,
    text: str,
    ins: dict,
    shape: tuple,
    dtype: Any,
    out: V | None = None,
    needs: Any = (),
    name: str = "map",
) -> V:
    """A map of a formula given here; its names are those of `ins`."""
    out = out or low.new(shape, dtype)
    kinds = [a.dtype if isinstance(a, V) else np.dtype(dtype) for a in ins.values()]
    tree = ast.parse(text, mode="eval").body
    return low.add("map", list(ins.values()), [out], name, tree=tree, params=tuple(ins), kinds=kinds,
                   needs=dict.fromkeys(needs), natural=np.dtype(dtype))  # fmt: skip


VEC = "minigrad.kernels.vecmath"


def reduction(low: Lowering, kind: str, x: V, dims: tuple, keepdim: bool, out: V | None = None) -> V:
    """A sum or maximum over dimensions."""
    shape = tuple([1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims])
    out = out or low.new(shape, x.dtype)
    if not dims:
        return formula_map(low, "x", {"x": x}, shape, x.dtype, out)
    return low.add("reduce", [x], [out], kind, dims=dims, keepdim=keepdim)


def sum_rule(low: Lowering, step: Step, x: V, dims: tuple, keepdim: bool) -> bool:
    if x.dtype == BOOL:
        return False
    reduction(low, "sum", x, dims, keepdim, low.out())
    return True


def mean_rule(low: Lowering, step: Step, x: V, dims: tuple, keepdim: bool) -> bool:
    if x.dtype.kind != "f":
        return False
    out = low.out()
    total = reduction(low, "sum", x, dims, keepdim)
    formula_map(low, "x / n", {"x": total, "n": Count(x, dims)}, out.shape, out.dtype, out)
    return True


class Count:
    """The number of elements of x over dims, written with x's sizes."""

    def __init__(self, x: V, dims: tuple):
        self.x, self.dims = x, dims


def shifted_by_peak(low: Lowering, x: V, dims: tuple) -> V:
    """x minus its maximum over dims."""
    top = reduction(low, "max", x, dims, True)
    return formula_map(low, "x - t", {"x": x, "t": top}, x.shape, x.dtype, name="shifted")


def finite_peak(low: Lowering, x: V, dims: tuple) -> V:
    """The maximum over dims; 0 in place of an infinite one."""
    top = reduction(low, "max", x, dims, True)
    ins, needs = {"t": top, "zero": 0.0}, [("math", "isfinite")]
    return formula_map(low, "t if isfinite(t) else zero", ins, top.shape, x.dtype, None, needs, "peak")


def exp_of(low: Lowering, x: V) -> V:
    return formula_map(low, "exp(x)", {"x": x}, x.shape, x.dtype, None, [(VEC, "exp")], "exp")


def softmax_rule(low: Lowering, step: Step, x: V, dims: tuple) -> bool:
    out = low.out()
    e = exp_of(low, shifted_by_peak(low, x, dims))
    total = reduction(low, "sum", e, dims, True)
    formula_map(low, "e / s", {"e": e, "s": total}, x.shape, x.dtype, out)
    return True


def log_softmax_rule(low: Lowering, step: Step, x: V, dims: tuple) -> bool:
    out, shifted = low.out(), shifted_by_peak(low, x, dims)
    total = reduction(low, "sum", exp_of(low, shifted), dims, True)
    formula_map(low, "x - log(s)", {"x": shifted, "s": total}, x.shape, x.dtype, out, [(VEC, "log")])
    return True


def logsumexp_rule(low: Lowering, step: Step, x: V, dims: tuple, keepdim: bool) -> bool:
    out = low.out()
    top = finite_peak(low, x, dims)
    e = exp_of(low, formula_map(low, "x - t", {"x": x, "t": top}, x.shape, x.dtype))
    total = reduction(low, "sum", e, dims, True)
    kept = out if keepdim else None
    made = formula_map(low, "log(s) + t", {"s": total, "t": top}, total.shape, x.dtype, kept, [(VEC, "log")])
    if not keepdim:
        alias_reshape(low, made, out)
    return True


def cross_entropy_rule(low: Lowering, step: Step, x: V, target: V, dim: int, ignore: int) -> bool:
    if len(x.shape) != 2 or dim != 1 or target.dtype != I8 or len(target.shape) != 1:
        return False
    loss, log_probabilities = low.out(0), low.out(1)
    top = finite_peak(low, x, (1,))
    shifted = formula_map(low, "x - t", {"x": x, "t": top}, x.shape, x.dtype, name="shifted")
    total = reduction(low, "sum", exp_of(low, shifted), (1,), True)
    formula_map(
        low,
        "x - log(s)",
        {"x": shifted, "s": total},
        x.shape,
        x.dtype,
        log_probabilities,
        [(VEC, "log")],
        "log_softmax",
    )
    low.add("pick", [log_probabilities, target], [loss], "pick", ignore=int(ignore))
    return True


def nll_rule(low: Lowering, step: Step, x: V, target: V, dim: int, ignore: int) -> bool:
    if len(x.shape) != 2 or dim != 1 or target.dtype != I8 or len(target.shape) != 1:
        return False
    low.add("pick", [x, target], [low.out()], "pick", ignore=int(ignore))
    return True


def count_valid_rule(low: Lowering, step: Step, target: V, ignore: int, dtype: Any, lead: int) -> bool:
    out = low.out()
    if lead or target.dtype != I8 or not target.shape or out.dtype not in (F4, F8):
        return False
    counts = formula_map(low, f"np.{out.dtype.name}(t != {int(ignore)})", {"t": target}, target.shape, out.dtype)
    reduction(low, "sum", counts, tuple(range(len(target.shape))), False, out)
    return True


def scatter_rule(low: Lowering, step: Step, x: V, dim: int, index: V, src: Any) -> bool:
    fits = isinstance(src, V) and len(x.shape) == 2 and dim == 1 and index.dtype == I8 and src.shape == index.shape
    if not fits or src.dtype != x.dtype or index.shape[0] > x.shape[0] or step.written is not None:
        return False
    low.add("scatter", [x, index, src], [low.out()], "scatter_add")
    return True


def masked_fill_rule(low: Lowering, step: Step, x: V, mask: V, value: Any) -> bool:
    if (
        not simple(value)
        or x.dtype.kind != "f"
        or mask.dtype != BOOL
        or isinstance(value, V)
        and value.dtype != x.dtype
    ):
        return False
    out = low.out()
    low.add("map", [x, mask, value], [out], "masked_fill", tree=ast.parse("value if mask else x", mode="eval").body,
            params=("x", "mask", "value"), kinds=[x.dtype, BOOL, x.dtype], needs={}, natural=x.dtype)  # fmt: skip
    return True


def product_rule(low: Lowering, step: Step, x: V, y: V) -> bool:
    if not {len(x.shape), len(y.shape)} <= {1, 2} or x.dtype != y.dtype or x.dtype.kind != "f":
        return False
    low.add("dot", [x, y], [low.out()], "dot")
    return True


def affine_rule(low: Lowering, step: Step, x: V, weight: V, bias: V) -> bool:
    if len(x.shape) != 2 or len(weight.shape) != 2 or not x.dtype == weight.dtype == bias.dtype or x.dtype.kind != "f":
        return False
    out = low.out()
    flipped = low.new(weight.shape[::-1], weight.dtype)
    alias_permute(low, weight, flipped, (1, 0))
    product = low.add("dot", [x, flipped], [low.new(out.shape, out.dtype)], "dot")
    formula_map(low, "x + b", {"x": product, "b": bias}, out.shape, out.dtype, out)
    return True


def alias(low: Lowering, x: V, out: V, f: Callable, dims: list, layout: str) -> bool:
    """`out` is x seen otherwise; dims[d] is the dimension of x that d of `out` is, or None for size 1."""
    low.aliases[out] = (x, f)
    out.layout = layout
    low.add("alias", [x], [out], "alias", dims=dims)
    return True


def alias_permute(low: Lowering, x: V, out: V, order: tuple) -> bool:
    back = [int(i) for i in np.argsort(order)]
    layout = {"C": "F", "F": "C"}.get(x.layout, "A") if tuple(order) == (1, 0) else "A"
    return alias(low, x, out, lambda index: [index[i] for i in back], list(order), layout)


def permute_rule(low: Lowering, step: Step, x: V, order: tuple) -> bool:
    return alias_permute(low, x, low.out(), order)


def expand_rule(low: Lowering, step: Step, x: V, size: tuple) -> bool:
    out = low.out()
    lead = len(out.shape) - len(x.shape)
    if out.shape == x.shape:
        return alias_permute(low, x, out, tuple(range(lead + len(x.shape))))
    ones = [d for d, n in enumerate(x.shape) if n == 1]
    for d, n in enumerate(out.shape):
        repeated = d < lead or d - lead in ones and n != 1
        if repeated and n != 1:
            out.dims.append((d, n))
    return alias(low, x, out, lambda index: ["0" if d in ones else i for d, i in enumerate(index[lead:])],
                 [None if d < lead or d - lead in ones else d - lead for d in range(len(out.shape))], "A")  # fmt: skip


def alias_reshape(low: Lowering, x: V, out: V) -> bool:
    """Sizes of 1 put in or taken out: index arithmetic."""
    wide, narrow = [d for d, n in enumerate(x.shape) if n != 1], [d for d, n in enumerate(out.shape) if n != 1]

    def f(index: list) -> list:
        inner = iter([index[d] for d in narrow])
        return [next(inner) if n != 1 else "0" for n in x.shape]

    dims: list = [None] * len(out.shape)
    for d, s in zip(narrow, wide):
        dims[d] = s
    return alias(low, x, out, f, dims, "A")


def reshape_rule(low: Lowering, step: Step, x: V, size: tuple) -> bool:
    out = low.out()
    if [n for n in x.shape if n != 1] == [n for n in out.shape if n != 1]:
        return alias_reshape(low, x, out)
    low.add("reshape", [x], [out], "reshape")
    return True


def copy_rule(low: Lowering, step: Step, x: V) -> bool:
    out = low.out()
    formula_map(low, "x", {"x": x}, out.shape, out.dtype, out)
    return True


def to_rule(low: Lowering, step: Step, x: V, dtype: Any) -> bool:
    out = low.out()
    if out.dtype not in HANDLED or (x.dtype.kind == "f" and out.dtype.kind != "f"):
        return False
    formula_map(low, "x", {"x": x}, out.shape, x.dtype, out)
    return True


def write_rule(low: Lowering, step: Step, x: V, y: Any) -> bool:
    """copy_, fill_: what the memory holds afterwards."""
    if not simple(y) or isinstance(y, V) and y.dtype.kind == "f" and x.dtype.kind != "f":
        return False
    if not isinstance(y, V) and x.dtype.kind != "f":
        return False
    out = low.out()
    formula_map(low, "y", {"y": y}, out.shape, y.dtype if isinstance(y, V) else out.dtype, out)
    return True


RULES: dict[str, Callable] = {
    **dict.fromkeys(("MatMul", "Mm", "Mv", "Dot"), product_rule),
    **{
        "Affine": affine_rule,
        "Sum": sum_rule,
        "Mean": mean_rule,
        "Softmax": softmax_rule,
        "LogSoftmax": log_softmax_rule,
    },
    **{
        "Logsumexp": logsumexp_rule,
        "CrossEntropy": cross_entropy_rule,
        "NLL": nll_rule,
        "CountValid": count_valid_rule,
        "ScatterAdd": scatter_rule,
        "MaskedFill": masked_fill_rule,
    },
    **{"Permute": permute_rule, "Expand": expand_rule, "Reshape": reshape_rule, "Clone": copy_rule, "Alias": copy_rule},
    **{"Contiguous": copy_rule, "To": to_rule, "Copy": write_rule},
}


# ---------------------------------------------------------------------- loops
def schedule(low: Lowering, done: set) -> list[Group]:
    """Groups in an order in which each has what it reads; `done` are the values that are there at the start."""
    pending = [op for op in low.ops if op.kind != "alias"]
    groups: list[Group] = []

    def there(op: Op) -> bool:
        return all(low.base(v) in done or low.base(v).kind == "uniform" for v in op.ins if isinstance(v, V))

    while pending:
        first = next((op for op in pending if op.kind not in ("map", "reduce") and there(op)), None)
        if first is not None:
            pending.remove(first)
            groups.append(Group(first.kind, (), [first]))
            done.update(first.outs)
            continue
        first = next(op for op in pending if there(op))
        shape, members = over(first), Group("loop", over(first), [])
        inside: set = set()
        index = loop_index(shape)
        grown = True
        while grown:
            grown = False
            for op in list(pending):
                if op.kind in ("map", "reduce") and over(op) == shape and joins(low, op, index, inside, done):
                    pending.remove(op)
                    members.ops.append(op)
                    if op.kind == "map":
                        inside.add(op.outs[0])
                    grown = True
        groups.append(members)
        done.update([o for op in members.ops for o in op.outs])
    return groups


def over(op: Op) -> tuple:
    """The shape that an operation runs over."""
    return op.outs[0].shape if op.kind == "map" else op.ins[0].shape


def loop_index(shape: tuple) -> list:
    """The loop's variables, 0 for dimensions of size 1."""
    return ["0" if n == 1 else f"i{d}" for d, n in enumerate(shape)]


def operand_index(v: V, index: list) -> list:
    """Which element of v meets element `index` of the loop, by broadcasting."""
    own = index[len(index) - len(v.shape) :]
    return ["0" if n == 1 else i for n, i in zip(v.shape, own)]


def joins(low: Lowering, op: Op, index: list, inside: set, done: set) -> bool:
    """Whether an operation can run in a loop with those inside: it reads of them only the element just computed."""
    for v in op.ins:
        if not isinstance(v, V):
            continue
        base, at = low.resolve(v, operand_index(v, index))
        if base in inside:
            if at != index[len(index) - len(base.shape) :] or len(base.shape) != len(index):
                return False
        elif base not in done and base.kind != "uniform":
            return False
    return True
