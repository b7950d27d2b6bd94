"""The source of `record` and `backward`: nodes under transforms, and gradients that are differentiated again.

`record` makes the same flat node as `apply`, with the layer that it belongs to; `backward` evaluates the formulas on Tensors.
Primitive.record and Primitive.backward define both, and run for everything unusual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.frames import OFF, Layer
from ..core.graph import Node
from ..core.saved import save, unpack
from ..core.tensor import Tensor
from ..events import events, unheard
from ..ops.base.families import times
from ..ops.base.primitive import Primitive, constant_of
from . import formula_text
from .flat_nodes import PLAIN, as_it_was, as_saved, constant, numbers
from .text_plan import GENERATED, Plan, definition_of, execute, is_pointwise, is_reduction

RECORD = """\
def record(self, layer, args, out, edges=None):
    if self is not cls or layer is None or edges is None or len(args) != {n} or {other_results}:
        return recorded(self, layer, args, out, edges)
    {args}, = args
    {edges}, = edges
    kind = {result}._np_dtype
    {number}
    if events.node_made is not unheard or current().observers or not ({usual}):
        return recorded(self, layer, args, out, edges)
    node = new(LayerNode)
    node._layer, node._seq, node._hooks, node._freed = layer, next_number(), None, None
    {attached}
    {slots}
"""

BACKWARD = """

def backward(node, *grads):
    frame = current()
    if type(node) not in FLAT or node._freed is not None or frame is OFF or frame.observers{unusual}:
        return evaluated(node, *grads)
    {gs}, = grads
    {edges}, = {node_edges},
    {values}
    {batched}
    return {gradients}
"""

BATCHED = """\
if type(frame.layer).elementwise is not elementwise:
        of = lambda values, grads: gradients({edges}, *values, *grads)
        return frame.layer.elementwise(frame, of, ({known}), grads)"""  # of the batch, one layer down

GRADIENTS = """

def gradients({edges}, {known}g):
    return {gradients},
"""

NUMBER = """\
kept = None
    if not isinstance({y}, Tensor):
        kept, {y} = {y}, number({y}, kind)
    elif not isinstance({x}, Tensor):
        kept, {x} = ({x},), number({x}, kind)"""


recorded = Primitive.record.__func__  # type: ignore[attr-defined]
LOCALS = set("self layer args out edges kind kept node grads frame values gradients of".split())


def install(cls: Any, plan: Plan, scope: dict) -> None:
    """Let the operation generate its `record` and `backward` when a transform or a second derivative first needs them."""
    if plan.starred or LOCALS & set(plan.names):
        return

    def record(self: Any, layer: Layer | None, *args: Any) -> None:
        if self is not cls or layer is None:
            return recorded(self, layer, *args)
        generate(cls, plan, scope)
        return cls.record(layer, *args)

    def backward(node: Node, *grads: Any) -> tuple:
        generate(cls, plan, scope)
        return cls.backward(node, *grads)

    put(cls, record, backward if has_backward(plan) else None)


def put(cls: Any, record: Callable, backward: Callable | None) -> None:
    """Give an operation these functions; its subclasses still have the definitions (text_plan.definition_of)."""
    cls.record = classmethod(record)
    if backward is not None:
        cls.backward = staticmethod(backward)
        GENERATED.add(vars(cls)["backward"])


def has_backward(plan: Plan) -> bool:
    """Return True if the operation's formulas run on what a flat node has."""
    return is_pointwise(plan.cls) or formula_text.pullable(plan)


def generate(cls: Any, plan: Plan, scope: dict) -> None:
    """Generate both functions, and the class of the nodes under transforms."""
    node = type(cls.Flat.__name__, (cls.Flat,), {"__slots__": ("_layer",), "__module__": cls.__module__})
    scope = scope | {"recorded": recorded, "evaluated": definition_of(cls, "backward").__func__}
    scope |= {"LayerNode": node, "FLAT": {cls.Flat, node}, "OFF": OFF, "elementwise": Layer.elementwise}
    scope |= {"events": events, "unheard": unheard, "save": save, "number": number, "unpacked": unpacked, "wide": wide}
    scope |= {"as_it_was": as_it_was}
    scope |= {"times": times, "constant_of": constant_of} | {"f" + k: f for k, f in plan.formulas.items()}
    source = write_record(plan) + (write_backward(plan) if has_backward(plan) else "")
    cls.dispatch_source += f"\n\n{source}"
    execute(f"layers of {cls.name}", source, scope)
    put(cls, scope["record"], scope.get("backward"))


def number(value: object, kind: Any) -> Tensor | None:
    """Return a number as a 0-d tensor of the other operand's dtype, or None if it is not that simple."""
    table = numbers.get(kind)
    if table is None or type(value) not in (float, int):
        return None
    return table[value] if value in table else constant(value, table, kind)


def unpacked(s: Any, node: Any, index: int | None) -> Any:
    """Return the tensor of a slot as the formulas must see it; `index` is the index of a result, None for an argument."""
    plain = index is None and type(s) in PLAIN and (s._ver is None or not s._ver.n)
    return s if plain else unpack(as_saved(s, index), node)


def wide(d: Tensor, shape: tuple) -> Tensor:
    """Return a gradient broadcast over the reduced dimensions."""
    return d if d._sizes == shape else d.expand(shape)


# ---------------------------------------------------------------------- record
def write_record(plan: Plan) -> str:
    """Return the source of record."""
    one, pointwise = len(plan.outs) == 1, is_pointwise(plan.cls)
    slots = [f"node.n{k} = n{k}" for k in plan.operands] + kept(plan)
    slots += [f"node.s{k} = {k}._sizes" for k in plan.shapes] + [f"node.{k} = {k}" for k in plan.plain]
    slots += ["node._number = kept"] * plan.counts_numbers + ["node._number = None"] * plan.several_numbers
    usual = [f"isinstance({k}, Tensor)" for k in plan.operands]
    if pointwise:
        usual += [f"{k}._np_dtype is kind" for k in plan.operands]
        usual += ["(kind is F4 or kind is F8)"] + [f"type({k}) in (float, int)" for k in plan.plain]
    else:
        usual += [f"{k}._np_dtype in FLOATS and {k}._np_dtype.itemsize != 2" for k in plan.operands]
        usual += [f"isinstance({k}, Tensor) and {k}._np_dtype not in FLOATS" for k in plan.integers]
        usual += [formula_text.IS_BOOL if k == "keepdim" else f"not isinstance({k}, Tensor)" for k in plan.plain]
    return RECORD.format(
        n=len(plan.names),
        args=", ".join(plan.names),
        edges=", ".join(f"n{k}" for k in plan.names),
        other_results="type(out) is tuple" if one else f"type(out) is not tuple or len(out) != {len(plan.outs)}",
        result="out" if one else "out[0]",
        number=NUMBER.format(x=plan.operands[0], y=plan.operands[1]) if plan.counts_numbers else "",
        usual=" and ".join(usual),
        attached=formula_text.indented(attached(plan), 4),
        slots="\n    ".join(slots),
    )


def kept(plan: Plan) -> list:
    """Return lines that save the values that backward reads."""
    lines = []
    for k in plan.read:
        value = f"save({k}, {plan.outs.index(k)})" if k in plan.outs else f"save({k})"
        lines.append(f"node.{k} = " + (value if plan.shared(k) else f"{value} if {plan.needed(k)} else None"))
    return lines + [f"node.m{k} = None" for k in plan.cls.views]


def attached(plan: Plan) -> str:
    """Return lines that make the node the history of the results."""
    if len(plan.outs) == 1:
        return "out._edge, node._shape, node._dtype = node, out._sizes, kind"
    meta = ", ".join(f"{k}._spec" for k in plan.outs)
    edges = [f"if {k}._np_dtype in FLOATS:\n    {k}._edge = OutputEdge(node, {i})" for i, k in enumerate(plan.outs)]
    return "\n".join([f"{', '.join(plan.outs)} = out", f"node._meta = {meta}", *edges])


# ---------------------------------------------------------------------- backward
def write_backward(plan: Plan) -> str:
    """Return the source of backward."""
    cls, several = plan.cls, len(plan.outs) > 1
    reduction, pointwise = is_reduction(cls), is_pointwise(cls)
    gs = [f"g{i}" for i in range(len(plan.outs))] if several else ["g"]
    values = [f"{k} = node.{k}" for k in plan.plain]
    values += plan.restore("unpacked(node.{k}, node, {index})", "as_it_was({k}, node.m{k})")
    if several:
        values.append("g = g0")
    if reduction:
        values.append(formula_text.indented(formula_text.keep_dims(plan, "g._sizes"), 4))
    edges, known = ", ".join(f"n{k}" for k in plan.operands), "".join(f"{k}, " for k in (*plan.read, *plan.plain))
    gradients = ", ".join(
        f"None if n{k} is None else {gradient(plan, k, pointwise, reduction)}" if k in plan.formulas else "None"
        for k in plan.names
    )
    source = BACKWARD.format(
        unusual="" if pointwise else " or node._meta[0][1].itemsize == 2",
        gs=", ".join(gs),
        edges=edges,
        node_edges=", ".join(f"node.n{k}" for k in plan.operands),
        values="\n    ".join(values) or "pass",
        batched=BATCHED.format(edges=edges, known=known) if pointwise else "pass",
        gradients=f"gradients({edges}, {known}g)" if pointwise else f"{gradients},",
    ).replace("    pass\n", "")
    return source + (GRADIENTS.format(edges=edges, known=known, gradients=gradients) if pointwise else "")


def gradient(plan: Plan, k: str, pointwise: bool, reduction: bool) -> str:
    """Return the gradient of operand k."""
    body = f"f{k}({', '.join(plan.given(k))})"
    if (pointwise or reduction) and "g" not in plan.reads[k]:
        body = f"times(g, {body})"
    if reduction:
        body = f"wide({body}, node.s{k})"
    read = k if k in plan.read else plan.outs[0]
    return f"constant_of({body}, {read})" if plan.cls.depends_on_operand else body
