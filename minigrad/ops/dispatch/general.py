"""The texts of all other operations: `impl` on arrays, and a pull by their formulas, on arrays where those run there as they
stand (Function.arrays), else on Tensors.  Arguments without a formula have to be plain values here, not tensors.
"""

from __future__ import annotations

from typing import Any

from ...core.node import Node
from ..primitive import Primitive
from .plan import Plan, is_reduction
from .pointwise import VALUE

APPLY = """\
def {name}({args}):
    frame = current()
    if {plain} and frame.quick:
        try:
            {compute}
        except Exception:  # the general way knows what to say
            return other({args})
        if type(result) is not ndarray:
            if type(result) is tuple:
                return several(cls, frame, ({args},), result)
            result = asarray(result)
        out = new(Tensor)
        out._a = result
        out._edge = out._ver = out._view = out._tan = out._grad = None
        if frame.grad:
            {edges}{linked}
            if {tracked}:
                out._edge = node = new(Node)
                node._seq, node._shape, node._dtype = number(), result.shape, result.dtype
                node._hooks = node._freed = None
                {slots}{unlinked}
        if frame.note is not None:
            frame.note(cls, ({args},), out)
        return out
    return other({args})


apply = {name}
"""

LINK = """
{indent}out._ver = memory = {x}._ver or fresh({x})
{indent}out._view = ViewOf({x}, cls, ({rest}), {seen}, memory.n{fixed})"""

PULL = """

def pull(node, g, free):
    {edges} = {node_edges}
    {values}
    {forget}
    {prepare}
    return {gradients},
"""

LOCALS = "frame result out node memory number save history wrap array tensor sent spread g s impl other new fresh free".split()

TENSOR = "s if type(s := node.{k}) in PLAIN and (s._ver is None or not s._ver.n) else tensor(s, node, {out})"


def specialisable(cls: Any) -> bool:
    """Operations of a first tensor that differ from their family only in what they declare."""
    own = cls.keep.__func__ is Primitive.keep.__func__ and cls.backward is Primitive.backward
    clear = not set(cls.names) & (set(LOCALS) | set(dir(Node)))
    return own and clear and cls.variadic is None and (0 in cls.formulas or not cls.differentiable and bool(cls.names))


def write(plan: Plan, scope: dict) -> str:
    """The operation's text; what it names goes into `scope`."""
    scope |= {"impl": plan.cls.impl} | {"d" + k: f for k, f in plan.formulas.items()}
    return write_apply(plan) + (write_pull(plan) if pullable(plan) else "")


def write_apply(plan: Plan) -> str:
    """The text of apply."""
    cls, args, (x, *rest) = plan.cls, ", ".join(plan.names), plan.names
    call = f"result = impl({', '.join(f'{k}._a' if k in plan.operands else k for k in plan.names)})"
    quiet = cls.view or cls.quiet
    slots = [f"node.n{k} = n{k}" for k in plan.operands] + plan.keep()
    slots += [f"node.s{k} = {k}._a.shape" for k in plan.shapes] + [f"node.{k} = {k}" for k in plan.plain]
    tracked = " or ".join(f"n{k} is not None" for k in plan.operands)
    edges = "; ".join(f"n{k} = {k}._edge if {k}._view is None else history({k})" for k in plan.operands)
    given = ", ".join(rest) + ("," if len(rest) == 1 else "")
    link = [
        LINK.format(x=x, rest=given, seen=seen, fixed=fixed, indent=" " * 12)
        for seen, fixed in (("n" + x, ""), ("None", ", NO_GRAD"))
    ]
    return APPLY.format(
        name=cls.name,
        args=args,
        plain=" and ".join(
            [f"type({k}) in PLAIN" for k in plan.operands] + [f"not isinstance({k}, Tensor)" for k in plan.plain]
        ),
        compute=call if quiet else f'with errstate(all="ignore"):\n                {call}',
        edges=edges if cls.differentiable or cls.view else "pass",
        tracked=(f"({tracked})" + ' and result.dtype.kind == "f"') if cls.differentiable else "False",
        linked=link[0] if cls.view else "",
        unlinked="\n        else:" + link[1] if cls.view else "",
        slots="\n                ".join(slots),
    )


def pullable(plan: Plan) -> bool:
    """Whether there are formulas, and they read only what a flat node has."""
    cls, known = plan.cls, {"g", "shape", "out", *plan.names}
    if not plan.formulas or not all(set(names) <= known for names in plan.reads.values()):
        return False
    if is_reduction(cls):
        return cls.arrays is True and not plan.read
    return cls.evaluate.__func__ is Primitive.evaluate.__func__ and cls.arrays in (True, False)


def write_pull(plan: Plan) -> str:
    """The text of pull: the gradient of the result -> pairs of edge and gradient."""
    on_arrays, reduction = plan.cls.arrays is True, is_reduction(plan.cls)
    plain = sorted(
        {n for names in plan.reads.values() for n in names if n in plan.plain} | ({"dims"} if reduction else set())
    )
    values = [f"{k} = node.{k}" for k in plain] + plan.restore(VALUE if on_arrays else TENSOR)
    prepare = "pass" if on_arrays else "g = wrap(g if type(g) is ndarray else asarray(g))"
    if reduction:
        prepare = f"if type(g) is ndarray and not node.keepdim:\n        g = g.reshape(kept_shape(node.s{plan.names[0]}, dims))"
    pairs = []
    for k in plan.operands:
        given = ", ".join([f"node.s{k}" if n == "shape" else n for n in plan.reads[k]])
        body = f"d{k}({given})"
        if reduction:
            body = "g" if not plan.reads[k] else body if "g" in plan.reads[k] else f"g * {body}"
            body = f"spread({body}, node.s{k})"
        else:
            body = f"sent({body}, n{k})"
        pairs.append(f"(n{k}, None if n{k} is None else {body})")
    return PULL.format(
        edges=plan.edges() + ("," if len(plan.operands) == 1 else ""),
        node_edges=", ".join(f"node.n{k}" for k in plan.operands) + ("," if len(plan.operands) == 1 else ""),
        values="\n    ".join(values) or "pass",
        forget=plan.forget(),
        prepare=prepare,
        gradients=", ".join(pairs),
    ).replace("    pass\n", "")
