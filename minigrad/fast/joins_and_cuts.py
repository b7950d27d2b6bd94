"""Public functions that join tensors or cut one, for plain tensors: NumPy's calls, and the tensors, in one function.

The function in ops/ is the definition, as for the others (public_calls.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from ..arrays.dtypes import F4, F8
from ..arrays.kinds import KINDS
from ..core.frames import current
from ..core.graph import history
from ..core.tensor import Tensor, wrap
from ..ops.base import registry
from ..ops.public_functions import begin_with
from . import formula_text
from .flat_nodes import PLAIN
from .public_calls import new_axis, new_with_history
from .text_plan import Plan, execute


def install(cls: Any, plan: Plan, scope: dict) -> None:
    """Generate the code that gives the results of a join, or of the cuts by an index, their history."""
    if cls.__name__ in JOINS:
        install_tracked(cls, plan, scope)
    if cls.__name__ == "Index":
        install_cuts(cls, plan, scope)


# ---------------------------------------------------------------------- joins
@dataclass
class Join:
    """A public function that joins tensors along a dimension."""

    name: str
    rank: int  # dimensions that the result has more than each tensor
    array: Callable  # (arrays, dim) -> the result, by NumPy, which raises an error for arrays that do not fit
    kept: Callable  # (arrays, dim) -> the arguments of the operation before the tensors
    tracked: dict = field(default_factory=dict)  # JOINED by the number of arguments, once `apply` exists for it


# NumPy's function without its search for other libraries' arrays, which takes half a microsecond
concatenate = getattr(np.concatenate, "_implementation", np.concatenate)


def stacked(arrays: list, dim: int) -> np.ndarray:
    """Stack arrays of one shape along a new dimension."""
    return np.array(arrays) if not dim else concatenate([a[new_axis(dim)] for a in arrays], dim)


def ends(arrays: list, dim: int) -> tuple:
    """Return the dimension, and where each array begins and the last ends along it."""
    return dim, tuple(accumulate([a.shape[dim] for a in arrays], initial=0))


JOINS: dict = {
    "Cat": Join("cat", 0, concatenate, ends),
    "Stack": Join("stack", 1, stacked, lambda arrays, dim: (dim,)),
}

# the result of a join, with its history
JOINED = """\
def joined(result, frame, {names}):
    {history}
    return out
"""


def install_join(cls: Any) -> None:
    """Let the public function of a join begin with `plainly_joined`."""
    if cls.__name__ in JOINS:
        join = JOINS[cls.__name__]
        lines = "if (joined := join(by, tensors, dim)) is not None:\n    return joined\n"
        begin_with(registry.TABLE[join.name].function, lines, {"join": plainly_joined, "by": join})


def install_tracked(cls: Any, plan: Plan, scope: dict) -> None:
    """Generate the code that gives the result of a join of this many tensors its history."""
    source = JOINED.format(names=", ".join(plan.names), history=formula_text.indented(new_with_history(plan), 4))
    execute(f"history of {cls.name}", source, scope)
    JOINS[cls.__name__].tracked[len(plan.names)] = scope["joined"]
    cls.dispatch_source += f"\n\n{source}"


def plainly_joined(join: Join, tensors: Any, dim: Any) -> Tensor | None:
    """Join plain tensors of one dtype; return None for anything else, and what NumPy rejects."""
    frame = current()
    if (
        not frame.eager_ok
        or frame.on_op is not None
        or len(KINDS) > 1
        or type(tensors) not in LISTS
        or type(dim) is not int
    ):
        return None
    arrays, history_of_any, kind = [], False, None
    for t in tensors:
        if type(t) not in PLAIN or (a := t._a).dtype is not (kind := a.dtype if kind is None else kind):
            return None
        arrays.append(a)
        history_of_any = history_of_any or (t._edge if t._view is None else history(t)) is not None
    if kind is None:
        return None
    try:
        dim = dim if dim >= 0 else dim + arrays[0].ndim + join.rank
        result = join.array(arrays, dim)
        kept = join.kept(arrays, dim) if history_of_any and frame.grad else None
    except Exception:  # the function explains it
        return None
    if not result.flags.c_contiguous:
        return None
    if kept is None:
        return wrap(result)
    made = join.tracked.get(len(kept) + len(arrays)) if result.dtype is F4 or result.dtype is F8 else None
    return None if made is None else made(result, frame, *kept, *tensors)


LISTS = {list, tuple}


# ---------------------------------------------------------------------- cuts
# public function -> its arguments, and the size of a part by the dimension's size and the second argument; 0: single slices
CUTS: dict = {
    "split": ("tensor, split_size_or_sections, dim", lambda n, size: size),
    "chunk": ("input, chunks, dim", lambda n, chunks: -(-n // chunks)),
    "unbind": ("input, 1, dim", lambda n, _: 0),
}
MOST_PARTS = 256

# the parts, with their history
CUT = """\
def cut({x}, frame, places):
    outs = []
    for {index}, at in places:
        result = {x}._a[at]
        {history}
        outs.append(out)
    return tuple(outs)
"""


def install_cuts(cls: Any, plan: Plan, scope: dict) -> None:
    """Let the public functions that cut a tensor begin with `plainly_cut`."""
    x, index = plan.names
    source = CUT.format(x=x, index=index, history=formula_text.indented(new_with_history(plan), 8))
    execute(f"cuts by {cls.name}", source, scope)
    for name, (arguments, size) in CUTS.items():
        lines = f"if (parts := parts_of(made, size, {arguments})) is not None:\n    return parts\n"
        begin_with(registry.TABLE[name].function, lines, {"parts_of": plainly_cut, "made": scope["cut"], "size": size})
    cls.dispatch_source += f"\n\n{source}"


def plainly_cut(made: Callable, size: Callable, x: Any, number: Any, dim: Any) -> tuple | None:
    """Cut a plain tensor; return None for anything else, and for `chunk` if the parts get nodes, which `split` names."""
    frame = current()
    if not frame.eager_ok or frame.on_op is not None or type(x) not in PLAIN or type(a := x._a) is not np.ndarray:
        return None
    if type(number) is not int or number <= 0 or type(dim) is not int or not -a.ndim <= dim < a.ndim:
        return None
    if size is CUTS["chunk"][1] and frame.grad and history(x) is not None:
        return None
    n = a.shape[dim]
    places = places_of(n, size(n, number), dim % a.ndim) if n else None
    return None if places is None else made(x, frame, places)


@lru_cache(1024)
def places_of(n: int, size: int, dim: int) -> tuple | None:
    """Return each part's index, as its history keeps it, and as NumPy takes it; None for too many parts to remember."""
    if n > MOST_PARTS * (size or 1):
        return None
    lead = (slice(None),) * dim
    parts = [(*lead, slice(i, min(i + size, n))) for i in range(0, n, size)] if size else [(*lead, i) for i in range(n)]
    return tuple([(index, (*index, ...)) for index in parts])
