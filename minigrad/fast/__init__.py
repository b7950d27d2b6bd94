"""The fast road of eager code: for plain tensors, `apply` and `pull` of each built-in operation written out as text.

Function.apply, Primitive and the families say what an operation means; what stands here is the same, specialised: no loop
over arguments, one slot for each edge and saved value instead of tuples, the formulas on arrays.  Anything unusual (a
transform, a dual level, hooks on saved tensors, mixed dtypes) takes the general way.  The text of an operation is written
when it is first used; `python -m minigrad.fast mul` prints it.  MINIGRAD_GENERIC=1 switches the road off.

What each choice is worth in time was measured: arrays instead of Tensors in a first-order backward, NumPy's scalars instead
of 0-d arrays there, flat nodes, and numbers kept as tensors are the large ones.  text_plan.py says what an operation's text has
to name, pointwise_text.py and formula_text.py write it, flat_nodes.py has the flat nodes and what the texts call.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from numpy import ndarray

from ..arrays.dtypes import F4, F8, FLOATS, I8
from ..arrays.errstate import restore
from ..arrays.kinds import KINDS as ARRAYS
from ..arrays.kinds import as_array
from ..arrays.memory import sum_down as fit
from ..config import GENERIC
from ..core.backward import boxed
from ..core.events import slots
from ..core.frames import EAGER, apply_at, current
from ..core.graph import OutputEdge, ViewOf, history
from ..core.inplace import NO_GRAD
from ..core.saved import memory as fresh
from ..core.saved import next_number, save
from ..core.tensor import Tensor, wrap
from ..ops.base import registry
from ..ops.base.families import spread
from ..ops.base.primitive import ShapeOf, as_tensor
from ..ops.tensor_methods import OPERAND, refused
from . import formula_text, pointwise_text
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
from .text_plan import Plan, is_pointwise
from .writes import write_plain

__all__ = ["PLAIN", "definition", "specialisable", "specialise", "written_out"]

MOST = 8  # tensors for `*xs` that texts are written for; a loop over more hides what the general way costs


def install() -> None:
    """Plug in: operations are written out at their first call, and writes that change no history are short."""
    if not GENERIC:
        slots.accelerate, slots.write = accelerate, write_plain


def accelerate(cls: Any) -> bool:
    """Write an operation out, if it is of a kind for which that can be done."""
    if specialisable(cls):
        specialise(cls)
        return True
    return False


def specialisable(cls: Any) -> bool:
    """Whether an operation is of a kind that is written out."""
    return not GENERIC and writer(cls).specialisable(cls)


def writer(cls: Any) -> Any:
    """The module that writes the texts of such operations."""
    return pointwise_text if is_pointwise(cls) else formula_text


def specialise(cls: Any) -> None:
    """Write the operation's apply and pull, and put them where they are called from."""
    fast = written_out(cls, Plan(cls)) if cls.variadic is None else by_number(cls)
    cls.apply = staticmethod(fast)
    for namespace in cls.namespaces:
        namespace["apply"] = fast


def by_number(cls: Any) -> Callable:
    """Return an apply of operations with a parameter `*xs`, which is written out anew for each number of arguments."""
    written: dict = {}

    def apply(*args: Any) -> Any:
        n = len(args)
        if n not in written:
            few = 0 < n - cls.variadic <= MOST
            written[n] = written_out(cls, Plan(cls, n)) if few else partial(definition, cls)
        return written[n](*args)

    return apply


def written_out(cls: Any, plan: Plan) -> Callable:
    """Write the texts, and return the apply of which they tell."""
    cls.Flat = flat_class(plan)
    scope = {**globals(), "cls": cls, "Node": cls.Flat}  # the texts may name what this file imports
    cls.text = writer(cls).write(plan, scope)
    fast, pull = load(cls, scope)
    cls.Flat.backward_on_arrays = pull
    return fast


def load(cls: Any, scope: dict) -> tuple:
    """Compile the text under a name of its own, so that tracebacks show its lines."""
    file = os.path.join(os.path.dirname(__file__), f"<dispatch of {cls.name}>")
    linecache.cache[file] = (len(cls.text), None, cls.text.splitlines(True), file)
    exec(compile(cls.text, file, "exec"), scope)
    fast, pull = scope["apply"], scope.get("pull")
    scope["other"] = lambda *args: definition(cls, *args)
    if is_pointwise(cls):
        registry.CODES[fast.__code__] = cls.name
    if cls.operator:
        scope = dict(
            scope, other=lambda x, y: definition(cls, x, y) if isinstance(y, OPERAND) else refused(cls.name, x, y)
        )
        exec(compile(cls.text, file, "exec"), scope)
        setattr(Tensor, cls.operator, scope["apply"])
    return fast, pull


def definition(cls: Any, *args: Any) -> Any:
    """Apply an operation by its definition: for all that is not plain."""
    frame = current()
    return cls.eager(frame, args) if frame.layer is EAGER else apply_at(frame, cls, args)
