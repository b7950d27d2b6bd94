"""The fast path of eager code: for plain tensors, the source of `apply` and `pull` is generated for each built-in operation.

Function.apply, Primitive and the families define what an operation means; the generated code is the same, specialised: no
loop over arguments, one slot for each edge and saved value instead of tuples, formulas on arrays.  Anything unusual (a
transform, a dual level, hooks on saved tensors, mixed dtypes) takes the generic path.  An operation's source is generated
on first use; `python -m minigrad.fast mul` prints it.  MINIGRAD_GENERIC=1 switches the fast path off.

Measured gains decided each choice; the large ones are arrays instead of Tensors in a first-order backward, NumPy scalars
instead of 0-d arrays there, flat nodes, and numbers kept as tensors.  text_plan.py decides which names an operation's source
needs, pointwise_text.py and formula_text.py generate it, flat_nodes.py has the flat nodes and the functions that it calls.
layer_text.py generates the nodes of transforms and gradients that are differentiated again.  writes.py has the writes in
place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy import ndarray

from ..arrays.dtypes import F4, F8, FLOATS, HALVES, I8
from ..arrays.errstate import restore
from ..arrays.kinds import KINDS as ARRAYS
from ..arrays.kinds import as_array
from ..arrays.memory import sum_down as fit
from ..config import GENERIC
from ..core.backward import to_tensor
from ..core.frames import EAGER, apply_at, current
from ..core.graph import OutputEdge, ViewOf, history
from ..core.inplace import NO_GRAD
from ..core.saved import memory as fresh
from ..core.saved import next_number, save
from ..core.tensor import Tensor, wrap
from ..events import services
from ..ops.base.families import spread
from ..ops.base.nodes import ShapeOf
from ..ops.base.primitive import as_tensor
from ..ops.public_functions import named_code
from ..ops.tensor_methods import OPERAND, not_implemented
from . import formula_text, layer_text, pointwise_text
from .flat_nodes import (
    PLAIN,
    UNREAD,
    array,
    constant,
    flat_class,
    kept_shape,
    large_pull,
    new,
    numbers,
    sent,
    several,
    tensor,
    twin,
    zeros,
)
from .text_plan import Plan, execute, is_pointwise
from .writes import write_plain

__all__ = ["PLAIN", "definition", "specialisable", "specialise", "generate_apply"]

MOST = 8  # tensors for `*xs` in generated code; with more, the loop dominates the cost of the generic path


def install() -> None:
    """Install the fast path: operations are generated at their first call, and writes that change no history are short."""
    if not GENERIC:
        services.provide(accelerate=accelerate, write=write_plain)


def accelerate(cls: Any) -> bool:
    """Generate the operation's code, and return True, if it is of a supported kind."""
    if specialisable(cls):
        specialise(cls)
        return True
    return False


def specialisable(cls: Any) -> bool:
    """Return True if the fast path supports this kind of operation."""
    return not GENERIC and writer(cls).specialisable(cls)


def writer(cls: Any) -> Any:
    """Return the module that generates the source of such operations."""
    return pointwise_text if is_pointwise(cls) else formula_text


def specialise(cls: Any) -> None:
    """Generate the operation's apply and pull, and install them for all callers."""
    fast = generate_apply(cls, Plan(cls)) if cls.variadic is None else by_number(cls)
    cls.apply = staticmethod(fast)
    for namespace in cls.namespaces:
        namespace["apply"] = fast


def by_number(cls: Any) -> Callable:
    """Return an apply for operations with a parameter `*xs`, generated separately for each number of arguments."""
    written: dict = {}

    def apply(*args: Any) -> Any:
        n = len(args)
        if n not in written:
            few = 0 < n - cls.variadic <= MOST
            written[n] = generate_apply(cls, Plan(cls, n)) if few else partial(definition, cls)
        return written[n](*args)

    return apply


def generate_apply(cls: Any, plan: Plan) -> Callable:
    """Generate the source, and return its apply."""
    cls.Flat = flat_class(plan)
    scope = {**globals(), "cls": cls, "Node": cls.Flat}  # the source may name any import of this file
    cls.dispatch_source = writer(cls).write(plan, scope)
    fast, pull = load(cls, plan, scope)
    cls.Flat.backward_on_arrays = pull
    layer_text.install(cls, plan, scope)
    return fast


def load(cls: Any, plan: Plan, scope: dict) -> tuple:
    """Execute the source, for an operator once more: it then ends in NotImplemented for operands of other types."""
    execute(f"dispatch of {cls.name}", cls.dispatch_source, scope)
    fast, pull = scope["apply"], scope.get("pull")
    scope["other"] = otherwise(plan, scope, partial(definition, cls))
    functions = [fast]
    if cls.operator:
        scope = dict(scope)
        scope["other"] = otherwise(
            plan,
            scope,
            lambda x, y: definition(cls, x, y) if isinstance(y, OPERAND) else not_implemented(cls.name, x, y),
        )
        execute(f"dispatch of {cls.name}", cls.dispatch_source, scope)
        setattr(Tensor, cls.operator, scope["apply"])
        functions.append(scope["apply"])
    if is_pointwise(cls):
        for f in functions:
            named_code(f.__code__, cls.name)
    return fast, pull


def otherwise(plan: Plan, scope: dict, other: Callable) -> Callable:
    """Return the function for arguments that the source does not take: some have a second source, the rest take `other`."""
    second = half_precision if is_pointwise(plan.cls) else with_number if len(plan.cls.number_nodes) == 1 else None
    if second is None:
        return other
    takes, generate = second(plan)
    written: list = []

    def run(*args: Any) -> Any:
        if not takes(args):
            return other(*args)
        if not written:
            written.append(generate(scope | {"other": other}))
        return written[0](*args)

    return run


def half_precision(plan: Plan) -> tuple:
    """Return the condition for arguments in half precision, and the function that generates their apply."""

    def generate(scope: dict) -> Callable:
        node = type(plan.cls.Flat.__name__, (plan.cls.Flat,), {"__slots__": (), "__module__": plan.cls.__module__})
        scope = scope | {"Node": node}
        execute(f"dispatch of {plan.cls.name} in half precision", pointwise_text.write(plan, scope, half=True), scope)
        node.backward_on_arrays = scope.get("pull")
        named_code(scope["apply"].__code__, plan.cls.name)
        return scope["apply"]

    return lambda args: any([type(a) in PLAIN and a._a.dtype in HALVES for a in args]), generate


def with_number(plan: Plan) -> tuple:
    """Return the condition that the operand that may be a number is one, and the function that generates their apply."""
    (k,) = plan.cls.number_nodes

    def generate(scope: dict) -> Callable:
        plain = Plan(plan.cls, number=k)
        scope = scope | {"Node": flat_class(plain)}
        execute(f"dispatch of {plan.cls.name} with a number", formula_text.write(plain, scope), scope)
        scope["Node"].backward_on_arrays = scope["pull"]
        return scope["apply"]

    return lambda args: type(args[k]) is float or type(args[k]) is int, generate


def definition(cls: Any, *args: Any) -> Any:
    """Apply an operation by its definition, for everything that is not plain."""
    frame = current()
    return cls.eager(frame, args) if frame.layer is EAGER else apply_at(frame, cls, args)
