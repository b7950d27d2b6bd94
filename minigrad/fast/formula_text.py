"""The source of all other operations: `impl` on arrays, and a pull by their formulas, on arrays if these run there directly
(Function.arrays), else on Tensors.  Arguments without a formula must be plain values here, or tensors of indices.
"""

from __future__ import annotations

from typing import Any

from ..arrays.errstate import alarmed, listener
from ..core.graph import Node
from ..errors import OutsideError
from ..kernels import fallback, formula
from ..ops.base.layouts import row_major
from ..ops.base.primitive import Primitive
from .pointwise_text import VALUE
from .text_plan import Plan, definition_of, is_reduction

APPLY = """\
def {name}({args}):
    frame = current()
    if {plain} and frame.eager_ok:
        try:
            {compute}
        except OutsideError:  # of an earlier call
            raise
        except Exception:  # the generic path explains it
            return other({args})
        {made}
        {history}
        if frame.on_op is not None:
            frame.on_op(cls, ({args},), {noted})
        return {returned}
    return other({args})


apply = {name}
"""

HISTORY = """\
if frame.grad:
    {edges}{linked}
    if {tracked}:
        node = new(Node)
        node._seq, node._hooks, node._freed = next_number(), None, None
        {attached}
        {slots}{unlinked}"""

ONE = """
if type(result) is not ndarray:
    if type(result) is tuple:
        return several(cls, frame, ({args},), result){place}
    result = as_array(result)
"""

NEW = """\
out = new(Tensor)
out._a = result
out._edge = out._ver = out._view = out._tan = out._grad = None"""

PLACE = """
    if type(result) in ARRAYS:
        cls.check_devices(({args},))"""

PLACES = """\
if type(a0) is not ndarray and type(a0) in ARRAYS:
    cls.check_devices(({args},))
"""

LINK = """
    out._ver = memory = {x}._ver or fresh({x})
    out._view = view = new(ViewOf)
    view.parent, view.fn, view.args = {x}, cls, ({rest})
    view.seen, view.version, view.fixed = {seen}, memory.n, {fixed}"""

PULL = """

def pull(node, g, free):
    {edges} = {node_edges}
    {values}
    {prepare}
    {forget}
    return {gradients},
"""

IS_BOOL = "(keepdim is False or keepdim is True)"

BACKWARD = vars(Primitive)["backward"]

LOCALS = (
    "layout frame result out node memory next_number save history wrap array tensor sent spread g s impl other new fresh free "
    "previous found kept"
).split()

TENSOR = "s if type(s := node.{k}) in PLAIN and (s._ver is None or not s._ver.n) else tensor(s, node, {index})"


def specialisable(cls: Any) -> bool:
    """Return True for operations of a first tensor that differ from their family only in their declaration."""
    own = cls.keep.__func__ is Primitive.keep.__func__ and definition_of(cls, "backward") is BACKWARD
    clear = not set(cls.names) & (set(LOCALS) | set(dir(Node)))
    known = 0 in cls.formulas or cls.variadic in cls.formulas or not cls.differentiable and bool(cls.names)
    return own and clear and known and (cls.variadic is None or cls.differentiable)


def write(plan: Plan, scope: dict) -> str:
    """Return the operation's source; add the names that it uses to `scope`."""
    impl = plan.cls.impl
    on_arrays = formula.on_arrays if plan.cls.arrays is True else lambda f: f
    scope |= {
        "layout": plan.cls.layout,
        "impl": alarmed(impl) if plan.cls.quiet else impl,
        "on_arrays": plan.cls.arrays,
        "again": fallback.again,
        "OutsideError": OutsideError,
        "listen": listener(plan.cls.function_name()),
    } | {"d" + k: on_arrays(f) for k, f in plan.formulas.items()}
    return write_apply(plan) + (write_pull(plan) if pullable(plan) else "")


def write_apply(plan: Plan) -> str:
    """Return the source of apply."""
    cls, args, x = plan.cls, ", ".join(plan.names), plan.names[0]
    tensors = plan.operands + plan.integers
    given = ", ".join(f"{k}._a" if k in tensors else k for k in plan.names)
    results = ["result"] if len(plan.outs) == 1 else [f"a{i}" for i in range(len(plan.outs))]
    call = f"{', '.join(results)}{', *more' * (len(results) > 1)} = impl({given})" + laid_out(cls, results, f"{x}._a")
    return APPLY.format(
        name=cls.name,
        args=args,
        plain=" and ".join(
            [f"type({k}) in PLAIN" for k in plan.operands]
            # half precision takes the generic path (arrays/halves.py)
            + [f"{k}._a.itemsize != 2" for k in plan.operands[: None if plan.starred else 1] if not cls.takes_half]
            + [f"type({k}) in PLAIN and {k}._a.dtype not in FLOATS" for k in plan.integers]
            + [IS_BOOL if k == "keepdim" else f"not isinstance({k}, Tensor)" for k in plan.plain]
        ),
        compute=indented(quietly(cls, call), 12),
        made=indented(made(plan, args), 8),
        history=indented(with_history(plan), 8),
        noted="out" if len(plan.outs) == 1 else f"({', '.join(plan.outs)})",
        returned="out" if len(plan.outs) == 1 else ", ".join(plan.outs),
    )


def quietly(cls: Any, lines: str) -> str:
    """Return lines that compute without NumPy's warnings, and report infinities and NaN."""
    if cls.view or cls.quiet:
        return lines
    return f"previous = listen()\ntry:\n    {indented(lines, 4)}\nfinally:\n    restore(previous)"


def with_history(plan: Plan) -> str:
    """Return lines that give the result its history."""
    cls, (x, *rest) = plan.cls, plan.names
    edges = "; ".join(f"n{k} = {k}._edge if {k}._view is None else history({k})" for k in plan.operands)
    tracked = f"({' or '.join(f'n{k} is not None' for k in plan.operands)})"
    others = ", ".join(rest) + ("," if len(rest) == 1 else "")
    link = [
        LINK.format(x=x, rest=others, seen=seen, fixed=fixed) for seen, fixed in (("n" + x, None), (None, "NO_GRAD"))
    ]
    slots = [f"node.n{k} = n{k}" for k in plan.operands] + plan.keep()
    slots += [f"node.s{k} = {k}._a.shape" for k in plan.shapes] + [f"node.{k} = {k}" for k in plan.plain]
    first = "result" if len(plan.outs) == 1 else "a0"
    return HISTORY.format(
        edges=edges if cls.differentiable or cls.view else "pass",
        tracked=f"{tracked} and {first}.dtype in FLOATS" if cls.differentiable else "False",
        attached=indented(attached(plan), 8),
        linked=link[0] if cls.view else "",
        unlinked="\nelse:" + link[1] if cls.view else "",
        slots=indented("\n".join(slots), 8),
    )


def laid_out(cls: Any, results: list, x: str) -> str:
    """Return lines that bring results into the operation's layout; `several` does so for results that may be tuples."""
    if cls.layout is None:
        return ""
    unlike = " and not {0}.flags.c_contiguous" if cls.layout is row_major else ""
    line = "\nif type({0}) is ndarray and {0}.ndim > 1" + unlike + ":\n    {0} = layout({0}, {1})"
    return "".join([line.format(k, x) for k in results])


def made(plan: Plan, args: str) -> str:
    """Return lines that make the tensors."""
    one, meets = len(plan.outs) == 1, len(plan.operands + plan.integers) > 1
    place = (PLACE if one else PLACES).format(args=args) if meets else ""
    if one:
        return ONE.strip().format(args=args, place=place) + "\n" + NEW
    raw = ", ".join(f"a{i}" for i in range(len(plan.outs)))
    more = f"if more:  # the formulas name the first ones\n    return several(cls, frame, ({args},), ({raw}, *more))\n"
    return place + more + "\n".join(f"{k} = as_tensor(a{i})" for i, k in enumerate(plan.outs))


def attached(plan: Plan) -> str:
    """Return lines that make the node their history."""
    if len(plan.outs) == 1:
        return "out._edge, node._shape, node._dtype = node, result.shape, result.dtype"
    meta = ", ".join(f"({k}._a.shape, {k}._a.dtype)" for k in plan.outs)
    return "\n".join(
        [f"node._meta = {meta}"]
        + [f"{k}._edge = OutputEdge(node, {i}) if {k}._a.dtype in FLOATS else None" for i, k in enumerate(plan.outs)]
    )


def indented(lines: str, by: int) -> str:
    """Indent lines by this number of spaces, for a place in a template."""
    return lines.replace("\n", "\n" + " " * by)


def pullable(plan: Plan) -> bool:
    """Return True if there are formulas and they read only values that a flat node has."""
    cls, known = plan.cls, {"g", "shape", *plan.outs, *plan.names, *(f"g{i}" for i in range(len(plan.outs)))}
    known |= {"index"} if plan.starred else set()
    if not plan.formulas or not all(set(names) <= known for names in plan.reads.values()):
        return False
    if is_reduction(cls):
        return bool(cls.arrays)
    return cls.evaluate.__func__ is Primitive.evaluate.__func__


def write_pull(plan: Plan) -> str:
    """Return the source of pull: the gradient of the result -> pairs of edge and gradient."""
    arrays, reduction, several = plan.cls.arrays, is_reduction(plan.cls), len(plan.outs) > 1
    kind = "on tensors" if arrays is False else "by formula" if arrays is True else "by function"
    used = {n for names in plan.reads.values() for n in names if n in plan.plain}
    used |= set(plan.plain) if kind == "by function" else {"dims"} if reduction else set()
    gs = [f"g{i}" for i in range(len(plan.outs))] if several else ["g"]
    prepare = [f"{', '.join(gs)} = g"] if several and kind != "by function" else []
    if kind == "on tensors":
        prepare += [f"{g} = to_tensor({g})" for g in gs]
    if several and any("g" in names for names in plan.reads.values()):
        prepare.append("g = g0")
    if reduction and kind == "by formula":
        prepare.append(keep_dims(plan, "type(g) in ARRAYS"))
    if kind == "by function":
        given = f"{'g' if several else '(g,)'}, ({bound(plan)},)"
        prepare.append(f"try:\n    found = on_arrays({given})\nexcept Exception as e:")
        prepare.append(f"    found = again(e, on_arrays, {given})")
        prepare.append("if found is None:\n    return None")
    return PULL.format(
        edges=plan.edges() + ("," if len(plan.operands) == 1 else ""),
        node_edges=", ".join(f"node.n{k}" for k in plan.operands) + ("," if len(plan.operands) == 1 else ""),
        values="\n    ".join(
            [f"{k} = node.{k}" for k in sorted(used)] + plan.restore(TENSOR if kind == "on tensors" else VALUE)
        )
        or "pass",
        prepare=indented("\n".join(prepare), 4) or "pass",
        forget=plan.forget(),
        gradients=", ".join(
            f"(n{k}, None if n{k} is None else {gradient(plan, k, kind, reduction)})" for k in plan.operands
        ),
    ).replace("    pass\n", "")


def keep_dims(plan: Plan, some: str) -> str:
    """Return lines that keep the reduced dimensions of g and out as 1; `some` is the condition that there are others."""
    kept = ["g"] + ["out"] * ("out" in plan.read)
    shape = f"kept = kept_shape(node.s{plan.names[0]}, dims)"
    return "\n    ".join([f"if {some} and not node.keepdim:", shape, *[f"{k} = {k}.reshape(kept)" for k in kept]])


def bound(plan: Plan) -> str:
    """Return the arguments of Function.arrays: the known value of each argument and result, as in Primitive.keep."""
    values = []
    for k in (*plan.names, *plan.outs):
        unread = f"ShapeOf(node.s{k})" if k in plan.shapes else "None" if k in plan.outs else "UNREAD"
        if k in plan.plain or k in plan.read and (plan.shared(k) or k in plan.outs):
            values.append(k)
        else:
            values.append(f"{unread} if {k} is None else {k}" if k in plan.read else unread)
    return ", ".join(values)


def gradient(plan: Plan, k: str, kind: str, reduction: bool) -> str:
    """Return the gradient of operand k."""
    if kind == "by function":
        return f"sent(found[{plan.names.index(k)}], n{k})"
    body = f"d{k}({', '.join(plan.given(k))})"
    if reduction:
        body = "g" if not plan.reads[k] else body if "g" in plan.reads[k] else f"g * {body}"
        return f"spread({body}, node.s{k})"
    return f"sent({body}, n{k})"
