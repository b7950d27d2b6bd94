"""The fast path of eager code: for plain tensors, the source of `apply` and `pull` is generated for each built-in operation.

Function.apply, Primitive and the families define what an operation means; the generated code is the same, specialised: no
loop over arguments, one slot for each edge and saved value instead of tuples, formulas on arrays.  Anything unusual (a
transform, a dual level, hooks on saved tensors, mixed dtypes) takes the generic path.  An operation's source is generated
on first use; `python -m minigrad.fast mul` prints it.  MINIGRAD_GENERIC=1 switches the fast path off.

Measured gains decided each choice; the large ones are arrays instead of Tensors in a first-order backward, NumPy scalars
instead of 0-d arrays there, flat nodes, and numbers kept as tensors.  text_plan.py decides which names an operation's source
needs. forward_text.py writes its call and the record of its nodes under transforms, backward_text.py its gradients, on arrays
and on Tensors. flat_nodes.py has the flat nodes and the functions that the source calls.  writes.py has the writes in place.
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
from ..core.frames import EAGER, OFF, Layer, apply_at, current
from ..core.graph import Node, OutputEdge, ViewOf, history
from ..core.inplace import NO_GRAD
from ..core.saved import memory as fresh
from ..core.saved import next_number, save
from ..core.tensor import Tensor, wrap
from ..errors import OutsideError
from ..events import events, services, unheard
from ..ops.base.families import spread, times
from ..ops.base.nodes import ShapeOf
from ..ops.base.primitive import Primitive, as_tensor, constant_of
from ..ops.public_functions import named_code
from ..ops.tensor_methods import OPERAND, not_implemented
from . import backward_text, forward_text
from .flat_nodes import (
    PLAIN,
    UNREAD,
    array,
    as_it_was,
    constant,
    flat_class,
    kept_shape,
    large_pull,
    new,
    number,
    numbers,
    sent,
    several,
    tensor,
    twin,
    unpacked,
    wide,
    zeros,
)
from .text_plan import LOCALS, Plan, execute, is_pointwise
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
    """Return True for pointwise operations of floats, and for others that only declare what their family computes."""
    if GENERIC or set(cls.names) & {*LOCALS, *dir(Node)}:
        return False
    if is_pointwise(cls):
        return "f" in cls.accepts
    own = cls.keep.__func__ is Primitive.keep.__func__ and definition_of(cls, "backward") is BACKWARD
    known = 0 in cls.formulas or cls.variadic in cls.formulas or not cls.differentiable and bool(cls.names)
    return own and known and (cls.variadic is None or cls.differentiable)


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
    """Generate the source of apply and pull, and return the apply; an operator's ends in NotImplemented for other types."""
    cls.Flat, scope, cls.dispatch_source = source(plan)
    apply = load(plan, cls.Flat, scope, cls.dispatch_source, partial(definition, cls))
    if cls.operator:
        of_others = lambda x, y: definition(cls, x, y) if isinstance(y, OPERAND) else not_implemented(cls.name, x, y)
        setattr(Tensor, cls.operator, load(plan, cls.Flat, dict(scope), cls.dispatch_source, of_others))
    if not plan.starred and not LAYER_LOCALS & set(plan.names):
        wait_for_layers(plan, scope)
    return apply


def source(plan: Plan) -> tuple:
    """Return a node class, the names that the source uses (it may name any import of this file), and the source."""
    node = flat_class(plan)
    scope = {**globals(), "cls": plan.cls, "Node": node, **forward_text.used(plan), **backward_text.used(plan)}
    pull = "\n\n" + backward_text.write_pull(plan, scope) if backward_text.has_pull(plan) else ""
    return node, scope, forward_text.write_apply(plan) + pull


def load(plan: Plan, node: type, scope: dict, text: str, other: Callable) -> Callable:
    """Execute the source; half precision, and a number for an operand that then has another node, have their own."""
    execute(f"dispatch of {plan.cls.name}", text, scope)
    node.backward_on_arrays = scope.get("pull")
    if plan.pointwise:
        named_code(scope["apply"].__code__, plan.cls.name)
    second = None if plan.half or plan.number is not None else variant(plan)
    scope["other"] = other if second is None else otherwise(*second, other)
    return scope["apply"]


def variant(plan: Plan) -> tuple | None:
    """Return the condition for arguments that have their own source, and its plan."""
    if plan.pointwise:
        takes = lambda args: any([type(a) in PLAIN and a._a.dtype in HALVES for a in args])
        return takes, lambda: Plan(plan.cls, half=True)
    if len(plan.cls.number_nodes) != 1:
        return None
    (k,) = plan.cls.number_nodes
    return lambda args: type(args[k]) is float or type(args[k]) is int, lambda: Plan(plan.cls, number=k)


def otherwise(takes: Callable, plan: Callable, other: Callable) -> Callable:
    """Return the function for arguments that the source does not take: it generates theirs at the first call."""
    written: list = []

    def run(*args: Any) -> Any:
        if not takes(args):
            return other(*args)
        if not written:
            written.append(load(made := plan(), *source(made), other))
        return written[0](*args)

    return run


# ---------------------------------------------------------------------- under transforms, and differentiated again
BACKWARD = vars(Primitive)["backward"]
recorded = Primitive.record.__func__  # type: ignore[attr-defined]
elementwise = Layer.elementwise
LAYER_LOCALS = set("self layer args out edges kind kept node grads frame values gradients of".split())
GENERATED: set = set()  # the static methods that operations have from here


def wait_for_layers(plan: Plan, scope: dict) -> None:
    """Let the operation generate its `record` and `backward` when a transform or a second derivative first needs them."""
    cls = plan.cls

    def record(self: Any, layer: Layer | None, *args: Any) -> None:
        if self is not cls or layer is None:
            return recorded(self, layer, *args)
        generate_layers(plan, scope)
        return cls.record(layer, *args)

    def backward(node: Node, *grads: Any) -> tuple:
        generate_layers(plan, scope)
        return cls.backward(node, *grads)

    put(cls, record, backward if backward_text.readable(plan) else None)


def put(cls: Any, record: Callable, backward: Callable | None) -> None:
    """Give an operation these functions; its subclasses still have the definitions."""
    cls.record = classmethod(record)
    if backward is not None:
        cls.backward = staticmethod(backward)
        GENERATED.add(vars(cls)["backward"])


def definition_of(cls: Any, name: str) -> Any:
    """Return a static method of an operation as it was declared, by the class or a base."""
    found = (vars(k)[name] for k in cls.__mro__ if name in vars(k))
    return next(f for f in found if f not in GENERATED)


def generate_layers(plan: Plan, scope: dict) -> None:
    """Generate both functions, and the class of the nodes under transforms."""
    cls = plan.cls
    node = type(cls.Flat.__name__, (cls.Flat,), {"__slots__": ("_layer",), "__module__": cls.__module__})
    scope = scope | {"evaluated": definition_of(cls, "backward").__func__, "LayerNode": node, "FLAT": {cls.Flat, node}}
    scope |= {"f" + k: f for k, f in plan.formulas.items()}
    text = forward_text.write_record(plan)
    text += "\n\n" + backward_text.write_backward(plan) if backward_text.readable(plan) else ""
    cls.dispatch_source += f"\n\n{text}"
    execute(f"layers of {cls.name}", text, scope)
    put(cls, scope["record"], scope.get("backward"))


def definition(cls: Any, *args: Any) -> Any:
    """Apply an operation by its definition, for everything that is not plain."""
    frame = current()
    return cls.eager(frame, args) if frame.layer is EAGER else apply_at(frame, cls, args)
