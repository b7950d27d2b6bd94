"""The source of an operation's calls: `apply` for plain tensors, and `record`, which makes its nodes under transforms.

A pointwise operation computes by NumPy's function, its formula or a kernel, the others by `impl`. In half precision the same
source has conversions in it, which widen operands to float32 and round the result once (arrays/halves.py).
"""

from types import FunctionType
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.errstate import ALARM, alarmed, listener
from ..kernels import pointwise_calls, select
from ..kernels.cpu import half_casts
from ..kernels.operands import cast
from ..ops.base.layouts import row_major
from .flat_nodes import integers, large, numbers_of_halves, numbers_of_integers, silently
from .text_plan import Plan, fill

APPLY = """\
def {name}({args}):
    frame = current()
    {numbers}
    if {plain} and frame.eager_ok:
        {body}
    return {other}


apply = {name}
"""

OF_KINDS = """\
{arrays}
kind = {first}.dtype
if {kinds}:
    {body}"""

BODY = """\
try:
    {compute}
except OutsideError:  # of an earlier call
    raise
except Exception:  # the generic path explains it
    {failed}
{made}
{history}
if frame.on_op is not None:
    frame.on_op(cls, {given}, {noted})
return {returned}"""

HISTORY = """\
if frame.grad:
    {edges}
    {linked}
    if {tracked}:
        node = new(Node)
        node._seq, node._hooks, node._freed = next_number(), None, None
        {attached}
        {slots}
{unlinked}"""

# a formula: it may have made an infinity on the way to finite numbers, a wider dtype, or a scalar
SILENTLY = """\
try:
    result = silently({arrays})
except (TypeError, ArithmeticError, ValueError):
    return {other}"""
CAST = """\
if type(result) not in ARRAYS or result.dtype is not {kind}:
    result = cast(result, {kind})"""

LISTENING = """\
previous = listen()
try:
    {lines}
finally:
    restore(previous)"""

LAID_OUT = """\
if type({k}) is ndarray and {k}.ndim > 1{unlike}:
    {k} = layout({k}, {x})"""

ONE = """\
if type(result) is not ndarray:
    if type(result) is tuple:
        return several(cls, frame, {given}, result)
    {place}
    result = as_array(result)"""
PLACE = """\
if type({first}) {unlike}in ARRAYS:
    cls.check_devices({given})"""
MORE = """\
if more:  # the formulas name the first ones
    return several(cls, frame, {given}, ({raw}, *more))"""
NEW = """\
out = new(Tensor)
out._a = result
out._edge = out._ver = out._view = out._tan = out._grad = None"""

ATTACHED = """\
out._edge, shape = node, result.shape
if n{k} is not None and n{k}._shape == shape:
    shape = n{k}._shape  # one tuple for a whole chain
node._shape, node._dtype = shape, result.dtype"""

LINK = """\
out._ver = memory = {x}._ver or fresh({x})
out._view = view = new(ViewOf)
view.parent, view.fn, view.args = {x}, cls, ({rest})
view.seen, view.version, view.fixed = {seen}, memory.n, {fixed}"""

# a number becomes a tensor of the other operand's dtype; `kept` then has the arguments as given
NUMBER = """\
if (type({k}) is float or type({k}) is int) and type({like}) in PLAIN and frame.eager_ok:
    if (table := numbers.get({like}._a.dtype)) is not None{fits}:
        kept, {k} = kept or ({args},), table[{k}] if {k} in table else constant({k}, table, {dtype})"""
FITS = " and (table is not integers or type({k}) is int)"

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
OPERAND = """\
if not isinstance({k}, Tensor):
    kept, {k} = args, number({k}, kind)"""


def used(plan: Plan) -> dict:
    """Return what the source of apply names, besides the imports of fast/."""
    cls, scope = plan.cls, {"layout": plan.cls.layout, "listen": listener(plan.cls.function_name())}
    if not plan.pointwise:
        return scope | {"impl": alarmed(cls.impl) if cls.quiet else cls.impl}
    scope |= {"compute": cls.ufunc, "large": large(cls, cls.compute), "cast": cast}
    scope |= ALARM | {"BOOL": dtypes.BOOL, "HALVES": dtypes.HALVES}
    if not isinstance(cls.ufunc, np.ufunc):
        plain = select.numpy_function(cls)
        scope["silently"] = silently(plain)
        heard = alarmed(plain) if isinstance(plain, FunctionType) else scope["silently"]
        scope["compute"] = plain if cls.quiet else heard
        if not plan.half and pointwise_calls.kernel_threshold(cls) == 0:
            scope["compute"] = large(cls, scope["compute"])
    if plan.half:
        scope |= {"numbers": numbers_of_halves, "cast": alarmed(cast)}
    elif of_integers(cls):
        scope |= {"numbers": numbers_of_integers, "integers": integers}
    return scope


# ---------------------------------------------------------------------- apply
def write_apply(plan: Plan) -> str:
    """Return the source of apply."""
    args, given = ", ".join(plan.names), arguments(plan)
    other = f"other({args})" if given == f"({args},)" else f"other(*{given})"
    body = fill(
        BODY,
        compute=pointwise(plan) if plan.pointwise else by_impl(plan),
        failed=failed(plan, other),
        made=made(plan, given),
        history=history(plan),
        given=given,
        noted="out" if len(plan.outs) == 1 else f"({', '.join(plan.outs)})",
        returned=", ".join(plan.outs),
    )
    if plan.pointwise:
        arrays = "; ".join([f"a{k} = {k}._a" for k in plan.operands])
        body = fill(OF_KINDS, arrays=arrays, first=first(plan), kinds=kinds(plan), body=body)
    plain = " and ".join([f"type({k}) in PLAIN" for k in plan.operands] + others_plain(plan))
    return fill(APPLY, name=plan.cls.name, args=args, numbers=numbers(plan), plain=plain, body=body, other=other)


def others_plain(plan: Plan) -> list:
    """Return the conditions for arguments that are no operands, and against half precision where `impl` does not take it."""
    cls = plan.cls
    if plan.pointwise:
        return [f"(type({k}) is float or type({k}) is int or type({k}) is bool)" for k in plan.plain]
    wide = [] if cls.takes_half else plan.operands[: None if plan.starred else 1]  # else arrays/halves.py converts
    return [
        *[f"{k}._a.itemsize != 2" for k in wide],
        *[f"type({k}) in PLAIN and {k}._a.dtype not in FLOATS" for k in plan.integers],
        *[no_tensor(k) for k in plan.plain],
    ]


def no_tensor(k: str) -> str:
    """Return the condition for a plain argument."""
    return "(keepdim is False or keepdim is True)" if k == "keepdim" else f"not isinstance({k}, Tensor)"


def numbers(plan: Plan) -> str:
    """Return lines that make tensors of number operands, in float32 for half precision."""
    lines, args = ["kept = None"] * bool(plan.numbers), ", ".join(plan.names)
    for k in plan.numbers[::-1]:
        like = plan.numeric[1 if k == plan.numeric[0] else 0]
        dtype, fits = ("F4", "") if plan.half else (f"{like}._a.dtype", FITS.format(k=k) * of_integers(plan.cls))
        lines.append(NUMBER.format(k=k, like=like, fits=fits, args=args, dtype=dtype))
    return "\n".join(lines)


def arguments(plan: Plan) -> str:
    """Return the arguments as they were given, as the source of a tuple."""
    given = f"({', '.join(plan.names)},)"
    return f"({given} if kept is None else kept)" if plan.numbers else given


def of_integers(cls: Any) -> bool:
    """Return True if NumPy's function is the operation for integers too: it returns integers, or bools."""
    return isinstance(cls.ufunc, np.ufunc) and "i" in cls.accepts and cls.kind != "float" and len(cls.names) == 2


def kinds_of(cls: Any) -> list:
    """Return the names of the dtypes that the source takes: of bools and integers where NumPy's function is the operation."""
    of_bools = isinstance(cls.ufunc, np.ufunc) and "b" in cls.accepts and cls.kind == "bool"
    return ["F4", "F8", *["I8"] * of_integers(cls), *["BOOL"] * of_bools]


def is_number(plan: Plan, k: str) -> str:
    """Return the condition that operand k was given as a number."""
    return f"kept is not None and kept[{plan.names.index(k)}] is not {k}"


def first(plan: Plan) -> str:
    """Return the array whose dtype the others share: in half precision, none of a number."""
    x, *others = [f"a{k}" for k in plan.numeric]
    may_be = plan.half and plan.numeric[0] in plan.numbers
    return f"({others[0]} if {is_number(plan, plan.numeric[0])} else {x})" if may_be else x


def kinds(plan: Plan) -> str:
    """Return the condition for the dtypes of the arrays; numbers beside half precision are in float32."""
    found = " or ".join([f"kind is {k}" for k in kinds_of(plan.cls)])
    if plan.half:
        found = f"kind in HALVES and type({first(plan)}) is ndarray"
    same = {k: f"a{k}.dtype is kind" for k in plan.numeric if k != plan.numeric[0] or plan.half and k in plan.numbers}
    same = [
        f"({text} or {is_number(plan, k)})" if plan.half and k in plan.numbers else text for k, text in same.items()
    ]
    conditions = [f"a{k}.dtype is BOOL" for k in plan.operands if k not in plan.numeric]
    return " and ".join([f"({found})", *same, *conditions])


def pointwise(plan: Plan) -> str:
    """Return lines that compute a pointwise operation."""
    cls, arrays = plan.cls, [f"a{k}" for k in plan.operands]
    given = ", ".join([*arrays, *plan.plain])
    wide = [f"a{k}.astype(F4)" if plan.half and k in plan.numeric else f"a{k}" for k in plan.operands]
    into = ", out=..." if isinstance(cls.ufunc, np.ufunc) else ""
    text, condition = f"result = compute({', '.join([*wide, *plan.plain])}{into})", few(cls, arrays, plan.half)
    text += f" if {condition} else large({given})" if condition else ""
    # too large a number is an infinity, which NumPy reports
    return text + f"\nresult = cast(result, {kind(cls)})" * plan.half


def kind(cls: Any) -> str:
    """Return the name of the result's dtype."""
    return "BOOL" if cls.kind == "bool" else "kind"


def few(cls: Any, arrays: list, half: bool) -> str:
    """Return the condition to compute directly: few elements, or NumPy's function is as fast as ours; "" for always."""
    if half:
        return " and ".join([f"{a}.size < {half_casts.CAST_FROM}" for a in arrays])
    least, by_numpy = pointwise_calls.kernel_threshold(cls), isinstance(cls.ufunc, np.ufunc)
    if least == 0 or by_numpy and not cls.numpy_is:
        return ""
    size = f"{arrays[0]}.size < {least}"
    if not by_numpy:
        return " and ".join([size, *[f"type({a}) is ndarray" for a in arrays]])
    # a GPU has one kernel for all sizes, and bools have none
    return f"{size} or type({arrays[0]}) is not ndarray" + " or kind is BOOL" * ("BOOL" in kinds_of(cls))


def by_impl(plan: Plan) -> str:
    """Return lines that run `impl`, without NumPy's warnings, and report infinities and NaN."""
    cls, tensors = plan.cls, plan.operands + plan.integers
    given = ", ".join(f"{k}._a" if k in tensors else k for k in plan.names)
    results = ["result"] if len(plan.outs) == 1 else [f"a{i}" for i in range(len(plan.outs))]
    call = f"{', '.join(results)}{', *more' * (len(results) > 1)} = impl({given})"
    lines = "\n".join([call, *laid_out(cls, results, f"{plan.names[0]}._a")])
    return lines if cls.view or cls.quiet else fill(LISTENING, lines=lines)


def laid_out(cls: Any, results: list, x: str) -> list:
    """Return lines that bring results into the operation's layout; `several` does so for results that may be tuples."""
    unlike = " and not {k}.flags.c_contiguous" if cls.layout is row_major else ""
    return [LAID_OUT.format(k=k, x=x, unlike=unlike.format(k=k)) for k in results if cls.layout is not None]


def failed(plan: Plan, other: str) -> str:
    """Return lines for a computation that failed: NumPy reports a NaN, or shapes do not broadcast."""
    if not plan.pointwise or plan.half or isinstance(plan.cls.ufunc, np.ufunc):
        return f"return {other}"
    return fill(SILENTLY, arrays=", ".join([*[f"a{k}" for k in plan.operands], *plan.plain]), other=other)


def made(plan: Plan, given: str) -> str:
    """Return lines that make the tensors."""
    cls, meets = plan.cls, len(plan.operands + plan.integers) > 1
    if plan.pointwise:
        formula = not plan.half and not isinstance(cls.ufunc, np.ufunc)
        cast = [CAST.format(kind=kind(cls))] if formula else []
        return "\n".join([*cast, *laid_out(cls, ["result"], f"a{plan.operands[0]}"), NEW])
    if len(plan.outs) == 1:
        place = PLACE.format(first="result", unlike="", given=given) if meets else ""
        return fill(ONE, given=given, place=place) + "\n" + NEW
    raw = ", ".join(f"a{i}" for i in range(len(plan.outs)))
    place = [PLACE.format(first="a0", unlike="is not ndarray and type(a0) ", given=given)] if meets else []
    wrapped = [f"{k} = wrap(a{i}) if type(a{i}) is ndarray else as_tensor(a{i})" for i, k in enumerate(plan.outs)]
    return "\n".join([*place, MORE.format(given=given, raw=raw), *wrapped])


def history(plan: Plan) -> str:
    """Return lines that give the results their history."""
    cls, (x, *rest), one = plan.cls, plan.names, len(plan.outs) == 1
    if not cls.differentiable and not cls.view:
        return ""
    tracked = " or ".join(f"n{k} is not None" for k in plan.operands)
    tracked = tracked if plan.pointwise else f"({tracked}) and {'result' if one else 'a0'}.dtype in FLOATS"
    others = ", ".join(rest) + ("," if len(rest) == 1 else "")
    link = lambda seen, fixed: LINK.format(x=x, rest=others, seen=seen, fixed=fixed) if cls.view else ""
    meta = ", ".join(f"({k}._a.shape, {k}._a.dtype)" for k in plan.outs)
    return fill(
        HISTORY,
        edges="; ".join(f"n{k} = {k}._edge if {k}._view is None else history({k})" for k in plan.operands),
        tracked=tracked if cls.differentiable else "False",
        attached=ATTACHED.format(k=(plan.numeric or plan.operands)[0]) if one else attached(plan, meta, "{k}._a.dtype"),
        linked=link("n" + x, None),
        unlinked=fill("else:\n    {link}", link=link(None, "NO_GRAD")) if cls.view else "",
        slots=slots_of(plan, plan.keep(), "{k}._a.shape"),
    )


def slots_of(plan: Plan, saved: list, shape: str) -> str:
    """Return lines that fill the slots of a node."""
    lines = [f"node.n{k} = n{k}" for k in plan.operands] + saved
    lines += [f"node.s{k} = {shape.format(k=k)}" for k in plan.shapes] + [f"node.{k} = {k}" for k in plan.plain]
    if not plan.numbers:
        return "\n".join(lines)
    given = [
        f"None if kept[{i}] is {k} else kept[{i}]" if k in plan.numbers else "None" for i, k in enumerate(plan.operands)
    ]
    number = f"({', '.join(given)})"
    if len(plan.numeric) == 2:  # a number on the right is kept as it is, which takes no memory
        (i, x), (j, _) = list(enumerate(plan.operands))[-2:]
        number = f"(kept[{j}] if kept[{i}] is {x} else {number})"
    return "\n".join([*lines, f"node._number = kept and {number}"])


def attached(plan: Plan, meta: str, dtype: str) -> str:
    """Return lines that make the node the history of several results."""
    edge = "if {dtype} in FLOATS:\n    {k}._edge = OutputEdge(node, {i})"
    made = [edge.format(k=k, i=i, dtype=dtype.format(k=k)) for i, k in enumerate(plan.outs)]
    return "\n".join([f"node._meta = {meta}", *made])


# ---------------------------------------------------------------------- record
def write_record(plan: Plan) -> str:
    """Return the source of record."""
    one, meta = len(plan.outs) == 1, ", ".join(f"{k}._spec" for k in plan.outs)
    several = f"{', '.join(plan.outs)} = out\n" + attached(plan, meta, "{k}._np_dtype")
    saved = []
    for k in plan.read:
        value = f"save({k}, {plan.outs.index(k)})" if k in plan.outs else f"save({k})"
        saved.append(f"node.{k} = " + (value if plan.shared(k) else f"{value} if {plan.needed(k)} else None"))
    saved += [f"node.m{k} = None" for k in plan.cls.views]
    return fill(
        RECORD,
        n=len(plan.names),
        args=", ".join(plan.names),
        edges=", ".join(f"n{k}" for k in plan.names),
        other_results="type(out) is tuple" if one else f"type(out) is not tuple or len(out) != {len(plan.outs)}",
        result="out" if one else "out[0]",
        number="\n".join(["kept = None"] * bool(plan.numbers) + [OPERAND.format(k=k) for k in plan.numbers]),
        usual=" and ".join(usual(plan)),
        attached="out._edge, node._shape, node._dtype = node, out._sizes, kind" if one else several,
        slots=slots_of(plan, saved, "{k}._sizes"),
    )


def usual(plan: Plan) -> list:
    """Return the conditions on the arguments of record."""
    found = [f"isinstance({k}, Tensor)" for k in plan.operands]
    if plan.pointwise:
        same = [f"{k}._np_dtype is kind" for k in plan.operands]
        return [*found, *same, "(kind is F4 or kind is F8)", *[f"type({k}) in (float, int)" for k in plan.plain]]
    found += [f"{k}._np_dtype in FLOATS and {k}._np_dtype.itemsize != 2" for k in plan.operands]
    found += [f"isinstance({k}, Tensor) and {k}._np_dtype not in FLOATS" for k in plan.integers]
    return found + [no_tensor(k) for k in plan.plain]
