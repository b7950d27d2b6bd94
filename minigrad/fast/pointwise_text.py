"""The source of pointwise operations: NumPy's function, one node, and all partials in one pull.

For float16 and bfloat16 there is a second source, generated at the first such call: the same between conversions, which
widen operands, saved values and gradients to float32 and round each result once (arrays/halves.py).
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ..arrays import dtypes
from ..arrays.errstate import ALARM, alarmed, restore, silence
from ..arrays.halves import widened
from ..core.graph import Node
from ..kernels import formula, pointwise_calls, pointwise_gradients, select
from ..kernels.cpu import half_casts
from ..kernels.fallback import FEW, is_few
from ..kernels.operands import cast
from ..ops.base.families import Pointwise
from .flat_nodes import integers, numbers_among, numbers_of_halves, numbers_of_integers
from .text_plan import Plan

APPLY = """\
def {name}({args}):
    frame = current(){number}
    if {plain} and frame.eager_ok:
        {arrays}
        kind = {first}.dtype
        if ({kinds}){same_kind}{conditions}:
            try:
                result = {compute}{rounded}
            except (TypeError, ArithmeticError, ValueError):  # NumPy reports a NaN, or shapes do not broadcast
                {alarm}{cast}{laid_out}
            out = new(Tensor)
            out._a = result
            out._edge = out._ver = out._view = out._tan = out._grad = None
            if frame.grad:
                {edges}
                if {tracked}:
                    out._edge = node = new(Node)
                    shape = result.shape
                    if {edge} is not None and {edge}._shape == shape:
                        shape = {edge}._shape  # one tuple for a whole chain
                    node._seq, node._shape, node._dtype = next_number(), shape, kind
                    node._hooks = node._freed = None
                    {slots}
            if frame.on_op is not None:
                frame.on_op(cls, {given}, out)
            return out
    return other(*{given})


apply = {name}
"""

LAID_OUT = """
            if result.ndim > 1 and type(result) is ndarray:
                result = layout(result, {x})"""

# a formula: it may have made an infinity on the way to finite numbers, a wider dtype, or a scalar
SILENTLY = """\
try:
                    result = silently({arrays})
                except (TypeError, ArithmeticError, ValueError):
                    return other(*{given})"""
CAST = """
            if type(result) not in ARRAYS or result.dtype is not {kind}:
                result = cast(result, {kind})"""

NUMBER = """
    kept = None
    if type({y}) is float or type({y}) is int:
        if type({x}) in PLAIN and frame.eager_ok and (table := numbers.get({x}._a.dtype)) is not None{fits_y}:
            kept, {y} = {y}, table[{y}] if {y} in table else constant({y}, table, {dtype_x})
    elif (type({x}) is float or type({x}) is int) and type({y}) in PLAIN and frame.eager_ok:
        if (table := numbers.get({y}._a.dtype)) is not None{fits_x}:
            kept, {x} = ({x},), table[{x}] if {x} in table else constant({x}, table, {dtype_y})"""
FITS = " and (table is not integers or type({k}) is int)"

# of more than two operands all but the first may be numbers; `kept` then has the arguments as given
NUMBERS = """
    if (type({y}) is float or type({y}) is int) and type({x}) in PLAIN and frame.eager_ok:
        if (table := numbers.get({x}._a.dtype)) is not None:
            kept, {y} = kept or ({args},), table[{y}] if {y} in table else constant({y}, table, {dtype_x})"""

# the arguments as given, with the number itself
GIVEN = "(({c}{x}, {y}{s}) if kept is None else ({c}kept[0], {y}{s}) if type(kept) is tuple else ({c}{x}, kept{s}))"

PULL = """

def pull(node, g, free):
    {edges} = {node_edges}
    {read}
    {forget}{widened}
    if type(g) is not ndarray:
        {on_device}{scalars}
    {fused}
    return {gradients},
"""

# a result in half precision; too large a number is an infinity, which NumPy reports
ROUNDED = """
                result = cast(result, {kind})"""
HALF = "kind in HALVES and type({first}) is ndarray"

LOCALS = ("node", "g", "free", "d", "s", "n")
# how to read a saved array: directly if no write can have happened, else after checking its version
VALUE = "s._a if type(s := node.{k}) in PLAIN and (s._ver is None or not s._ver.n) else array(s, node, {index})"


def specialisable(cls: Any) -> bool:
    """Return True for operands that may be floats."""
    return "f" in cls.accepts and not set(cls.names) & {*LOCALS, *dir(Node)}


def write(plan: Plan, scope: dict, half: bool = False) -> str:
    """Return the operation's source, or the one for half precision; add the names that it uses to `scope`."""
    cls = plan.cls
    scope |= {"compute": cls.ufunc, "large": large(cls, cls.compute), "layout": cls.layout}
    scope |= ALARM | {"BOOL": dtypes.BOOL, "HALVES": dtypes.HALVES, "numbers_among": numbers_among}
    if not isinstance(cls.ufunc, np.ufunc):
        plain = select.numpy_function(cls)
        scope |= {"silently": silently(plain), "cast": cast}
        heard = alarmed(plain) if isinstance(plain, FunctionType) else scope["silently"]
        scope["compute"] = plain if cls.quiet else heard
        if not half and pointwise_calls.kernel_threshold(cls) == 0:
            scope["compute"] = large(cls, scope["compute"])
    if half:
        scope |= {"numbers": numbers_of_halves, "widened": widened, "cast": alarmed(cast)}
    elif of_integers(cls):
        scope |= {"numbers": numbers_of_integers, "integers": integers}
    on_arrays = all(map(formula.runs_on_arrays, plan.formulas.values()))
    return write_apply(plan, half) + (write_pull(plan, scope, half) if on_arrays else "")


def number_text(plan: Plan, half: bool) -> str:
    """Return the source that makes tensors of number operands, in float32 for half precision."""
    fits, (x, *others) = FITS if of_integers(plan.cls) and not half else "", plan.numeric
    dtypes_of = {f"dtype_{n}": "F4" if half else f"{k}._a.dtype" for n, k in zip("xy", plan.numeric)}
    if plan.counts_numbers:
        (y,) = others
        return NUMBER.format(x=x, y=y, fits_x=fits.format(k=x), fits_y=fits.format(k=y), **dtypes_of)
    each = [NUMBERS.format(x=x, y=y, args=", ".join(plan.names), **dtypes_of) for y in others]
    return "".join(["\n    kept = None", *each]) if each else ""


def of_integers(cls: Any) -> bool:
    """Return True if NumPy's function is the operation for integers too: it returns integers, or bools."""
    return isinstance(cls.ufunc, np.ufunc) and "i" in cls.accepts and cls.kind != "float" and len(cls.names) == 2


def kinds_of(cls: Any) -> list:
    """Return the names of the dtypes that the source takes: of bools and integers where NumPy's function is the operation."""
    of_bools = isinstance(cls.ufunc, np.ufunc) and "b" in cls.accepts and cls.kind == "bool"
    return ["F4", "F8", *["I8"] * of_integers(cls), *["BOOL"] * of_bools]


def silently(f: Callable) -> Callable:
    """Return a formula on arrays that ignores intermediate infinities."""

    def compute(*arrays: Any) -> Any:
        previous = silence()
        try:
            return f(*arrays)
        finally:
            restore(previous)

    return compute


def write_apply(plan: Plan, half: bool) -> str:
    """Return the source of apply."""
    cls, operands, numeric, args = plan.cls, plan.operands, plan.numeric, ", ".join(plan.names)
    arrays, conditions = [f"a{k}" for k in operands], operands[: cls.n_conditions]
    given = ", ".join([*arrays, *plan.plain])
    wide = ", ".join([*conditions_and_wide(plan), *plan.plain]) if half else given
    by_numpy = isinstance(cls.ufunc, np.ufunc)
    compute = f"compute({wide}, out=...)" if by_numpy else f"compute({wide})"
    slots = [f"node.n{k} = n{k}" for k in operands] + plan.keep() + [f"node.{k} = {k}" for k in plan.plain]
    kept, first = f"({args},)", f"a{numeric[0]}"
    if plan.counts_numbers:
        slots.append("node._number = kept")
        around = {"c": "".join([f"{k}, " for k in conditions]), "s": "".join([f", {k}" for k in plan.plain])}
        kept = GIVEN.format(x=numeric[0], y=numeric[1], **around)
        first = f"(a{numeric[1]} if type(kept) is tuple else {first})" if half else first
    elif plan.several_numbers:
        slots.append(f"node._number = None if kept is None else numbers_among(kept, {len(operands)})")
        kept = f"({kept} if kept is None else kept)"
    plain = [f"type({k}) in PLAIN" for k in operands] + [
        f"(type({k}) is float or type({k}) is int or type({k}) is bool)" for k in plan.plain
    ]
    kind = "BOOL" if cls.kind == "bool" else "kind"
    return APPLY.format(
        name=cls.name,
        args=args,
        number=number_text(plan, half),
        plain=" and ".join(plain),
        arrays="; ".join([f"a{k} = {k}._a" for k in operands]),
        first=first,
        conditions="".join([f" and a{k}.dtype is BOOL" for k in conditions]),
        kinds=HALF.format(first=first) if half else " or ".join([f"kind is {k}" for k in kinds_of(cls)]),
        same_kind="".join([f" and {same_kind(plan, k, half)}" for k in numeric[1:]]),
        compute=f"{compute} if {condition} else large({given})" if (condition := few(cls, arrays, half)) else compute,
        rounded=ROUNDED.format(kind=kind) if half else "",
        alarm=f"return other(*{kept})" if by_numpy or half else SILENTLY.format(arrays=given, given=kept),
        cast="" if by_numpy or half else CAST.format(kind=kind),
        laid_out="" if cls.layout is None else LAID_OUT.format(x=arrays[0]),
        edges="; ".join(f"n{k} = {k}._edge if {k}._view is None else history({k})" for k in operands),
        edge="n" + numeric[0],
        given=kept,
        tracked=" or ".join(f"n{k} is not None" for k in operands) if cls.differentiable else "False",
        slots="\n                    ".join(slots),
    )


def conditions_and_wide(plan: Plan) -> list:
    """Return the operands as source, those that are no conditions in float32."""
    return [f"a{k}.astype(F4)" if k in plan.numeric else f"a{k}" for k in plan.operands]


def same_kind(plan: Plan, k: str, half: bool) -> str:
    """Return the condition that operand k has the dtype of the first; numbers beside half precision are in float32."""
    if not half:
        return f"a{k}.dtype is kind"
    number = (
        "kept is not None" if plan.counts_numbers else f"kept is not None and kept[{plan.names.index(k)}] is not {k}"
    )
    return f"(a{k}.dtype is kind or {number})"


def large(cls: Any, compute: Callable) -> Callable:
    """Return a function that runs a prepared kernel, or `compute` for few elements before the compiler is loaded."""
    own = getattr(cls.impl, "__func__", None) is not Pointwise.impl.__func__
    light = pointwise_calls.kernel_threshold(cls) == 0

    def run(*arrays: Any) -> Any:
        if light and is_few(arrays[0]):
            return compute(*arrays)
        try:
            call = None if own else pointwise_calls.call_for(cls, arrays)
            return cls.compute(*arrays) if call is None else call(*arrays)
        except Exception:
            return cls.compute(*arrays)  # again, and reports it

    return run


def few(cls: Any, arrays: list, half: bool) -> str:
    """Return the condition to compute directly: few elements, or NumPy's function is as fast as ours; "" for always."""
    if half:
        return " and ".join([f"{a}.size < {half_casts.CAST_FROM}" for a in arrays])
    if pointwise_calls.kernel_threshold(cls) == 0:
        return ""
    if not isinstance(cls.ufunc, np.ufunc):
        in_memory = " and ".join([f"type({a}) is ndarray" for a in arrays])
        return f"{arrays[0]}.size < {pointwise_calls.kernel_threshold(cls)} and {in_memory}"
    if not cls.numpy_is:
        return ""
    # a GPU has one kernel for all sizes, and bools have none
    always = f" or type({arrays[0]}) is not ndarray" + " or kind is BOOL" * ("BOOL" in kinds_of(cls))
    return f"{arrays[0]}.size < {pointwise_calls.kernel_threshold(cls)}{always}"


def write_partial(plan: Plan, k: str, scope: dict) -> str:
    """Return the formula of operand k: its source if that works here, else a call; add the names it uses to `scope`."""
    on_arrays, names = formula.on_arrays(plan.formulas[k]), plan.formulas[k].__code__.co_names
    text = formula.text(plan.formulas[k])
    known = {n: on_arrays.__globals__[n] for n in names if n in on_arrays.__globals__}
    if text is None or any(scope.get(n, v) is not v or n in (*LOCALS, plan.cls.name) for n, v in known.items()):
        scope["d" + k] = on_arrays
        return f"d{k}({', '.join(plan.reads[k])})"
    scope |= known
    return f"({text})"


def write_pull(plan: Plan, scope: dict, half: bool) -> str:
    """Return the source of pull: the gradient of the result -> pairs of edge and gradient."""
    read, settings = plan.read, plan.plain
    value = "sent({body}, n{k})" if half else "d if (d := {body}).shape == n{k}._shape else fit(d, n{k}._shape)"
    pairs = []
    for k in plan.operands:
        if k not in plan.formulas:
            pairs.append(f"(n{k}, None)")
            continue
        call = write_partial(plan, k, scope)
        constant = plan.formulas[k]() if not plan.reads[k] else None
        body = {1: "g", -1: "-g", 0: "zeros(g)"}.get(constant) or (call if "g" in plan.reads[k] else f"g * {call}")
        pairs.append(f"(n{k}, None if n{k} is None else {value.format(body=body, k=k)})")
    edges, known = [f"n{k}" if k in plan.operands else "None" for k in plan.names], [*read, *settings]
    large = f"large_pull(cls, ({', '.join(edges)},), g, ({', '.join(known)},), {known!r})"
    fused = read and not pointwise_gradients.is_light(plan.cls)
    light = pointwise_calls.kernel_threshold(plan.cls) == 0 and len(plan.operands) == 1 and not half
    least = FEW if light else pointwise_gradients.GRADIENTS_FROM
    return PULL.format(
        edges=plan.edges(),
        node_edges=", ".join(f"node.n{k}" for k in plan.operands),
        read="\n    ".join([*plan.restore(VALUE), *[f"{k} = node.{k}" for k in settings]]) or "pass",
        forget=plan.forget(),
        widened="".join([f"\n    {k} = widened({k})" for k in ("g", *read)]) if half else "",
        scalars="; ".join(f"{k} = {k}[()] if type({k}) is ndarray else {k}" for k in read) or "pass",
        on_device=f"if type(g) in ARRAYS:  # GPU memory\n            return {large}\n        " if fused else "",
        fused=f"elif g.size >= {least}:\n        return {large}" if fused else "",
        gradients=", ".join(pairs),
    )
