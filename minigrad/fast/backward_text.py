"""The source of an operation's backward: `pull` on arrays, and `backward` on Tensors, for transforms and second derivatives.

Both evaluate the formulas on the values that a flat node has saved. `pull` does so on arrays where the formulas run there
(Function.arrays), and leaves large pointwise gradients to kernels.
"""

from typing import Any

from ..arrays.halves import widened
from ..kernels import fallback, formula, pointwise_calls, pointwise_gradients
from .text_plan import LOCALS, Plan, fill

PULL = """\
def pull(node, g, free):
    {edges} = {node_edges}
    {values}
    {before}
    {forget}
    {after}
    return {gradients},
"""

BACKWARD = """\
def backward(node, *grads):
    frame = current()
    if type(node) not in FLAT or node._freed is not None or frame is OFF or frame.observers{unusual}:
        return evaluated(node, *grads)
    {gs}, = grads
    {edges} = {node_edges}
    {values}
    {batched}
    return {gradients}
"""

# under a batch the gradients are computed one layer down
BATCHED = """\
if type(frame.layer).elementwise is not elementwise:
    of = lambda values, grads: gradients({edges}, *values, *grads)
    return frame.layer.elementwise(frame, of, ({known}), grads)"""

GRADIENTS = """

def gradients({edges}, {known}g):
    return {gradients},
"""

BY_FUNCTION = """\
try:
    found = on_arrays({given})
except Exception as e:
    found = again(e, on_arrays, {given})
if found is None:
    return None"""

KEEP_DIMS = """\
if {some} and not node.keepdim:
    kept = kept_shape(node.s{x}, dims)
    {lines}"""

FUSED = """\
if type(g) is not ndarray:
    {on_device}
    {scalars}
elif g.size >= {least}:
    return {large}"""

# how to read a saved array or tensor: directly if no write can have happened, else after checking its version
VALUE = "s._a if type(s := node.{k}) in PLAIN and (s._ver is None or not s._ver.n) else array(s, node, {index})"
TENSOR = "s if type(s := node.{k}) in PLAIN and (s._ver is None or not s._ver.n) else tensor(s, node, {index})"


def has_pull(plan: Plan) -> bool:
    """Return True if there are formulas and they run on arrays, or on tensors around them."""
    return all(map(formula.runs_on_arrays, plan.formulas.values())) if plan.pointwise else readable(plan)


def readable(plan: Plan) -> bool:
    """Return True if there are formulas and they read only values that a flat node has."""
    cls, known = plan.cls, {"g", "shape", *plan.outs, *plan.names, *(f"g{i}" for i in range(len(plan.outs)))}
    known |= {"index"} if plan.starred else set()
    if plan.pointwise or not plan.formulas or not all(set(names) <= known for names in plan.reads.values()):
        return plan.pointwise
    return bool(cls.arrays) if plan.reduction else cls.reads.keys() == cls.formulas.keys()


def used(plan: Plan) -> dict:
    """Return what the source of pull names, besides the imports of fast/."""
    if plan.pointwise:
        return {"widened": widened} if plan.half else {}
    on_arrays = formula.on_arrays if plan.cls.arrays is True else lambda f: f
    scope: dict[str, Any] = {"on_arrays": plan.cls.arrays, "again": fallback.again}
    return scope | {"d" + k: on_arrays(f) for k, f in plan.formulas.items()}


# ---------------------------------------------------------------------- on arrays
def write_pull(plan: Plan, scope: dict) -> str:
    """Return the source of pull: the gradient of the result -> pairs of edge and gradient."""
    arrays, several = plan.cls.arrays, len(plan.outs) > 1
    by_function = not plan.pointwise and arrays is not False and arrays is not True
    read = {n for names in plan.reads.values() for n in names} | ({"dims"} if plan.reduction else set())
    given = [k for k in plan.plain if plan.pointwise or by_function or k in read]
    before, after = [], pointwise_lines(plan) if plan.pointwise else []
    if by_function:
        known = f"{'g' if several else '(g,)'}, ({bound(plan)},)"
        before.append(BY_FUNCTION.format(given=known))
    else:
        before += [f"{', '.join(plan.gs)} = g"] * several
        before += [f"{g} = to_tensor({g})" for g in plan.gs if arrays is False and not plan.pointwise]
        before += ["g = g0"] * (several and "g" in read)
        before += [keep_dims(plan, "type(g) in ARRAYS")] * (plan.reduction and arrays is True)
    value = TENSOR if arrays is False and not plan.pointwise else VALUE
    gradients = []
    for k in plan.operands:
        body = f"found[{plan.names.index(k)}]" if by_function else on_arrays(plan, k, scope)
        made = "None" if body is None else f"None if n{k} is None else {sent(plan, k, body, by_function)}"
        gradients.append(f"(n{k}, {made})")
    return fill(
        PULL,
        edges=plan.edges(),
        node_edges=", ".join(f"node.n{k}" for k in plan.operands),
        values="\n".join([*[f"{k} = node.{k}" for k in given], *plan.restore(value)]),
        before="\n".join(before),
        forget=plan.forget(),
        after="\n".join(after),
        gradients=", ".join(gradients),
    )


def on_arrays(plan: Plan, k: str, scope: dict) -> str | None:
    """Return the gradient of operand k by its formula, as source; None without a formula."""
    if k not in plan.formulas:
        return None if plan.pointwise else f"d{k}({', '.join(plan.given(k))})"
    call = partial(plan, k, scope) if plan.pointwise else f"d{k}({', '.join(plan.given(k))})"
    if "g" in plan.reads[k] or not plan.pointwise and not plan.reduction:
        return call
    constant = plan.formulas[k]() if not plan.reads[k] else None
    return {1: "g", -1: "-g", 0: "zeros(g)"}.get(constant, f"g * {call}")


def sent(plan: Plan, k: str, body: str, by_function: bool) -> str:
    """Return a gradient in the form of its edge."""
    if plan.pointwise and not plan.half:
        return f"made if (made := {body}).shape == n{k}._shape else fit(made, n{k}._shape)"
    return f"spread({body}, node.s{k})" if plan.reduction and not by_function else f"sent({body}, n{k})"


def partial(plan: Plan, k: str, scope: dict) -> str:
    """Return the formula of operand k: its source if that works here, else a call; add the names it uses to `scope`."""
    on_arrays, names = formula.on_arrays(plan.formulas[k]), plan.formulas[k].__code__.co_names
    text = formula.text(plan.formulas[k])
    known = {n: on_arrays.__globals__[n] for n in names if n in on_arrays.__globals__}
    if text is None or any(scope.get(n, v) is not v or n in (*LOCALS, plan.cls.name) for n, v in known.items()):
        scope["d" + k] = on_arrays
        return f"d{k}({', '.join(plan.reads[k])})"
    scope |= known
    return f"({text})"


def pointwise_lines(plan: Plan) -> list:
    """Return lines that leave large gradients, and those on a GPU, to kernels, and use NumPy's scalars for 0-d arrays."""
    cls, read, lines = plan.cls, plan.read, [f"{k} = widened({k})" for k in ("g", *plan.read) if plan.half]
    if not read:
        return lines
    edges, known = [f"n{k}" if k in plan.operands else "None" for k in plan.names], [*read, *plan.plain]
    large = f"large_pull(cls, ({', '.join(edges)},), g, ({', '.join(known)},), {known!r})"
    scalars = "; ".join(f"{k} = {k}[()] if type({k}) is ndarray else {k}" for k in read)
    if pointwise_gradients.is_light(cls):
        return [*lines, fill("if type(g) is not ndarray:\n    {scalars}", scalars=scalars)]
    light = pointwise_calls.kernel_threshold(cls) == 0 and len(plan.operands) == 1 and not plan.half
    least = fallback.FEW if light else pointwise_gradients.GRADIENTS_FROM
    on_device = f"if type(g) in ARRAYS:  # GPU memory\n    return {large}"
    return [*lines, fill(FUSED, on_device=on_device, scalars=scalars, least=least, large=large)]


def keep_dims(plan: Plan, some: str) -> str:
    """Return lines that keep the reduced dimensions of g and out as 1; `some` is the condition that there are others."""
    kept = ["g"] + ["out"] * ("out" in plan.read)
    return fill(KEEP_DIMS, some=some, x=plan.names[0], lines="\n".join([f"{k} = {k}.reshape(kept)" for k in kept]))


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


# ---------------------------------------------------------------------- on Tensors
def write_backward(plan: Plan) -> str:
    """Return the source of backward."""
    values = [f"{k} = node.{k}" for k in plan.plain]
    values += plan.restore("unpacked(node.{k}, node, {index})", "as_it_was({k}, node.m{k})")
    values += ["g = g0"] * (len(plan.outs) > 1) + [keep_dims(plan, "g._sizes")] * plan.reduction
    edges, known = plan.edges(), "".join(f"{k}, " for k in (*plan.read, *plan.plain))
    found = [f"None if n{k} is None else {on_tensors(plan, k)}" if k in plan.formulas else "None" for k in plan.names]
    gradients = ", ".join(found)
    source = fill(
        BACKWARD,
        unusual="" if plan.pointwise else " or node._meta[0][1].itemsize == 2",
        gs=", ".join(plan.gs),
        edges=edges,
        node_edges=", ".join(f"node.n{k}" for k in plan.operands),
        values="\n".join(values),
        batched=BATCHED.format(edges=edges, known=known) if plan.pointwise else "",
        gradients=f"gradients({edges}, {known}g)" if plan.pointwise else f"{gradients},",
    )
    return source + (GRADIENTS.format(edges=edges, known=known, gradients=gradients) if plan.pointwise else "")


def on_tensors(plan: Plan, k: str) -> str:
    """Return the gradient of operand k."""
    body = f"f{k}({', '.join(plan.given(k))})"
    if (plan.pointwise or plan.reduction) and "g" not in plan.reads[k]:
        body = f"times(g, {body})"
    if plan.reduction:
        body = f"wide({body}, node.s{k})"
    read = k if k in plan.read else plan.outs[0]
    return f"constant_of({body}, {read})" if plan.cls.depends_on_operand else body
